/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The record layer against a peer that holds the right keys but may say
 * anything: records are made here byte by byte.
 */

#include <stdlib.h>
#include <string.h>

#define TLS_ALLOW_PRIVATE

#include "base/array.h"
#include "base/mem.h"
#include "base/test.h"
#include "tls/engine.h"
#include "tls/private.h"
#include "tls/testforger.h"

#define SUITE TESTFORGER_SUITE

/* A record layer under test, a forger at its other end, and room for both. */
struct rig {
	struct tls_stream *s;
	struct testforger forger;
	uint8_t *wire; /* TLS_BUF_SIZE */
	size_t len;
	struct tls_opened opened;
	struct tls_failure failure;
};

static void
rig_init(struct rig *r, enum tls_role role)
{
	bool client = role == TLS_ROLE_CLIENT;

	*r = (struct rig){ 0 };
	r->s = tls_record_new(role, SUITE, &testforger_secrets);
	r->wire = xmalloc0(TLS_BUF_SIZE);
	testforger_init(&r->forger, client ? testforger_secrets.server
					   : testforger_secrets.client);
}

static void
rig_done(struct rig *r)
{
	tls_stream_free(r->s);
	testforger_done(&r->forger);
	free(r->wire);
}

static void
rig_add(struct rig *r, const void *inner, size_t len)
{
	r->len += testforger_seal(&r->forger, inner, len, r->wire + r->len);
}

#define RIG_ADD(r, ...)                                          \
	do {                                                     \
		static const uint8_t inner_[] = { __VA_ARGS__ }; \
		rig_add((r), inner_, sizeof(inner_));            \
	} while (0)

static int
rig_open(struct rig *r)
{
	int result = tls_stream_open(r->s, r->wire, r->len, 0, &r->opened,
				     &r->failure);

	memmove(r->wire, r->wire + r->opened.consumed,
		r->len - r->opened.consumed);
	r->len -= r->opened.consumed;
	return result;
}

/* The record engine must refuse what is on the wire, and say why. */
static void
rig_expect_refusal(struct rig *r, enum tls_reason reason, unsigned alert)
{
	uint8_t small[TLS_HEADROOM];
	uint8_t opened[TLS_HEADROOM];
	struct iovec wire;
	struct tls_stream *peer;
	struct tls_opened o;
	struct tls_failure f;

	assert_int_equal(rig_open(r), -1);
	assert_string_equal(tls_reason_name(r->failure.reason),
			    tls_reason_name(reason));
	assert_false(r->failure.by_peer);
	/* It stays refused, and the peer is told once. */
	assert_int_equal(rig_open(r), -1);
	assert_true(tls_stream_wants_to_send(r->s));
	assert_int_equal(tls_stream_seal(r->s, small, 0, &wire, &f), 0);
	assert_int_equal(wire.iov_len, TLS_RECORD_HEADER + 2 + 1 + 16);
	assert_false(tls_stream_wants_to_send(r->s));
	assert_int_equal(tls_stream_seal(r->s, small, 1, &wire, &f), -1);

	/* The alert is the one expected, under our own key. */
	peer = tls_record_new(TLS_ROLE_SERVER, SUITE, &testforger_secrets);
	memcpy(opened, small, 24);
	if (tls_stream_open(peer, opened, 24, 0, &o, &f) == -1 && !f.by_peer) {
		tls_stream_free(peer);
		peer = tls_record_new(TLS_ROLE_CLIENT, SUITE,
				      &testforger_secrets);
		memcpy(opened, small, 24);
		(void)tls_stream_open(peer, opened, 24, 0, &o, &f);
	}
	assert_true(f.by_peer);
	assert_non_null(strstr(f.text, "(alert "));
	assert_int_equal(strtoul(strstr(f.text, "(alert ") + 7, NULL, 10),
			 alert);
	tls_stream_free(peer);
}

