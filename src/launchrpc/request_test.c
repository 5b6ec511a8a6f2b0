/* SPDX-License-Identifier: Apache-2.0 */
#include "launchrpc/request.h"

#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/testjson.h"

static void
test_sync_and_prepare_survive_the_way(void **state)
{
	struct launch_interface interface = { .name = xstrdup("default"),
					      .tap = xstrdup("tap0"),
					      .mac = xstrdup(
						      "02:00:00:00:00:1"),
					      .model = xstrdup("virtio"),
					      .mtu = 1450 };
	struct launch_disk disk = { xstrdup("root"), 1UL << 40 };
	struct launch_prepare prepare = {
		.vmi = testjson("{\"metadata\":{\"name\":\"vm1\"}}"),
		.migration_uid = xstrdup("abc-1"),
		.interfaces = { &interface, 1 },
		.disks = &disk,
		.disk_count = 1,
	};
	struct launch_sync sync = { prepare.vmi, prepare.interfaces };
	AUTO(js_unref) json_t *sent = launch_prepare_encode(&prepare);
	AUTO(js_unref) json_t *sent_sync = launch_sync_encode(&sync);
	AUTO(js_unref) json_t *again = NULL;
	AUTO(js_unref) json_t *again_sync = NULL;
	AUTO(launch_prepare_done) struct launch_prepare read = { 0 };
	AUTO(launch_sync_done) struct launch_sync read_sync = { 0 };
	struct err err;

	(void)state;
	assert_int_equal(launch_prepare_decode(sent, &read, &err), 0);
	assert_int_equal(launch_sync_decode(sent_sync, &read_sync, &err), 0);
	again = launch_prepare_encode(&read);
	again_sync = launch_sync_encode(&read_sync);
	assert_true(json_equal(sent, again));
	assert_true(json_equal(sent_sync, again_sync));
	json_decref(prepare.vmi);
	free_ptr(&prepare.migration_uid);
	free_ptr(&disk.name);
	free_ptr(&interface.name);
	free_ptr(&interface.tap);
	free_ptr(&interface.mac);
	free_ptr(&interface.model);
}

static void
test_migrate_survives_the_way(void **state)
{
	AUTO(js_unref)
	json_t *sent = testjson("{\"vmi\":{},\"migrationUid\":\"u\","
				"\"configuration\":{\"allowPostCopy\":true},"
				"\"block\":true,\"parallel\":8}");
	AUTO(launch_migrate_done) struct launch_migrate read = { 0 };
	AUTO(js_unref) json_t *again = NULL;
	struct err err;

	(void)state;
	assert_int_equal(launch_migrate_decode(sent, &read, &err), 0);
	again = launch_migrate_encode(&read);
	assert_true(json_equal(sent, again));
}

static void
test_what_is_not_known_is_refused(void **state)
{
	AUTO(js_unref) json_t *more = testjson("{\"vmi\":{},\"wish\":1}");
	AUTO(js_unref)
	json_t *path = testjson("{\"vmi\":{},\"migrationUid\":\"../x\"}");
	struct launch_sync sync;
	struct launch_prepare prepare;
	struct launch_migrate migrate;
	const char *uid;
	uint64_t grace;
	struct err err;

	(void)state;
	assert_int_equal(launch_sync_decode(more, &sync, &err), -1);
	assert_non_null(strstr(err.text, "wish"));
	assert_int_equal(launch_prepare_decode(more, &prepare, &err), -1);
	assert_int_equal(launch_migrate_decode(more, &migrate, &err), -1);
	assert_int_equal(launch_uid_decode(more, &uid, &err), -1);
	assert_int_equal(launch_grace_decode(more, &grace, &err), -1);
	assert_int_equal(launch_prepare_decode(path, &prepare, &err), -1);
	assert_int_equal(launch_migrate_decode(path, &migrate, &err), -1);
}

