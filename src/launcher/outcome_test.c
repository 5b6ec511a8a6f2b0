/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/outcome.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/mem.h"
#include "base/test.h"

#define NOW INT64_C(1700000000000000)

static struct launch_record
record_new(void)
{
	return (struct launch_record){ .uid = xstrdup("m1"),
				       .message = xstrdup(""),
				       .role = LAUNCH_SOURCE,
				       .mode = LAUNCH_PRE_COPY };
}

static struct outcome
failure(enum virt_fault fault, enum virt_state state, enum virt_why why)
{
	struct outcome o = { .rc = -1,
			     .fault = fault,
			     .seen = true,
			     .look = { .state = state, .why = why } };

	(void)err_set(&o.err, ERR_INTERNAL, "libvirt's words");
	return o;
}

/* What is recorded when libvirtd was away as the call ended. */
static struct launch_record
conclude_unseen(void)
{
	struct launch_record r = record_new();
	struct outcome o =
		failure(VIRT_FAULT_DAEMON, VIRT_PAUSED, VIRT_WHY_UNKNOWN);

	o.seen = false;
	outcome_conclude(&r, &o, NOW);
	return r;
}

/* What is recorded of one that was being aborted, its streams about to be cut.
 */
static struct launch_record
conclude_abort(const struct outcome *o)
{
	struct launch_record r = record_new();

	r.abort = LAUNCH_ABORTING;
	r.cut_streams = true;
	outcome_conclude(&r, o, NOW);
	return r;
}

static void
test_what_an_end_means(void **state)
{
	static const struct {
		enum virt_fault fault;
		enum virt_state state;
		enum virt_why why;
		bool completed, failed;
		enum launch_reason reason;
	} cases[] = {
		/* libvirt says no, the domain says yes */
		{ VIRT_FAULT_LOST, VIRT_OFF, VIRT_WHY_MIGRATED, true, false,
		  LAUNCH_REASON_NONE },
		{ VIRT_FAULT_LOST, VIRT_RUNNING, VIRT_WHY_BOOTED, true, true,
		  LAUNCH_REASON_CONNECTION_LOST },
		{ VIRT_FAULT_SILENT, VIRT_RUNNING, VIRT_WHY_BOOTED, true, true,
		  LAUNCH_REASON_CONNECTION_LOST },
		{ VIRT_FAULT_PEER_QEMU, VIRT_RUNNING, VIRT_WHY_RETURNED, true,
		  true, LAUNCH_REASON_TARGET_LOST },
		{ VIRT_FAULT_LOST, VIRT_OFF, VIRT_WHY_CRASHED, true, true,
		  LAUNCH_REASON_MACHINE_ENDED },
		{ VIRT_FAULT_GONE, VIRT_ABSENT, VIRT_WHY_UNKNOWN, true, true,
		  LAUNCH_REASON_MACHINE_ENDED },
		{ VIRT_FAULT_POST_COPY, VIRT_PAUSED, VIRT_WHY_POST_COPY_FAILED,
		  false, false, LAUNCH_REASON_POST_COPY_FAILED },
		/* the target may run it */
		{ VIRT_FAULT_SILENT, VIRT_RUNNING, VIRT_WHY_RETURNED, false,
		  false, LAUNCH_REASON_UNCONFIRMED },
		{ VIRT_FAULT_DAEMON, VIRT_PAUSED, VIRT_WHY_MIGRATING, false,
		  false, LAUNCH_REASON_UNCONFIRMED },
		/* one whose owner had paused it runs nowhere */
		{ VIRT_FAULT_SILENT, VIRT_PAUSED, VIRT_WHY_USER, true, true,
		  LAUNCH_REASON_CONNECTION_LOST },
		/* libvirtd was started again, and took it back itself */
		{ VIRT_FAULT_DAEMON, VIRT_RUNNING, VIRT_WHY_RETURNED, true,
		  true, LAUNCH_REASON_LIBVIRT_LOST },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct launch_record r = record_new();
		struct outcome o =
			failure(cases[i].fault, cases[i].state, cases[i].why);

		outcome_conclude(&r, &o, NOW);
		assert_int_equal(r.completed, cases[i].completed);
		assert_int_equal(r.failed, cases[i].failed);
		assert_int_equal(r.reason, cases[i].reason);
		assert_int_equal(r.end_us, NOW);
		assert_int_equal(r.message[0] == '\0',
				 cases[i].reason == LAUNCH_REASON_NONE);
		launch_record_done(&r);
	}
}

/* libvirt's reason stays, and would make each later failure one of them. */
static void
test_only_a_guest_that_came_back_misleads(void **state)
{
	const struct virt_look returned = { .state = VIRT_RUNNING,
					    .why = VIRT_WHY_RETURNED };
	const struct virt_look renewed = { .state = VIRT_RUNNING,
					   .why = VIRT_WHY_USER };
	struct outcome o =
		failure(VIRT_FAULT_SILENT, VIRT_RUNNING, VIRT_WHY_USER);

	(void)state;
	assert_true(outcome_misleads(&returned));
	assert_false(outcome_misleads(&renewed));
	assert_false(outcome_is_unconfirmed(&o));
}

static void
test_a_domain_that_was_not_seen_is_unconfirmed(void **state)
{
	struct launch_record r = conclude_unseen();

	(void)state;
	assert_int_equal(r.reason, LAUNCH_REASON_UNCONFIRMED);
	assert_false(r.completed);
	launch_record_done(&r);
}

