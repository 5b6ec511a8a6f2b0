/* SPDX-License-Identifier: Apache-2.0 */

/*
 * record - the record layer of TLS 1.3 (RFC 8446, section 5) after the
 * handshake, and the post-handshake messages that belong to it.
 *
 * Each direction has a traffic secret, from which key and IV follow, and a
 * sequence number that makes the nonce. A KeyUpdate replaces the secret by its
 * successor and starts the sequence anew. Ours are sent between batches: before
 * one that could pass the limit under the present key, and in answer to a peer
 * that asks. If a peer passes the limit by far without a KeyUpdate of its own,
 * it is asked for one.
 */

#include <assert.h>
#include <string.h>

#include <openssl/crypto.h>

#define TLS_ALLOW_PRIVATE

#include "base/mem.h"
#include "tls/aead.h"
#include "tls/engine.h"
#include "tls/private.h"

#define INNER_TYPE 1
#define RECORD_OVERHEAD (TLS_RECORD_HEADER + INNER_TYPE + TLS_TAG_LEN)

enum handshake_type {
	HANDSHAKE_NEW_SESSION_TICKET = 4,
	HANDSHAKE_KEY_UPDATE = 24,
};

#define HANDSHAKE_HEADER 4
/* Its fields allow for about 128 KiB; ours and OpenSSL's have 250 bytes. */
#define TICKET_MAX (128 * 1024)

static_assert(RECORD_OVERHEAD + TLS_KEY_UPDATE_LEN <= TLS_HEADROOM,
	      "a KeyUpdate does not fit before the first slot");
static_assert(RECORD_OVERHEAD + TLS_RECORD_PLAIN == TLS_SLOT,
	      "slots are not contiguous records");

struct half {
	struct tls_aead *aead;
	uint64_t seq;
	uint8_t iv[TLS_IV_LEN];
	uint8_t secret[TLS_SECRET_MAX];
	unsigned updates;
};

/*
 * Where in a post-handshake message the input stands: messages may be spread
 * over records, or share one.
 */
struct message {
	uint8_t header[HANDSHAKE_HEADER];
	unsigned have; /* bytes of the header */
	size_t body;   /* bytes still to come after it */
};

struct record_stream {
	struct tls_stream base;
	struct half out;
	struct half in;
	struct message message;
	enum tls_role role;
};

static struct record_stream *
from_base(struct tls_stream *s)
{
	return (struct record_stream *)s;
}

/* Key and IV from the half's secret. */
static int
half_set_keys(struct half *h, enum tls_suite suite, bool seal)
{
	uint8_t key[TLS_KEY_MAX];
	int ret = -1;

	if (tls_suite_expand(suite, h->secret, "key", key,
			     tls_suite_key_len(suite)) == -1 ||
	    tls_suite_expand(suite, h->secret, "iv", h->iv, TLS_IV_LEN) == -1)
		goto wipe;
	if (h->aead == NULL) {
		h->aead = tls_aead_new(suite, seal, key);
		ret = h->aead != NULL ? 0 : -1;
	} else {
		ret = tls_aead_set_key(h->aead, key);
	}
	h->seq = 0;
wipe:
	OPENSSL_cleanse(key, sizeof(key));
	return ret;
}

static int
half_update(struct half *h, enum tls_suite suite, bool seal)
{
	uint8_t next[TLS_SECRET_MAX];
	size_t len = tls_suite_secret_len(suite);
	int ret = tls_suite_expand(suite, h->secret, "traffic upd", next, len);

	if (ret == 0) {
		memcpy(h->secret, next, len);
		ret = half_set_keys(h, suite, seal);
		h->updates++;
	}
	OPENSSL_cleanse(next, sizeof(next));
	return ret;
}

static void
half_done(struct half *h)
{
	tls_aead_free(h->aead);
	OPENSSL_cleanse(h, sizeof(*h));
}

static void
half_nonce(const struct half *h, uint8_t nonce[TLS_IV_LEN])
{
	memcpy(nonce, h->iv, TLS_IV_LEN);
	for (unsigned i = 0; i < 8; i++)
		nonce[TLS_IV_LEN - 1 - i] ^= (uint8_t)(h->seq >> (8 * i));
}

