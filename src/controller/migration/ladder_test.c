/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/migration/ladder.h"

#include <string.h>

#include "api/names.h"
#include "base/array.h"
#include "base/test.h"
#include "controller/migration/testdecide.h"

static char text_x[] = "x";
static char abort_cond[] = COND_ABORT_REQUESTED;
static char live_cond[] = COND_LIVE_MIGRATABLE;
static char canceled_reason[] = FAILURE_CANCELED;

/* One setting for each row of the ladder. */

static void
set_machine_gone(void)
{
	t.f.vmi = NULL;
}

static void
set_machine_ended(void)
{
	t.vmi.phase = VMI_SUCCEEDED;
}

static void
set_decentralized(void)
{
	t.vmim.receive_id = text_x;
}

static void
set_target_ended(void)
{
	t.target.phase = POD_FAILED;
	t.target.ready = false;
}

static void
set_target_removed(void)
{
	t.f.target_pod = NULL;
}

static void
set_state_cleared(void)
{
	t.vmi.migration = NULL;
}

static void
set_state_taken(void)
{
	t.state.uid = text_x;
}

static void
set_node_failed(void)
{
	t.state.failed = t.state.completed = true;
}

static void
set_rival(void)
{
	(void)testfacts_other(&t, -5, MIGRATION_PENDING, -5);
}

static void
set_not_migratable(void)
{
	static struct cond cond;

	cond = (struct cond){ .type = live_cond,
			      .status = COND_FALSE,
			      .reason = text_x,
			      .message = text_x };
	t.vmi.conds.list = &cond;
	t.vmi.conds.len = 1;
}

static void
set_canceled_unstarted(void)
{
	cancel();
	t.state.abort_requested = true;
}

static void
set_utility_late(void)
{
	t.vmi.utility_volumes = true;
	later(CONFIG_UTILITY_TIMEOUT_S);
}

static void
set_unschedulable_late(void)
{
	t.target.unschedulable = true;
	later(CONFIG_UNSCHEDULABLE_TIMEOUT_S);
}

static void
set_pending_late(void)
{
	later(CONFIG_PENDING_TIMEOUT_S);
}

static void
set_phase_late(void)
{
	later(CONFIG_PREPARING_TIMEOUT_S);
}

static void
set_abort_late(void)
{
	testfacts_cond(&t, abort_cond, canceled_reason);
	t.state.abort_requested = true;
	cancel();
	later(FACTS_ABORT_ANSWER_S);
}

static const struct {
	const char *rung;
	enum migration_phase phase;
	void (*set)(void);
	const char *code;
	const char *event;
} failures[] = {
	{ "machine-gone", MIGRATION_PENDING, set_machine_gone, "MachineGone",
	  "Migration failed because vmi does not exist." },
	{ "machine-ended", MIGRATION_RUNNING, set_machine_ended, "MachineEnded",
	  "Migration failed vmi shutdown during migration." },
	{ "decentralized", MIGRATION_UNSET, set_decentralized,
	  "DecentralizedUnsupported",
	  "Migration failed because migrations between namespaces or clusters "
	  "are not supported" },
	{ "canceled", MIGRATION_SCHEDULED, cancel, "Canceled",
	  "Migration failed due to being canceled" },
	{ "target-ended", MIGRATION_PREPARING_TARGET, set_target_ended,
	  "TargetPodEnded",
	  "Migration failed because target pod shutdown during migration" },
	{ "target-removed", MIGRATION_SCHEDULING, set_target_removed,
	  "TargetPodRemoved",
	  "Migration target pod was removed during active migration." },
	{ "state-cleared", MIGRATION_TARGET_READY, set_state_cleared,
	  "StateCleared",
	  "VMI's migration state was cleared during the active migration." },
	{ "state-taken", MIGRATION_RUNNING, set_state_taken, "StateTaken",
	  "VMI's migration state was taken over by another migration job "
	  "during active migration." },
	{ "node-failed", MIGRATION_RUNNING, set_node_failed, "ReportedByNode",
	  "source node reported migration failed" },
	{ "rival", MIGRATION_UNSET, set_rival, "AnotherMigration",
	  "VMI is not eligible for migration because another migration job is "
	  "in progress." },
	{ "not-migratable", MIGRATION_PENDING, set_not_migratable,
	  "NotMigratable",
	  "Migration failed because the machine cannot be migrated" },
	{ "canceled-unstarted", MIGRATION_TARGET_READY, set_canceled_unstarted,
	  "Canceled", "Migration failed due to being canceled" },
	{ "utility-late", MIGRATION_PENDING, set_utility_late,
	  "UtilityVolumesTimeout",
	  "Migration failed because utility volumes were not detached in "
	  "time" },
	{ "unschedulable-late", MIGRATION_SCHEDULING, set_unschedulable_late,
	  "UnschedulableTimeout",
	  "Migration target pod was removed during active migration." },
	{ "pending-late", MIGRATION_SCHEDULING, set_pending_late,
	  "PendingPodTimeout",
	  "Migration target pod was removed during active migration." },
	{ "scheduled-late", MIGRATION_SCHEDULED, set_phase_late,
	  "ScheduledTimeout",
	  "Migration failed because it could not be handed to the nodes in "
	  "time" },
	{ "preparing-late", MIGRATION_PREPARING_TARGET, set_phase_late,
	  "PreparingTargetTimeout",
	  "Migration failed because the target node did not prepare in time" },
	{ "ready-late", MIGRATION_TARGET_READY, set_phase_late,
	  "TargetReadyTimeout",
	  "Migration failed because the source node did not start it in "
	  "time" },
	{ "abort-late", MIGRATION_RUNNING, set_abort_late, "AbortTimeout",
	  "Migration failed because the source node did not answer the request "
	  "to abort in time" },
};

