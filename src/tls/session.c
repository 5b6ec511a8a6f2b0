/* SPDX-License-Identifier: Apache-2.0 */
#include "tls/session.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/err.h>

#include "base/mem.h"
#include "base/str.h"
#include "tls/context_priv.h"
#include "tls/engine.h"
#include "tls/ossl.h"
#include "tls/san.h"
#include "tls/verdict.h"

/*
 * libssl gets the input record by record, never more than the handshake needs:
 * so it is known which bytes belong to it and which come behind.
 */
struct tls_session {
	struct tls_context *ctx;
	SSL *ssl;
	BIO *in; /* owned by ssl, as is out */
	BIO *out;
	size_t sent; /* of what out holds */
	char *peer_uri;
	enum tls_progress progress;
	/* What the peer sent and libssl has not seen: part of a record, or
	 * what came behind the handshake. */
	uint8_t *pending;
	size_t pending_len;
	size_t received; /* in all */
	bool started;
	/* Found by a callback, more exact than libssl's error then. */
	struct tls_failure verdict;
	struct tls_failure failure;
	struct tls_secrets secrets;
	bool has_client_secret;
	bool has_server_secret;
};

/* A record, incomplete by a byte, and one more input. */
#define PENDING_MAX (TLS_RECORD_MAX + TLS_SESSION_STEP_MAX)

struct tls_session *
tls_session_new(struct tls_context *ctx, const char *peer_uri)
{
	struct tls_session *s = xmalloc0(sizeof(*s));

	s->ctx = tls_context_ref(ctx);
	s->peer_uri = xstrdup(peer_uri);
	s->ssl = tls_context_new_ssl(ctx, s);
	s->in = BIO_new(BIO_s_mem());
	s->out = BIO_new(BIO_s_mem());
	if (s->ssl == NULL || s->in == NULL || s->out == NULL)
		abort(); /* out of memory, as in xmalloc0() */
	SSL_set_bio(s->ssl, s->in, s->out);
	if (tls_context_role(ctx) == TLS_ROLE_SERVER)
		SSL_set_accept_state(s->ssl);
	else
		SSL_set_connect_state(s->ssl);
	return s;
}

void
tls_session_free(struct tls_session *s)
{
	if (s == NULL)
		return;
	SSL_free(s->ssl);
	tls_context_unref(s->ctx);
	free(s->peer_uri);
	free(s->pending);
	OPENSSL_cleanse(s, sizeof(*s));
	free(s);
}

/* The last word of a key log line, in hex. */
static bool
read_secret(const char *line, uint8_t *secret)
{
	const char *hex = strrchr(line, ' ');
	size_t n = 0;

	if (hex == NULL)
		return false;
	for (hex++; hex[0] != '\0' && hex[1] != '\0'; hex += 2) {
		int high = str_hex_digit(hex[0]);
		int low = str_hex_digit(hex[1]);

		if (high == -1 || low == -1 || n == TLS_SECRET_MAX)
			return false;
		secret[n++] = (uint8_t)(high << 4 | low);
	}
	return n == 32 || n == TLS_SECRET_MAX;
}

/* How libssl gives the traffic secrets away; they go nowhere else. */
static void
on_keylog(const SSL *ssl, const char *line)
{
	struct tls_session *s = tls_context_arg(ssl);
	static const char client[] = "CLIENT_TRAFFIC_SECRET_0 ";
	static const char server[] = "SERVER_TRAFFIC_SECRET_0 ";

	if (s == NULL)
		return;
	if (strncmp(line, client, sizeof(client) - 1) == 0)
		s->has_client_secret = read_secret(line, s->secrets.client);
	else if (strncmp(line, server, sizeof(server) - 1) == 0)
		s->has_server_secret = read_secret(line, s->secrets.server);
}

/*
 * The server's choice is known before its certificate comes, and this is the
 * last chance to send an alert.
 */
static bool
alpn_is_agreed(const struct tls_session *s)
{
	const unsigned char *alpn;
	unsigned len;

	if (tls_context_role(s->ctx) == TLS_ROLE_SERVER ||
	    !tls_context_has_alpn(s->ctx))
		return true; /* on_client_hello() and on_alpn() look at it */
	SSL_get0_alpn_selected(s->ssl, &alpn, &len);
	return len > 0;
}

static void
set_wrong_node(struct tls_session *s, const X509 *cert)
{
	char *uri = tls_san_first(cert);

	(void)tls_failure_set(&s->verdict, TLS_REASON_WRONG_NODE,
			      "peer is '%.100s', expected '%.100s'",
			      uri != NULL ? uri : "", s->peer_uri);
	free(uri);
}

/*
 * The chain first, then who it is. The error set for a wrong node is one that
 * libssl reports to the peer as certificate_unknown and that nothing else here
 * leads to, so that the peer can tell.
 */
