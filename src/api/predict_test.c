/* SPDX-License-Identifier: Apache-2.0 */
#include "api/predict.h"

#include <string.h>

#include "api/config.h"
#include "api/testjson.h"
#include "base/cleanup.h"

#define MIB (1024ULL * 1024)
#define GIB (1024 * MIB)

/* 1 GiB over 1 GiB/s, and the defaults of a migration. */
static struct predict_input
usual(uint64_t dirty_rate)
{
	struct predict_input in = {
		.memory_bytes = GIB,
		.timed_bytes = GIB,
		.path_rate = GIB,
		.dirty_rate = dirty_rate,
		.dirty_known = true,
	};
	struct migration_config config;

	migration_config_init(&config);
	predict_settings(&in, &config);
	migration_config_done(&config);
	return in;
}

static struct prediction
of(const struct predict_input *in)
{
	struct prediction p;

	predict(in, &p);
	return p;
}

static void
test_settings_are_those_of_the_migration(void **state)
{
	struct predict_input in = usual(0);

	(void)state;
	assert_int_equal(in.completion_s, 300); /* two begun gigabytes */
	assert_int_equal(in.progress_s, CONFIG_PROGRESS_TIMEOUT_S);
	assert_int_equal(in.max_downtime_ms, CONFIG_MAX_DOWNTIME_MS);
	assert_int_equal(in.limit_rate, 0);
	assert_false(in.post_copy || in.auto_converge || in.disruption);
}

static void
test_an_idle_guest_is_copied_once(void **state)
{
	struct predict_input in = usual(0);
	struct prediction p = of(&in);

	(void)state;
	assert_int_equal(p.verdict, PREDICT_CONVERGES);
	assert_int_equal(p.iterations, 1);
	assert_int_equal(p.downtime_ms, PREDICT_SWITCH_MS);
	assert_int_equal(p.copy_ms,
			 1000 + PREDICT_SWITCH_MS + PREDICT_BEGIN_MS);
	assert_string_equal(predict_mode(p.verdict), "PreCopy");
}

/* 1 s + 0.95 s, then 0.9025 s: too long; the fourth round is below 900 ms. */
static void
test_what_is_written_meanwhile_is_sent_again(void **state)
{
	struct predict_input in = usual(GIB / 100 * 95);
	struct prediction p = of(&in);

	(void)state;
	assert_int_equal(p.verdict, PREDICT_CONVERGES);
	assert_int_equal(p.iterations, 3);
	assert_in_range(p.downtime_ms, 900, 910);
	assert_in_range(p.copy_ms, 4700, 4800);
}

static void
test_a_limit_counts_when_it_is_below_the_path(void **state)
{
	struct predict_input in = usual(0);

	(void)state;
	in.limit_rate = GIB / 4;
	assert_int_equal(of(&in).rate, GIB / 4);
	assert_in_range(of(&in).copy_ms, 5000, 5100);
	in.limit_rate = 8 * GIB;
	assert_int_equal(of(&in).rate, GIB);
}

static void
test_disks_are_sent_but_not_rewritten(void **state)
{
	struct predict_input in = usual(0);

	(void)state;
	in.disk_bytes = 9 * GIB;
	assert_in_range(of(&in).copy_ms, 11000, 11100);
	assert_int_equal(of(&in).verdict, PREDICT_CONVERGES);
}

static void
test_a_guest_that_writes_faster_is_given_up_in_time(void **state)
{
	struct predict_input in = usual(2 * GIB);
	struct prediction p = of(&in);

	(void)state;
	assert_int_equal(p.verdict, PREDICT_FAILS);
	assert_string_equal(predict_mode(p.verdict), "");
	/* No smaller rest after the first round: the progress timeout. */
	assert_int_equal(p.copy_ms, (1 + 150) * 1000 + PREDICT_BEGIN_MS);
	in.progress_s = 0;
	assert_int_equal(of(&in).copy_ms, 300 * 1000 + PREDICT_BEGIN_MS);
}

