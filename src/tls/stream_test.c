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
		lane_drain(&lanes[i]);
		lane_close(&lanes[i]);
		lane_drain(&lanes[i]);
		assert_true(lanes[i].closed);
		assert_int_equal(tls_stream_eof(lanes[i].to, NULL), 0);
		lane_check(&lanes[i]);
		lane_done(&lanes[i]);
	}
}

static void
test_all_pairs_of_engines_carry_what_is_sent(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		struct testpair pair = { 0 };

		testpair_connect(&pair, (enum tls_engine)(i & 1),
				 (enum tls_engine)(i >> 1));
		exchange(&pair, 200, 88172645463325252ULL + i);
		testpair_done(&pair);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_pairs_of_engines_carry_what_is_sent),
	};

	return cmocka_run_group_tests_name("stream", tests, NULL, NULL);
}