static int
on_verify(X509_STORE_CTX *store, void *unused)
{
	const SSL *ssl = X509_STORE_CTX_get_ex_data(
		store, SSL_get_ex_data_X509_STORE_CTX_idx());
	struct tls_session *s = tls_context_arg(ssl);

	(void)unused;
	if (!alpn_is_agreed(s)) {
		(void)tls_failure_set(&s->verdict, TLS_REASON_WRONG_ALPN,
				      "peer did not agree on ALPN '%s'",
				      TLS_ALPN);
		X509_STORE_CTX_set_error(store,
					 X509_V_ERR_APPLICATION_VERIFICATION);
		return 0;
	}
	if (tls_chain_verify(tls_context_chain_cache(s->ctx), store) != 1)
		return 0;
	if (!tls_san_has(X509_STORE_CTX_get0_cert(store), s->peer_uri)) {
		set_wrong_node(s, X509_STORE_CTX_get0_cert(store));
		X509_STORE_CTX_set_error(store, X509_V_ERR_PERMITTED_VIOLATION);
		return 0;
	}
	return 1;
}

/* Whether the supported_versions of a ClientHello name TLS 1.3. */
static bool
offers_tls13(SSL *ssl)
{
	const unsigned char *p;
	size_t len;

	if (SSL_client_hello_get0_ext(ssl, TLSEXT_TYPE_supported_versions, &p,
				      &len) != 1)
		return false;
	for (size_t i = 1; i + 1 < len; i += 2) {
		if (p[i] == 3 && p[i + 1] == 4)
			return true;
	}
	return false;
}

/*
 * libssl does not ask on_alpn() about a client that offers none. An old client
 * is left to the check of versions: that it is old is the better reason.
 */
static int
on_client_hello(SSL *ssl, int *ret_alert, void *unused)
{
	struct tls_session *s = tls_context_arg(ssl);
	const unsigned char *p;
	size_t len;

	(void)unused;
	if (!offers_tls13(ssl) ||
	    SSL_client_hello_get0_ext(
		    ssl, TLSEXT_TYPE_application_layer_protocol_negotiation, &p,
		    &len) == 1)
		return SSL_CLIENT_HELLO_SUCCESS;
	(void)tls_failure_set(&s->verdict, TLS_REASON_WRONG_ALPN,
			      "peer offers no ALPN");
	*ret_alert = SSL_AD_NO_APPLICATION_PROTOCOL;
	return SSL_CLIENT_HELLO_ERROR;
}

static int
on_alpn(SSL *ssl, const unsigned char **ret, unsigned char *ret_len,
	const unsigned char *offered, unsigned offered_len, void *unused)
{
	static const unsigned char wanted[] = TLS_ALPN;
	struct tls_session *s = tls_context_arg(ssl);

	(void)unused;
	for (unsigned i = 0; i < offered_len; i += 1U + offered[i]) {
		if (offered[i] == sizeof(wanted) - 1 &&
		    i + sizeof(wanted) <= offered_len &&
		    memcmp(offered + i + 1, wanted, sizeof(wanted) - 1) == 0) {
			*ret = wanted;
			*ret_len = sizeof(wanted) - 1;
			return SSL_TLSEXT_ERR_OK;
		}
	}
	(void)tls_failure_set(&s->verdict, TLS_REASON_WRONG_ALPN,
			      "peer does not offer ALPN '%s'", TLS_ALPN);
	return SSL_TLSEXT_ERR_ALERT_FATAL;
}

const struct tls_context_hooks tls_session_hooks = {
	.verify = on_verify,
	.keylog = on_keylog,
	.client_hello = on_client_hello,
	.alpn = on_alpn,
};

static enum tls_progress
fail(struct tls_session *s, struct tls_failure *ret_failure)
{
	s->progress = TLS_FAILED;
	if (ret_failure != NULL)
		*ret_failure = s->failure;
	return TLS_FAILED;
}

static enum tls_progress
handshake(struct tls_session *s)
{
	int r;

	ERR_clear_error();
	r = SSL_do_handshake(s->ssl);
	if (r == 1)
		return TLS_DONE;
	if (SSL_get_error(s->ssl, r) == SSL_ERROR_WANT_READ)
		return TLS_WANT_READ;
	if (s->verdict.reason != TLS_REASON_NONE) {
		ERR_clear_error();
		s->failure = s->verdict;
	} else {
		(void)tls_verdict(s->ssl, &s->failure);
	}
	return TLS_FAILED;
}

/*
 * Anything that speaks TLS begins with a handshake record, or an alert if it
 * is the answer to our hello.
 */
static bool
looks_like_tls(const struct tls_session *s)
{
	const uint8_t *p = s->pending;

	if (s->pending_len >= 1 && p[0] != TLS_CONTENT_HANDSHAKE &&
	    p[0] != TLS_CONTENT_ALERT)
		return false;
	return s->pending_len < 2 || p[1] == 3;
}

