/* SPDX-License-Identifier: Apache-2.0 */
#include "tls/stream.h"

#include <stdlib.h>
#include <string.h>

#define TLS_ALLOW_PRIVATE

#include "base/array.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/test.h"
#include "tls/private.h"
#include "tls/testpair.h"

/* A row of random numbers that is the same in each run. */
static uint64_t
next_random(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

/* One direction: what was sent, what is on the wire, what arrived. */
struct lane {
	struct tls_stream *from;
	struct tls_stream *to;
	struct buf sent;
	struct buf wire;
	struct buf arrived;
	uint8_t *send_buf;
	uint8_t *open_buf;
	size_t open_len;
	bool closed;
};

#define LANE_MAX (64UL << 20)

static void
lane_init(struct lane *l, struct tls_stream *from, struct tls_stream *to)
{
	*l = (struct lane){ .from = from, .to = to };
	l->sent = BUF_INIT(LANE_MAX);
	l->wire = BUF_INIT(LANE_MAX);
	l->arrived = BUF_INIT(LANE_MAX);
	l->send_buf = xmalloc0(TLS_BUF_SIZE);
	l->open_buf = xmalloc0(TLS_BUF_SIZE);
}

static void
lane_done(struct lane *l)
{
	buf_done(&l->sent);
	buf_done(&l->wire);
	buf_done(&l->arrived);
	free(l->send_buf);
	free(l->open_buf);
}

/* Seals len random bytes (0: what is due) and puts them on the wire. */
static void
lane_send(struct lane *l, size_t len, uint64_t *seed)
{
	struct iovec iov[TLS_BATCH_RECORDS];
	struct iovec wire;
	struct tls_failure f;
	int n = len > 0 ? tls_stream_plain_iov(l->send_buf, len, iov) : 0;

	for (int i = 0; i < n; i++) {
		uint8_t *p = iov[i].iov_base;

		for (size_t j = 0; j < iov[i].iov_len; j++)
			p[j] = (uint8_t)next_random(seed);
		assert_int_equal(buf_append(&l->sent, p, iov[i].iov_len), 0);
	}
	assert_int_equal(tls_stream_seal(l->from, l->send_buf, len, &wire, &f),
			 0);
	assert_int_equal(buf_append(&l->wire, wire.iov_base, wire.iov_len), 0);
}

static void
lane_close(struct lane *l)
{
	uint8_t small[TLS_HEADROOM];
	struct iovec wire;
	struct tls_failure f;

	assert_int_equal(tls_stream_seal_close(l->from, small, &wire, &f), 0);
	assert_int_equal(buf_append(&l->wire, wire.iov_base, wire.iov_len), 0);
}

static void
lane_open(struct lane *l)
{
	struct tls_opened o;
	struct tls_failure f = { 0 };

	do {
		if (tls_stream_open(l->to, l->open_buf, l->open_len, 0, &o,
				    &f) == -1)
			fail_msg("%s", f.text);
		for (int i = 0; i < o.iovcnt; i++)
			assert_int_equal(buf_append(&l->arrived,
						    o.iov[i].iov_base,
						    o.iov[i].iov_len),
					 0);
		l->open_len -= o.consumed;
		memmove(l->open_buf, l->open_buf + o.consumed, l->open_len);
	} while (o.consumed > 0 && l->open_len > 0 && o.need == 0);
	l->closed = o.closed;
}

/* Moves up to max bytes from the wire to the receiver. */
static void
lane_carry(struct lane *l, size_t max)
{
	size_t n = TLS_BUF_SIZE - l->open_len;

	if (n > max)
		n = max;
	if (n > l->wire.len)
		n = l->wire.len;
	if (n > 0)
		memcpy(l->open_buf + l->open_len, l->wire.data, n);
	l->open_len += n;
	buf_consume(&l->wire, n);
	lane_open(l);
}

static void
lane_drain(struct lane *l)
{
	while (l->wire.len > 0)
		lane_carry(l, SIZE_MAX);
}

static void
lane_check(const struct lane *l)
{
	assert_int_equal(l->arrived.len, l->sent.len);
	if (l->sent.len > 0)
		assert_memory_equal(l->arrived.data, l->sent.data, l->sent.len);
}

/* Mostly small or full, sometimes anything. */
static size_t
random_size(uint64_t *seed)
{
	uint64_t r = next_random(seed);

	switch (r % 4) {
	case 0:
		return 1 + (r >> 8) % 100;
	case 1:
		return TLS_BATCH_PLAIN;
	case 2:
		return TLS_RECORD_PLAIN * (1 + (r >> 8) % TLS_BATCH_RECORDS);
	default:
		return 1 + (r >> 8) % TLS_BATCH_PLAIN;
	}
}

static void
exchange(struct testpair *pair, unsigned rounds, uint64_t seed)
{
	struct lane lanes[2];

	lane_init(&lanes[0], pair->client.stream, pair->server.stream);
	lane_init(&lanes[1], pair->server.stream, pair->client.stream);
	for (unsigned i = 0; i < rounds; i++) {
		struct lane *l = &lanes[next_random(&seed) % 2];

		if (next_random(&seed) % 3 == 0)
			lane_send(l, random_size(&seed), &seed);
		else if (next_random(&seed) % 16 == 0)
			tls_stream_start_update(l->from);
		else if (tls_stream_wants_to_send(l->from))
			lane_send(l, 0, &seed);
		else
			lane_carry(l, random_size(&seed));
	}
	for (unsigned i = 0; i < 2; i++) {
		assert_true(lanes[i].sent.len > TLS_BATCH_PLAIN);
		lane_drain(&lanes[i]);
		lane_close(&lanes[i]);
		lane_drain(&lanes[i]);
		assert_true(lanes[i].closed);
		assert_int_equal(tls_stream_eof(lanes[i].to, NULL), 0);
		lane_check(&lanes[i]);
		lane_done(&lanes[i]);
	}
}

/* All four pairs, one after the other. */
static void
connect_pair(struct testpair *pair, unsigned i)
{
	*pair = (struct testpair){ 0 };
	testpair_connect(pair, (enum tls_engine)(i & 1),
			 (enum tls_engine)(i >> 1));
}

static void
test_all_pairs_of_engines_carry_what_is_sent(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		struct testpair pair;

		connect_pair(&pair, i);
		exchange(&pair, 200, 88172645463325252ULL + i);
		testpair_done(&pair);
	}
}

