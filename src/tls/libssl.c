/* SPDX-License-Identifier: Apache-2.0 */

/*
 * libssl - a stream by libssl's own record layer, for when the other one is in
 * doubt. It is fed record by record, so that it never holds bytes back, and
 * decrypts to where the record lay.
 */

#include <assert.h>
#include <stdlib.h>

#include <openssl/err.h>

#include "base/mem.h"
#include "tls/engine.h"
#include "tls/ossl.h"

/*
 * What was sealed must stay as it is while records are opened, and libssl may
 * want to send an alert just then: it goes to a BIO of its own.
 */
struct libssl_stream {
	struct tls_stream base;
	SSL *ssl;
	BIO *in;          /* owned by ssl */
	BIO *sealed;      /* what the caller was given last */
	BIO *alerts;      /* what libssl wrote while it opened records */
	uint64_t records; /* sent under this key */
};

static struct libssl_stream *
from_base(struct tls_stream *s)
{
	return (struct libssl_stream *)s;
}

/* libssl itself would wait with its answer until there is data. */
static bool
libssl_update_due(const struct tls_stream *base)
{
	const struct libssl_stream *s = (const struct libssl_stream *)base;

	return base->update_due ||
	       SSL_get_key_update_type(s->ssl) != SSL_KEY_UPDATE_NONE;
}

static int
fail_text(struct tls_failure *failure, enum tls_reason reason, const char *what)
{
	char why[96];

	return tls_failure_set(failure, reason, "%s: %s", what,
			       ossl_text(why, sizeof(why)));
}

static void
write_to(struct libssl_stream *s, BIO *bio)
{
	(void)BIO_up_ref(bio);
	SSL_set0_wbio(s->ssl, bio);
}

static void
begin_seal(struct libssl_stream *s)
{
	(void)BIO_reset(s->sealed);
	write_to(s, s->sealed);
	ERR_clear_error();
}

static void
give(BIO *bio, struct iovec *ret_wire)
{
	char *data;
	long len = BIO_get_mem_data(bio, &data);

	ret_wire->iov_base = data;
	ret_wire->iov_len = (size_t)len;
}

/* An alert of libssl's, for the caller to send; it is the last thing. */
static void
give_alert(struct libssl_stream *s, struct iovec *ret_wire)
{
	begin_seal(s);
	give(s->alerts, ret_wire);
	if (BIO_write(s->sealed, ret_wire->iov_base, (int)ret_wire->iov_len) <=
	    0)
		abort(); /* out of memory */
	(void)BIO_reset(s->alerts);
	give(s->sealed, ret_wire);
}

/* Before data: our own at the limit, or the answer to the peer's. */
static int
seal_key_update(struct libssl_stream *s, size_t plain_len)
{
	int type = s->base.ask_peer ? SSL_KEY_UPDATE_REQUESTED
				    : SSL_KEY_UPDATE_NOT_REQUESTED;

	s->records += (plain_len + TLS_RECORD_PLAIN - 1) / TLS_RECORD_PLAIN;
	if (s->records < s->base.limit && !libssl_update_due(&s->base))
		return 0;
	s->records = 0;
	s->base.update_due = s->base.ask_peer = false;
	return SSL_key_update(s->ssl, type) == 1 &&
			       SSL_do_handshake(s->ssl) == 1
		       ? 0
		       : -1;
}

static int
libssl_seal(struct tls_stream *base, uint8_t *buf, size_t plain_len,
	    struct iovec *ret_wire, struct tls_failure *failure)
{
	struct libssl_stream *s = from_base(base);
	uint8_t *slot = buf + TLS_HEADROOM;

	if (plain_len == 0 && BIO_pending(s->alerts) > 0) {
		give_alert(s, ret_wire);
		return 0;
	}
	begin_seal(s);
	if (seal_key_update(s, plain_len) == -1)
		return fail_text(failure, TLS_REASON_INTERNAL,
				 "cannot update the key");
	while (plain_len > 0) {
		size_t len = plain_len < TLS_RECORD_PLAIN ? plain_len
							  : TLS_RECORD_PLAIN;
		size_t done;

		if (SSL_write_ex(s->ssl, slot + TLS_RECORD_HEADER, len,
				 &done) != 1 ||
		    done != len)
			return fail_text(failure, TLS_REASON_INTERNAL,
					 "cannot encrypt a record");
		slot += TLS_SLOT;
		plain_len -= len;
	}
	give(s->sealed, ret_wire);
	return 0;
}

