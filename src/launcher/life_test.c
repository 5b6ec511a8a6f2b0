/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/life.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/test.h"

#define STARTED                 \
	(struct life)           \
	{                       \
		.started = true \
	}

static struct virt_look
seen(enum virt_state state, enum virt_why why)
{
	return (struct virt_look){ .state = state, .why = why, .id = 1 };
}

/* What was asked for, what is seen, what it means. */
static const struct {
	struct life life;
	enum virt_state state;
	enum virt_why why;
	struct life_verdict verdict;
} cases[] = {
	{ { 0 }, VIRT_ABSENT, 0, { LAUNCH_NO_DOMAIN, 0, false, false } },
	{ { 0 },
	  VIRT_INCOMING,
	  VIRT_WHY_UNKNOWN,
	  { LAUNCH_STARTING, LAUNCH_CAUSE_OTHER, false, false } },
	{ { 0 },
	  VIRT_PAUSED,
	  VIRT_WHY_MIGRATING,
	  { LAUNCH_STARTING, LAUNCH_CAUSE_MIGRATING, false, false } },
	{ { 0 },
	  VIRT_OFF,
	  VIRT_WHY_FAILED,
	  { LAUNCH_NO_DOMAIN, 0, false, false } },
	{ STARTED,
	  VIRT_RUNNING,
	  VIRT_WHY_BOOTED,
	  { LAUNCH_RUNNING, LAUNCH_CAUSE_BOOTED, false, false } },
	{ STARTED,
	  VIRT_RUNNING,
	  VIRT_WHY_MIGRATED,
	  { LAUNCH_RUNNING, LAUNCH_CAUSE_MIGRATED, false, false } },
	{ STARTED,
	  VIRT_PAUSED,
	  VIRT_WHY_USER,
	  { LAUNCH_PAUSED, LAUNCH_CAUSE_USER, false, false } },
	{ STARTED,
	  VIRT_PAUSED,
	  VIRT_WHY_IO_ERROR,
	  { LAUNCH_PAUSED, LAUNCH_CAUSE_IO_ERROR, false, false } },
	{ STARTED,
	  VIRT_PAUSED,
	  VIRT_WHY_MIGRATING,
	  { LAUNCH_PAUSED, LAUNCH_CAUSE_MIGRATING, false, false } },
	{ STARTED,
	  VIRT_SHUTTING_DOWN,
	  VIRT_WHY_GUEST,
	  { LAUNCH_SHUTTING_DOWN, LAUNCH_CAUSE_GUEST, false, false } },
	/* ends */
	{ STARTED,
	  VIRT_OFF,
	  VIRT_WHY_GUEST,
	  { LAUNCH_STOPPED, LAUNCH_CAUSE_GUEST, true, false } },
	{ { .started = true, .stopping = true },
	  VIRT_OFF,
	  VIRT_WHY_GUEST,
	  { LAUNCH_STOPPED, LAUNCH_CAUSE_REQUEST, true, false } },
	{ { .started = true, .killing = true },
	  VIRT_OFF,
	  VIRT_WHY_DESTROYED,
	  { LAUNCH_STOPPED, LAUNCH_CAUSE_KILLED, true, false } },
	{ { .started = true, .killing = true },
	  VIRT_ABSENT,
	  0,
	  { LAUNCH_STOPPED, LAUNCH_CAUSE_KILLED, true, false } },
	{ { .started = true, .killing = true, .lost = true },
	  VIRT_OFF,
	  VIRT_WHY_DESTROYED,
	  { LAUNCH_CRASHED, LAUNCH_CAUSE_KILLED, true, true } },
	{ { .started = true, .killing = true, .lost = true },
	  VIRT_OFF,
	  VIRT_WHY_MIGRATED,
	  { LAUNCH_STOPPED, LAUNCH_CAUSE_MIGRATED, true, false } },
	{ STARTED,
	  VIRT_OFF,
	  VIRT_WHY_MIGRATED,
	  { LAUNCH_STOPPED, LAUNCH_CAUSE_MIGRATED, true, false } },
	{ { .started = true, .killing = true },
	  VIRT_OFF,
	  VIRT_WHY_MIGRATED,
	  { LAUNCH_STOPPED, LAUNCH_CAUSE_MIGRATED, true, false } },
	{ STARTED,
	  VIRT_OFF,
	  VIRT_WHY_CRASHED,
	  { LAUNCH_CRASHED, LAUNCH_CAUSE_QEMU_GONE, true, true } },
	{ STARTED,
	  VIRT_OFF,
	  VIRT_WHY_DESTROYED,
	  { LAUNCH_CRASHED, LAUNCH_CAUSE_QEMU_GONE, true, true } },
	{ STARTED,
	  VIRT_OFF,
	  VIRT_WHY_UNKNOWN,
	  { LAUNCH_CRASHED, LAUNCH_CAUSE_QEMU_GONE, true, true } },
	{ STARTED,
	  VIRT_ABSENT,
	  0,
	  { LAUNCH_CRASHED, LAUNCH_CAUSE_QEMU_GONE, true, true } },
	{ STARTED,
	  VIRT_CRASHED,
	  VIRT_WHY_CRASHED,
	  { LAUNCH_CRASHED, LAUNCH_CAUSE_CRASHED, true, true } },
	{ { .started = true, .qemu_gone = true },
	  VIRT_RUNNING,
	  VIRT_WHY_BOOTED,
	  { LAUNCH_CRASHED, LAUNCH_CAUSE_QEMU_GONE, true, true } },
};

