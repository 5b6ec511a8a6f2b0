/* SPDX-License-Identifier: Apache-2.0 */
#include "proxy/relay.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/loop.h"
#include "base/mem.h"
#include "base/test.h"
#include "proxy/counters.h"
#include "proxy/limit.h"
#include "proxy/pool.h"
#include "proxy/reason.h"
#include "proxy/relay_internal.h"
#include "proxy/testnet.h"
#include "tls/testpair.h"

#define TLS_ALLOW_PRIVATE
#include "tls/private.h"

#define DEADLINE_MS 60000
#define PEER_TIMEOUT_MS 2000
#define LIMIT (4UL << 20) /* less than an emulated CPU carries */
#define MOST (3UL * 1024 * 1024)

/* One end of a stream as a program on a node sees it. */
struct end {
	int fd;
	uint8_t *data; /* what it sends */
	size_t len;
	size_t sent;
	bool shut;
	uint8_t *got;
	size_t got_len;
	bool got_end;
};

struct done {
	bool called;
	enum reason reason;
};

/* program a - relay a - TCP - relay b - program b, all in one loop. */
struct rig {
	struct loop *loop;
	struct pool *pool;
	struct turns *turns;
	struct end a, b;
	struct relay *relay_a, *relay_b;
	struct counters counters_a, counters_b;
	struct done done_a, done_b;
	struct limit *limit;
	uint64_t key_limit; /* records under one key; 0: as ever */
	unsigned seed;
	bool hold_b; /* large buffers; the test starts relay b */
};

static void
relay_done(const struct failure *failure, void *arg)
{
	struct done *done = arg;

	assert_false(done->called);
	done->called = true;
	done->reason = failure ? failure->reason : REASON_NONE;
	if (failure != NULL)
		print_message("# %s\n", failure->text);
}

static void
force_buffers(int fd)
{
	int size = 8 << 20;

	/* Beyond the usual limits, which takes root. */
	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)) ==
		    -1 ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) ==
		    -1)
		skip();
}

/* FERRY_TEST_KTLS names the ends whose records are to be the kernel's: "a", "b"
 * or "ab". tests/ktls runs this so, on a kernel that can. */
static bool
is_offloaded(char end)
{
	const char *ends = getenv("FERRY_TEST_KTLS");

	return ends != NULL && strchr(ends, end) != NULL;
}

static void
check_offload(const struct relay *relay, bool wanted)
{
	assert_int_equal(relay->offloaded, wanted);
}

static void
rig_start(struct rig *rig, bool tls, enum tls_engine engine_a,
	  enum tls_engine engine_b)
{
	struct testpair pair = { 0 };
	int net[2], local_a[2], local_b[2];
	struct relay_config config = { .peer_timeout_ms = PEER_TIMEOUT_MS,
				       .done = relay_done };

	rig->loop = loop_new();
	rig->pool = pool_new();
	rig->turns = turns_new(rig->loop);
	testnet_tcp_pair(net);
	assert_int_equal(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, local_a),
		0);
	assert_int_equal(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, local_b),
		0);
	if (rig->hold_b) {
		force_buffers(net[0]);
		force_buffers(net[1]);
		force_buffers(local_b[1]);
	}
	if (tls)
		testpair_connect(&pair, engine_a, engine_b);
	if (rig->key_limit > 0) {
		tls_stream_set_limit(pair.client.stream, rig->key_limit);
		tls_stream_set_limit(pair.server.stream, rig->key_limit);
	}
	rig->a.fd = local_a[0];
	rig->b.fd = local_b[0];

	config.local_fd = local_a[1];
	config.net_fd = net[0];
	config.tls = pair.client.stream;
	config.ktls = is_offloaded('a');
	config.counters = &rig->counters_a;
	config.limit = rig->limit;
	config.arg = &rig->done_a;
	rig->relay_a = relay_new(&config);

	config.local_fd = local_b[1];
	config.net_fd = net[1];
	config.tls = pair.server.stream;
	config.ktls = is_offloaded('b');
	config.counters = &rig->counters_b;
	config.limit = NULL;
	config.arg = &rig->done_b;
	rig->relay_b = relay_new(&config);

	pair.client.stream = pair.server.stream = NULL;
	testpair_done(&pair);
	relay_start(rig->relay_a, rig->loop, rig->pool, rig->turns);
	check_offload(rig->relay_a, tls && engine_a == TLS_ENGINE_RECORD &&
					    is_offloaded('a'));
	if (rig->hold_b)
		return;
	relay_start(rig->relay_b, rig->loop, rig->pool, rig->turns);
	check_offload(rig->relay_b, tls && engine_b == TLS_ENGINE_RECORD &&
					    is_offloaded('b'));
}

