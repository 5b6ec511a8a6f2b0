/* SPDX-License-Identifier: Apache-2.0 */
#include "proxy/worker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/loop.h"
#include "base/mem.h"
#include "base/test.h"
#include "proxy/counters.h"
#include "proxy/limit.h"
#include "proxy/reason.h"
#include "proxy/relay.h"
#include "proxy/testnet.h"
#include "proxy/turns.h"

#define STREAMS 12
#define BYTES (1UL << 20)
#define DEADLINE_MS 60000

/* A plain relay between two socket pairs, one of them TCP. */
struct job {
	struct loop *main;
	struct worker *worker;
	struct relay *relay;
	struct counters counters;
	int near; /* the program's end */
	int far;  /* the peer's end */
	int *running;
};

static void
free_relay(struct worker *worker, void *arg)
{
	(void)worker;
	relay_free(arg);
}

static void
ended(void *arg)
{
	struct job *job = arg;

	worker_post(job->worker, free_relay, job->relay);
	--*job->running;
}

static void
relay_done(const struct failure *failure, void *arg)
{
	struct job *job = arg;

	(void)failure;
	loop_post(job->main, ended, job);
}

static void
start_relay(struct worker *worker, void *arg)
{
	struct job *job = arg;

	relay_start(job->relay, worker_loop(worker), worker_pool(worker),
		    worker_turns(worker));
}

static void
job_start(struct job *job, struct workers *workers, struct limit *limit)
{
	int local[2], net[2];

	assert_int_equal(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, local), 0);
	testnet_tcp_pair(net);
	job->near = local[0];
	job->far = net[0];
	job->worker = workers_next(workers);
	job->relay = relay_new(&(struct relay_config){
		.local_fd = local[1],
		.net_fd = net[1],
		.limit = limit,
		.peer_timeout_ms = 5000,
		.counters = &job->counters,
		.done = relay_done,
		.arg = job,
	});
	worker_post(job->worker, start_relay, job);
}

/* Pushes bytes through, reading them at the other end. */
static void
pump(struct job *job)
{
	static uint8_t data[65536];
	size_t sent = 0, got = 0;
	uint64_t deadline = loop_now_ms() + DEADLINE_MS;

	while (got < BYTES) {
		ssize_t n;

		assert_true(loop_now_ms() < deadline);
		if (sent < BYTES) {
			n = send(job->near, data, sizeof(data), MSG_NOSIGNAL);
			sent += n > 0 ? (size_t)n : 0;
		}
		n = recv(job->far, data, sizeof(data), MSG_DONTWAIT);
		got += n > 0 ? (size_t)n : 0;
	}
}

static void
abort_relay(struct worker *worker, void *arg)
{
	const struct failure why = { .reason = REASON_STOPPED };

	(void)worker;
	relay_abort(arg, &why);
}

static void
test_streams_run_end_and_are_cut_in_several_threads(void **state)
{
	struct workers *workers = workers_start(3);
	struct limit *limit = limit_new(1ULL << 40);
	struct loop *loop = loop_new();
	struct job jobs[STREAMS] = { 0 };
	int running = STREAMS;
	uint64_t deadline = loop_now_ms() + DEADLINE_MS;

	(void)state;
	for (int i = 0; i < STREAMS; i++) {
		jobs[i].main = loop;
		jobs[i].running = &running;
		job_start(&jobs[i], workers, limit);
	}
	for (int i = 0; i < STREAMS; i++)
		pump(&jobs[i]);
	for (int i = 0; i < STREAMS; i++) {
		struct counts counts = { 0 };

		/* Read while the worker may still be writing. */
		counters_add_to(&jobs[i].counters, &counts);
		assert_in_range(counts.sent_bytes, BYTES, 2 * BYTES);
		if (i % 2)
			worker_post(jobs[i].worker, abort_relay, jobs[i].relay);
		else {
			close(jobs[i].near);
			close(jobs[i].far);
		}
	}
	while (running > 0) {
		assert_true(loop_now_ms() < deadline);
		loop_poll(loop);
	}
	workers_stop(workers);
	for (int i = 1; i < STREAMS; i += 2) {
		close(jobs[i].near);
		close(jobs[i].far);
	}
	limit_unref(limit);
	loop_free(loop);
}

/* Offers more than can be sent, and takes what has come; how much it was. */
static size_t
keep_busy(struct job *job)
{
	static uint8_t data[262144];
	ssize_t n;

	(void)send(job->near, data, sizeof(data), MSG_NOSIGNAL | MSG_DONTWAIT);
	n = recv(job->far, data, sizeof(data), MSG_DONTWAIT);
	return n > 0 ? (size_t)n : 0;
}

static void
test_busy_streams_take_turns_and_may_be_cut_while_they_wait(void **state)
{
	struct workers *workers = workers_start(1);
	struct loop *loop = loop_new();
	struct job jobs[STREAMS] = { 0 };
	size_t got[STREAMS] = { 0 };
	int running = STREAMS, busy = STREAMS;
	uint64_t deadline = loop_now_ms() + DEADLINE_MS;

	(void)state;
	assert_true(STREAMS > 2 * TURNS_AT_ONCE);
	for (int i = 0; i < STREAMS; i++) {
		jobs[i].main = loop;
		jobs[i].running = &running;
		job_start(&jobs[i], workers, NULL);
	}
	/* None is left behind, though all want more all the time. */
	while (busy > 0) {
		assert_true(loop_now_ms() < deadline);
		for (int i = 0; i < STREAMS; i++) {
			size_t before = got[i];

			got[i] += keep_busy(&jobs[i]);
			busy -= before < 2UL * TURNS_BYTES &&
				got[i] >= 2UL * TURNS_BYTES;
		}
	}
	for (int i = 0; i < STREAMS; i++)
		worker_post(jobs[i].worker, abort_relay, jobs[i].relay);
	while (running > 0) {
		assert_true(loop_now_ms() < deadline);
		loop_poll(loop);
	}
	workers_stop(workers);
	for (int i = 0; i < STREAMS; i++) {
		close(jobs[i].near);
		close(jobs[i].far);
	}
	loop_free(loop);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_streams_run_end_and_are_cut_in_several_threads),
		cmocka_unit_test(
			test_busy_streams_take_turns_and_may_be_cut_while_they_wait),
	};

	return cmocka_run_group_tests_name("worker", tests, NULL, NULL);
}
