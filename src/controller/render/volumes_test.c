/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/test.h"
#include "controller/render/testcase.h"
#include "controller/render/volumes.h"
#include "meta/testyaml.h"

#define DIGEST    \
	"sha256:" \
	"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* How many volumes, and as many mounts, every pod has. */
#define DIRECTORIES 5

static int
render(const char *volumes, struct volumes *ret_volumes, struct err *err)
{
	AUTO(free_ptr) char *text = xasprintf("spec: {volumes: %s}", volumes);
	AUTO(js_unref) json_t *vmi = testyaml(text);
	AUTO(js_unref) json_t *block = testyaml("[block]");
	struct testcase tc;
	int result;

	testcase_open(&tc, NULL, block);
	result = volumes_render(vmi, &tc.env, NULL, ret_volumes, err);
	testcase_close(&tc);
	return result;
}

static void
test_a_volume_is_mounted_where_the_launcher_looks(void **state)
{
	static const struct {
		const char *volume;
		const char *pod_volume;
		const char *mount;
	} cases[] = {
		{ "{name: a, containerDisk: {image: x}}",
		  "{name: a, image: {reference: x}}",
		  "{name: a, readOnly: true, mountPath: "
		  "/var/run/kubevirt/container-disks/a}" },
		{ "{name: a, persistentVolumeClaim: {claimName: c, readOnly: "
		  "true}}",
		  "{name: a, persistentVolumeClaim: {claimName: c, readOnly: "
		  "true}}",
		  "{name: a, mountPath: /var/run/kubevirt-private/vmi-disks/"
		  "a}" },
		{ "{name: a, hostDisk: {path: /disk.img, type: Disk}}",
		  "{name: a, hostPath: {path: /, type: Directory}}",
		  "{name: a, mountPath: /var/run/kubevirt-private/vmi-disks/"
		  "a}" },
		{ "{name: a, cloudInitNoCloud: {networkDataSecretRef: "
		  "{name: s}}}",
		  "{name: a-ndata, secret: {secretName: s}}",
		  "{name: a-ndata, readOnly: true, mountPath: "
		  "/var/run/kubevirt-private/secret/a/ndata}" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(free_ptr)
		char *list = xasprintf("[%s]", cases[i].volume);
		AUTO(volumes_done) struct volumes volumes = { .volumes = NULL };
		struct err err;

		assert_int_equal(render(list, &volumes, &err), 0);
		assert_int_equal(json_array_size(volumes.volumes),
				 DIRECTORIES + 1);
		assert_yaml(json_array_get(volumes.volumes, DIRECTORIES),
			    cases[i].pod_volume);
		assert_int_equal(json_array_size(volumes.mounts),
				 DIRECTORIES + 1);
		assert_yaml(json_array_get(volumes.mounts, DIRECTORIES),
			    cases[i].mount);
	}
}

static void
test_a_block_claim_is_a_device(void **state)
{
	AUTO(volumes_done) struct volumes volumes = { .volumes = NULL };
	struct err err;

	(void)state;
	assert_int_equal(render("[{name: a, persistentVolumeClaim: {claimName: "
				"block}}]",
				&volumes, &err),
			 0);
	assert_yaml(volumes.devices, "[{name: a, devicePath: /dev/a}]");
	assert_int_equal(json_array_size(volumes.mounts), DIRECTORIES);
}

static void
test_disks_of_the_launcher_need_no_volume(void **state)
{
	AUTO(volumes_done) struct volumes volumes = { .volumes = NULL };
	struct err err;

	(void)state;
	assert_int_equal(render("[{name: a, emptyDisk: {capacity: 1Gi}}, "
				"{name: b, cloudInitNoCloud: {userData: x}}]",
				&volumes, &err),
			 0);
	assert_int_equal(json_array_size(volumes.volumes), DIRECTORIES);
}

static void
test_a_pull_secret_is_named_once(void **state)
{
	AUTO(volumes_done) struct volumes volumes = { .volumes = NULL };
	struct err err;

	(void)state;
	assert_int_equal(
		render("[{name: a, containerDisk: {image: x, imagePullSecret: "
		       "s}}, {name: b, containerDisk: {image: z, "
		       "imagePullSecret: s}}]",
		       &volumes, &err),
		0);
	assert_yaml(volumes.pull_secrets, "[{name: s}]");
}

static void
test_what_cannot_be_mounted_is_refused_with_its_path(void **state)
{
	static const struct {
		const char *volume;
		const char *text;
	} cases[] = {
		{ "{name: a}", "spec.volumes[0]: is of no kind" },
		{ "{name: a, cloudInitConfigDrive: {userData: x}}",
		  "spec.volumes[0]: is of no kind" },
		{ "{containerDisk: {image: x}}",
		  "spec.volumes[0].name: '' is no name" },
		{ "{name: ../x, containerDisk: {image: x}}",
		  "spec.volumes[0].name: '../x' is no name" },
		{ "{name: private, containerDisk: {image: x}}",
		  "spec.volumes[0].name: 'private' is the name "
		  "of another volume" },
		{ "{name: a, containerDisk: {}}",
		  "spec.volumes[0].containerDisk.image: is missing" },
		{ "{name: a, persistentVolumeClaim: {}}",
		  "spec.volumes[0].persistentVolumeClaim: names no claim" },
		{ "{name: a, dataVolume: {name: A/b}}",
		  "spec.volumes[0].dataVolume: names no claim" },
		{ "{name: a, emptyDisk: {}}",
		  "spec.volumes[0].emptyDisk.capacity: is missing" },
		{ "{name: a, hostDisk: {path: /a/../b, type: Disk}}",
		  "spec.volumes[0].hostDisk.path: must be" },
		{ "{name: a, hostDisk: {path: /a/.., type: Disk}}",
		  "spec.volumes[0].hostDisk.path: must be" },
		{ "{name: a, hostDisk: {path: a.img, type: Disk}}",
		  "spec.volumes[0].hostDisk.path: must be" },
		{ "{name: a, hostDisk: {path: /a/, type: Disk}}",
		  "spec.volumes[0].hostDisk.path: must be" },
		{ "{name: a, hostDisk: {path: /a, type: File}}",
		  "spec.volumes[0].hostDisk.type: must be" },
		{ "{name: a, cloudInitNoCloud: {secretRef: {name: ''}}}",
		  "spec.volumes[0].cloudInitNoCloud.secretRef.name: names no" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(free_ptr)
		char *list = xasprintf("[%s]", cases[i].volume);
		AUTO(volumes_done) struct volumes volumes = { .volumes = NULL };
		struct err err;

		assert_int_equal(render(list, &volumes, &err), -1);
		assert_int_equal(err.kind, ERR_INVALID);
		if (strncmp(err.text, cases[i].text, strlen(cases[i].text)) !=
		    0)
			fail_msg("'%s' for %s", err.text, cases[i].volume);
	}
}

static void
test_the_number_of_volumes_is_limited(void **state)
{
	AUTO(js_unref) json_t *vmi = testyaml("spec: {volumes: []}");
	AUTO(volumes_done) struct volumes volumes = { .volumes = NULL };
	struct testcase tc;
	struct err err;

	(void)state;
	for (int i = 0; i < 257; i++) {
		AUTO(free_ptr) char *name = xasprintf("v%d", i);

		json_array_append_new(js_arr_at(vmi, "spec.volumes"),
				      json_pack("{s:s, s:{s:s}}", "name", name,
						"emptyDisk", "capacity", "1"));
	}
	testcase_open(&tc, NULL, NULL);
	assert_int_equal(volumes_render(vmi, &tc.env, NULL, &volumes, &err),
			 -1);
	testcase_close(&tc);
}

/* The reference of image in a target, whose source pod is this; NULL. */
static json_t *
pin(const char *image, const char *pod_text, struct err *err)
{
	AUTO(free_ptr)
	char *text = xasprintf("spec: {volumes: [{name: a, containerDisk: "
			       "{image: '%s'}}]}",
			       image);
	AUTO(js_unref) json_t *vmi = testyaml(text);
	AUTO(js_unref) json_t *pod = testyaml(pod_text);

	return volumes_references(vmi, pod, err);
}

#define POD_WITH(ref)                                                   \
	"status: {containerStatuses: [{name: compute, volumeMounts: [{" \
	"name: a, volumeStatus: {image: {imageRef: '" ref "'}}}]}]}"

static void
test_images_are_pinned_to_what_the_source_runs(void **state)
{
	static const struct {
		const char *image, *pod, *reference;
	} cases[] = {
		{ "alpine:3", POD_WITH("alpine@" DIGEST), "alpine@" DIGEST },
		{ "alpine", POD_WITH(DIGEST), "alpine@" DIGEST },
		{ "host:5000/g/alpine:3", POD_WITH(DIGEST),
		  "host:5000/g/alpine@" DIGEST },
		{ "host:5000/alpine", POD_WITH(DIGEST),
		  "host:5000/alpine@" DIGEST },
		{ "alpine:3@" DIGEST, "{}", "alpine@" DIGEST },
		{ "alpine:3",
		  "spec: {volumes: [{name: a, image: {reference: alpine@" DIGEST
		  "}}]}",
		  "alpine@" DIGEST },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct err err;
		AUTO(js_unref)
		json_t *references = pin(cases[i].image, cases[i].pod, &err);

		if (references == NULL)
			fail_msg("%s", err.text);
		assert_string_equal(js_str_at(references, "a"),
				    cases[i].reference);
	}
}

static void
test_without_a_digest_nothing_is_pinned(void **state)
{
	static const char *const pods[] = {
		"{}",
		POD_WITH("alpine:3"),
		POD_WITH("sha256:abc"),
		POD_WITH("sha256:0123456789abcdef0123456789abcdef0123456789abcd"
			 "ef0123456789abcdeg"),
	};
	struct err err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(pods); i++) {
		assert_null(pin("alpine:3", pods[i], &err));
		assert_int_equal(err.kind, ERR_CONFLICT);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_a_volume_is_mounted_where_the_launcher_looks),
		cmocka_unit_test(test_a_block_claim_is_a_device),
		cmocka_unit_test(test_disks_of_the_launcher_need_no_volume),
		cmocka_unit_test(test_a_pull_secret_is_named_once),
		cmocka_unit_test(
			test_what_cannot_be_mounted_is_refused_with_its_path),
		cmocka_unit_test(test_the_number_of_volumes_is_limited),
		cmocka_unit_test(
			test_images_are_pinned_to_what_the_source_runs),
		cmocka_unit_test(test_without_a_digest_nothing_is_pinned),
	};

	return cmocka_run_group_tests_name("volumes", tests, NULL, NULL);
}