static void
end_done(struct end *end)
{
	if (end->fd != -1)
		close(end->fd);
	free(end->data);
	free(end->got);
}

static void
rig_done(struct rig *rig)
{
	relay_free(rig->relay_a);
	relay_free(rig->relay_b);
	end_done(&rig->a);
	end_done(&rig->b);
	limit_unref(rig->limit);
	turns_free(rig->turns);
	pool_free(rig->pool);
	loop_free(rig->loop);
}

static void
give(struct end *end, size_t len, unsigned *seed)
{
	end->len = len;
	end->data = xrealloc(NULL, len + 1);
	for (size_t i = 0; i < len; i++)
		end->data[i] = (uint8_t)rand_r(seed);
	end->got = xrealloc(NULL, MOST + 1);
}

/* Writes a random piece, reads a random piece, half-closes when done. */
static void
drive(struct end *end, unsigned *seed)
{
	size_t chunk = (size_t)rand_r(seed) % (1U << (rand_r(seed) % 19)) + 1;
	ssize_t n;

	if (end->sent < end->len) {
		if (chunk > end->len - end->sent)
			chunk = end->len - end->sent;
		n = send(end->fd, end->data + end->sent, chunk, MSG_NOSIGNAL);
		if (n > 0)
			end->sent += (size_t)n;
	} else if (!end->shut) {
		end->shut = true;
		assert_int_equal(shutdown(end->fd, SHUT_WR), 0);
	}
	chunk = (size_t)rand_r(seed) % (1U << (rand_r(seed) % 19)) + 1;
	if (end->got_end)
		return;
	if (chunk > MOST - end->got_len)
		chunk = MOST - end->got_len + 1;
	n = recv(end->fd, end->got + end->got_len, chunk, 0);
	if (n > 0)
		end->got_len += (size_t)n;
	else if (n == 0)
		end->got_end = true;
}

static void
wait_for(struct rig *rig, const bool *flag)
{
	uint64_t deadline = loop_now_ms() + DEADLINE_MS;

	while (!*flag) {
		assert_true(loop_now_ms() < deadline);
		loop_poll(rig->loop);
	}
}

static void
run_both(struct rig *rig)
{
	uint64_t deadline = loop_now_ms() + DEADLINE_MS;

	while (!rig->done_a.called || !rig->done_b.called || !rig->a.got_end ||
	       !rig->b.got_end) {
		assert_true(loop_now_ms() < deadline);
		drive(&rig->a, &rig->seed);
		drive(&rig->b, &rig->seed);
		loop_poll(rig->loop);
	}
}

static void
check_delivered(const struct end *from, const struct end *to)
{
	assert_true(to->got_end);
	assert_int_equal(to->got_len, from->len);
	assert_memory_equal(to->got, from->data, from->len);
}

static void
carry_streams(struct rig *rig, bool tls, enum tls_engine engine_a,
	      enum tls_engine engine_b)
{
	rig_start(rig, tls, engine_a, engine_b);
	give(&rig->a, (size_t)rand_r(&rig->seed) % MOST, &rig->seed);
	give(&rig->b, (size_t)rand_r(&rig->seed) % (MOST / 4), &rig->seed);
	run_both(rig);
	check_delivered(&rig->a, &rig->b);
	check_delivered(&rig->b, &rig->a);
	assert_int_equal(rig->done_a.reason, REASON_NONE);
	assert_int_equal(rig->done_b.reason, REASON_NONE);
	assert_int_equal(rig->counters_a.sent_bytes, rig->a.len);
	assert_int_equal(rig->counters_b.received_bytes, rig->a.len);
	assert_int_equal(rig->counters_b.sent_bytes, rig->b.len);
	rig_done(rig);
}

static void
random_streams(bool tls, enum tls_engine engine_a, enum tls_engine engine_b,
	       unsigned seed)
{
	struct rig rig = { .seed = seed };

	carry_streams(&rig, tls, engine_a, engine_b);
}

static void
test_carries_both_directions_and_their_ends_over_tls(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed <= 8; seed++)
		random_streams(true, TLS_ENGINE_RECORD, TLS_ENGINE_RECORD,
			       seed);
}