/* An abort that was asked for does not make it known. */
static void
test_an_abort_does_not_confirm(void **state)
{
	struct outcome o =
		failure(VIRT_FAULT_SILENT, VIRT_RUNNING, VIRT_WHY_RETURNED);
	struct launch_record r;

	(void)state;
	o.abort_reason = LAUNCH_REASON_CANCELED;
	r = conclude_abort(&o);
	assert_int_equal(r.reason, LAUNCH_REASON_UNCONFIRMED);
	assert_int_equal(r.abort, LAUNCH_ABORT_NONE);
	assert_false(r.completed || r.cut_streams);
	launch_record_done(&r);
}

static void
test_what_is_unconfirmed_stands_until_it_is_taken_back(void **state)
{
	const struct virt_look runs = { .state = VIRT_RUNNING,
					.why = VIRT_WHY_RETURNED };
	const struct virt_look stands = { .state = VIRT_PAUSED,
					  .why = VIRT_WHY_USER };
	struct launch_record r = record_new();
	struct outcome o =
		failure(VIRT_FAULT_SILENT, VIRT_RUNNING, VIRT_WHY_RETURNED);

	(void)state;
	assert_int_equal(outcome_wish(&r, &runs), OUTCOME_NOTHING);
	outcome_conclude(&r, &o, NOW);
	assert_int_equal(outcome_wish(&r, &runs), OUTCOME_PAUSE);
	assert_int_equal(outcome_wish(&r, &stands), OUTCOME_NOTHING);
	outcome_follow(&r, &stands, NOW);
	assert_false(r.completed);
	r.abort = LAUNCH_ABORTING;
	assert_int_equal(outcome_wish(&r, &runs), OUTCOME_PAUSE);
	assert_int_equal(outcome_wish(&r, &stands), OUTCOME_RESUME);
	outcome_returned(&r, NOW + 1);
	assert_true(r.completed && r.failed);
	assert_int_equal(r.reason, LAUNCH_REASON_CONNECTION_LOST);
	assert_int_equal(r.abort, LAUNCH_ABORT_SUCCEEDED);
	assert_int_equal(outcome_wish(&r, &stands), OUTCOME_NOTHING);
	launch_record_done(&r);
}

/* What was asked for in vain is neither repeated nor cut for, when it is taken
 * up again. */
static void
test_an_abort_that_post_copy_was_faster_than_has_failed(void **state)
{
	const struct outcome o = failure(VIRT_FAULT_POST_COPY, VIRT_PAUSED,
					 VIRT_WHY_POST_COPY_FAILED);
	struct launch_record r = conclude_abort(&o);

	(void)state;
	assert_int_equal(r.mode, LAUNCH_POST_COPY);
	assert_int_equal(r.abort, LAUNCH_ABORT_FAILED);
	assert_false(r.cut_streams || r.completed);
	launch_record_done(&r);
}

static void
test_half_a_machine_that_is_seen_late_is_not_taken_back(void **state)
{
	const struct virt_look half = { .state = VIRT_PAUSED,
					.why = VIRT_WHY_POST_COPY_FAILED };
	struct launch_record r = conclude_unseen();

	(void)state;
	r.abort = LAUNCH_ABORTING;
	outcome_follow(&r, &half, NOW + 1);
	assert_int_equal(r.reason, LAUNCH_REASON_POST_COPY_FAILED);
	assert_int_equal(r.mode, LAUNCH_POST_COPY);
	assert_int_equal(r.end_us, NOW);
	assert_false(r.completed);
	assert_int_equal(outcome_wish(&r, &half), OUTCOME_NOTHING);
	launch_record_done(&r);
}

static void
test_an_abort_has_the_reason_it_was_asked_for(void **state)
{
	struct launch_record r = record_new();
	struct outcome o =
		failure(VIRT_FAULT_LOST, VIRT_RUNNING, VIRT_WHY_BOOTED);

	(void)state;
	r.abort = LAUNCH_ABORTING;
	o.abort_reason = LAUNCH_REASON_PROGRESS_TIMEOUT;
	outcome_conclude(&r, &o, NOW);
	assert_int_equal(r.reason, LAUNCH_REASON_PROGRESS_TIMEOUT);
	assert_int_equal(r.abort, LAUNCH_ABORT_SUCCEEDED);
	assert_non_null(strstr(r.message, "libvirt's words"));
	launch_record_done(&r);
}

static void
test_a_stalled_one_ends_as_its_domain_does(void **state)
{
	static const struct {
		struct virt_look look;
		bool failed;
	} ends[] = {
		{ { .state = VIRT_OFF, .why = VIRT_WHY_MIGRATED }, false },
		{ { .state = VIRT_ABSENT }, true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		struct launch_record r = record_new();
		struct outcome o = failure(VIRT_FAULT_POST_COPY, VIRT_PAUSED,
					   VIRT_WHY_POST_COPY_FAILED);

		outcome_conclude(&r, &o, NOW);
		outcome_follow(&r, &o.look, NOW + 1);
		assert_false(r.completed);
		assert_int_equal(r.end_us, NOW);
		outcome_follow(&r, &ends[i].look, NOW + 2);
		assert_true(r.completed);
		assert_int_equal(r.failed, ends[i].failed);
		launch_record_done(&r);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_an_end_means),
		cmocka_unit_test(test_only_a_guest_that_came_back_misleads),
		cmocka_unit_test(
			test_a_domain_that_was_not_seen_is_unconfirmed),
		cmocka_unit_test(test_an_abort_does_not_confirm),
		cmocka_unit_test(
			test_what_is_unconfirmed_stands_until_it_is_taken_back),
		cmocka_unit_test(
			test_an_abort_that_post_copy_was_faster_than_has_failed),
		cmocka_unit_test(
			test_half_a_machine_that_is_seen_late_is_not_taken_back),
		cmocka_unit_test(test_an_abort_has_the_reason_it_was_asked_for),
		cmocka_unit_test(test_a_stalled_one_ends_as_its_domain_does),
	};

	return cmocka_run_group_tests_name("outcome", tests, NULL, NULL);
}
