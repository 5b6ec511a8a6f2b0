/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/machine/decide.h"

#include "api/testjson.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "controller/machine/testmachine.h"

#define DELETED "'deletionTimestamp': '1970-01-01T00:16:00Z', "
#define STOP(uid) \
	"'stateChangeRequests': [{'action': 'Stop', 'uid': '" uid "'}], "
#define START "'stateChangeRequests': [{'action': 'Start'}], "
#define START_PAUSED                                                      \
	"'stateChangeRequests': [{'action': 'Start', 'data': {'paused': " \
	"'true'}}], "
#define RESTART(uid)                                                     \
	"'stateChangeRequests': [{'action': 'Stop', 'uid': '" uid "'}, " \
	"{'action': 'Start'}], "
#define BACKOFF                                                            \
	"'startFailure': {'consecutiveFailCount': 2, 'lastFailedVMIUID': " \
	"'u', 'retryAfterTimestamp': '1970-01-01T00:17:00Z'}, "
#define FOLLOWS(strategy) "'runStrategy': '" strategy "', "

struct row {
	struct testmachine_case with;
	enum machine_action action;
	const char *rule;
};

static void
check(const struct row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct testmachine t;
		struct machine_decision d;

		testmachine_open(&t, &rows[i].with);
		machine_decide(&t.facts, &d);
		if (d.action != rows[i].action)
			fail_msg("row %zu: %s, not %s", i,
				 machine_action_name(d.action),
				 machine_action_name(rows[i].action));
		assert_string_equal(d.rule, rows[i].rule);
		assert_false(d.confirm);
		machine_decision_done(&d);
		/* Nothing is begun on the word of a cache. */
		t.facts.confirmed = false;
		machine_decide(&t.facts, &d);
		assert_int_equal(d.action, MACHINE_NOTHING);
		if (rows[i].action != MACHINE_NOTHING) {
			assert_true(d.confirm);
			assert_null(d.patch);
			assert_false(d.release);
		}
		machine_decision_done(&d);
		testmachine_close(&t);
	}
}

static void
test_always_keeps_an_instance_running(void **state)
{
	static const struct row rows[] = {
		{ { .strategy = "Always" }, MACHINE_START, "always" },
		{ { .strategy = "Always", .phase = "" },
		  MACHINE_NOTHING,
		  "as-it-is" },
		{ { .strategy = "Always", .phase = "Running" },
		  MACHINE_NOTHING,
		  "as-it-is" },
		{ { .strategy = "Always", .phase = "Succeeded" },
		  MACHINE_STOP,
		  "ended" },
		{ { .strategy = "Always", .phase = "Failed" },
		  MACHINE_STOP,
		  "ended" },
		{ { .strategy = "Always",
		    .phase = "Failed",
		    .vmi_metadata = DELETED },
		  MACHINE_NOTHING,
		  "ended" },
		{ { .strategy = "Always",
		    .status = STOP("v"),
		    .phase = "Running" },
		  MACHINE_STOP,
		  "asked-to-stop" },
		{ { .strategy = "Always",
		    .status = RESTART("v"),
		    .phase = "Running" },
		  MACHINE_STOP,
		  "asked-to-stop" },
		{ { .strategy = "Always",
		    .status = STOP("other"),
		    .phase = "Running" },
		  MACHINE_NOTHING,
		  "as-it-is" },
		{ { .strategy = "Always", .status = BACKOFF },
		  MACHINE_NOTHING,
		  "backoff" },
	};

	(void)state;
	check(rows, ARRAY_LEN(rows));
}

static void
test_halted_stops_whatever_there_is(void **state)
{
	static const struct row rows[] = {
		{ { .strategy = "Halted" }, MACHINE_NOTHING, "as-it-is" },
		{ { .strategy = "Halted", .phase = "Running" },
		  MACHINE_STOP,
		  "halted" },
		{ { .strategy = "Halted", .phase = "Failed" },
		  MACHINE_STOP,
		  "halted" },
		{ { .strategy = "Halted",
		    .phase = "Running",
		    .vmi_metadata = DELETED },
		  MACHINE_NOTHING,
		  "halted" },
		{ { .strategy = "Halted", .status = START_PAUSED },
		  MACHINE_SET_ALWAYS,
		  "asked-to-start" },
	};

	(void)state;
	check(rows, ARRAY_LEN(rows));
}