static void
test_engines_carry_for_each_other(void **state)
{
	(void)state;
	random_streams(true, TLS_ENGINE_LIBSSL, TLS_ENGINE_RECORD, 21);
	random_streams(true, TLS_ENGINE_RECORD, TLS_ENGINE_LIBSSL, 22);
	random_streams(true, TLS_ENGINE_LIBSSL, TLS_ENGINE_LIBSSL, 23);
}

static void
test_carries_both_directions_and_their_ends_in_the_clear(void **state)
{
	(void)state;
	for (unsigned seed = 31; seed <= 38; seed++)
		random_streams(false, TLS_ENGINE_RECORD, TLS_ENGINE_RECORD,
			       seed);
}

static void
test_keys_change_on_the_way(void **state)
{
	(void)state;
	for (unsigned seed = 41; seed <= 44; seed++) {
		struct rig rig = { .seed = seed, .key_limit = 40 };

		carry_streams(&rig, true, TLS_ENGINE_RECORD, TLS_ENGINE_RECORD);
	}
}

/* Who writes and closes at once still gets everything through. */
static void
write_and_close(bool tls)
{
	struct rig rig = { .seed = 5 };
	uint64_t deadline = loop_now_ms() + DEADLINE_MS;
	ssize_t n;

	rig_start(&rig, tls, TLS_ENGINE_RECORD, TLS_ENGINE_RECORD);
	give(&rig.a, 150000, &rig.seed);
	give(&rig.b, 0, &rig.seed);
	n = send(rig.a.fd, rig.a.data, rig.a.len, MSG_NOSIGNAL);
	assert_int_equal(n, rig.a.len);
	close(rig.a.fd);
	rig.a.fd = -1;
	while (!rig.done_a.called || !rig.done_b.called || !rig.b.got_end) {
		char byte = 'x';

		assert_true(loop_now_ms() < deadline);
		drive(&rig.b, &rig.seed);
		/* Keeps sending to the one that has gone. */
		if (!rig.b.shut)
			(void)send(rig.b.fd, &byte, 1, MSG_NOSIGNAL);
		loop_poll(rig.loop);
	}
	check_delivered(&rig.a, &rig.b);
	rig_done(&rig);
}

static void
test_delivers_what_a_program_wrote_before_it_left(void **state)
{
	(void)state;
	write_and_close(true);
	write_and_close(false);
}

/*
 * As much is waiting as the relay takes in one go, and the sink takes it
 * without a pause: the relay stops there for the others' sake, and must not
 * keep what it has read and not yet written until more comes.
 */
static void
all_in_one_go(bool tls)
{
	struct rig rig = { .seed = 11, .hold_b = true };
	uint64_t deadline = loop_now_ms() + DEADLINE_MS;
	ssize_t n;

	rig_start(&rig, tls, TLS_ENGINE_RECORD, TLS_ENGINE_RECORD);
	give(&rig.a, RELAY_READS * TLS_BATCH_PLAIN - 40000, &rig.seed);
	give(&rig.b, 0, &rig.seed);
	while (rig.a.sent < rig.a.len ||
	       rig.counters_a.sent_bytes < rig.a.len) {
		assert_true(loop_now_ms() < deadline);
		n = send(rig.a.fd, rig.a.data + rig.a.sent,
			 rig.a.len - rig.a.sent, MSG_NOSIGNAL);
		rig.a.sent += n > 0 ? (size_t)n : 0;
		loop_poll(rig.loop);
	}
	relay_start(rig.relay_b, rig.loop, rig.pool, rig.turns);
	while (rig.b.got_len < rig.a.len) {
		assert_true(loop_now_ms() < deadline);
		n = recv(rig.b.fd, rig.b.got + rig.b.got_len, MOST, 0);
		rig.b.got_len += n > 0 ? (size_t)n : 0;
		loop_poll(rig.loop);
	}
	run_both(&rig);
	check_delivered(&rig.a, &rig.b);
	rig_done(&rig);
}

static void
test_what_was_read_before_a_pause_is_written_after_it(void **state)
{
	(void)state;
	all_in_one_go(true);
	all_in_one_go(false);
}