/* The length of the first record pending, 0 when it is not complete. */
static size_t
first_record(const struct tls_session *s)
{
	size_t body;

	if (s->pending_len < TLS_RECORD_HEADER)
		return 0;
	body = (size_t)s->pending[3] << 8 | s->pending[4];
	/* Too long: libssl shall see the header and refuse it. */
	if (body > TLS_RECORD_PLAIN + TLS_RECORD_EXPANSION)
		return TLS_RECORD_HEADER;
	if (s->pending_len < TLS_RECORD_HEADER + body)
		return 0;
	return TLS_RECORD_HEADER + body;
}

static void
add_pending(struct tls_session *s, const uint8_t *in, size_t len)
{
	assert(len <= TLS_SESSION_STEP_MAX);
	assert(s->pending_len + len <= PENDING_MAX);
	if (len == 0)
		return;
	s->pending = xrealloc(s->pending, s->pending_len + len);
	memcpy(s->pending + s->pending_len, in, len);
	s->pending_len += len;
}

/* Gives libssl whole records until it is done or wants more. */
static enum tls_progress
feed(struct tls_session *s)
{
	enum tls_progress progress = TLS_WANT_READ;
	size_t n;

	while (progress == TLS_WANT_READ && (n = first_record(s)) > 0) {
		if (BIO_write(s->in, s->pending, (int)n) != (int)n)
			abort(); /* out of memory */
		s->received += n;
		s->pending_len -= n;
		memmove(s->pending, s->pending + n, s->pending_len);
		progress = handshake(s);
	}
	return progress;
}

enum tls_progress
tls_session_step(struct tls_session *s, const uint8_t *in, size_t len,
		 struct tls_failure *ret_failure)
{
	assert(s->progress != TLS_DONE);
	if (s->progress == TLS_FAILED)
		return fail(s, ret_failure);

	add_pending(s, in, len);
	if (s->received == 0 && !looks_like_tls(s)) {
		(void)tls_failure_set(&s->failure, TLS_REASON_NOT_TLS,
				      "peer does not speak TLS");
		return fail(s, ret_failure);
	}
	if (!s->started) {
		s->started = true;
		s->progress = handshake(s);
	}
	if (s->progress == TLS_WANT_READ)
		s->progress = feed(s);
	if (s->progress == TLS_WANT_READ &&
	    s->received + s->pending_len > TLS_HANDSHAKE_MAX) {
		(void)tls_failure_set(&s->failure, TLS_REASON_TOO_MUCH,
				      "peer sent %zu bytes and still no end of "
				      "the handshake",
				      s->received + s->pending_len);
		s->progress = TLS_FAILED;
	}
	if (s->progress == TLS_FAILED)
		return fail(s, ret_failure);
	return s->progress;
}

size_t
tls_session_output(struct tls_session *s, const uint8_t **ret_data)
{
	char *data;
	long len = BIO_get_mem_data(s->out, &data);

	*ret_data = len > 0 ? (const uint8_t *)data + s->sent : NULL;
	return (size_t)len - s->sent;
}

void
tls_session_sent(struct tls_session *s, size_t len)
{
	char *data;
	long held = BIO_get_mem_data(s->out, &data);

	s->sent += len;
	assert(s->sent <= (size_t)held);
	if (s->sent == (size_t)held) {
		(void)BIO_reset(s->out);
		s->sent = 0;
	}
}

int
tls_session_eof(struct tls_session *s, struct tls_failure *ret_failure)
{
	if (s->progress != TLS_FAILED)
		(void)tls_failure_set(&s->failure, TLS_REASON_TRUNCATED,
				      "connection ended during the handshake");
	(void)fail(s, ret_failure);
	return -1;
}

const char *
tls_session_peer(const struct tls_session *s)
{
	return s->peer_uri;
}

const char *
tls_session_cipher(const struct tls_session *s)
{
	return SSL_get_cipher_name(s->ssl);
}

struct tls_stream *
tls_session_finish(struct tls_session *s, enum tls_engine engine, uint8_t *left,
		   size_t left_size, size_t *ret_left)
{
	struct tls_stream *stream;
	enum tls_suite suite;
	const uint8_t *unsent;

	assert(s->progress == TLS_DONE);
	assert(tls_session_output(s, &unsent) == 0);
	assert(s->has_client_secret && s->has_server_secret);
	assert(s->pending_len <= left_size);
	assert(BIO_pending(s->in) == 0 && SSL_has_pending(s->ssl) == 0);
	if (tls_suite_from_id(
		    SSL_CIPHER_get_protocol_id(SSL_get_current_cipher(s->ssl)),
		    &suite) == -1)
		abort(); /* context.c offers no other */

	if (s->pending_len > 0)
		memcpy(left, s->pending, s->pending_len);
	*ret_left = s->pending_len;
	if (engine == TLS_ENGINE_LIBSSL) {
		tls_context_untie(s->ssl);
		stream = tls_libssl_new(s->ssl, suite);
		s->ssl = NULL;
	} else {
		stream = tls_record_new(tls_context_role(s->ctx), suite,
					&s->secrets);
		if (stream == NULL)
			abort(); /* out of memory, or OpenSSL is broken */
	}
	tls_session_free(s);
	return stream;
}