static void
test_what_is_allowed_decides_how_it_ends(void **state)
{
	struct predict_input in = usual(2 * GIB);
	struct prediction p;

	(void)state;
	in.disruption = true;
	p = of(&in);
	assert_int_equal(p.verdict, PREDICT_PAUSED);
	assert_int_equal(p.downtime_ms, 1000 + PREDICT_SWITCH_MS);
	in.post_copy = true;
	p = of(&in);
	assert_int_equal(p.verdict, PREDICT_POST_COPY);
	assert_int_equal(p.downtime_ms, PREDICT_SWITCH_MS);
	/* Post-copy without leave to disrupt is not done. */
	in.disruption = false;
	assert_int_equal(of(&in).verdict, PREDICT_FAILS);
}

static void
test_slowing_down_makes_it_converge(void **state)
{
	struct predict_input in = usual(2 * GIB);
	struct prediction p;

	(void)state;
	in.auto_converge = true;
	p = of(&in);
	assert_int_equal(p.verdict, PREDICT_THROTTLED);
	assert_in_range(p.throttle, 50, 99);
	assert_true(p.iterations > 4);
}

/* Without any limit it would go on for ever; the play does not. */
static void
test_it_ends_without_limits_too(void **state)
{
	struct predict_input in = usual(2 * GIB);

	(void)state;
	in.completion_s = in.progress_s = 0;
	assert_int_equal(of(&in).verdict, PREDICT_FAILS);
	in.dirty_rate = GIB - 1;
	in.max_downtime_ms = 0;
	assert_int_equal(of(&in).verdict, PREDICT_FAILS);
}

static void
test_without_a_rate_nothing_is_known(void **state)
{
	struct predict_input in = usual(0);
	struct prediction p;
	AUTO(free_ptr) char *sentence = NULL;

	(void)state;
	in.path_rate = 0;
	p = of(&in);
	assert_int_equal(p.verdict, PREDICT_UNKNOWN);
	sentence = predict_sentence(&in, &p);
	assert_non_null(strstr(sentence, "not measured"));
}

static void
test_every_verdict_is_said_in_a_sentence(void **state)
{
	static const char *const words[] = {
		[PREDICT_CONVERGES] = "(1 GiB at 1 GiB/s, of which",
		[PREDICT_THROTTLED] = "by slowing the guest down",
		[PREDICT_POST_COPY] = "switched to post-copy",
		[PREDICT_PAUSED] = "paused for about",
		[PREDICT_FAILS] = "allow post-copy",
		[PREDICT_UNKNOWN] = "not known",
	};
	struct predict_input in = usual(0);
	struct prediction p = of(&in);

	(void)state;
	for (int v = 0; v < PREDICT_VERDICT_COUNT; v++) {
		AUTO(free_ptr) char *sentence = NULL;

		p.verdict = (enum predict_verdict)v;
		p.throttle = v == PREDICT_THROTTLED ? 20 : 0;
		sentence = predict_sentence(&in, &p);
		if (strstr(sentence, words[v]) == NULL)
			fail_msg("%s: %s", words[v], sentence);
	}
}

static void
test_what_is_assumed_is_said(void **state)
{
	struct predict_input in = usual(0);
	struct prediction p;
	AUTO(js_unref) json_t *json = NULL;

	(void)state;
	in.dirty_known = false;
	p = of(&in);
	json = predict_json(&in, &p);
	assert_null(js_at(json, "dirtyRateBytesPerSecond"));
	assert_non_null(
		strstr(js_str_at(json, "sentence"), "if the guest is idle"));
	assert_string_equal(js_str_at(json, "verdict"), "Converges");
	assert_int_equal(js_int_at(json, "bytes", 0), GIB);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_settings_are_those_of_the_migration),
		cmocka_unit_test(test_an_idle_guest_is_copied_once),
		cmocka_unit_test(test_what_is_written_meanwhile_is_sent_again),
		cmocka_unit_test(test_a_limit_counts_when_it_is_below_the_path),
		cmocka_unit_test(test_disks_are_sent_but_not_rewritten),
		cmocka_unit_test(
			test_a_guest_that_writes_faster_is_given_up_in_time),
		cmocka_unit_test(test_what_is_allowed_decides_how_it_ends),
		cmocka_unit_test(test_slowing_down_makes_it_converge),
		cmocka_unit_test(test_it_ends_without_limits_too),
		cmocka_unit_test(test_without_a_rate_nothing_is_known),
		cmocka_unit_test(test_every_verdict_is_said_in_a_sentence),
		cmocka_unit_test(test_what_is_assumed_is_said),
	};

	return cmocka_run_group_tests_name("predict", tests, NULL, NULL);
}