/* Seals the len bytes that lie behind the header at record. */
static int
seal_record(struct half *h, uint8_t *record, enum tls_content type, size_t len)
{
	size_t body = len + INNER_TYPE + TLS_TAG_LEN;
	uint8_t *plain = record + TLS_RECORD_HEADER;
	uint8_t nonce[TLS_IV_LEN];
	struct tls_aead_args args = {
		.nonce = nonce,
		.aad = record,
		.aad_len = TLS_RECORD_HEADER,
		.data = plain,
		.len = len + INNER_TYPE,
		.tag = plain + len + INNER_TYPE,
	};

	if (h->seq == UINT64_MAX)
		return -1;
	record[0] = TLS_CONTENT_DATA;
	record[1] = 3;
	record[2] = 3;
	record[3] = (uint8_t)(body >> 8);
	record[4] = (uint8_t)body;
	plain[len] = (uint8_t)type;
	half_nonce(h, nonce);
	h->seq++;
	return tls_aead_seal(h->aead, &args);
}

static int
seal_failed(struct tls_failure *failure)
{
	return tls_failure_set(failure, TLS_REASON_INTERNAL,
			       "cannot encrypt a record");
}

/* A KeyUpdate that ends where the first slot begins; returns its start. */
static uint8_t *
seal_key_update(struct record_stream *s, uint8_t *slot)
{
	uint8_t *record = slot - RECORD_OVERHEAD - TLS_KEY_UPDATE_LEN;
	const uint8_t message[] = TLS_KEY_UPDATE(s->base.ask_peer);

	memcpy(record + TLS_RECORD_HEADER, message, TLS_KEY_UPDATE_LEN);
	if (seal_record(&s->out, record, TLS_CONTENT_HANDSHAKE,
			TLS_KEY_UPDATE_LEN) == -1 ||
	    half_update(&s->out, s->base.suite, true) == -1)
		return NULL;
	s->base.update_due = s->base.ask_peer = false;
	return record;
}

static int
record_seal(struct tls_stream *base, uint8_t *buf, size_t plain_len,
	    struct iovec *ret_wire, struct tls_failure *failure)
{
	struct record_stream *s = from_base(base);
	uint8_t *slot = buf + TLS_HEADROOM;
	uint8_t *start = slot;
	size_t records = (plain_len + TLS_RECORD_PLAIN - 1) / TLS_RECORD_PLAIN;

	if (s->out.seq + records >= s->base.limit)
		s->base.update_due = true;
	if (s->base.update_due) {
		start = seal_key_update(s, slot);
		if (start == NULL)
			return seal_failed(failure);
	}
	while (plain_len > 0) {
		size_t len = plain_len < TLS_RECORD_PLAIN ? plain_len
							  : TLS_RECORD_PLAIN;

		if (seal_record(&s->out, slot, TLS_CONTENT_DATA, len) == -1)
			return seal_failed(failure);
		slot += len + RECORD_OVERHEAD;
		plain_len -= len;
	}
	ret_wire->iov_base = start;
	ret_wire->iov_len = (size_t)(slot - start);
	return 0;
}

static int
record_seal_alert(struct tls_stream *base, uint8_t *buf, enum tls_alert alert,
		  struct iovec *ret_wire, struct tls_failure *failure)
{
	struct record_stream *s = from_base(base);

	buf[TLS_RECORD_HEADER] = alert == TLS_ALERT_CLOSE_NOTIFY ? 1 : 2;
	buf[TLS_RECORD_HEADER + 1] = (uint8_t)alert;
	if (seal_record(&s->out, buf, TLS_CONTENT_ALERT, 2) == -1)
		return seal_failed(failure);
	ret_wire->iov_base = buf;
	ret_wire->iov_len = RECORD_OVERHEAD + 2;
	return 0;
}

static int
unexpected(struct record_stream *s, const char *text,
	   struct tls_failure *failure)
{
	return tls_stream_refuse(&s->base, TLS_ALERT_UNEXPECTED_MESSAGE,
				 TLS_REASON_UNEXPECTED, text, failure);
}

/* The peer's KeyUpdate: its next record comes under the next key. */
static int
take_key_update(struct record_stream *s, uint8_t request,
		struct tls_failure *failure)
{
	if (request > 1)
		return tls_stream_refuse(&s->base, TLS_ALERT_ILLEGAL_PARAMETER,
					 TLS_REASON_BAD_RECORD,
					 "peer sent a malformed KeyUpdate",
					 failure);
	if (half_update(&s->in, s->base.suite, false) == -1)
		return tls_stream_refuse(&s->base, TLS_ALERT_INTERNAL_ERROR,
					 TLS_REASON_INTERNAL,
					 "cannot update the key", failure);
	s->base.update_due |= request == 1;
	return 0;
}

