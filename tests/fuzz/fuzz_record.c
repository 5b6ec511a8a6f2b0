/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The record engine opens what a peer sends: a peer that holds the keys and
 * seals anything, or one that does not and sends anything.
 *
 * Input: a byte for the role, then pieces: a byte whose lowest bit says whether
 * the piece is sealed and whose second whether it is opened at once, two bytes
 * of length, and as many bytes of content.
 */
#include <assert.h>
#include <string.h>

#define TLS_ALLOW_PRIVATE

#include "tls/private.h"
#include "tls/testforger.h"

#define SEALED 1
#define OPEN_NOW 2
#define INNER_MAX (TLS_RECORD_PLAIN + TLS_RECORD_EXPANSION - TLS_TAG_LEN)

struct target {
	struct tls_stream *s;
	struct testforger forger;
	unsigned forger_updates;
	uint8_t wire[TLS_BUF_SIZE];
	size_t len;
	bool failed;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_opened(const struct target *t, const struct tls_opened *o)
{
	const uint8_t *end = t->wire + t->len;
	const uint8_t *at = t->wire;
	size_t sum = 0;

	assert(o->consumed <= t->len);
	assert(o->iovcnt >= 0 && o->iovcnt <= TLS_OPEN_IOV);
	/* Pieces lie in order, apart, and within what was consumed. */
	for (int i = 0; i < o->iovcnt; i++) {
		const uint8_t *piece = o->iov[i].iov_base;

		assert(o->iov[i].iov_len > 0);
		assert(piece >= at && piece + o->iov[i].iov_len <= end);
		at = piece + o->iov[i].iov_len;
		sum += o->iov[i].iov_len;
	}
	assert(at <= t->wire + o->consumed);
	assert(sum == o->plain_len);
	assert(o->need <= TLS_RECORD_MAX);
}

/* Everything that is due must fit where the contract says, and be sent once. */
static void
send_due(struct target *t)
{
	uint8_t small[TLS_HEADROOM];
	struct iovec wire;
	struct tls_failure f;

	if (!tls_stream_wants_to_send(t->s))
		return;
	assert(tls_stream_seal(t->s, small, 0, &wire, &f) == 0);
	assert(wire.iov_len > 0 && wire.iov_len <= sizeof(small));
	assert(!tls_stream_wants_to_send(t->s));
}

/* The forger follows its own KeyUpdates, once they were understood. */
static void
follow_updates(struct target *t)
{
	unsigned sent;
	unsigned received;

	tls_record_updates(t->s, &sent, &received);
	for (; t->forger_updates < received; t->forger_updates++)
		testforger_update(&t->forger);
}

static void
open_all(struct target *t)
{
	struct tls_opened o;
	struct tls_failure f = { 0 };

	do {
		int r = tls_stream_open(t->s, t->wire, t->len, 0, &o, &f);

		if (r == -1) {
			assert(f.reason != TLS_REASON_NONE && f.text[0] != 0);
			t->failed = true;
			break;
		}
		/* What failed once must not work again. */
		assert(!t->failed);
		check_opened(t, &o);
		t->len -= o.consumed;
		memmove(t->wire, t->wire + o.consumed, t->len);
	} while (t->len > 0 && o.need == 0 && !o.closed);
	follow_updates(t);
	send_due(t);
}

/* Adds one piece of input to the wire; returns how much input it took. */
static size_t
take_piece(struct target *t, const uint8_t *data, size_t size)
{
	size_t len = (size_t)data[1] << 8 | data[2];

	if (len > size - 3)
		len = size - 3;
	if (data[0] & SEALED) {
		if (len > INNER_MAX)
			len = INNER_MAX;
		t->len += testforger_seal(&t->forger, data + 3, len,
					  t->wire + t->len);
	} else {
		memcpy(t->wire + t->len, data + 3, len);
		t->len += len;
	}
	if (data[0] & OPEN_NOW)
		open_all(t);
	return 3 + len;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum tls_role role =
		size > 0 && (data[0] & 1) ? TLS_ROLE_CLIENT : TLS_ROLE_SERVER;
	/* Static, and not cleared: most inputs are short. */
	static struct target t;
	size_t at = 1;

	t.len = 0;
	t.failed = false;
	t.forger_updates = 0;
	t.s = tls_record_new(role, TESTFORGER_SUITE, &testforger_secrets);
	testforger_init(&t.forger, role == TLS_ROLE_CLIENT
					   ? testforger_secrets.server
					   : testforger_secrets.client);
	/* A piece is at most 64 KiB and a record's overhead. */
	while (at + 3 <= size && t.len + 65536 + 64 <= TLS_BUF_SIZE)
		at += take_piece(&t, data + at, size - at);
	open_all(&t);
	testforger_done(&t.forger);
	tls_stream_free(t.s);
	return 0;
}