static void
test_each_state_means_one_thing(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct virt_look look = seen(cases[i].state, cases[i].why);
		struct life_verdict v;

		life_judge(&cases[i].life, &look, &v);
		if (v.state != cases[i].verdict.state ||
		    v.cause != cases[i].verdict.cause ||
		    v.over != cases[i].verdict.over ||
		    v.failed != cases[i].verdict.failed)
			fail_msg("case %zu: %s %s", i,
				 launch_state_name(v.state),
				 launch_cause_name(v.cause));
	}
}

static void
test_only_what_was_here_can_be_over(void **state)
{
	const struct life none = { 0 };

	(void)state;
	for (unsigned s = 0; s < VIRT_STATE_COUNT; s++) {
		for (unsigned w = 0; w < VIRT_WHY_COUNT; w++) {
			struct virt_look look = seen(s, w);
			struct life_verdict v;

			life_judge(&none, &look, &v);
			assert_false(v.over);
		}
	}
}

static void
test_a_target_is_detected_then_ready_then_complete(void **state)
{
	AUTO(launch_record_done)
	struct launch_record r = { .role = LAUNCH_TARGET };
	struct virt_look look = seen(VIRT_ABSENT, 0);

	(void)state;
	assert_false(life_follow_target(&r, &look, 1));
	look = seen(VIRT_INCOMING, VIRT_WHY_UNKNOWN);
	assert_true(life_follow_target(&r, &look, 2));
	assert_true(r.domain_detected);
	assert_int_equal(r.start_us, 2);
	look = seen(VIRT_PAUSED, VIRT_WHY_MIGRATING);
	assert_false(life_follow_target(&r, &look, 3));
	look = seen(VIRT_RUNNING, VIRT_WHY_MIGRATED);
	assert_true(life_follow_target(&r, &look, 4));
	assert_int_equal(r.domain_ready_us, 4);
	assert_true(r.completed && !r.failed);
	assert_int_equal(r.end_us, 4);
	/* What happens later is not the migration's. */
	look = seen(VIRT_ABSENT, 0);
	assert_false(life_follow_target(&r, &look, 6));
	assert_false(r.failed);
}

static void
test_a_paused_machine_arrives_paused(void **state)
{
	AUTO(launch_record_done)
	struct launch_record r = { .role = LAUNCH_TARGET };
	struct virt_look look = seen(VIRT_PAUSED, VIRT_WHY_USER);

	(void)state;
	assert_true(life_follow_target(&r, &look, 1));
	assert_true(r.completed && !r.failed && r.domain_ready_us == 1);
}

static void
test_a_machine_that_never_ran_has_not_arrived(void **state)
{
	AUTO(launch_record_done)
	struct launch_record r = { .role = LAUNCH_TARGET };
	struct virt_look look = seen(VIRT_INCOMING, VIRT_WHY_UNKNOWN);

	(void)state;
	(void)life_follow_target(&r, &look, 1);
	look = seen(VIRT_ABSENT, 0);
	assert_true(life_follow_target(&r, &look, 2));
	assert_true(r.failed && r.completed);
	assert_int_equal(r.reason, LAUNCH_REASON_NEVER_ARRIVED);
}

/* It ran and was gone before anybody looked; libvirt has told of it before the
 * look, or behind it. */
static void
test_a_machine_that_ran_for_a_moment_has_ended(void **state)
{
	(void)state;
	for (int late = 0; late < 2; late++) {
		AUTO(launch_record_done)
		struct launch_record r = { .role = LAUNCH_TARGET };
		struct virt_look look = seen(VIRT_INCOMING, VIRT_WHY_UNKNOWN);

		(void)life_follow_target(&r, &look, 1);
		if (!late)
			assert_true(life_ran_target(&r, 2));
		look = seen(VIRT_ABSENT, 0);
		assert_true(life_follow_target(&r, &look, 3));
		if (late)
			assert_true(life_ran_target(&r, 4));
		assert_true(r.failed && r.completed);
		assert_int_equal(r.reason, LAUNCH_REASON_MACHINE_ENDED);
		assert_int_equal(r.domain_ready_us, late ? 4 : 2);
		assert_int_equal(r.end_us, 3);
		/* Once is enough. */
		assert_false(life_ran_target(&r, 5));
	}
}

static void
test_a_machine_that_was_let_run_arrives_as_ever(void **state)
{
	AUTO(launch_record_done)
	struct launch_record r = { .role = LAUNCH_TARGET };
	struct virt_look look = seen(VIRT_RUNNING, VIRT_WHY_MIGRATED);

	(void)state;
	assert_true(life_ran_target(&r, 1));
	assert_true(r.domain_detected && !r.completed);
	assert_true(life_follow_target(&r, &look, 2));
	assert_true(r.completed && !r.failed);
	assert_int_equal(r.domain_ready_us, 1);
}