/* A header is complete: is this message allowed, and how long is it? */
static int
begin_message(struct record_stream *s, struct tls_failure *failure)
{
	struct message *m = &s->message;
	size_t len = (size_t)m->header[1] << 16 | (size_t)m->header[2] << 8 |
		     m->header[3];

	m->body = len;
	if (m->header[0] == HANDSHAKE_KEY_UPDATE) {
		if (len == 1)
			return 0;
		return tls_stream_refuse(
			&s->base, TLS_ALERT_DECODE_ERROR, TLS_REASON_BAD_RECORD,
			"peer sent a malformed KeyUpdate", failure);
	}
	/* Of no use to us, but a server may send them unasked. */
	if (m->header[0] == HANDSHAKE_NEW_SESSION_TICKET &&
	    s->role == TLS_ROLE_CLIENT) {
		if (len > 0 && len <= TICKET_MAX)
			return 0;
		return tls_stream_refuse(
			&s->base, TLS_ALERT_DECODE_ERROR, TLS_REASON_BAD_RECORD,
			"peer sent a malformed ticket", failure);
	}
	return unexpected(s, "peer sent a message that does not belong here",
			  failure);
}

static int
take_handshake(struct record_stream *s, const uint8_t *p, size_t len,
	       struct tls_failure *failure)
{
	struct message *m = &s->message;

	if (len == 0)
		return unexpected(s, "peer sent an empty message", failure);
	while (len > 0) {
		size_t n;

		if (m->have < HANDSHAKE_HEADER) {
			m->header[m->have++] = *p++;
			len--;
			if (m->have == HANDSHAKE_HEADER &&
			    begin_message(s, failure) == -1)
				return -1;
			continue;
		}
		n = len < m->body ? len : m->body;
		m->body -= n;
		len -= n;
		p += n;
		if (m->body > 0)
			break;
		m->have = 0;
		if (m->header[0] != HANDSHAKE_KEY_UPDATE)
			continue;
		/* The key changes here, so the record must end here. */
		if (len > 0)
			return unexpected(s, "peer sent more after a KeyUpdate",
					  failure);
		return take_key_update(s, p[-1], failure);
	}
	return 0;
}

static int
take_alert(struct record_stream *s, const uint8_t *p, size_t len,
	   struct tls_record *ret, struct tls_failure *failure)
{
	if (len != 2)
		return tls_stream_refuse(
			&s->base, TLS_ALERT_DECODE_ERROR, TLS_REASON_BAD_RECORD,
			"peer sent a malformed alert", failure);
	if (p[1] == TLS_ALERT_CLOSE_NOTIFY) {
		ret->closed = true;
		return 0;
	}
	if (p[1] == TLS_ALERT_USER_CANCELED)
		return 0;
	/* All others are fatal, whatever their level says (RFC 8446, 6.2). */
	s->base.write_closed = true;
	return tls_failure_alert(failure, p[1]);
}

/* Decrypts in place; *ret_len is the length with the inner type. */
static int
unseal(struct record_stream *s, uint8_t *record, size_t len, size_t *ret_len,
       struct tls_failure *failure)
{
	uint8_t *data = record + TLS_RECORD_HEADER;
	uint8_t nonce[TLS_IV_LEN];
	struct tls_aead_args args = {
		.nonce = nonce,
		.aad = record,
		.aad_len = TLS_RECORD_HEADER,
		.data = data,
	};

	if (len < RECORD_OVERHEAD)
		return tls_stream_refuse(&s->base, TLS_ALERT_BAD_RECORD_MAC,
					 TLS_REASON_BAD_RECORD,
					 "peer sent a record that is too short",
					 failure);
	if (s->in.seq == UINT64_MAX)
		return tls_stream_refuse(&s->base, TLS_ALERT_INTERNAL_ERROR,
					 TLS_REASON_TOO_MUCH,
					 "peer used up its key", failure);
	args.len = len - TLS_RECORD_HEADER - TLS_TAG_LEN;
	args.tag = data + args.len;
	half_nonce(&s->in, nonce);
	if (tls_aead_open(s->in.aead, &args) == -1)
		return tls_stream_refuse(&s->base, TLS_ALERT_BAD_RECORD_MAC,
					 TLS_REASON_BAD_RECORD,
					 "peer's record is not authentic",
					 failure);
	if (args.len > TLS_RECORD_PLAIN + INNER_TYPE)
		return tls_stream_refuse(&s->base, TLS_ALERT_RECORD_OVERFLOW,
					 TLS_REASON_BAD_RECORD,
					 "peer sent a record that is too long",
					 failure);
	s->in.seq++;
	*ret_len = args.len;
	return 0;
}