static void
test_each_rung_fails_with_its_code_and_text(void **state)
{
	size_t count;
	const struct rung *ladder = ladder_all(&count);

	(void)state;
	assert_int_equal(count, ARRAY_LEN(failures));
	for (size_t i = 0; i < ARRAY_LEN(failures); i++) {
		assert_string_equal(failures[i].rung, ladder[i].name);
		testfacts_in(&t, failures[i].phase);
		failures[i].set();
		run();
		assert_string_equal(d.rule, failures[i].rung);
		assert_int_equal(d.phase, MIGRATION_FAILED);
		assert_int_equal(d.passed_count, 1);
		expect_cond(COND_FAILURE, failures[i].code);
		expect_event(0, false, "FailedMigration", failures[i].event);
		assert_true(d.events[0].warning);
	}
}

static void
test_rungs_that_a_late_cache_explains_ask_first(void **state)
{
	size_t count;
	const struct rung *ladder = ladder_all(&count);

	(void)state;
	for (size_t i = 0; i < count; i++) {
		testfacts_in(&t, failures[i].phase);
		failures[i].set();
		t.f.confirmed = false;
		run();
		assert_int_equal(d.confirm, ladder[i].confirm);
		assert_int_equal(d.phase, ladder[i].confirm ? failures[i].phase
							    : MIGRATION_FAILED);
		if (d.confirm)
			assert_false(decision_changes_status(&d));
	}
}

static void
test_nothing_is_late_a_moment_too_soon(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(failures); i++) {
		if (strstr(failures[i].rung, "-late") == NULL)
			continue;
		testfacts_in(&t, failures[i].phase);
		t.vmim.phase_since_us[t.vmim.phase] = TESTFACTS_NOW_US;
		failures[i].set();
		t.f.now_us =
			TESTFACTS_NOW_US + (t.f.now_us - TESTFACTS_NOW_US) / 3;
		run();
		assert_int_not_equal(d.phase, MIGRATION_FAILED);
	}
}

static void
test_deadlines_can_be_set_or_taken_away(void **state)
{
	(void)state;
	testfacts_in(&t, MIGRATION_PREPARING_TARGET);
	t.vmim.deadlines.preparing_s = 5;
	later(4);
	run();
	assert_string_equal(d.rule, "preparing-late");
	testfacts_in(&t, MIGRATION_PREPARING_TARGET);
	t.vmim.deadlines.preparing_s = 0;
	later(1000000);
	run();
	assert_int_equal(d.phase, MIGRATION_PREPARING_TARGET);
	assert_int_equal(d.again_us, DECISION_NEVER);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_rung_fails_with_its_code_and_text),
		cmocka_unit_test(
			test_rungs_that_a_late_cache_explains_ask_first),
		cmocka_unit_test(test_nothing_is_late_a_moment_too_soon),
		cmocka_unit_test(test_deadlines_can_be_set_or_taken_away),
	};

	return cmocka_run_group_tests_name("ladder", tests, NULL, NULL);
}