/* With so low a limit every batch or so begins with a KeyUpdate. */
static void
test_keys_are_updated_before_the_limit(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		struct testpair pair;
		struct lane l;
		uint64_t seed = 1 + i;
		unsigned sent;
		unsigned received;

		connect_pair(&pair, i);
		tls_stream_set_limit(pair.client.stream, 40);
		lane_init(&l, pair.client.stream, pair.server.stream);
		for (unsigned j = 0; j < 12; j++) {
			lane_send(&l, TLS_BATCH_PLAIN, &seed);
			lane_drain(&l);
		}
		lane_check(&l);
		/* 12 batches of 16, and 2 fit under one key of 40. */
		if (pair.client.engine == TLS_ENGINE_RECORD) {
			tls_record_updates(pair.client.stream, &sent,
					   &received);
			assert_int_equal(sent, 5);
			assert_int_equal(received, 0);
		}
		if (pair.server.engine == TLS_ENGINE_RECORD) {
			tls_record_updates(pair.server.stream, &sent,
					   &received);
			assert_int_equal(sent, 0);
			assert_in_range(received, 4, 6);
		}
		lane_done(&l);
		testpair_done(&pair);
	}
}

static void
test_a_requested_update_comes_without_waiting_for_data(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		struct testpair pair;
		struct lane to;
		struct lane back;
		uint64_t seed = 1 + i;

		connect_pair(&pair, i);
		lane_init(&to, pair.client.stream, pair.server.stream);
		lane_init(&back, pair.server.stream, pair.client.stream);
		assert_false(tls_stream_wants_to_send(to.from));
		tls_stream_start_update(to.from);
		assert_true(tls_stream_wants_to_send(to.from));
		lane_send(&to, 0, &seed);
		assert_false(tls_stream_wants_to_send(to.from));
		lane_drain(&to);
		assert_true(tls_stream_wants_to_send(back.from));
		lane_send(&back, 0, &seed);
		assert_true(back.wire.len > 0);
		assert_false(tls_stream_wants_to_send(back.from));
		lane_drain(&back);
		lane_send(&back, 1000, &seed);
		lane_send(&to, 1000, &seed);
		lane_drain(&back);
		lane_drain(&to);
		lane_check(&back);
		lane_check(&to);
		lane_done(&to);
		lane_done(&back);
		testpair_done(&pair);
	}
}