static void
test_tells_a_sender_that_the_other_program_has_left(void **state)
{
	struct rig rig = { .seed = 6 };
	uint64_t deadline = loop_now_ms() + DEADLINE_MS;
	static char block[65536];
	ssize_t n = 0;
	(void)state;

	rig_start(&rig, true, TLS_ENGINE_RECORD, TLS_ENGINE_RECORD);
	close(rig.b.fd);
	rig.b.fd = -1;
	while (n != -1 || errno == EAGAIN) {
		assert_true(loop_now_ms() < deadline);
		n = send(rig.a.fd, block, sizeof(block), MSG_NOSIGNAL);
		if (n == -1 && errno != EAGAIN)
			break;
		loop_poll(rig.loop);
	}
	assert_int_equal(errno, EPIPE);
	rig_done(&rig);
}

static void
test_a_cut_is_never_taken_for_an_end(void **state)
{
	struct rig rig = { .seed = 7 };
	const struct failure why = { .reason = REASON_STOPPED };
	(void)state;

	rig_start(&rig, true, TLS_ENGINE_RECORD, TLS_ENGINE_RECORD);
	relay_abort(rig.relay_a, &why);
	assert_true(rig.done_a.called);
	assert_int_equal(rig.done_a.reason, REASON_STOPPED);
	wait_for(&rig, &rig.done_b.called);
	assert_int_not_equal(rig.done_b.reason, REASON_NONE);
	rig_done(&rig);
}

/* A reader that pauses for longer than the peer timeout is not dead. */
static void
test_a_closed_window_is_not_a_dead_peer(void **state)
{
	struct rig rig = { .seed = 8 };
	uint64_t until = loop_now_ms() + PEER_TIMEOUT_MS * 5 / 2;
	static uint8_t block[65536];
	size_t sent = 0, got = 0;
	(void)state;

	rig_start(&rig, true, TLS_ENGINE_RECORD, TLS_ENGINE_RECORD);
	while (loop_now_ms() < until) {
		ssize_t n = send(rig.a.fd, block, sizeof(block), MSG_NOSIGNAL);

		if (n > 0)
			sent += (size_t)n;
		loop_poll(rig.loop);
		assert_false(rig.done_a.called || rig.done_b.called);
	}
	assert_int_equal(shutdown(rig.a.fd, SHUT_WR), 0);
	until = loop_now_ms() + DEADLINE_MS;
	for (;;) {
		ssize_t n = recv(rig.b.fd, block, sizeof(block), 0);

		assert_true(loop_now_ms() < until);
		if (n == 0)
			break;
		if (n > 0)
			got += (size_t)n;
		loop_poll(rig.loop);
	}
	assert_int_equal(got, sent);
	assert_true(rig.counters_b.stalls[STALL_LOCAL] > 0);
	assert_true(rig.counters_a.stalls[STALL_NETWORK] > 0);
	rig_done(&rig);
}

static void
test_holds_the_limit(void **state)
{
	struct rig rig = { .seed = 9, .limit = limit_new(LIMIT) };
	uint64_t start = loop_now_ns();
	double seconds;
	(void)state;

	rig_start(&rig, true, TLS_ENGINE_RECORD, TLS_ENGINE_RECORD);
	give(&rig.a, MOST - 1, &rig.seed);
	give(&rig.b, 0, &rig.seed);
	run_both(&rig);
	seconds = (double)(loop_now_ns() - start) / 1e9;
	check_delivered(&rig.a, &rig.b);
	/* Never faster than allowed; slower is the machine's business. */
	assert_true((double)rig.a.len / seconds < 1.05 * LIMIT);
	assert_true(rig.counters_a.stalls[STALL_LIMIT] > 0);
	rig_done(&rig);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_carries_both_directions_and_their_ends_over_tls),
		cmocka_unit_test(test_engines_carry_for_each_other),
		cmocka_unit_test(test_keys_change_on_the_way),
		cmocka_unit_test(
			test_carries_both_directions_and_their_ends_in_the_clear),
		cmocka_unit_test(
			test_delivers_what_a_program_wrote_before_it_left),
		cmocka_unit_test(
			test_what_was_read_before_a_pause_is_written_after_it),
		cmocka_unit_test(
			test_tells_a_sender_that_the_other_program_has_left),
		cmocka_unit_test(test_a_cut_is_never_taken_for_an_end),
		cmocka_unit_test(test_a_closed_window_is_not_a_dead_peer),
		cmocka_unit_test(test_holds_the_limit),
	};

	/* As ferry-proxy does: splice() has no MSG_NOSIGNAL. */
	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests_name("relay", tests, NULL, NULL);
}