static void
test_padding_is_removed(void **state)
{
	static const size_t paddings[] = { 0, 1, 100, TLS_RECORD_PLAIN - 3 };
	uint8_t *inner = xmalloc0(TLS_RECORD_PLAIN + 1);
	struct rig r;

	(void)state;
	rig_init(&r, TLS_ROLE_SERVER);
	memcpy(inner, (uint8_t[]){ 'a', 0, 'b', TLS_CONTENT_DATA }, 4);
	for (size_t i = 0; i < ARRAY_LEN(paddings); i++)
		rig_add(&r, inner, 4 + paddings[i]);
	assert_int_equal(rig_open(&r), 0);
	assert_int_equal(r.opened.plain_len, 3 * ARRAY_LEN(paddings));
	assert_int_equal(r.opened.iovcnt, 1);
	for (size_t i = 0; i < ARRAY_LEN(paddings); i++)
		assert_memory_equal((uint8_t *)r.opened.iov[0].iov_base + 3 * i,
				    "a\0b", 3);
	rig_done(&r);
	free(inner);
}

static void
test_nothing_but_padding_is_refused(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r, TLS_ROLE_SERVER);
	RIG_ADD(&r, 0, 0, 0, 0);
	rig_expect_refusal(&r, TLS_REASON_UNEXPECTED, 10);
	rig_done(&r);
}

static void
test_a_record_may_be_full_but_not_fuller(void **state)
{
	uint8_t *inner = xmalloc0(TLS_RECORD_PLAIN + TLS_RECORD_EXPANSION);
	struct rig r;

	(void)state;
	memset(inner, 'x', TLS_RECORD_PLAIN);
	inner[TLS_RECORD_PLAIN] = TLS_CONTENT_DATA;
	rig_init(&r, TLS_ROLE_SERVER);
	rig_add(&r, inner, TLS_RECORD_PLAIN + 1);
	assert_int_equal(rig_open(&r), 0);
	assert_int_equal(r.opened.plain_len, TLS_RECORD_PLAIN);
	/* One zero of padding too many, though the record could hold it. */
	rig_add(&r, inner, TLS_RECORD_PLAIN + 2);
	rig_expect_refusal(&r, TLS_REASON_BAD_RECORD, 22);
	rig_done(&r);
	free(inner);
}

static void
test_a_length_beyond_the_limit_is_refused_by_its_header(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r, TLS_ROLE_SERVER);
	memcpy(r.wire, (uint8_t[]){ 23, 3, 3, 0x41, 0x01 }, 5);
	r.len = 5;
	rig_expect_refusal(&r, TLS_REASON_BAD_RECORD, 22);
	rig_done(&r);
}

static void
test_a_record_too_short_for_its_tag_is_refused(void **state)
{
	(void)state;
	for (uint8_t body = 0; body <= TLS_TAG_LEN; body++) {
		struct rig r;

		rig_init(&r, TLS_ROLE_SERVER);
		memcpy(r.wire, (uint8_t[]){ 23, 3, 3, 0, body }, 5);
		r.len = 5U + body;
		rig_expect_refusal(&r, TLS_REASON_BAD_RECORD, 20);
		rig_done(&r);
	}
}

/*
 * Each byte of a record in turn. A change of the type or of the length is seen
 * from the header; the rest by the tag.
 */
static void
test_every_changed_byte_is_noticed(void **state)
{
	(void)state;
	for (size_t i = 0; i < 5 + 9 + 16; i++) {
		struct rig r;

		rig_init(&r, TLS_ROLE_SERVER);
		rig_add(&r, "ABCDEFGH\x17", 9);
		rig_add(&r, "IJKLMNOP\x17", 9);
		r.wire[i] ^= 1;
		if (i == 4) { /* shorter by one */
			r.wire[i] ^= 1;
			r.wire[i]--;
		} else if (i == 3) {
			r.wire[i] = 0x41;
		}
		assert_int_equal(rig_open(&r), -1);
		assert_int_equal(r.opened.plain_len, 0);
		assert_int_equal(r.failure.reason,
				 i == 0 ? TLS_REASON_UNEXPECTED
					: TLS_REASON_BAD_RECORD);
		rig_done(&r);
	}
}

