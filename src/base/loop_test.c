/* SPDX-License-Identifier: Apache-2.0 */
#include "base/loop.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/test.h"

/* A loop, a pair of connected sockets, and what the callbacks saw. */
struct world {
	struct loop *loop;
	int fds[2];
	struct loop_io *io;
	struct loop_io *other;
	struct loop_timer *timer;
	struct loop_timer *timers[3];
	struct loop_signal *sig;
	unsigned ready;
	int calls;
	uint64_t fired_ns;
	int order[8];
	int count;
};

static int
set_up(void **state)
{
	struct world *w = xmalloc0(sizeof(*w));

	w->loop = loop_new();
	assert_int_equal(socketpair(AF_UNIX,
				    SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
				    0, w->fds),
			 0);
	*state = w;
	return 0;
}

static int
tear_down(void **state)
{
	struct world *w = *state;

	loop_io_free(w->io);
	loop_io_free(w->other);
	loop_timer_free(w->timer);
	for (int i = 0; i < 3; i++)
		loop_timer_free(w->timers[i]);
	loop_signal_free(w->sig);
	(void)close(w->fds[0]);
	(void)close(w->fds[1]);
	loop_free(w->loop);
	free(w);
	return 0;
}

static void
note_ready(unsigned ready, void *arg)
{
	struct world *w = arg;

	w->ready |= ready;
	w->calls++;
}

static void
put_byte(int fd)
{
	assert_int_equal(write(fd, "x", 1), 1);
}

static void
test_a_descriptor_is_watched_for_what_is_wanted(void **state)
{
	struct world *w = *state;

	w->io = loop_io_new(w->loop, w->fds[0], note_ready, w);
	put_byte(w->fds[1]);
	loop_poll(w->loop);
	assert_int_equal(w->ready, 0);

	loop_io_want(w->io, LOOP_READ);
	loop_poll(w->loop);
	assert_int_equal(w->ready, LOOP_READ);

	/* Nothing was read: level-triggered, it is told again. */
	w->ready = 0;
	loop_poll(w->loop);
	assert_int_equal(w->ready, LOOP_READ);

	w->ready = 0;
	loop_io_want(w->io, LOOP_WRITE);
	loop_poll(w->loop);
	assert_int_equal(w->ready, LOOP_WRITE);

	w->ready = 0;
	loop_io_want(w->io, LOOP_READ | LOOP_WRITE);
	loop_poll(w->loop);
	assert_int_equal(w->ready, LOOP_READ | LOOP_WRITE);

	/* One of the two goes, the other stays. */
	w->ready = 0;
	loop_io_want(w->io, LOOP_READ);
	loop_poll(w->loop);
	assert_int_equal(w->ready, LOOP_READ);

	w->ready = 0;
	loop_io_want(w->io, 0);
	loop_poll(w->loop);
	assert_int_equal(w->ready, 0);
}

static void
test_the_end_of_a_peer_wakes_who_wants_to_read(void **state)
{
	struct world *w = *state;

	w->io = loop_io_new(w->loop, w->fds[0], note_ready, w);
	loop_io_want(w->io, LOOP_READ);
	loop_poll(w->loop);
	assert_int_equal(w->ready, 0);
	assert_int_equal(shutdown(w->fds[1], SHUT_RDWR), 0);
	loop_poll(w->loop);
	assert_int_equal(w->ready, LOOP_READ);
}

static void
free_both(unsigned ready, void *arg)
{
	struct world *w = arg;

	(void)ready;
	w->calls++;
	loop_io_free(w->io);
	loop_io_free(w->other);
	w->io = NULL;
	w->other = NULL;
}