/* libssl sends alerts of its own; only the end is left to us to say. */
static int
/* NOLINTNEXTLINE(readability-non-const-parameter): as for all engines */
libssl_seal_alert(struct tls_stream *base, uint8_t *buf, enum tls_alert alert,
		  struct iovec *ret_wire, struct tls_failure *failure)
{
	struct libssl_stream *s = from_base(base);

	(void)buf;
	begin_seal(s);
	if (alert == TLS_ALERT_CLOSE_NOTIFY && SSL_shutdown(s->ssl) < 0)
		return fail_text(failure, TLS_REASON_INTERNAL,
				 "cannot end the stream");
	give(s->sealed, ret_wire);
	return 0;
}

static int
open_failed(struct libssl_stream *s, struct tls_failure *failure)
{
	int code = ERR_GET_REASON(ERR_peek_error());
	enum tls_reason reason = TLS_REASON_UNEXPECTED;

	if (code >= SSL_AD_REASON_OFFSET) {
		ERR_clear_error();
		s->base.write_closed = true;
		return tls_failure_alert(
			failure, (unsigned)(code - SSL_AD_REASON_OFFSET));
	}
	switch (code) {
	case SSL_R_DECRYPTION_FAILED_OR_BAD_RECORD_MAC:
	case SSL_R_DATA_LENGTH_TOO_LONG:
	case SSL_R_ENCRYPTED_LENGTH_TOO_LONG:
	case SSL_R_PACKET_LENGTH_TOO_LONG:
	case SSL_R_LENGTH_TOO_SHORT:
	case SSL_R_LENGTH_MISMATCH:
	case SSL_R_BAD_KEY_UPDATE:
	case SSL_R_BAD_LENGTH:
	case SSL_R_INVALID_ALERT:
		reason = TLS_REASON_BAD_RECORD;
		break;
	default:
		break;
	}
	return fail_text(failure, reason, "peer's record is refused");
}

static int
libssl_open(struct tls_stream *base, uint8_t *record, size_t len,
	    struct tls_record *ret, struct tls_failure *failure)
{
	struct libssl_stream *s = from_base(base);
	uint8_t *plain = record + TLS_RECORD_HEADER;
	size_t n = 0;

	write_to(s, s->alerts);
	ERR_clear_error();
	if (BIO_write(s->in, record, (int)len) != (int)len)
		return fail_text(failure, TLS_REASON_INTERNAL, "out of memory");
	if (SSL_read_ex(s->ssl, plain, len - TLS_RECORD_HEADER, &n) == 1) {
		assert(SSL_pending(s->ssl) == 0 && BIO_pending(s->in) == 0);
		ret->plain = plain;
		ret->len = n;
		ret->data = true;
		return 0;
	}
	switch (SSL_get_error(s->ssl, 0)) {
	case SSL_ERROR_WANT_READ:
		/* Not data, or data of length 0: libssl does not say which. */
		assert(BIO_pending(s->in) == 0);
		return 0;
	case SSL_ERROR_ZERO_RETURN:
		ret->closed = true;
		return 0;
	default:
		return open_failed(s, failure);
	}
}

static bool
libssl_wants_to_send(const struct tls_stream *base)
{
	const struct libssl_stream *s = (const struct libssl_stream *)base;

	if (BIO_pending(s->alerts) > 0)
		return true;
	return base->failure == NULL && libssl_update_due(base);
}

static void
libssl_free(struct tls_stream *base)
{
	struct libssl_stream *s = from_base(base);

	SSL_free(s->ssl);
	BIO_free(s->sealed);
	BIO_free(s->alerts);
	free_ptr(&s);
}

static const struct tls_stream_ops libssl_ops = {
	.seal = libssl_seal,
	.seal_alert = libssl_seal_alert,
	.open = libssl_open,
	.wants_to_send = libssl_wants_to_send,
	.free = libssl_free,
};

struct tls_stream *
tls_libssl_new(SSL *ssl, enum tls_suite suite)
{
	struct libssl_stream *s = xmalloc0(sizeof(*s));

	s->base.ops = &libssl_ops;
	s->base.suite = suite;
	s->base.limit = TLS_KEY_RECORDS;
	s->ssl = ssl;
	s->in = SSL_get_rbio(ssl);
	/* An idle stream keeps no buffers. Only from here on: in a handshake
	 * they would be freed and made again for every record. */
	(void)SSL_set_mode(ssl, SSL_MODE_RELEASE_BUFFERS);
	s->sealed = BIO_new(BIO_s_mem());
	s->alerts = BIO_new(BIO_s_mem());
	if (s->sealed == NULL || s->alerts == NULL)
		abort(); /* out of memory */
	return &s->base;
}