static void
test_records_lost_repeated_or_swapped_are_noticed(void **state)
{
	static const unsigned orders[][2] = { { 1, 1 }, { 0, 0 }, { 1, 0 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(orders); i++) {
		uint8_t records[2][64];
		size_t len = 0;
		struct rig r;

		rig_init(&r, TLS_ROLE_SERVER);
		for (unsigned j = 0; j < 2; j++)
			len = testforger_seal(&r.forger, "data\x17", 5,
					      records[j]);
		for (unsigned j = 0; j < 2; j++) {
			memcpy(r.wire + r.len, records[orders[i][j]], len);
			r.len += len;
		}
		/* What came before the fault is delivered first. */
		if (orders[i][0] == 0) {
			assert_int_equal(rig_open(&r), 0);
			assert_int_equal(r.opened.plain_len, 4);
			assert_int_equal(r.opened.need, 0);
			assert_int_equal(r.len, len);
		}
		rig_expect_refusal(&r, TLS_REASON_BAD_RECORD, 20);
		rig_done(&r);
	}
}

static void
test_a_partial_record_says_how_much_is_missing(void **state)
{
	size_t full;
	struct rig r;

	(void)state;
	rig_init(&r, TLS_ROLE_SERVER);
	rig_add(&r, "data\x17", 5);
	full = r.len;
	for (size_t len = 0; len < full; len++) {
		r.len = len;
		assert_int_equal(rig_open(&r), 0);
		assert_int_equal(r.opened.consumed, 0);
		assert_int_equal(r.opened.plain_len, 0);
		assert_int_equal(r.opened.need, len == 0  ? 0
						: len < 5 ? 5 - len
							  : full - len);
		assert_int_equal(tls_stream_eof(r.s, &r.failure), -1);
		assert_int_equal(r.failure.reason, TLS_REASON_TRUNCATED);
	}
	r.len = full;
	assert_int_equal(rig_open(&r), 0);
	assert_int_equal(r.opened.plain_len, 4);
	assert_int_equal(r.opened.need, 0);
	rig_done(&r);
}

static void
test_bytes_behind_the_last_record_wanted_stay_as_they_are(void **state)
{
	uint8_t second[64];
	size_t first;
	size_t len;
	struct rig r;

	(void)state;
	rig_init(&r, TLS_ROLE_SERVER);
	rig_add(&r, "one\x17", 4);
	first = r.len;
	rig_add(&r, "two\x17", 4);
	len = r.len - first;
	memcpy(second, r.wire + first, len);
	assert_int_equal(
		tls_stream_open(r.s, r.wire, r.len, 1, &r.opened, &r.failure),
		0);
	assert_int_equal(r.opened.consumed, first);
	assert_int_equal(r.opened.plain_len, 3);
	assert_memory_equal(r.wire + first, second, len);
	rig_done(&r);
}

static void
test_alerts_end_the_stream_whatever_their_level(void **state)
{
	struct rig r;

	(void)state;
	for (unsigned level = 0; level < 3; level++) {
		uint8_t inner[] = { (uint8_t)level, 45, TLS_CONTENT_ALERT };

		rig_init(&r, TLS_ROLE_SERVER);
		rig_add(&r, inner, sizeof(inner));
		assert_int_equal(rig_open(&r), -1);
		assert_int_equal(r.failure.reason, TLS_REASON_CERT_EXPIRED);
		assert_true(r.failure.by_peer);
		/* An alert is not answered. */
		assert_false(tls_stream_wants_to_send(r.s));
		rig_done(&r);
	}
}

static void
test_user_canceled_is_passed_over(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r, TLS_ROLE_SERVER);
	RIG_ADD(&r, 1, 90, TLS_CONTENT_ALERT);
	RIG_ADD(&r, 1, 0, TLS_CONTENT_ALERT);
	assert_int_equal(rig_open(&r), 0);
	assert_true(r.opened.closed);
	rig_done(&r);
}