static void
test_a_callback_may_free_itself_and_others(void **state)
{
	struct world *w = *state;

	/* All four are ready in the same turn; the first to come frees all. */
	w->io = loop_io_new(w->loop, w->fds[0], free_both, w);
	w->other = loop_io_new(w->loop, w->fds[1], free_both, w);
	put_byte(w->fds[0]);
	put_byte(w->fds[1]);
	loop_io_want(w->io, LOOP_READ | LOOP_WRITE);
	loop_io_want(w->other, LOOP_READ | LOOP_WRITE);
	loop_poll(w->loop);
	assert_int_equal(w->calls, 1);
	loop_poll(w->loop);
	assert_int_equal(w->calls, 1);
}

static void
test_the_number_of_a_closed_descriptor_can_be_used_again(void **state)
{
	struct world *w = *state;
	int fd = w->fds[0];
	int pair[2];

	w->io = loop_io_new(w->loop, fd, note_ready, w);
	loop_io_want(w->io, LOOP_READ);
	loop_poll(w->loop);
	loop_io_free(w->io);
	assert_int_equal(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(dup3(pair[0], fd, O_CLOEXEC), fd);
	w->io = loop_io_new(w->loop, fd, note_ready, w);
	loop_io_want(w->io, LOOP_READ);
	put_byte(pair[1]);
	loop_poll(w->loop);
	assert_int_equal(w->ready, LOOP_READ);
	(void)close(pair[0]);
	(void)close(pair[1]);
}

static void
count_call(void *arg)
{
	struct world *w = arg;

	w->calls++;
}

static void
note_timer(void *arg)
{
	struct world *w = arg;

	w->calls++;
	loop_stop(w->loop);
}

static void
test_a_timer_fires_once_and_never_early(void **state)
{
	struct world *w = *state;
	uint64_t start;

	w->timer = loop_timer_new(w->loop, note_timer, w);
	assert_false(loop_timer_running(w->timer));
	for (uint64_t delay_us = 0; delay_us <= 3000; delay_us += 500) {
		w->calls = 0;
		start = loop_now_ns();
		loop_timer_start(w->timer, delay_us);
		assert_true(loop_timer_running(w->timer));
		loop_run(w->loop);
		assert_true(loop_now_ns() - start >= delay_us * 1000);
		assert_int_equal(w->calls, 1);
		assert_false(loop_timer_running(w->timer));
		loop_poll(w->loop);
		assert_int_equal(w->calls, 1);
	}
}

static void
note_time(void *arg)
{
	struct world *w = arg;

	w->fired_ns = loop_now_ns();
	loop_stop(w->loop);
}

static void
test_a_timer_does_not_fire_with_an_earlier_one(void **state)
{
	struct world *w = *state;
	uint64_t start = loop_now_ns();

	w->timers[0] = loop_timer_new(w->loop, count_call, w);
	w->timers[1] = loop_timer_new(w->loop, note_time, w);
	loop_timer_start(w->timers[0], 1000);
	loop_timer_start(w->timers[1], 2500);
	loop_run(w->loop);
	assert_int_equal(w->calls, 1);
	assert_true(w->fired_ns - start >= 2500 * 1000);
}

static void
test_a_timer_can_be_put_off_and_brought_forward(void **state)
{
	struct world *w = *state;
	uint64_t start = loop_now_ns();

	w->timer = loop_timer_new(w->loop, note_timer, w);
	loop_timer_start(w->timer, 1000);
	loop_timer_start(w->timer, 20000);
	loop_run(w->loop);
	assert_true(loop_now_ns() - start >= 20000000);

	/* An hour would be the test's timeout. */
	loop_timer_start(w->timer, UINT64_C(3600000000));
	loop_timer_start(w->timer, 1000);
	loop_run(w->loop);
	assert_int_equal(w->calls, 2);

	/* Longer than the clock can count. */
	loop_timer_start(w->timer, UINT64_MAX);
	loop_poll(w->loop);
	assert_true(loop_timer_running(w->timer));
}

static void
test_a_stopped_timer_does_not_fire(void **state)
{
	struct world *w = *state;

	w->timer = loop_timer_new(w->loop, note_timer, w);
	loop_timer_stop(w->timer);
	loop_timer_start(w->timer, 0);
	loop_timer_stop(w->timer);
	assert_false(loop_timer_running(w->timer));
	w->timers[0] = loop_timer_new(w->loop, note_timer, w);
	loop_timer_start(w->timers[0], 1000);
	loop_run(w->loop);
	assert_int_equal(w->calls, 1);
}

static void
note_first(void *arg)
{
	struct world *w = arg;

	w->order[w->count++] = 1;
	/* The second is due as well, but it must not be called any more. */
	loop_timer_free(w->timers[1]);
	w->timers[1] = NULL;
}

static void
note_second(void *arg)
{
	struct world *w = arg;

	w->order[w->count++] = 2;
}

static void
note_third(void *arg)
{
	struct world *w = arg;

	w->order[w->count++] = 3;
	loop_timer_free(w->timers[2]);
	w->timers[2] = NULL;
	loop_stop(w->loop);
}

static void
test_timers_fire_in_order_and_may_free_each_other(void **state)
{
	const unsigned apart_us = 5000;
	struct world *w = *state;
	uint64_t began, late;

	w->timers[2] = loop_timer_new(w->loop, note_third, w);
	w->timers[1] = loop_timer_new(w->loop, note_second, w);
	w->timers[0] = loop_timer_new(w->loop, note_first, w);
	/* Again when somebody else had the CPU meanwhile: they would be due in
	 * another order. */
	do {
		began = loop_now_ns();
		loop_timer_start(w->timers[2], 3UL * apart_us);
		loop_timer_start(w->timers[1], 2UL * apart_us);
		loop_timer_start(w->timers[0], apart_us);
		late = loop_now_ns();
	} while (late - began > 1000UL * apart_us);
	/* All three are due when the loop gets to look at them. */
	late += 4000UL * apart_us;
	while (loop_now_ns() < late)
		;
	loop_run(w->loop);
	assert_int_equal(w->count, 2);
	assert_int_equal(w->order[0], 1);
	assert_int_equal(w->order[1], 3);
}

static void
restart(void *arg)
{
	struct world *w = arg;

	if (++w->calls < 5)
		loop_timer_start(w->timer, 0);
	else
		loop_stop(w->loop);
}

static void
test_a_timer_may_restart_itself_at_once(void **state)
{
	struct world *w = *state;

	w->timer = loop_timer_new(w->loop, restart, w);
	loop_timer_start(w->timer, 0);
	loop_run(w->loop);
	assert_int_equal(w->calls, 5);
}

static void
note_signal(int signo, void *arg)
{
	struct world *w = arg;

	w->order[w->count++] = signo;
	loop_stop(w->loop);
}

static void
test_a_signal_arrives_as_a_callback(void **state)
{
	struct world *w = *state;

	w->sig = loop_signal_new(w->loop, SIGUSR1, note_signal, w);
	assert_int_equal(raise(SIGUSR1), 0);
	assert_int_equal(w->count, 0);
	loop_run(w->loop);
	assert_int_equal(w->count, 1);
	assert_int_equal(w->order[0], SIGUSR1);
}

static void
stop(void *arg)
{
	struct world *w = arg;

	loop_stop(w->loop);
}

static void
test_what_was_posted_before_the_stop_runs(void **state)
{
	struct world *w = *state;

	/* The stop comes in the middle of a batch, and between batches. */
	loop_post(w->loop, count_call, w);
	loop_post(w->loop, stop, w);
	loop_post(w->loop, count_call, w);
	loop_run(w->loop);
	assert_int_equal(w->calls, 2);

	loop_post(w->loop, count_call, w);
	loop_stop(w->loop);
	loop_run(w->loop);
	assert_int_equal(w->calls, 3);
}

static void
post_again(void *arg)
{
	struct world *w = arg;

	w->order[w->count++] = 1;
	loop_post(w->loop, note_second, w);
	loop_post(w->loop, stop, w);
}

static void
test_a_posted_call_may_post(void **state)
{
	struct world *w = *state;

	loop_post(w->loop, post_again, w);
	loop_run(w->loop);
	assert_int_equal(w->count, 2);
	assert_int_equal(w->order[1], 2);
}

#define POSTERS 4
#define POSTS 5000

/* Each thread posts its numbers; the loop must see each one's in order. */
struct poster {
	pthread_t thread;
	struct loop *loop;
	int *left; /* posters that have not ended, of the loop's thread */
	int next;  /* of the poster's thread */
	int seen;  /* of the loop's thread */
	bool ordered;
};

struct number {
	struct poster *poster;
	int value;
};

static void
see_number(void *arg)
{
	struct number *number = arg;
	struct poster *poster = number->poster;

	poster->ordered = poster->ordered && number->value == poster->seen;
	if (++poster->seen == POSTS && --*poster->left == 0)
		loop_stop(poster->loop);
	free(number);
}

static void *
post_numbers(void *arg)
{
	struct poster *poster = arg;

	for (int i = 0; i < POSTS; i++) {
		struct number *number = xmalloc0(sizeof(*number));

		number->poster = poster;
		number->value = i;
		loop_post(poster->loop, see_number, number);
	}
	return NULL;
}

static void
test_posts_of_many_threads_all_arrive_in_order(void **state)
{
	struct world *w = *state;
	struct poster posters[POSTERS] = { 0 };
	int left = POSTERS;

	for (int i = 0; i < POSTERS; i++) {
		posters[i].loop = w->loop;
		posters[i].left = &left;
		posters[i].ordered = true;
		assert_int_equal(pthread_create(&posters[i].thread, NULL,
						post_numbers, &posters[i]),
				 0);
	}
	loop_run(w->loop);
	for (int i = 0; i < POSTERS; i++) {
		(void)pthread_join(posters[i].thread, NULL);
		assert_true(posters[i].ordered);
		assert_int_equal(posters[i].seen, POSTS);
	}
}

static void *
run_own_loop(void *arg)
{
	loop_run(arg);
	return NULL;
}

static void
stop_loop(void *arg)
{
	loop_stop(arg);
}

static void
test_loops_of_several_threads_are_independent(void **state)
{
	struct loop *loops[POSTERS];
	pthread_t threads[POSTERS];

	(void)state;
	for (int i = 0; i < POSTERS; i++) {
		loops[i] = loop_new();
		assert_int_equal(pthread_create(&threads[i], NULL, run_own_loop,
						loops[i]),
				 0);
	}
	for (int i = 0; i < POSTERS; i++) {
		loop_post(loops[i], stop_loop, loops[i]);
		(void)pthread_join(threads[i], NULL);
		loop_free(loops[i]);
	}
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_a_descriptor_is_watched_for_what_is_wanted),
		CASE(test_the_end_of_a_peer_wakes_who_wants_to_read),
		CASE(test_a_callback_may_free_itself_and_others),
		CASE(test_the_number_of_a_closed_descriptor_can_be_used_again),
		CASE(test_a_timer_fires_once_and_never_early),
		CASE(test_a_timer_does_not_fire_with_an_earlier_one),
		CASE(test_a_timer_can_be_put_off_and_brought_forward),
		CASE(test_a_stopped_timer_does_not_fire),
		CASE(test_timers_fire_in_order_and_may_free_each_other),
		CASE(test_a_timer_may_restart_itself_at_once),
		CASE(test_a_signal_arrives_as_a_callback),
		CASE(test_what_was_posted_before_the_stop_runs),
		CASE(test_a_posted_call_may_post),
		CASE(test_posts_of_many_threads_all_arrive_in_order),
		CASE(test_loops_of_several_threads_are_independent),
	};

	return cmocka_run_group_tests_name("loop", tests, NULL, NULL);
}