static void
test_manual_does_as_it_is_asked(void **state)
{
	static const struct row rows[] = {
		{ { .strategy = "Manual" }, MACHINE_NOTHING, "as-it-is" },
		{ { .strategy = "Manual", .status = START },
		  MACHINE_START,
		  "asked-to-start" },
		{ { .strategy = "Manual", .status = RESTART("v") },
		  MACHINE_START,
		  "asked-to-start" },
		{ { .strategy = "Manual", .status = BACKOFF START },
		  MACHINE_START,
		  "asked-to-start" },
		{ { .strategy = "Manual", .phase = "Running" },
		  MACHINE_NOTHING,
		  "as-it-is" },
		{ { .strategy = "Manual", .phase = "Failed" },
		  MACHINE_NOTHING,
		  "as-it-is" },
		{ { .strategy = "Manual", .status = START, .phase = "Running" },
		  MACHINE_NOTHING,
		  "as-it-is" },
		{ { .strategy = "Manual",
		    .status = STOP("v"),
		    .phase = "Running" },
		  MACHINE_STOP,
		  "asked-to-stop" },
		{ { .strategy = "Manual",
		    .status = RESTART("v"),
		    .phase = "Running" },
		  MACHINE_STOP,
		  "asked-to-stop" },
		{ { .strategy = "Manual",
		    .status = STOP("other"),
		    .phase = "Running" },
		  MACHINE_NOTHING,
		  "as-it-is" },
	};

	(void)state;
	check(rows, ARRAY_LEN(rows));
}

static void
test_rerun_on_failure_starts_again_what_has_failed(void **state)
{
	static const struct row rows[] = {
		{ { .strategy = "RerunOnFailure" }, MACHINE_START, "rerun" },
		{ { .strategy = "RerunOnFailure",
		    .status = FOLLOWS("RerunOnFailure") },
		  MACHINE_NOTHING,
		  "as-it-is" },
		{ { .strategy = "RerunOnFailure", .status = FOLLOWS("Halted") },
		  MACHINE_START,
		  "rerun" },
		{ { .strategy = "RerunOnFailure",
		    .status = FOLLOWS("RerunOnFailure") START },
		  MACHINE_START,
		  "rerun" },
		{ { .strategy = "RerunOnFailure",
		    .status = FOLLOWS("RerunOnFailure") START BACKOFF },
		  MACHINE_NOTHING,
		  "backoff" },
		{ { .strategy = "RerunOnFailure", .phase = "Running" },
		  MACHINE_NOTHING,
		  "as-it-is" },
		{ { .strategy = "RerunOnFailure", .phase = "Failed" },
		  MACHINE_NOTHING,
		  "failed" },
		{ { .strategy = "RerunOnFailure",
		    .status = START,
		    .phase = "Failed" },
		  MACHINE_STOP,
		  "ended" },
		{ { .strategy = "RerunOnFailure", .phase = "Succeeded" },
		  MACHINE_STOP,
		  "ended" },
		{ { .strategy = "RerunOnFailure",
		    .phase = "Failed",
		    .vmi_metadata = DELETED },
		  MACHINE_NOTHING,
		  "as-it-is" },
		{ { .strategy = "RerunOnFailure",
		    .status = STOP("v"),
		    .phase = "Running" },
		  MACHINE_STOP,
		  "asked-to-stop" },
	};
	struct testmachine t;
	struct machine_decision d;

	(void)state;
	check(rows, ARRAY_LEN(rows));
	/* Written down before the instance is deleted. */
	testmachine_open(&t, &rows[6].with);
	machine_decide(&t.facts, &d);
	assert_int_equal(json_array_size(js_arr_at(
				 d.patch, "status.stateChangeRequests")),
			 1);
	machine_decision_done(&d);
	testmachine_close(&t);
}