static void
test_malformed_alerts_are_refused(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r, TLS_ROLE_SERVER);
	RIG_ADD(&r, 1, TLS_CONTENT_ALERT);
	rig_expect_refusal(&r, TLS_REASON_BAD_RECORD, 50);
	rig_done(&r);
	rig_init(&r, TLS_ROLE_SERVER);
	RIG_ADD(&r, 1, 0, 1, 0, TLS_CONTENT_ALERT);
	rig_expect_refusal(&r, TLS_REASON_BAD_RECORD, 50);
	rig_done(&r);
}

static void
test_nothing_is_opened_after_close_notify(void **state)
{
	size_t first;
	struct rig r;

	(void)state;
	rig_init(&r, TLS_ROLE_SERVER);
	RIG_ADD(&r, 1, 0, TLS_CONTENT_ALERT);
	first = r.len;
	rig_add(&r, "more\x17", 5);
	assert_int_equal(rig_open(&r), 0);
	assert_true(r.opened.closed);
	assert_int_equal(r.opened.consumed, first);
	assert_int_equal(rig_open(&r), 0);
	assert_true(r.opened.closed);
	assert_int_equal(r.opened.consumed, 0);
	assert_int_equal(tls_stream_eof(r.s, NULL), 0);
	rig_done(&r);
}

static void
test_a_key_update_changes_the_key_of_the_sender(void **state)
{
	unsigned sent;
	unsigned received;
	struct rig r;

	(void)state;
	rig_init(&r, TLS_ROLE_SERVER);
	for (unsigned i = 0; i < 3; i++) {
		rig_add(&r, "old\x17", 4);
		RIG_ADD(&r, 24, 0, 0, 1, 0, TLS_CONTENT_HANDSHAKE);
		testforger_update(&r.forger);
		rig_add(&r, "new\x17", 4);
	}
	assert_int_equal(rig_open(&r), 0);
	assert_int_equal(r.opened.plain_len, 18);
	tls_record_updates(r.s, &sent, &received);
	assert_int_equal(received, 3);
	/* None was asked of us. */
	assert_false(tls_stream_wants_to_send(r.s));
	rig_done(&r);
}

static void
test_a_requested_key_update_is_answered_once(void **state)
{
	uint8_t small[TLS_HEADROOM];
	struct iovec wire;
	unsigned sent;
	unsigned received;
	struct rig r;

	(void)state;
	rig_init(&r, TLS_ROLE_SERVER);
	for (unsigned i = 0; i < 5; i++) {
		RIG_ADD(&r, 24, 0, 0, 1, 1, TLS_CONTENT_HANDSHAKE);
		testforger_update(&r.forger);
	}
	assert_int_equal(rig_open(&r), 0);
	assert_true(tls_stream_wants_to_send(r.s));
	assert_int_equal(tls_stream_seal(r.s, small, 0, &wire, &r.failure), 0);
	assert_int_equal(wire.iov_len, 27);
	assert_false(tls_stream_wants_to_send(r.s));
	tls_record_updates(r.s, &sent, &received);
	assert_int_equal(sent, 1);
	assert_int_equal(received, 5);
	rig_done(&r);
}

static void
test_no_answer_is_due_after_the_own_end(void **state)
{
	uint8_t small[TLS_HEADROOM];
	struct iovec wire;
	struct rig r;

	(void)state;
	rig_init(&r, TLS_ROLE_SERVER);
	assert_int_equal(tls_stream_seal_close(r.s, small, &wire, &r.failure),
			 0);
	RIG_ADD(&r, 24, 0, 0, 1, 1, TLS_CONTENT_HANDSHAKE);
	testforger_update(&r.forger);
	rig_add(&r, "data\x17", 5);
	assert_int_equal(rig_open(&r), 0);
	assert_int_equal(r.opened.plain_len, 4);
	assert_false(tls_stream_wants_to_send(r.s));
	assert_int_equal(tls_stream_seal(r.s, small, 1, &wire, &r.failure), -1);
	assert_int_equal(tls_stream_seal_close(r.s, small, &wire, &r.failure),
			 -1);
	rig_done(&r);
}