static void
test_an_item_that_is_wrong_is_named_by_its_place(void **state)
{
	AUTO(js_unref)
	json_t *bad =
		testjson("{\"vmi\":{},\"interfaces\":["
			 "{\"name\":\"a\",\"tap\":\"t\"},{\"name\":\"b\"}]}");
	AUTO(js_unref)
	json_t *disks = testjson("{\"vmi\":{},\"migrationUid\":\"u\","
				 "\"disks\":[{\"name\":\"d\"}]}");
	struct launch_sync sync;
	struct launch_prepare prepare;
	struct err err;

	(void)state;
	assert_int_equal(launch_sync_decode(bad, &sync, &err), -1);
	assert_non_null(strstr(err.text, "interfaces[1]"));
	assert_int_equal(launch_prepare_decode(disks, &prepare, &err), -1);
	assert_non_null(strstr(err.text, "disks[0]"));
}

static void
test_versions_agree_on_the_highest_common(void **state)
{
	static const struct {
		uint32_t here[2], peer[2];
		int agreed; /* -1: none */
	} cases[] = {
		{ { 1, 1 }, { 1, 1 }, 1 },  { { 1, 3 }, { 2, 5 }, 3 },
		{ { 2, 5 }, { 1, 3 }, 3 },  { { 1, 1 }, { 2, 2 }, -1 },
		{ { 3, 4 }, { 1, 2 }, -1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char old[] = "old", young[] = "new", one[] = "1.0";
		struct launch_versions here = { .program = old,
						.version = one };
		struct launch_versions peer = { .program = young,
						.version = one };
		uint32_t protocol = 0;
		struct err err;
		int rc;

		here.protocol_min = cases[i].here[0];
		here.protocol_max = cases[i].here[1];
		peer.protocol_min = cases[i].peer[0];
		peer.protocol_max = cases[i].peer[1];
		rc = launch_versions_agree(&here, &peer, &protocol, &err);
		assert_int_equal(rc == 0 ? (int)protocol : -1, cases[i].agreed);
		if (rc == -1) {
			assert_int_equal(err.kind, ERR_REFUSED);
			assert_non_null(
				strstr(err.text, cases[i].here[1] == 1
							 ? "update old"
							 : "update new"));
		}
	}
}

static void
test_versions_ignore_what_they_do_not_know(void **state)
{
	AUTO(js_unref)
	json_t *obj =
		testjson("{\"protocolMin\":1,\"protocolMax\":9,"
			 "\"program\":\"p\",\"version\":\"v\",\"hue\":1}");
	AUTO(launch_versions_done) struct launch_versions read = { 0 };
	struct err err;

	(void)state;
	assert_int_equal(launch_versions_decode(obj, &read, &err), 0);
	assert_int_equal(read.protocol_max, 9);
	assert_string_equal(read.libvirt, "");
}

/* Earlier launchers refuse what they do not know. */
static void
test_a_recovery_says_that_somebody_listens_or_nothing(void **state)
{
	static const char *const bad[] = {
		"{}",
		"{\"migrationUid\":\"m\",\"listening\":1}",
		"{\"migrationUid\":\"m\",\"more\":true}",
	};
	const char *uid;
	bool listening;
	struct err err;

	(void)state;
	for (int expected = 0; expected < 2; expected++) {
		AUTO(js_unref)
		json_t *params = launch_recover_encode("m1", expected != 0);

		assert_int_equal(json_object_size(params), 1 + expected);
		assert_int_equal(
			launch_recover_decode(params, &uid, &listening, &err),
			0);
		assert_string_equal(uid, "m1");
		assert_int_equal(listening, expected);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		AUTO(js_unref)
		json_t *params = js_parse(bad[i], strlen(bad[i]), &err);

		assert_int_equal(
			launch_recover_decode(params, &uid, &listening, &err),
			-1);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_a_recovery_says_that_somebody_listens_or_nothing),
		cmocka_unit_test(test_sync_and_prepare_survive_the_way),
		cmocka_unit_test(test_migrate_survives_the_way),
		cmocka_unit_test(test_what_is_not_known_is_refused),
		cmocka_unit_test(
			test_an_item_that_is_wrong_is_named_by_its_place),
		cmocka_unit_test(test_versions_agree_on_the_highest_common),
		cmocka_unit_test(test_versions_ignore_what_they_do_not_know),
	};

	js_init();
	return cmocka_run_group_tests_name("request", tests, NULL, NULL);
}