static void
test_post_copy_is_ready_before_it_is_complete(void **state)
{
	AUTO(launch_record_done)
	struct launch_record r = { .role = LAUNCH_TARGET };
	struct virt_look look = seen(VIRT_RUNNING, VIRT_WHY_POST_COPY);

	(void)state;
	assert_true(life_follow_target(&r, &look, 1));
	assert_int_equal(r.mode, LAUNCH_POST_COPY);
	assert_int_equal(r.domain_ready_us, 1);
	assert_false(r.completed);
	look.why = VIRT_WHY_POST_COPY_FAILED;
	assert_true(life_follow_target(&r, &look, 2));
	assert_int_equal(r.reason, LAUNCH_REASON_POST_COPY_FAILED);
	assert_false(r.completed);
	look.why = VIRT_WHY_POST_COPY;
	assert_true(life_follow_target(&r, &look, 3));
	assert_int_equal(r.reason, LAUNCH_REASON_NONE);
	look = seen(VIRT_RUNNING, VIRT_WHY_MIGRATED);
	assert_true(life_follow_target(&r, &look, 4));
	assert_true(r.completed && !r.failed);
}

static void
test_a_machine_is_half_while_its_post_copy_is_broken(void **state)
{
	struct launch_record r = { .role = LAUNCH_TARGET };
	struct virt_look look = seen(VIRT_RUNNING, VIRT_WHY_POST_COPY);
	char uid[] = "m1";

	(void)state;
	assert_false(life_is_half(&r));
	r.uid = uid;
	(void)life_follow_target(&r, &look, 1);
	assert_false(life_is_half(&r));
	look.why = VIRT_WHY_POST_COPY_FAILED;
	(void)life_follow_target(&r, &look, 2);
	assert_true(life_is_half(&r));
	look.why = VIRT_WHY_MIGRATED;
	(void)life_follow_target(&r, &look, 3);
	assert_false(life_is_half(&r));
}

/* libvirt notices neither that it goes on, nor, in the moment of the switch,
 * that it broke. */
static void
test_qemu_knows_better_whether_post_copy_is_broken(void **state)
{
	AUTO(launch_record_done)
	struct launch_record r = { .role = LAUNCH_TARGET, .watched = true };
	struct virt_look look = seen(VIRT_RUNNING, VIRT_WHY_MIGRATED);

	(void)state;
	r.breaks = 1;
	assert_true(life_follow_target(&r, &look, 1));
	assert_int_equal(r.reason, LAUNCH_REASON_POST_COPY_FAILED);
	assert_int_equal(r.mode, LAUNCH_POST_COPY);
	assert_false(r.completed);
	look.why = VIRT_WHY_POST_COPY_FAILED;
	r.mended = 1;
	assert_true(life_follow_target(&r, &look, 2));
	assert_int_equal(r.reason, LAUNCH_REASON_NONE);
	assert_false(r.completed);
	r.breaks = 2;
	assert_true(life_follow_target(&r, &look, 3));
	assert_int_equal(r.reason, LAUNCH_REASON_POST_COPY_FAILED);
	r.mended = 2;
	look.why = VIRT_WHY_MIGRATED;
	assert_true(life_follow_target(&r, &look, 4));
	assert_int_equal(r.reason, LAUNCH_REASON_NONE);
	assert_true(r.completed && !r.failed);
}

static void
test_a_machine_that_ends_in_post_copy_has_ended(void **state)
{
	AUTO(launch_record_done)
	struct launch_record r = { .role = LAUNCH_TARGET };
	struct virt_look look = seen(VIRT_RUNNING, VIRT_WHY_POST_COPY);

	(void)state;
	(void)life_follow_target(&r, &look, 1);
	look = seen(VIRT_OFF, VIRT_WHY_CRASHED);
	assert_true(life_follow_target(&r, &look, 2));
	assert_int_equal(r.reason, LAUNCH_REASON_MACHINE_ENDED);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_state_means_one_thing),
		cmocka_unit_test(test_only_what_was_here_can_be_over),
		cmocka_unit_test(
			test_a_target_is_detected_then_ready_then_complete),
		cmocka_unit_test(test_a_paused_machine_arrives_paused),
		cmocka_unit_test(test_a_machine_that_never_ran_has_not_arrived),
		cmocka_unit_test(
			test_a_machine_that_ran_for_a_moment_has_ended),
		cmocka_unit_test(
			test_a_machine_that_was_let_run_arrives_as_ever),
		cmocka_unit_test(test_post_copy_is_ready_before_it_is_complete),
		cmocka_unit_test(
			test_a_machine_is_half_while_its_post_copy_is_broken),
		cmocka_unit_test(
			test_qemu_knows_better_whether_post_copy_is_broken),
		cmocka_unit_test(
			test_a_machine_that_ends_in_post_copy_has_ended),
	};

	return cmocka_run_group_tests_name("life", tests, NULL, NULL);
}