static void
test_malformed_key_updates_are_refused(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r, TLS_ROLE_SERVER);
	RIG_ADD(&r, 24, 0, 0, 1, 2, TLS_CONTENT_HANDSHAKE);
	rig_expect_refusal(&r, TLS_REASON_BAD_RECORD, 47);
	rig_done(&r);
	rig_init(&r, TLS_ROLE_SERVER);
	RIG_ADD(&r, 24, 0, 0, 2, 0, 0, TLS_CONTENT_HANDSHAKE);
	rig_expect_refusal(&r, TLS_REASON_BAD_RECORD, 50);
	rig_done(&r);
	/* The key changes with it, so nothing may share its record. */
	rig_init(&r, TLS_ROLE_SERVER);
	RIG_ADD(&r, 24, 0, 0, 1, 0, 24, 0, 0, 1, 0, TLS_CONTENT_HANDSHAKE);
	rig_expect_refusal(&r, TLS_REASON_UNEXPECTED, 10);
	rig_done(&r);
}

static void
test_a_message_may_be_spread_over_records(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r, TLS_ROLE_CLIENT);
	/* A ticket of 6 bytes and the start of a KeyUpdate; then its rest. */
	RIG_ADD(&r, 4, 0, 0, TLS_CONTENT_HANDSHAKE);
	RIG_ADD(&r, 6, 1, 2, 3, TLS_CONTENT_HANDSHAKE);
	RIG_ADD(&r, 4, 5, 6, 24, 0, TLS_CONTENT_HANDSHAKE);
	RIG_ADD(&r, 0, 1, 0, TLS_CONTENT_HANDSHAKE, 0, 0);
	testforger_update(&r.forger);
	rig_add(&r, "data\x17", 5);
	assert_int_equal(rig_open(&r), 0);
	assert_int_equal(r.opened.plain_len, 4);
	rig_done(&r);
}

static void
test_data_may_not_break_into_a_message(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r, TLS_ROLE_CLIENT);
	RIG_ADD(&r, 4, 0, 0, 6, 1, TLS_CONTENT_HANDSHAKE);
	rig_add(&r, "data\x17", 5);
	rig_expect_refusal(&r, TLS_REASON_UNEXPECTED, 10);
	rig_done(&r);
}