static void
test_one_direction_may_end_while_the_other_goes_on(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		struct testpair pair;
		struct lane to;
		struct lane back;
		uint64_t seed = 1 + i;

		connect_pair(&pair, i);
		lane_init(&to, pair.client.stream, pair.server.stream);
		lane_init(&back, pair.server.stream, pair.client.stream);
		lane_close(&to);
		lane_drain(&to);
		assert_true(to.closed);
		lane_send(&back, TLS_BATCH_PLAIN, &seed);
		lane_drain(&back);
		lane_check(&back);
		assert_false(back.closed);
		lane_close(&back);
		lane_drain(&back);
		assert_true(back.closed);
		lane_done(&to);
		lane_done(&back);
		testpair_done(&pair);
	}
}

/* As in plain mode: a record, then bytes that are none. */
static void
test_an_engine_takes_no_byte_behind_the_record(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		struct testpair pair;
		struct lane l;
		struct tls_opened o;
		struct tls_failure f;
		uint64_t seed = 1 + i;
		size_t len;

		connect_pair(&pair, i);
		lane_init(&l, pair.client.stream, pair.server.stream);
		lane_send(&l, 300, &seed);
		len = l.wire.len;
		assert_int_equal(buf_append_str(&l.wire, "plain bytes"), 0);
		memcpy(l.open_buf, l.wire.data, l.wire.len);
		assert_int_equal(tls_stream_open(l.to, l.open_buf, l.wire.len,
						 1, &o, &f),
				 0);
		assert_int_equal(o.consumed, len);
		assert_int_equal(o.plain_len, 300);
		assert_int_equal(o.need, 0);
		assert_memory_equal(l.open_buf + len, "plain bytes", 11);
		lane_done(&l);
		testpair_done(&pair);
	}
}

/* What fails on one side must be told to the other, by either engine. */
static void
test_a_forged_record_ends_both_sides(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		struct testpair pair;
		struct lane l;
		struct tls_opened o;
		struct tls_failure f;
		struct iovec wire;
		uint64_t seed = 1 + i;

		connect_pair(&pair, i);
		lane_init(&l, pair.client.stream, pair.server.stream);
		lane_send(&l, 300, &seed);
		l.wire.data[100] ^= 0x80;
		assert_int_equal(tls_stream_open(l.to, l.wire.data, l.wire.len,
						 0, &o, &f),
				 -1);
		assert_int_equal(f.reason, TLS_REASON_BAD_RECORD);
		assert_int_equal(tls_stream_eof(l.to, &f), -1);
		assert_int_equal(f.reason, TLS_REASON_BAD_RECORD);
		assert_int_equal(
			tls_stream_seal(l.to, l.send_buf, 0, &wire, &f), 0);
		memcpy(l.open_buf, wire.iov_base, wire.iov_len);
		assert_int_equal(tls_stream_open(l.from, l.open_buf,
						 wire.iov_len, 0, &o, &f),
				 -1);
		assert_int_equal(f.reason, TLS_REASON_BAD_RECORD);
		assert_true(f.by_peer);
		assert_int_equal(
			tls_stream_seal(l.to, l.send_buf, 1, &wire, &f), -1);
		assert_int_equal(
			tls_stream_seal(l.from, l.send_buf, 1, &wire, &f), -1);
		assert_int_equal(
			tls_stream_seal_close(l.from, l.send_buf, &wire, &f),
			-1);
		lane_done(&l);
		testpair_done(&pair);
	}
}

