/* SPDX-License-Identifier: Apache-2.0 */
#include "launchrpc/status.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/test.h"

static void
test_what_is_encoded_is_decoded(void **state)
{
	struct launch_status status = {
		.version = xstrdup("0.1.0"),
		.libvirt = xstrdup("9.0.0"),
		.qemu = xstrdup("7.2.22"),
		.vmi_uid = xstrdup("u"),
		.state = LAUNCH_PAUSED,
		.cause = LAUNCH_CAUSE_IO_ERROR,
		.id = 7,
		.message = xstrdup("m"),
		.disk_error = xstrdup("vda: ENOSPC"),
		.libvirt_up = true,
		.migration = xmalloc0(sizeof(struct launch_record)),
		.guest = xmalloc0(sizeof(struct launch_guest)),
	};
	AUTO(js_unref) json_t *text = NULL;
	AUTO(js_unref) json_t *again = NULL;
	AUTO(launch_status_done) struct launch_status read = { 0 };
	struct err err;

	(void)state;
	status.migration->uid = xstrdup("m1");
	status.guest->dirty_rate_bytes_per_second = 77;
	text = launch_status_encode(&status);
	assert_int_equal(launch_status_decode(text, &read, &err), 0);
	assert_int_equal(read.state, LAUNCH_PAUSED);
	assert_string_equal(read.migration->uid, "m1");
	assert_int_equal(read.guest->dirty_rate_bytes_per_second, 77);
	again = launch_status_encode(&read);
	assert_true(json_equal(text, again));
	launch_status_done(&status);
}

static void
test_an_unknown_state_is_refused_and_an_unknown_cause_is_not(void **state)
{
	static const char good[] = "{\"version\":\"1\",\"domain\":{"
				   "\"state\":\"Running\",\"reason\":\"Fun\"}}";
	static const char bad[] =
		"{\"version\":\"1\",\"domain\":{\"state\":\"Napping\"}}";
	struct err err;
	AUTO(js_unref) json_t *known = js_parse(good, strlen(good), &err);
	AUTO(js_unref) json_t *unknown = js_parse(bad, strlen(bad), &err);
	AUTO(launch_status_done) struct launch_status read = { 0 };

	(void)state;
	assert_int_equal(launch_status_decode(unknown, &read, &err), -1);
	assert_non_null(strstr(err.text, "Napping"));
	assert_int_equal(launch_status_decode(known, &read, &err), 0);
	assert_int_equal(read.cause, LAUNCH_CAUSE_OTHER);
	assert_null(read.migration);
}

/* What a launcher sends is the pod's; a copy of all that could be read can be
 * made, and is the same. */
static void
check_copy(const char *text)
{
	struct err err;
	AUTO(js_unref) json_t *obj = js_parse(text, strlen(text), &err);
	AUTO(js_unref) json_t *before = NULL;
	AUTO(js_unref) json_t *after = NULL;
	AUTO(launch_status_done) struct launch_status read = { 0 };
	AUTO(launch_status_done) struct launch_status copy = { 0 };

	assert_non_null(obj);
	assert_int_equal(launch_status_decode(obj, &read, &err), 0);
	launch_status_copy(&copy, &read);
	/* And a second one in its place. */
	launch_status_copy(&copy, &read);
	before = launch_status_encode(&read);
	launch_status_done(&read);
	after = launch_status_encode(&copy);
	assert_true(json_equal(before, after));
}

static void
test_whatever_can_be_read_can_be_copied(void **state)
{
	static const char head[] =
		"{\"version\":\"\",\"domain\":{\"state\":\"Running\","
		"\"message\":\"";
	AUTO(free_ptr) char *text = xmalloc0(LAUNCH_STATUS_MAX + 1);
	/* Encoded again it is longer than what may be read. */
	size_t len = LAUNCH_STATUS_MAX - sizeof(head) - 64;

	(void)state;
	check_copy("{\"version\":\"1\",\"domain\":{\"state\":\"Running\"}}");
	check_copy("{\"version\":\"\",\"interfaces\":[{\"name\":\"\","
		   "\"tap\":\"\"}],\"domain\":{\"state\":\"Paused\"},"
		   "\"migration\":{\"uid\":\"m\",\"role\":\"source\"},"
		   "\"guest\":{}}");
	memcpy(text, head, sizeof(head) - 1);
	memset(text + sizeof(head) - 1, 'x', len);
	memcpy(text + sizeof(head) - 1 + len, "\"}}", sizeof("\"}}"));
	check_copy(text);
}

static void
test_a_migration_without_a_uid_is_refused(void **state)
{
	static const char bad[] =
		"{\"version\":\"1\",\"domain\":{\"state\":\"Running\"},"
		"\"migration\":{\"uid\":\"\",\"role\":\"source\"}}";
	struct err err;
	AUTO(js_unref) json_t *obj = js_parse(bad, strlen(bad), &err);
	AUTO(launch_status_done) struct launch_status read = { 0 };

	(void)state;
	assert_int_equal(launch_status_decode(obj, &read, &err), -1);
	assert_non_null(strstr(err.text, "uid"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_encoded_is_decoded),
		cmocka_unit_test(
			test_an_unknown_state_is_refused_and_an_unknown_cause_is_not),
		cmocka_unit_test(test_whatever_can_be_read_can_be_copied),
		cmocka_unit_test(test_a_migration_without_a_uid_is_refused),
	};

	js_init();
	return cmocka_run_group_tests_name("status", tests, NULL, NULL);
}