static void
test_messages_that_do_not_belong_here_are_refused(void **state)
{
	static const struct {
		enum tls_role role;
		uint8_t inner[8];
		size_t len;
		enum tls_reason reason;
		unsigned alert;
	} rows[] = {
		/* A ticket, from a client. */
		{ TLS_ROLE_SERVER,
		  { 4, 0, 0, 1, 0, 22 },
		  6,
		  TLS_REASON_UNEXPECTED,
		  10 },
		/* CertificateRequest, Finished, ClientHello, unknown. */
		{ TLS_ROLE_CLIENT,
		  { 13, 0, 0, 1, 0, 22 },
		  6,
		  TLS_REASON_UNEXPECTED,
		  10 },
		{ TLS_ROLE_SERVER,
		  { 20, 0, 0, 1, 0, 22 },
		  6,
		  TLS_REASON_UNEXPECTED,
		  10 },
		{ TLS_ROLE_SERVER,
		  { 1, 0, 0, 1, 0, 22 },
		  6,
		  TLS_REASON_UNEXPECTED,
		  10 },
		{ TLS_ROLE_CLIENT,
		  { 255, 0, 0, 0, 22 },
		  5,
		  TLS_REASON_UNEXPECTED,
		  10 },
		/* Tickets of no length and of 16 MiB. */
		{ TLS_ROLE_CLIENT,
		  { 4, 0, 0, 0, 22 },
		  5,
		  TLS_REASON_BAD_RECORD,
		  50 },
		{ TLS_ROLE_CLIENT,
		  { 4, 255, 255, 255, 22 },
		  5,
		  TLS_REASON_BAD_RECORD,
		  50 },
		/* An empty handshake record, change_cipher_spec, unknown. */
		{ TLS_ROLE_CLIENT, { 22 }, 1, TLS_REASON_UNEXPECTED, 10 },
		{ TLS_ROLE_CLIENT, { 1, 20 }, 2, TLS_REASON_UNEXPECTED, 10 },
		{ TLS_ROLE_CLIENT, { 1, 99 }, 2, TLS_REASON_UNEXPECTED, 10 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct rig r;

		rig_init(&r, rows[i].role);
		rig_add(&r, rows[i].inner, rows[i].len);
		rig_expect_refusal(&r, rows[i].reason, rows[i].alert);
		rig_done(&r);
	}
}

static void
test_records_in_the_clear_are_refused(void **state)
{
	static const uint8_t records[][7] = {
		{ 20, 3, 3, 0, 1, 1 },    /* change_cipher_spec */
		{ 21, 3, 3, 0, 2, 1, 0 }, /* close_notify */
		{ 22, 3, 3, 0, 1, 0 },
		{ 'Q', 'E', 'V', 'M' },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(records); i++) {
		struct rig r;

		rig_init(&r, TLS_ROLE_SERVER);
		memcpy(r.wire, records[i], sizeof(records[i]));
		r.len = 1; /* the first byte is enough */
		rig_expect_refusal(&r, TLS_REASON_UNEXPECTED, 10);
		rig_done(&r);
	}
}

static void
test_a_flood_of_empty_records_is_refused(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r, TLS_ROLE_SERVER);
	/* With data in between they may go on for ever. */
	for (unsigned i = 0; i < 100; i++) {
		RIG_ADD(&r, TLS_CONTENT_DATA);
		if (i % 30 == 29)
			rig_add(&r, "x\x17", 2);
	}
	assert_int_equal(rig_open(&r), 0);
	assert_int_equal(r.opened.plain_len, 3);
	assert_int_equal(r.len, 0);
	for (unsigned i = 0; i < 40; i++)
		RIG_ADD(&r, TLS_CONTENT_DATA);
	rig_expect_refusal(&r, TLS_REASON_TOO_MUCH, 10);
	rig_done(&r);
}

static void
test_a_peer_that_never_changes_its_key_is_asked_to(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r, TLS_ROLE_SERVER);
	tls_stream_set_limit(r.s, 80);
	for (unsigned i = 0; i < 80 + 10 + 16; i++) {
		assert_false(tls_stream_wants_to_send(r.s));
		rig_add(&r, "x\x17", 2);
		assert_int_equal(rig_open(&r), 0);
	}
	assert_true(tls_stream_wants_to_send(r.s));
	rig_done(&r);
}

/* What the kernel gets must be where user space stopped. */
static void
test_exported_keys_are_those_of_the_next_record(void **state)
{
	struct tls_record_keys keys;
	uint8_t key[TLS_KEY_MAX];
	struct rig r;

	(void)state;
	rig_init(&r, TLS_ROLE_SERVER);
	rig_add(&r, "data\x17", 5);
	RIG_ADD(&r, 24, 0, 0, 1, 0, TLS_CONTENT_HANDSHAKE);
	testforger_update(&r.forger);
	for (unsigned i = 0; i < 3; i++)
		rig_add(&r, "data\x17", 5);
	assert_int_equal(rig_open(&r), 0);
	assert_int_equal(tls_record_export(r.s, false, &keys), 0);
	assert_int_equal(keys.seq, 3);
	assert_memory_equal(keys.iv, r.forger.iv, TLS_IV_LEN);
	assert_int_equal(
		tls_suite_expand(SUITE, r.forger.secret, "key", key, 16), 0);
	assert_memory_equal(keys.key, key, 16);
	/* The other direction has not moved. */
	assert_int_equal(tls_record_export(r.s, true, &keys), 0);
	assert_int_equal(keys.seq, 0);
	assert_int_equal(tls_suite_expand(SUITE, testforger_secrets.server,
					  "key", key, 16),
			 0);
	assert_memory_equal(keys.key, key, 16);
	rig_done(&r);
}

