/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/migration/tally.h"

#include <stdio.h>
#include <string.h>

#include "api/names.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/js.h"
#include "base/mem.h"
#include "base/test.h"

#define TEXT_MAX (1024UL * 1024)
#define SECOND INT64_C(1000000)

static void
expect(const struct tally *tally, const char *line)
{
	AUTO(buf_done) struct buf buf = BUF_INIT(TEXT_MAX);
	AUTO(free_ptr) char *wanted = NULL;

	assert_int_equal(tally_write_histograms(tally, &buf), 0);
	assert_int_not_equal(asprintf(&wanted, "\n%s\n", line), -1);
	if (strstr((const char *)buf.data, wanted) == NULL)
		fail_msg("no '%s' in:\n%s", line, (const char *)buf.data);
}

static void
test_waits_are_told_by_their_cause(void **state)
{
	struct tally t = { 0 };

	(void)state;
	tally_waited(&t, WAITING_QUOTA, 3 * SECOND);
	tally_waited(&t, WAITING_QUOTA, 4 * SECOND);
	tally_waited(&t, "Strange", SECOND);
	expect(&t, "ferry_migration_wait_seconds_count{cause=\"ResourceQuota\"}"
		   " 2");
	expect(&t, "ferry_migration_wait_seconds_sum{cause=\"ResourceQuota\"} "
		   "7");
	expect(&t, "ferry_migration_wait_seconds_count{cause=\"Other\"} 1");
}

static void
test_phases_have_a_time_until_and_a_time_within(void **state)
{
	struct tally t = { 0 };

	(void)state;
	tally_phase_reached(&t, MIGRATION_SCHEDULING, 2 * SECOND);
	tally_phase_left(&t, MIGRATION_PENDING, SECOND);
	expect(&t, "kubevirt_vmi_migration_phase_transition_time_from_creation_"
		   "seconds_bucket{phase=\"Scheduling\",le=\"2.5\"} 1");
	expect(&t, "ferry_migration_phase_seconds_sum{phase=\"Pending\"} 1");
}

static void
test_the_end_tells_transfer_and_downtime(void **state)
{
	AUTO(js_unref)
	json_t *status = json_pack(
		"{s:s, s:{s:s, s:s, s:{s:i, s:i}}}", "phase", "Succeeded",
		"migrationState", "startTimestamp", "2026-11-16T12:00:00Z",
		"endTimestamp", "2026-11-16T12:00:05Z", "progress",
		"downtimeMs", 250, "blackoutMs", 125);
	struct tally t = { 0 };

	(void)state;
	tally_result(&t, status, 8 * SECOND);
	expect(&t, "ferry_migration_seconds_sum{result=\"succeeded\"} 8");
	expect(&t, "ferry_migration_transfer_seconds_sum 5");
	expect(&t, "ferry_migration_downtime_seconds_sum 0.25");
	expect(&t, "ferry_migration_downtime_seconds_bucket{le=\"0.2\"} 0");
	expect(&t, "ferry_migration_downtime_seconds_bucket{le=\"0.3\"} 1");
	expect(&t, "ferry_migration_blackout_seconds_sum 0.125");
	expect(&t, "ferry_migration_blackout_seconds_count 1");
}

static void
test_a_failure_or_a_silent_node_has_no_downtime(void **state)
{
	AUTO(js_unref)
	json_t *failed = json_pack("{s:s, s:{s:{s:i, s:i}}}", "phase", "Failed",
				   "migrationState", "progress", "downtimeMs",
				   250, "blackoutMs", 250);
	AUTO(js_unref)
	json_t *silent =
		json_pack("{s:s, s:{s:{s:i}}}", "phase", "Succeeded",
			  "migrationState", "progress", "downtimeMs", 0);
	struct tally t = { 0 };

	(void)state;
	tally_result(&t, failed, SECOND);
	tally_result(&t, silent, SECOND);
	expect(&t, "ferry_migration_seconds_count{result=\"failed\"} 1");
	expect(&t, "ferry_migration_seconds_count{result=\"succeeded\"} 1");
	expect(&t, "ferry_migration_downtime_seconds_count 0");
	expect(&t, "ferry_migration_blackout_seconds_count 0");
	expect(&t, "ferry_migration_transfer_seconds_count 0");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_waits_are_told_by_their_cause),
		cmocka_unit_test(
			test_phases_have_a_time_until_and_a_time_within),
		cmocka_unit_test(test_the_end_tells_transfer_and_downtime),
		cmocka_unit_test(
			test_a_failure_or_a_silent_node_has_no_downtime),
	};

	return cmocka_run_group_tests_name("tally", tests, NULL, NULL);
}
