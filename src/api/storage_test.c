/* SPDX-License-Identifier: Apache-2.0 */
#include "api/storage.h"

#include "api/testjson.h"
#include "api/vmi.h"
#include "base/array.h"
#include "base/cleanup.h"

static struct pvc *
pvc_of(const char *text)
{
	AUTO(js_unref) json_t *object = testjson(text);
	struct err err = { .text = "" };
	struct pvc *pvc = pvc_decode(object, &err);

	assert_string_equal(err.text, "");
	return pvc;
}

static void
test_a_claim_says_how_it_can_be_used(void **state)
{
	AUTO(pvc_unref)
	struct pvc *pvc = pvc_of(
		"{'metadata': {'name': 'c'}, 'spec': {'accessModes': "
		"['ReadWriteOnce'], 'volumeMode': 'Block', "
		"'storageClassName': 's', 'resources': {'requests': "
		"{'storage': '1Gi'}}}, 'status': {'phase': 'Bound', "
		"'accessModes': ['ReadWriteMany'], 'capacity': {'storage': "
		"'2Gi'}}}");
	AUTO(pvc_unref)
	struct pvc *fresh =
		pvc_of("{'metadata': {'name': 'c'}, 'spec': {'accessModes': "
		       "['ReadWriteOnce', 'Odd'], 'resources': {'requests': "
		       "{'storage': '1Gi'}}}}");

	(void)state;
	assert_true(pvc->bound && pvc->block && pvc_is_shared(pvc));
	assert_int_equal(pvc->size_bytes, 2ULL << 30);
	assert_string_equal(pvc->storage_class, "s");
	assert_int_equal(fresh->access, ACCESS_RWO);
	assert_false(fresh->bound || fresh->block || pvc_is_shared(fresh));
	assert_int_equal(fresh->size_bytes, 1ULL << 30);
}

static void
test_a_profile_has_the_modes_of_all_its_sets(void **state)
{
	AUTO(js_unref)
	json_t *object = testjson(
		"{'metadata': {'name': 's'}, 'spec': {'claimPropertySets': "
		"[]}, 'status': {'claimPropertySets': [{'accessModes': "
		"['ReadWriteMany'], 'volumeMode': 'Block'}, {'accessModes': "
		"['ReadWriteOnce'], 'volumeMode': 'Filesystem'}]}}");
	struct err err;
	AUTO(storage_profile_unref)
	struct storage_profile *profile = storage_profile_decode(object, &err);

	(void)state;
	assert_int_equal(profile->access_block, ACCESS_RWX);
	assert_int_equal(profile->access_filesystem, ACCESS_RWO);
}

static void
test_a_claim_that_is_being_filled_is_not_to_be_used(void **state)
{
	AUTO(pvc_unref)
	struct pvc *plain = pvc_of("{'metadata': {'name': 'c'}}");
	AUTO(pvc_unref)
	struct pvc *busy =
		pvc_of("{'metadata': {'name': 'c', 'annotations': "
		       "{'cdi.kubevirt.io/storage.pod.phase': 'Running'}}}");
	AUTO(pvc_unref)
	struct pvc *done =
		pvc_of("{'metadata': {'name': 'c', 'annotations': "
		       "{'cdi.kubevirt.io/storage.pod.phase': 'Succeeded'}}}");

	(void)state;
	assert_true(pvc_is_filled(plain));
	assert_false(pvc_is_filled(busy));
	assert_true(pvc_is_filled(done));
}

static void
test_what_would_let_a_disk_be_shared_follows_from_its_class(void **state)
{
	AUTO(pvc_unref)
	struct pvc *pvc = pvc_of("{'metadata': {'name': 'c'}, 'spec': "
				 "{'storageClassName': 's'}}");
	const struct storage_profile block = { .access_block = ACCESS_RWX };
	const struct storage_profile both = {
		.access_block = ACCESS_RWX,
		.access_filesystem = ACCESS_RWX | ACCESS_RWO,
	};
	char text[STORAGE_ADVICE_SIZE];

	(void)state;
	assert_string_equal(storage_advice(pvc, NULL, text),
			    "No StorageProfile says whether StorageClass 's' "
			    "can share volumes.");
	assert_string_equal(storage_advice(pvc, &block, text),
			    "StorageClass 's' cannot share Filesystem volumes: "
			    "the machine can move with its data in a claim of "
			    "another class.");
	assert_string_equal(storage_advice(pvc, &both, text),
			    "StorageClass 's' can share Filesystem volumes: "
			    "with its data in a claim that asks for "
			    "ReadWriteMany the machine can move.");
	pvc->block = true;
	assert_string_equal(storage_advice(pvc, &block, text),
			    "StorageClass 's' can share Block volumes: with "
			    "its data in a claim that asks for ReadWriteMany "
			    "the machine can move.");
}

struct claims {
	struct pvc *shared, *single;
};

