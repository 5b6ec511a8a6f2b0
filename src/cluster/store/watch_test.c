/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/test.h"
#include "cluster/store/follow.h"
#include "cluster/store/teststore.h"

static void
test_events_come_when_they_are_durable(void **state)
{
	struct world *w = *state;
	struct tape tape = TAPE_INIT;
	struct subscription *s = world_subscribe(w, w->pods, 0, &tape);

	world_put(w, w->pods, "a", "x", "1");
	world_put(w, w->nodes, "", "n", "1");
	world_put(w, w->pods, "a", "x", "2");
	world_remove(w, w->pods, "a", "x");
	assert_tape(&tape, "");
	assert_int_equal(world_settle(w), 0);
	assert_tape(&tape, "ADDED a/x=1@1 MODIFIED a/x=2@3(1) "
			   "DELETED a/x=removed@4(2) ");
	unsubscribe(s);
	world_put(w, w->pods, "a", "x", "3");
	assert_int_equal(world_settle(w), 0);
	assert_tape(&tape, "");
}

static void
test_history_comes_first(void **state)
{
	struct world *w = *state;
	struct tape tape = TAPE_INIT;
	struct subscription *s;

	world_put(w, w->pods, "a", "x", "1");
	world_put(w, w->nodes, "", "n", "2");
	world_put(w, w->pods, "a", "x", "3");
	assert_int_equal(world_settle(w), 0);
	/* Not durable yet, so not history. */
	world_put(w, w->pods, "a", "y", "4");
	s = world_subscribe(w, w->pods, 1, &tape);
	assert_tape(&tape, "MODIFIED a/x=3@3(1) ");
	assert_int_equal(world_settle(w), 0);
	assert_tape(&tape, "ADDED a/y=4@4 ");
	unsubscribe(s);
}

static void
test_following_begins_with_what_is_there(void **state)
{
	struct world *w = *state;
	struct tape tape = TAPE_INIT, changes = TAPE_INIT;
	struct subscription *s, *c;

	world_put(w, w->pods, "a", "x", "1");
	world_put(w, w->nodes, "", "n", "2");
	world_put(w, w->pods, "a", "x", "3");
	assert_int_equal(world_settle(w), 0);
	/* Neither is durable yet: they come later, and once. */
	world_put(w, w->pods, "a", "x", "4");
	world_put(w, w->pods, "a", "y", "5");
	s = follow(w->store, "", "pods", tape_event, &tape);
	c = follow_changes(w->store, NULL, tape_event, &changes);
	assert_tape(&tape, "ADDED a/x=3@3 ");
	assert_tape(&changes, "");
	assert_int_equal(world_settle(w), 0);
	assert_tape(&tape, "MODIFIED a/x=4@4(3) ADDED a/y=5@5 ");
	assert_tape(&changes, "MODIFIED a/x=4@4(3) ADDED a/y=5@5 ");
	unsubscribe(s);
	unsubscribe(c);
}

static void
test_a_subscription_to_all_gets_all_in_order(void **state)
{
	struct world *w = *state;
	struct tape tape = TAPE_INIT;
	struct subscription *s;

	world_put(w, w->pods, "a", "x", "1");
	assert_int_equal(world_settle(w), 0);
	s = world_subscribe(w, NULL, 0, &tape);
	world_put(w, w->nodes, "", "n", "2");
	world_put(w, w->pods, "a", "x", "3");
	assert_int_equal(world_settle(w), 0);
	assert_tape(&tape, "ADDED a/x=1@1 ADDED n=2@2 MODIFIED a/x=3@3(1) ");
	unsubscribe(s);
}

static void
test_a_future_revision_is_waited_for(void **state)
{
	struct world *w = *state;
	struct tape tape = TAPE_INIT;
	struct subscription *s = world_subscribe(w, w->pods, 2, &tape);

	world_put(w, w->pods, "a", "x", "1");
	assert_int_equal(world_settle(w), 0);
	world_put(w, w->pods, "a", "x", "2");
	world_put(w, w->pods, "a", "x", "3");
	assert_int_equal(world_settle(w), 0);
	assert_tape(&tape, "MODIFIED a/x=3@3(2) ");
	unsubscribe(s);
}

static void
test_a_subscription_resumes_over_a_restart(void **state)
{
	struct world *w = *state;
	struct tape tape = TAPE_INIT;
	struct subscription *s;

	world_put(w, w->pods, "a", "x", "1");
	world_put(w, w->pods, "a", "x", "2");
	world_put(w, w->pods, "a", "y", "3");
	world_remove(w, w->pods, "a", "y");
	world_put(w, w->pods, "a", "y", "5");
	world_reopen(w);
	s = world_subscribe(w, w->pods, 1, &tape);
	world_put(w, w->pods, "a", "x", "6");
	assert_int_equal(world_settle(w), 0);
	assert_tape(&tape, "MODIFIED a/x=2@2(1) ADDED a/y=3@3 "
			   "DELETED a/y=removed@4(3) ADDED a/y=5@5 "
			   "MODIFIED a/x=6@6(2) ");
	unsubscribe(s);
}

static void
assert_too_old(struct world *w, uint64_t rv)
{
	bool too_old = false;

	assert_null(
		subscribe(w->store, w->pods, rv, tape_event, NULL, &too_old));
	assert_true(too_old);
}

