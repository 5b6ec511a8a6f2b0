/* SPDX-License-Identifier: Apache-2.0 */
#include "handler/meter.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/test.h"
#include "launchrpc/record.h"

#define BEGAN INT64_C(1700000000000000)
#define TEXT_MAX (1024UL * 1024)

static char uid_a[] = "a", uid_b[] = "b";

static struct launch_record
record(char *uid, enum launch_role role, bool failed)
{
	return (struct launch_record){
		.uid = uid,
		.role = role,
		.start_us = BEGAN,
		.end_us = BEGAN + 4000000,
		.completed = true,
		.failed = failed,
		.progress = { .bytes_total = 1000,
			      .bytes_remaining = 300,
			      .bytes_processed = 700,
			      .dirty_rate_bytes_per_second = 50,
			      .rate_bytes_per_second = 100,
			      .downtime_ms = 40,
			      .blackout_ms = 30 },
	};
}

static void
expect(const struct buf *buf, const char *line)
{
	AUTO(free_ptr) char *wanted = NULL;

	assert_int_not_equal(asprintf(&wanted, "\n%s\n", line), -1);
	if (strstr((const char *)buf->data, wanted) == NULL)
		fail_msg("no '%s' in:\n%s", line, (const char *)buf->data);
}

static void
test_a_migration_is_counted_once_when_it_is_over(void **state)
{
	struct launch_record r = record(uid_a, LAUNCH_SOURCE, false);
	AUTO(free_ptr) char *counted = NULL;
	struct meter m = { 0 };

	(void)state;
	r.completed = false;
	meter_record(&m, &r, &counted);
	assert_int_equal(m.downtimes.count, 0);
	r.completed = true;
	meter_record(&m, &r, &counted);
	meter_record(&m, &r, &counted);
	assert_int_equal(m.downtimes.count, 1);
	assert_true(m.downtimes.sum == 0.04);
	assert_int_equal(m.blackouts.count, 1);
	assert_true(m.blackouts.sum == 0.03);
	assert_int_equal(m.times[LAUNCH_SOURCE][METER_SUCCEEDED].count, 1);
	assert_true(m.times[LAUNCH_SOURCE][METER_SUCCEEDED].sum == 4);
	r.uid = uid_b;
	meter_record(&m, &r, &counted);
	assert_int_equal(m.downtimes.count, 2);
	/* Which is not known. */
	r.uid = uid_a;
	r.progress.downtime_ms = 0;
	r.progress.blackout_ms = 0;
	meter_record(&m, &r, &counted);
	assert_int_equal(m.downtimes.count, 2);
	assert_int_equal(m.blackouts.count, 2);
}

static void
test_one_that_failed_or_arrived_has_no_downtime(void **state)
{
	struct launch_record failed = record(uid_a, LAUNCH_SOURCE, true);
	struct launch_record arrived = record(uid_b, LAUNCH_TARGET, false);
	AUTO(free_ptr) char *counted = NULL;
	struct meter m = { 0 };

	(void)state;
	meter_record(&m, &failed, &counted);
	meter_record(&m, &arrived, &counted);
	assert_int_equal(m.times[LAUNCH_SOURCE][METER_FAILED].count, 1);
	assert_int_equal(m.times[LAUNCH_TARGET][METER_SUCCEEDED].count, 1);
	assert_int_equal(m.downtimes.count, 0);
	assert_int_equal(m.blackouts.count, 0);
}

static void
test_what_ended_before_the_handler_began_is_not_counted(void **state)
{
	struct launch_record r = record(uid_a, LAUNCH_SOURCE, false);
	AUTO(free_ptr) char *counted = NULL;
	struct meter m = { .since_us = r.end_us + 1 };

	(void)state;
	meter_record(&m, &r, &counted);
	assert_int_equal(m.times[LAUNCH_SOURCE][METER_SUCCEEDED].count, 0);
}

static void
test_only_machines_that_leave_have_kubevirts_numbers(void **state)
{
	struct launch_record leaves = record(uid_a, LAUNCH_SOURCE, false);
	struct launch_record comes = record(uid_a, LAUNCH_TARGET, false);
	struct launch_record left = record(uid_a, LAUNCH_SOURCE, false);
	const struct meter_machine machines[] = {
		{ "ns", "one", true, VMI_RUNNING, &leaves },
		{ "ns", "two", false, VMI_RUNNING, &comes },
		{ "ns", "three", false, VMI_RUNNING, &left },
		{ "ns", "four", true, VMI_SCHEDULED, NULL },
	};
	AUTO(buf_done) struct buf buf = BUF_INIT(TEXT_MAX);
	struct meter m = { 0 };

	(void)state;
	leaves.completed = comes.completed = false;
	m.step_failures[STEP_SYNC] = 2;
	assert_int_equal(meter_write(&m, "n1", machines, 4, &buf), 0);
	expect(&buf, "kubevirt_vmi_migration_data_bytes_total{namespace=\"ns\","
		     "name=\"one\",node=\"n1\"} 1000");
	expect(&buf, "kubevirt_vmi_migration_data_remaining_bytes{namespace="
		     "\"ns\",name=\"one\",node=\"n1\"} 300");
	expect(&buf, "kubevirt_vmi_migration_data_processed_bytes{namespace="
		     "\"ns\",name=\"one\",node=\"n1\"} 700");
	expect(&buf, "kubevirt_vmi_migration_dirty_memory_rate_bytes{namespace="
		     "\"ns\",name=\"one\",node=\"n1\"} 50");
	expect(&buf, "kubevirt_vmi_migration_memory_transfer_rate_bytes{"
		     "namespace=\"ns\",name=\"one\",node=\"n1\"} 100");
	assert_null(strstr((char *)buf.data, "\"two\""));
	assert_null(strstr((char *)buf.data, "\"three\""));
	expect(&buf, "ferry_handler_machines{phase=\"Running\"} 1");
	expect(&buf, "ferry_handler_machines{phase=\"Scheduled\"} 1");
	expect(&buf, "ferry_handler_step_failures_total{step=\"sync\"} 2");
	expect(&buf, "ferry_handler_migration_downtime_seconds_count 0");
	expect(&buf, "ferry_handler_migration_blackout_seconds_count 0");
}

static void
test_a_full_buffer_is_told(void **state)
{
	struct meter m = { 0 };

	(void)state;
	for (size_t limit = 0; limit < 4096; limit += 97) {
		AUTO(buf_done) struct buf buf = BUF_INIT(limit);

		assert_int_equal(meter_write(&m, "n1", NULL, 0, &buf), -1);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_a_migration_is_counted_once_when_it_is_over),
		cmocka_unit_test(
			test_one_that_failed_or_arrived_has_no_downtime),
		cmocka_unit_test(
			test_what_ended_before_the_handler_began_is_not_counted),
		cmocka_unit_test(
			test_only_machines_that_leave_have_kubevirts_numbers),
		cmocka_unit_test(test_a_full_buffer_is_told),
	};

	return cmocka_run_group_tests_name("meter", tests, NULL, NULL);
}
