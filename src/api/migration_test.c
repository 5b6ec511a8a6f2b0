/* SPDX-License-Identifier: Apache-2.0 */
#include "api/migration.h"

#include <stdio.h>

#include "api/testjson.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "meta/time.h"

static void
state_unref(struct migration_state **pointer)
{
	migration_state_free(*pointer);
}

static struct migration_state *
state_of(const char *text)
{
	AUTO(js_unref) json_t *obj = testjson(text);

	return migration_state_decode(obj);
}

static void
test_phases_have_names_and_orders(void **state)
{
	enum migration_phase phase;
	struct err err;

	(void)state;
	for (enum migration_phase p = 0; p < MIGRATION_PHASE_COUNT; p++) {
		assert_int_equal(migration_phase_parse(migration_phase_name(p),
						       &phase, &err),
				 0);
		assert_int_equal(phase, p);
		/* What is handed off runs, what is final does neither. */
		if (migration_phase_is_handed_off(p))
			assert_true(migration_phase_is_running(p));
		if (migration_phase_is_final(p))
			assert_false(migration_phase_is_running(p));
	}
	assert_int_equal(migration_phase_parse("pending", &phase, &err), -1);
	assert_false(migration_phase_is_running(MIGRATION_PENDING));
	assert_true(migration_phase_is_running(MIGRATION_SCHEDULING));
	assert_false(migration_phase_is_handed_off(MIGRATION_SCHEDULED));
	assert_true(migration_phase_is_handed_off(MIGRATION_PREPARING_TARGET));
}

static void
test_priorities_have_names(void **state)
{
	(void)state;
	for (enum migration_priority p = 0; p < PRIORITY_COUNT; p++)
		assert_int_equal(
			migration_priority_parse(migration_priority_name(p)),
			p);
	assert_int_equal(migration_priority_parse("x"), PRIORITY_UNSET);
}

static void
test_a_state_is_decoded_and_kept_as_text(void **state)
{
	static const char text[] =
		"{'migrationUid': 'u', 'sourceNode': 'n1', 'sourcePod': 'p1', "
		"'targetNode': 'n2', 'targetPod': 'p2', "
		"'migrationPolicyName': 'pol', 'abortRequested': true, "
		"'targetNodeAddress': '10.0.0.2', "
		"'targetDirectMigrationNodePorts': {'41023': 0, '38111': "
		"49152, '37507': 49153}, 'targetNodeDomainDetected': true, "
		"'targetNodeDomainReadyTimestamp': '1970-01-01T00:00:04Z', "
		"'startTimestamp': '1970-01-01T00:00:02Z', 'endTimestamp': "
		"'1970-01-01T00:00:05Z', 'completed': true, 'failed': true, "
		"'failureReason': 'why', 'abortStatus': 'Succeeded', 'mode': "
		"'PostCopy', 'sourceState': {'migrationUID': 's'}}";
	AUTO(state_unref) struct migration_state *got = state_of(text);
	AUTO(js_unref) json_t *whole = testjson(text);
	AUTO(js_unref) json_t *kept = testjson(got->text);

	(void)state;
	assert_string_equal(got->uid, "u");
	assert_string_equal(got->source_node, "n1");
	assert_string_equal(got->target_pod, "p2");
	assert_string_equal(got->policy_name, "pol");
	assert_true(got->abort_requested && got->domain_detected);
	assert_int_equal(got->port_count, 3);
	for (size_t i = 0; i < got->port_count; i++) {
		if (got->ports[i].port == 38111)
			assert_int_equal(got->ports[i].channel, 49152);
	}
	assert_int_equal(got->domain_ready_us, 4 * TIME_US_PER_SECOND);
	assert_true(got->completed && got->failed);
	assert_string_equal(got->failure_reason, "why");
	assert_int_equal(got->abort_status, ABORT_SUCCEEDED);
	assert_int_equal(got->mode, MODE_POST_COPY);
	assert_string_equal(got->source_state_uid, "s");
	assert_string_equal(got->target_state_uid, "");
	assert_true(json_equal(whole, kept));
}

static void
test_a_transfer_is_active_between_its_times(void **state)
{
	AUTO(state_unref)
	struct migration_state *done =
		state_of("{'startTimestamp': '1970-01-01T00:00:02Z', "
			 "'endTimestamp': '1970-01-01T00:00:05Z'}");
	AUTO(state_unref)
	struct migration_state *going =
		state_of("{'startTimestamp': '1970-01-01T00:00:02Z'}");
	AUTO(state_unref) struct migration_state *waiting = state_of("{}");

	(void)state;
	assert_false(migration_state_is_active(NULL, 1));
	assert_false(
		migration_state_is_active(waiting, 9 * TIME_US_PER_SECOND));
	assert_false(migration_state_is_active(going, TIME_US_PER_SECOND));
	assert_true(migration_state_is_active(going, 2 * TIME_US_PER_SECOND));
	assert_true(migration_state_is_active(done, 4 * TIME_US_PER_SECOND));
	assert_false(migration_state_is_active(done, 5 * TIME_US_PER_SECOND));
}

static void
test_ports_that_make_no_sense_are_none_and_harm_nothing_else(void **state)
{
	static const char *const wrong[] = {
		"{'0': 0}",  "{'65536': 0}",    "{'x': 0}", "{'1': 'x'}",
		"{'1': -1}", "{'1': 0, '': 1}", "[1]",      "'x'",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		AUTO(js_unref)
		json_t *obj = testjson("{'migrationUid': 'u'}");
		AUTO(state_unref) struct migration_state *got = NULL;

		(void)json_object_set_new(obj, "targetDirectMigrationNodePorts",
					  testjson(wrong[i]));
		got = migration_state_decode(obj);
		assert_true(got->ports_bad);
		assert_int_equal(got->port_count, 0);
		assert_string_equal(got->uid, "u");
	}
}

static void
test_too_many_ports_are_none(void **state)
{
	AUTO(js_unref)
	json_t *obj = testjson("{'targetDirectMigrationNodePorts': {}}");

	(void)state;
	for (int port = 1; port <= MIGRATION_PORTS_MAX + 1; port++) {
		AUTO(state_unref) struct migration_state *got = NULL;
		bool many = port > MIGRATION_PORTS_MAX;
		char text[16];

		(void)snprintf(text, sizeof(text), "%d", port);
		(void)json_object_set_new(
			js_obj_at(obj, "targetDirectMigrationNodePorts"), text,
			json_integer(0));
		got = migration_state_decode(obj);
		assert_int_equal(got->ports_bad, many);
		assert_int_equal(got->port_count, many ? 0 : (size_t)port);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_phases_have_names_and_orders),
		cmocka_unit_test(test_priorities_have_names),
		cmocka_unit_test(test_a_state_is_decoded_and_kept_as_text),
		cmocka_unit_test(test_a_transfer_is_active_between_its_times),
		cmocka_unit_test(
			test_ports_that_make_no_sense_are_none_and_harm_nothing_else),
		cmocka_unit_test(test_too_many_ports_are_none),
	};

	return cmocka_run_group_tests_name("migration", tests, NULL, NULL);
}