static void
test_what_is_older_than_the_history_is_too_old(void **state)
{
	struct world *w = *state;
	struct tape tape = TAPE_INIT;
	struct subscription *s;
	char value[16];

	world_close(w);
	w->config.history_events = 4;
	world_open(w);
	for (int i = 1; i <= 10; i++) {
		(void)snprintf(value, sizeof(value), "%d", i);
		world_put(w, w->pods, "a", "x", value);
	}
	assert_int_equal(world_settle(w), 0);
	for (int round = 0; round < 2; round++) {
		assert_int_equal(store_oldest_rv(w->store), 6);
		assert_too_old(w, 0);
		assert_too_old(w, 5);
		s = world_subscribe(w, w->pods, 6, &tape);
		assert_tape(&tape, "MODIFIED a/x=7@7(6) MODIFIED a/x=8@8(7) "
				   "MODIFIED a/x=9@9(8) "
				   "MODIFIED a/x=10@10(9) ");
		unsubscribe(s);
		world_reopen(w);
	}
}

static void
test_history_is_bounded_in_bytes(void **state)
{
	struct world *w = *state;
	char value[1001];

	world_close(w);
	w->config.history_bytes = 10000;
	world_open(w);
	memset(value, 'v', sizeof(value) - 1);
	value[sizeof(value) - 1] = '\0';
	/* New objects cost the history nothing but a record. */
	for (int i = 0; i < 20; i++) {
		char name[16];

		(void)snprintf(name, sizeof(name), "n%d", i);
		world_put(w, w->pods, "a", name, value);
	}
	assert_int_equal(world_settle(w), 0);
	assert_int_equal(store_oldest_rv(w->store), 0);
	/* Replaced ones cost their text. */
	for (int i = 0; i < 20; i++)
		world_put(w, w->pods, "a", "n0", value);
	assert_int_equal(world_settle(w), 0);
	assert_true(store_oldest_rv(w->store) >= 30);
	assert_true(store_oldest_rv(w->store) < 36);
	assert_int_equal(store_count(w->pods, NULL), 20);
}

/* Someone who changes subscriptions while being called. */
struct meddler {
	struct world *w;
	struct tape tape;
	struct subscription *own;
	struct subscription *other;
	struct tape *late_tape;
	struct subscription *late;
	int calls;
};

static void
end_both(const struct event *event, void *arg)
{
	struct meddler *m = arg;

	(void)event;
	m->calls++;
	unsubscribe(m->own);
	unsubscribe(m->other);
	m->own = m->other = NULL;
}

static void
test_a_callback_may_end_itself_and_others(void **state)
{
	struct world *w = *state;
	struct tape tape = TAPE_INIT;
	bool too_old;

	/* The one that is called next, and one that was called before. */
	for (int order = 0; order < 2; order++) {
		struct meddler m = { .w = w };

		if (order == 0)
			m.other = world_subscribe(w, w->pods,
						  store_rv(w->store), &tape);
		m.own = subscribe(w->store, w->pods, store_rv(w->store),
				  end_both, &m, &too_old);
		if (order == 1)
			m.other = world_subscribe(w, w->pods,
						  store_rv(w->store), &tape);
		world_put(w, w->pods, "a", "x", "1");
		world_put(w, w->pods, "a", "x", "2");
		assert_int_equal(world_settle(w), 0);
		assert_int_equal(m.calls, 1);
		assert_tape(&tape, order == 0 ? "" : "MODIFIED a/x=1@3(2) ");
	}
}

static void
join_late(const struct event *event, void *arg)
{
	struct meddler *m = arg;

	(void)event;
	m->calls++;
	if (m->late == NULL)
		m->late = world_subscribe(m->w, m->w->pods, 0, m->late_tape);
	if (m->calls == 1)
		world_put(m->w, m->w->pods, "a", "y", "9");
}

static void
test_a_callback_may_subscribe_and_write(void **state)
{
	struct world *w = *state;
	struct tape tape = TAPE_INIT;
	struct meddler m = { .w = w, .late_tape = &tape };
	bool too_old;

	m.own = subscribe(w->store, w->pods, 0, join_late, &m, &too_old);
	world_put(w, w->pods, "a", "x", "1");
	world_put(w, w->pods, "a", "x", "2");
	assert_int_equal(world_settle(w), 0);
	assert_int_equal(world_settle(w), 0);
	assert_int_equal(m.calls, 3);
	/* Each once, though it came in the middle of the first two. */
	assert_tape(&tape, "ADDED a/x=1@1 MODIFIED a/x=2@2(1) ADDED a/y=9@3 ");
	unsubscribe(m.own);
	unsubscribe(m.late);
}

static void
note_events_before(const struct err *err, void *arg)
{
	struct tape *tape = arg;

	assert_null(err);
	(void)buf_append_str(&tape->buf, "durable ");
}

static void
test_events_come_before_the_answer(void **state)
{
	struct world *w = *state;
	struct tape tape = TAPE_INIT;
	struct subscription *s = world_subscribe(w, w->pods, 0, &tape);

	store_when_durable(w->store, note_events_before, &tape);
	assert_tape(&tape, "durable ");
	world_put(w, w->pods, "a", "x", "1");
	store_when_durable(w->store, note_events_before, &tape);
	assert_tape(&tape, "");
	assert_int_equal(world_settle(w), 0);
	assert_tape(&tape, "ADDED a/x=1@1 durable ");
	unsubscribe(s);
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, world_set_up, world_tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_events_come_when_they_are_durable),
		TEST(test_history_comes_first),
		TEST(test_following_begins_with_what_is_there),
		TEST(test_a_subscription_to_all_gets_all_in_order),
		TEST(test_a_future_revision_is_waited_for),
		TEST(test_a_subscription_resumes_over_a_restart),
		TEST(test_what_is_older_than_the_history_is_too_old),
		TEST(test_history_is_bounded_in_bytes),
		TEST(test_a_callback_may_end_itself_and_others),
		TEST(test_a_callback_may_subscribe_and_write),
		TEST(test_events_come_before_the_answer),
	};

	return cmocka_run_group_tests_name("watch", tests, NULL, NULL);
}