static void
test_once_leaves_what_has_ended(void **state)
{
	static const struct row rows[] = {
		{ { .strategy = "Once" }, MACHINE_START, "once" },
		{ { .strategy = "Once", .phase = "Running" },
		  MACHINE_NOTHING,
		  "as-it-is" },
		{ { .strategy = "Once", .phase = "Succeeded" },
		  MACHINE_NOTHING,
		  "as-it-is" },
		{ { .strategy = "Once", .phase = "Failed" },
		  MACHINE_NOTHING,
		  "as-it-is" },
	};

	(void)state;
	check(rows, ARRAY_LEN(rows));
}

static void
test_a_deleted_machine_goes_after_its_instance(void **state)
{
	static const struct row rows[] = {
		{ { .strategy = "Always",
		    .metadata = DELETED,
		    .phase = "Running" },
		  MACHINE_STOP,
		  "deleted" },
		{ { .strategy = "Always",
		    .metadata = DELETED,
		    .phase = "Running",
		    .vmi_metadata = DELETED },
		  MACHINE_NOTHING,
		  "deleted" },
		{ { .strategy = "Always", .metadata = DELETED },
		  MACHINE_DROP_FINALIZER,
		  "gone" },
	};
	struct testmachine t;
	struct machine_decision d;

	(void)state;
	check(rows, ARRAY_LEN(rows));
	testmachine_open(&t, &rows[0].with);
	t.vm->orphans = true;
	machine_decide(&t.facts, &d);
	assert_int_equal(d.action, MACHINE_DROP_FINALIZER);
	machine_decision_done(&d);
	testmachine_close(&t);
}

static void
test_finalizer_and_ownership_come_first(void **state)
{
	static const struct testmachine_case halted = { .strategy = "Halted" };
	static const struct testmachine_case running = { .strategy = "Halted",
							 .phase = "Running" };
	struct testmachine t;
	struct machine_decision d;

	(void)state;
	testmachine_open(&t, &halted);
	t.vm->has_finalizer = false;
	machine_decide(&t.facts, &d);
	assert_int_equal(d.action, MACHINE_ADD_FINALIZER);
	machine_decision_done(&d);
	testmachine_close(&t);
	testmachine_open(&t, &running);
	t.facts.bond = BOND_LOOSE;
	machine_decide(&t.facts, &d);
	assert_int_equal(d.action, MACHINE_ADOPT);
	machine_decision_done(&d);
	testmachine_close(&t);
}

static void
test_anothers_instance_is_left_alone(void **state)
{
	static const struct testmachine_case always = { .strategy = "Always" };
	struct testmachine t;
	struct machine_decision d;

	(void)state;
	testmachine_open(&t, &always);
	t.facts.bond = BOND_FOREIGN;
	machine_decide(&t.facts, &d);
	assert_int_equal(d.action, MACHINE_NOTHING);
	assert_non_null(d.patch);
	machine_decision_done(&d);
	testmachine_close(&t);
}

static void
test_what_failed_waits_and_is_said(void **state)
{
	static const struct testmachine_case always = { .strategy = "Always" };
	struct testmachine t;
	struct machine_decision d;

	(void)state;
	testmachine_open(&t, &always);
	t.facts.failure = (struct machine_failure){ "FailedCreate", "no",
						    TEST_NOW_US + 5 };
	machine_decide(&t.facts, &d);
	assert_int_equal(d.action, MACHINE_NOTHING);
	assert_true(d.fails);
	assert_int_equal(d.again_us, TEST_NOW_US + 5);
	assert_non_null(js_find(js_arr_at(d.patch, "status.conditions"),
				"reason", "FailedCreate"));
	machine_decision_done(&d);
	t.facts.now_us += 5;
	machine_decide(&t.facts, &d);
	assert_int_equal(d.action, MACHINE_START);
	machine_decision_done(&d);
	/* A failure to stop is no reason not to start. */
	t.facts.failure.reason = "FailedDelete";
	t.facts.now_us -= 5;
	machine_decide(&t.facts, &d);
	assert_int_equal(d.action, MACHINE_START);
	machine_decision_done(&d);
	testmachine_close(&t);
}

