/* SPDX-License-Identifier: Apache-2.0 */
#include "launchrpc/record.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/test.h"

static void
test_what_is_encoded_is_decoded(void **state)
{
	struct launch_record record = {
		.uid = xstrdup("6d1f"),
		.role = LAUNCH_TARGET,
		.start_us = 1,
		.end_us = 2,
		.completed = true,
		.failed = true,
		.reason = LAUNCH_REASON_TARGET_DISK,
		.message = xstrdup("a \"disk\" is missing"),
		.mode = LAUNCH_POST_COPY,
		.abort = LAUNCH_ABORTING,
		.cut_streams = true,
		.watched = true,
		.breaks = 3,
		.mended = 2,
		.listening = 1,
		.domain_detected = true,
		.domain_ready_us = 3,
		.progress = { 50, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, INT64_MAX },
	};
	AUTO(js_unref) json_t *text = launch_record_encode(&record);
	AUTO(js_unref) json_t *again = NULL;
	AUTO(launch_record_done) struct launch_record read = { 0 };
	AUTO(launch_record_done) struct launch_record copy = { 0 };
	struct err err;

	(void)state;
	assert_int_equal(launch_record_decode(text, &read, &err), 0);
	launch_record_copy(&copy, &read);
	again = launch_record_encode(&copy);
	assert_true(json_equal(text, again));
	assert_true(copy.watched);
	assert_int_equal(copy.breaks, 3);
	assert_int_equal(copy.mended, 2);
	assert_int_equal(copy.listening, 1);
	assert_int_equal(copy.progress.downtime_ms, 10);
	assert_int_equal(copy.progress.blackout_ms, INT64_MAX);
	launch_record_done(&record);
}

static void
test_names_of_a_later_version_do_no_harm(void **state)
{
	AUTO(js_unref)
	json_t *text = json_pack("{s:s,s:s,s:s,s:s,s:s,s:s}", "uid", "u",
				 "role", "source", "reasonCode", "Sunspots",
				 "mode", "Teleport", "abortStatus", "Perhaps",
				 "more", "things");
	AUTO(launch_record_done) struct launch_record read = { 0 };
	struct err err;

	(void)state;
	assert_int_equal(launch_record_decode(text, &read, &err), 0);
	assert_int_equal(read.reason, LAUNCH_REASON_INTERNAL);
	assert_int_equal(read.mode, LAUNCH_PRE_COPY);
	assert_int_equal(read.abort, LAUNCH_ABORT_NONE);
	/* An earlier one counts nothing. */
	assert_false(read.watched);
}

static void
test_qemu_knows_better_than_libvirt_what_is_broken(void **state)
{
	struct launch_record r = { .watched = true };

	(void)state;
	assert_true(launch_record_broken(&r, true));
	assert_false(launch_record_broken(&r, false));
	r.breaks = 1;
	assert_true(launch_record_broken(&r, false));
	r.mended = 1;
	assert_false(launch_record_broken(&r, true));
}

static void
test_what_makes_no_sense_is_refused_by_name(void **state)
{
	static const char *const bad[][2] = {
		{ "{}", "uid" },
		{ "{\"uid\":\"\",\"role\":\"source\"}", "uid" },
		{ "{\"uid\":\"u\"}", "role" },
		{ "{\"uid\":\"u\",\"role\":\"king\"}", "king" },
		{ "{\"uid\":\"u\",\"role\":\"source\",\"failed\":1}",
		  "failed" },
		{ "{\"uid\":\"u\",\"role\":\"source\",\"endTimeUs\":-1}",
		  "endTimeUs" },
		{ "{\"uid\":\"u\",\"role\":\"source\",\"breaks\":-1}",
		  "breaks" },
		{ "{\"uid\":\"u\",\"role\":\"source\",\"progress\":{"
		  "\"percent\":\"all\"}}",
		  "percent" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct launch_record read = { 0 };
		struct err err;
		json_t *obj = js_parse(bad[i][0], strlen(bad[i][0]), &err);

		assert_int_equal(launch_record_decode(obj, &read, &err), -1);
		assert_non_null(strstr(err.text, bad[i][1]));
		assert_null(read.uid);
		json_decref(obj);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_encoded_is_decoded),
		cmocka_unit_test(test_names_of_a_later_version_do_no_harm),
		cmocka_unit_test(
			test_qemu_knows_better_than_libvirt_what_is_broken),
		cmocka_unit_test(test_what_makes_no_sense_is_refused_by_name),
	};

	js_init();
	return cmocka_run_group_tests_name("record", tests, NULL, NULL);
}