static void
test_small_records_become_few_pieces(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r, TLS_ROLE_SERVER);
	for (unsigned i = 0; i < 5000; i++) {
		uint8_t inner[] = { (uint8_t)i, (uint8_t)(i >> 8), 23 };

		rig_add(&r, inner, sizeof(inner));
	}
	assert_int_equal(rig_open(&r), 0);
	assert_int_equal(r.len, 0);
	assert_int_equal(r.opened.iovcnt, 1);
	assert_int_equal(r.opened.plain_len, 10000);
	rig_done(&r);
}

static void
test_large_records_stay_where_they_are(void **state)
{
	uint8_t inner[2049];
	struct rig r;

	(void)state;
	memset(inner, 'x', sizeof(inner));
	inner[2048] = TLS_CONTENT_DATA;
	rig_init(&r, TLS_ROLE_SERVER);
	for (unsigned i = 0; i < TLS_OPEN_IOV + 1; i++)
		rig_add(&r, inner, sizeof(inner));
	assert_int_equal(
		tls_stream_open(r.s, r.wire, r.len, 0, &r.opened, &r.failure),
		0);
	assert_int_equal(r.opened.iovcnt, TLS_OPEN_IOV);
	assert_int_equal(r.opened.plain_len, TLS_OPEN_IOV * 2048);
	assert_ptr_equal(r.opened.iov[1].iov_base, r.wire + 5 + 2049 + 16 + 5);
	/* The rest is complete: another call is needed, not more input. */
	assert_int_equal(r.opened.need, 0);
	assert_true(r.opened.consumed < r.len);
	rig_done(&r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_padding_is_removed),
		cmocka_unit_test(test_nothing_but_padding_is_refused),
		cmocka_unit_test(test_a_record_may_be_full_but_not_fuller),
		cmocka_unit_test(
			test_a_length_beyond_the_limit_is_refused_by_its_header),
		cmocka_unit_test(
			test_a_record_too_short_for_its_tag_is_refused),
		cmocka_unit_test(test_every_changed_byte_is_noticed),
		cmocka_unit_test(
			test_records_lost_repeated_or_swapped_are_noticed),
		cmocka_unit_test(
			test_a_partial_record_says_how_much_is_missing),
		cmocka_unit_test(
			test_bytes_behind_the_last_record_wanted_stay_as_they_are),
		cmocka_unit_test(
			test_alerts_end_the_stream_whatever_their_level),
		cmocka_unit_test(test_user_canceled_is_passed_over),
		cmocka_unit_test(test_malformed_alerts_are_refused),
		cmocka_unit_test(test_nothing_is_opened_after_close_notify),
		cmocka_unit_test(
			test_a_key_update_changes_the_key_of_the_sender),
		cmocka_unit_test(test_a_requested_key_update_is_answered_once),
		cmocka_unit_test(test_no_answer_is_due_after_the_own_end),
		cmocka_unit_test(test_malformed_key_updates_are_refused),
		cmocka_unit_test(test_a_message_may_be_spread_over_records),
		cmocka_unit_test(test_data_may_not_break_into_a_message),
		cmocka_unit_test(
			test_messages_that_do_not_belong_here_are_refused),
		cmocka_unit_test(test_records_in_the_clear_are_refused),
		cmocka_unit_test(test_a_flood_of_empty_records_is_refused),
		cmocka_unit_test(
			test_a_peer_that_never_changes_its_key_is_asked_to),
		cmocka_unit_test(
			test_exported_keys_are_those_of_the_next_record),
		cmocka_unit_test(test_small_records_become_few_pieces),
		cmocka_unit_test(test_large_records_stay_where_they_are),
	};

	return cmocka_run_group_tests_name("record", tests, NULL, NULL);
}