static const struct pvc *
get(void *arg, const char *name)
{
	const struct claims *claims = arg;

	if (strcmp(name, "shared") == 0)
		return claims->shared;
	return strcmp(name, "single") == 0 ? claims->single : NULL;
}

#define NOT_SHARED(name)                                          \
	"cannot migrate VMI: PVC " name " is not shared, live "   \
	"migration requires that all PVCs must be shared (using " \
	"ReadWriteMany access mode)"

static void
test_disks_are_shared_copied_or_in_the_way(void **state)
{
	static const struct {
		const char *volumes;
		enum storage_verdict verdict;
		const char *text;
	} cases[] = {
		{ "[]", STORAGE_SHARED, "" },
		{ "[{'name': 'a', 'persistentVolumeClaim': {'claimName': "
		  "'shared'}}]",
		  STORAGE_SHARED, "" },
		{ "[{'name': 'a', 'persistentVolumeClaim': {'claimName': "
		  "'single'}}]",
		  STORAGE_BLOCKED, NOT_SHARED("single") },
		{ "[{'name': 'a', 'dataVolume': {'name': 'gone'}}]",
		  STORAGE_BLOCKED, NOT_SHARED("gone") },
		{ "[{'name': 'moving', 'persistentVolumeClaim': {'claimName': "
		  "'single'}}]",
		  STORAGE_COPY, "" },
		{ "[{'name': 'a', 'hostDisk': {'shared': true}}]",
		  STORAGE_SHARED, "" },
		{ "[{'name': 'a', 'hostDisk': {}}]", STORAGE_BLOCKED,
		  "cannot migrate VMI with non-shared HostDisk" },
		{ "[{'name': 'a', 'containerDisk': {}}, {'name': 'b', "
		  "'persistentVolumeClaim': {'claimName': 'shared'}}]",
		  STORAGE_COPY, "" },
		{ "[{'name': 'cd', 'containerDisk': {}}]", STORAGE_SHARED, "" },
		{ "[{'name': 'fs', 'configMap': {}}]", STORAGE_SHARED, "" },
		{ "[{'name': 'a', 'emptyDisk': {}}, {'name': 'b', "
		  "'dataVolume': {'name': 'single'}}]",
		  STORAGE_BLOCKED, NOT_SHARED("single") },
	};
	AUTO(pvc_unref)
	struct pvc *shared = pvc_of("{'metadata': {'name': 'shared'}, 'spec': "
				    "{'accessModes': ['ReadWriteMany']}}");
	AUTO(pvc_unref)
	struct pvc *single = pvc_of("{'metadata': {'name': 'single'}, 'spec': "
				    "{'accessModes': ['ReadWriteOnce']}}");
	struct claims claims = { .shared = shared, .single = single };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(js_unref)
		json_t *object = testjson(
			"{'metadata': {'name': 'v'}, 'spec': {'domain': "
			"{'devices': {'disks': [{'name': 'cd', 'cdrom': "
			"{}}], 'filesystems': [{'name': 'fs'}]}}}, 'status': "
			"{'migratedVolumes': [{'volumeName': 'moving'}]}}");
		AUTO(vmi_unref) struct vmi *vmi = NULL;
		char text[256] = "";
		struct err err;

		(void)json_object_set_new(json_object_get(object, "spec"),
					  "volumes",
					  testjson(cases[i].volumes));
		vmi = vmi_decode(object, &err);
		assert_int_equal(
			storage_judge(vmi, get, &claims, text, sizeof(text)),
			cases[i].verdict);
		assert_string_equal(text, cases[i].text);
	}
}

static void
test_nodes_are_told_about_claims(void **state)
{
	AUTO(pvc_unref)
	struct pvc *pvc =
		pvc_of("{'metadata': {'name': 'c'}, 'spec': {'accessModes': "
		       "['ReadWriteMany', 'ReadWriteOnce'], 'resources': "
		       "{'requests': {'storage': '1Ki'}}}}");
	AUTO(js_unref) json_t *info = pvc_info_json(pvc);
	AUTO(js_unref)
	json_t *expected = testjson(
		"{'claimName': 'c', 'accessModes': ['ReadWriteOnce', "
		"'ReadWriteMany'], 'volumeMode': 'Filesystem', 'capacity': "
		"{'storage': '1024'}, 'requests': {'storage': '1024'}}");

	(void)state;
	assert_true(json_equal(info, expected));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_claim_says_how_it_can_be_used),
		cmocka_unit_test(test_a_profile_has_the_modes_of_all_its_sets),
		cmocka_unit_test(
			test_a_claim_that_is_being_filled_is_not_to_be_used),
		cmocka_unit_test(
			test_what_would_let_a_disk_be_shared_follows_from_its_class),
		cmocka_unit_test(test_disks_are_shared_copied_or_in_the_way),
		cmocka_unit_test(test_nodes_are_told_about_claims),
	};

	return cmocka_run_group_tests_name("storage", tests, NULL, NULL);
}