static void
test_a_start_can_be_asked_for_with_the_guest_paused(void **state)
{
	static const struct testmachine_case paused = { .strategy = "Manual",
							.status =
								START_PAUSED };
	static const struct testmachine_case plain = { .strategy = "Manual",
						       .status = START };
	struct testmachine t;
	struct machine_decision d;

	(void)state;
	testmachine_open(&t, &paused);
	machine_decide(&t.facts, &d);
	assert_true(d.paused);
	machine_decision_done(&d);
	testmachine_close(&t);
	testmachine_open(&t, &plain);
	machine_decide(&t.facts, &d);
	assert_false(d.paused);
	machine_decision_done(&d);
	testmachine_close(&t);
}

static void
test_the_end_of_an_instance_is_written_down_before_it_goes(void **state)
{
	static const struct testmachine_case with = { .strategy = "Always",
						      .phase = "Failed",
						      .vmi_metadata = DELETED };
	struct testmachine t;
	struct machine_decision d;

	(void)state;
	testmachine_open(&t, &with);
	machine_decide(&t.facts, &d);
	assert_true(d.release);
	assert_int_equal(js_int_at(d.patch,
				   "status.startFailure.consecutiveFailCount",
				   0),
			 1);
	machine_decision_done(&d);
	testmachine_close(&t);
}

static void
test_a_changed_template_asks_for_a_restart(void **state)
{
	static const struct testmachine_case with = { .strategy = "Always",
						      .phase = "Running" };
	struct testmachine t;
	struct machine_decision d;

	(void)state;
	testmachine_open(&t, &with);
	t.vm->meta.generation = 2;
	t.facts.confirmed = false;
	machine_decide(&t.facts, &d);
	assert_true(d.confirm);
	machine_decision_done(&d);
	t.facts.confirmed = true;
	t.facts.template = TEMPLATE_SAME;
	machine_decide(&t.facts, &d);
	assert_int_equal(d.refresh_generation, 2);
	machine_decision_done(&d);
	t.facts.template = TEMPLATE_CHANGED;
	t.facts.wishes = "evict=true,";
	machine_decide(&t.facts, &d);
	assert_int_equal(d.refresh_generation, 0);
	assert_true(d.refresh_wishes);
	assert_non_null(js_find(js_arr_at(d.patch, "status.conditions"), "type",
				"RestartRequired"));
	machine_decision_done(&d);
	/* Compared once, and not again. */
	t.vm->observed_generation = 1;
	t.vm->desired_generation = 2;
	t.facts.confirmed = false;
	t.facts.template = TEMPLATE_UNKNOWN;
	machine_decide(&t.facts, &d);
	assert_false(d.confirm);
	machine_decision_done(&d);
	testmachine_close(&t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_always_keeps_an_instance_running),
		cmocka_unit_test(test_halted_stops_whatever_there_is),
		cmocka_unit_test(test_manual_does_as_it_is_asked),
		cmocka_unit_test(
			test_rerun_on_failure_starts_again_what_has_failed),
		cmocka_unit_test(test_once_leaves_what_has_ended),
		cmocka_unit_test(
			test_a_deleted_machine_goes_after_its_instance),
		cmocka_unit_test(test_finalizer_and_ownership_come_first),
		cmocka_unit_test(test_anothers_instance_is_left_alone),
		cmocka_unit_test(test_what_failed_waits_and_is_said),
		cmocka_unit_test(
			test_a_start_can_be_asked_for_with_the_guest_paused),
		cmocka_unit_test(
			test_the_end_of_an_instance_is_written_down_before_it_goes),
		cmocka_unit_test(test_a_changed_template_asks_for_a_restart),
	};

	return cmocka_run_group_tests_name("decide", tests, NULL, NULL);
}