/* While a batch waits for a slow socket, the other direction goes on. */
static void
test_opening_leaves_alone_what_was_sealed(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		struct testpair pair;
		struct lane to;
		struct lane back;
		struct iovec wire;
		struct tls_failure f;
		uint64_t seed = 1 + i;

		connect_pair(&pair, i);
		lane_init(&to, pair.client.stream, pair.server.stream);
		lane_init(&back, pair.server.stream, pair.client.stream);
		tls_stream_start_update(back.from);
		lane_send(&back, TLS_BATCH_PLAIN, &seed);
		memset(to.send_buf, 'x', TLS_BUF_SIZE);
		assert_int_equal(tls_stream_seal(to.from, to.send_buf,
						 TLS_BATCH_PLAIN, &wire, &f),
				 0);
		assert_int_equal(
			buf_append(&to.wire, wire.iov_base, wire.iov_len), 0);
		lane_drain(&back);
		/* A forged record, about which libssl writes an alert. */
		lane_send(&back, 10, &seed);
		back.wire.data[20] ^= 1;
		assert_int_equal(tls_stream_open(back.to, back.wire.data,
						 back.wire.len, 0,
						 &(struct tls_opened){ 0 }, &f),
				 -1);
		assert_int_equal(wire.iov_len, to.wire.len);
		assert_memory_equal(wire.iov_base, to.wire.data, wire.iov_len);
		assert_true(tls_stream_wants_to_send(to.from));
		lane_done(&to);
		lane_done(&back);
		testpair_done(&pair);
	}
}

static void
test_a_cut_connection_is_not_an_end(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		struct testpair pair;
		struct lane l;
		struct tls_failure f;
		uint64_t seed = 1 + i;

		connect_pair(&pair, i);
		lane_init(&l, pair.client.stream, pair.server.stream);
		lane_send(&l, 300, &seed);
		lane_drain(&l);
		assert_int_equal(tls_stream_eof(l.to, &f), -1);
		assert_int_equal(f.reason, TLS_REASON_TRUNCATED);
		lane_done(&l);
		testpair_done(&pair);
	}
}

static void
test_slots_are_filled_in_order(void **state)
{
	uint8_t *buf = xmalloc0(TLS_BUF_SIZE);
	struct iovec iov[TLS_BATCH_RECORDS];

	(void)state;
	assert_int_equal(tls_stream_plain_iov(buf, 1, iov), 1);
	assert_ptr_equal(iov[0].iov_base, buf + TLS_HEADROOM + 5);
	assert_int_equal(iov[0].iov_len, 1);
	assert_int_equal(tls_stream_plain_iov(buf, TLS_RECORD_PLAIN + 7, iov),
			 2);
	assert_int_equal(iov[0].iov_len, TLS_RECORD_PLAIN);
	assert_int_equal(iov[1].iov_len, 7);
	assert_int_equal(tls_stream_plain_iov(buf, TLS_BATCH_PLAIN, iov),
			 TLS_BATCH_RECORDS);
	assert_true((uint8_t *)iov[15].iov_base + iov[15].iov_len + 17 <=
		    buf + TLS_BUF_SIZE);
	free(buf);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_pairs_of_engines_carry_what_is_sent),
		cmocka_unit_test(test_keys_are_updated_before_the_limit),
		cmocka_unit_test(
			test_a_requested_update_comes_without_waiting_for_data),
		cmocka_unit_test(
			test_one_direction_may_end_while_the_other_goes_on),
		cmocka_unit_test(
			test_an_engine_takes_no_byte_behind_the_record),
		cmocka_unit_test(test_a_forged_record_ends_both_sides),
		cmocka_unit_test(test_opening_leaves_alone_what_was_sealed),
		cmocka_unit_test(test_a_cut_connection_is_not_an_end),
		cmocka_unit_test(test_slots_are_filled_in_order),
	};

	return cmocka_run_group_tests_name("stream", tests, NULL, NULL);
}