/* A peer that goes on and on under one key is reminded. */
static void
watch_peer_limit(struct record_stream *s)
{
	if (s->in.seq == s->base.limit + s->base.limit / 8 + TLS_BATCH_RECORDS)
		s->base.update_due = s->base.ask_peer = true;
}

int
tls_record_take(struct tls_stream *base, uint8_t type, const uint8_t *plain,
		size_t len, struct tls_record *ret, struct tls_failure *failure)
{
	struct record_stream *s = from_base(base);

	if (type != TLS_CONTENT_HANDSHAKE && s->message.have > 0)
		return unexpected(s, "peer broke off a message", failure);
	switch (type) {
	case TLS_CONTENT_DATA:
		ret->plain = plain;
		ret->len = len;
		ret->data = true;
		return 0;
	case TLS_CONTENT_ALERT:
		return take_alert(s, plain, len, ret, failure);
	case TLS_CONTENT_HANDSHAKE:
		return take_handshake(s, plain, len, failure);
	default:
		return unexpected(s, "peer sent a record of unknown type",
				  failure);
	}
}

static int
record_open(struct tls_stream *base, uint8_t *record, size_t len,
	    struct tls_record *ret, struct tls_failure *failure)
{
	struct record_stream *s = from_base(base);
	const uint8_t *plain = record + TLS_RECORD_HEADER;
	size_t n = 0;

	if (unseal(s, record, len, &n, failure) == -1)
		return -1;
	watch_peer_limit(s);
	/* Padding is zeros behind the type; unseal() bounds it. */
	while (n > 0 && plain[n - 1] == 0)
		n--;
	if (n == 0)
		return unexpected(s, "peer sent a record without a type",
				  failure);
	return tls_record_take(base, plain[n - 1], plain, n - 1, ret, failure);
}

static bool
record_wants_to_send(const struct tls_stream *base)
{
	return base->update_due && base->failure == NULL;
}

static void
record_free(struct tls_stream *base)
{
	struct record_stream *s = from_base(base);

	half_done(&s->out);
	half_done(&s->in);
	free_ptr(&s);
}

static const struct tls_stream_ops record_ops = {
	.seal = record_seal,
	.seal_alert = record_seal_alert,
	.open = record_open,
	.wants_to_send = record_wants_to_send,
	.free = record_free,
};

struct tls_stream *
tls_record_new(enum tls_role role, enum tls_suite suite,
	       const struct tls_secrets *secrets)
{
	struct record_stream *s = xmalloc0(sizeof(*s));
	bool client = role == TLS_ROLE_CLIENT;

	s->base.ops = &record_ops;
	s->base.suite = suite;
	s->role = role;
	s->base.limit = TLS_KEY_RECORDS;
	memcpy(s->out.secret, client ? secrets->client : secrets->server,
	       TLS_SECRET_MAX);
	memcpy(s->in.secret, client ? secrets->server : secrets->client,
	       TLS_SECRET_MAX);
	if (half_set_keys(&s->out, suite, true) == -1 ||
	    half_set_keys(&s->in, suite, false) == -1) {
		record_free(&s->base);
		return NULL;
	}
	return &s->base;
}

void
tls_record_updates(const struct tls_stream *base, unsigned *ret_sent,
		   unsigned *ret_received)
{
	const struct record_stream *s = (const struct record_stream *)base;

	assert(base->ops == &record_ops);
	*ret_sent = s->out.updates;
	*ret_received = s->in.updates;
}

bool
tls_record_is(const struct tls_stream *base)
{
	return base->ops == &record_ops;
}

int
tls_record_export(const struct tls_stream *base, bool out,
		  struct tls_record_keys *ret)
{
	const struct record_stream *s = (const struct record_stream *)base;
	const struct half *h = out ? &s->out : &s->in;

	memcpy(ret->iv, h->iv, TLS_IV_LEN);
	ret->seq = h->seq;
	return tls_suite_expand(base->suite, h->secret, "key", ret->key,
				tls_suite_key_len(base->suite));
}

int
tls_record_next_out_key(struct tls_stream *base)
{
	return half_update(&from_base(base)->out, base->suite, true);
}

unsigned
tls_record_in_updates(const struct tls_stream *base)
{
	return ((const struct record_stream *)base)->in.updates;
}
