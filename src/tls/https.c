/* SPDX-License-Identifier: Apache-2.0 */
#include "tls/https.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <openssl/err.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "tls/chain.h"
#include "tls/credentials.h"
#include "tls/ossl.h"

/* The short key first: it is faster, and good enough for all there is. */
#define CIPHERS_13                                       \
	"TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:" \
	"TLS_CHACHA20_POLY1305_SHA256"
#define CIPHERS_12                       \
	"ECDHE-ECDSA-AES128-GCM-SHA256:" \
	"ECDHE-RSA-AES128-GCM-SHA256:"   \
	"ECDHE-ECDSA-AES256-GCM-SHA384:" \
	"ECDHE-RSA-AES256-GCM-SHA384:"   \
	"ECDHE-ECDSA-CHACHA20-POLY1305:" \
	"ECDHE-RSA-CHACHA20-POLY1305"
#define GROUPS "X25519:P-256:P-384"
/* Of the client's whole chain. */
#define CHAIN_BYTES_MAX (32 * 1024)
#define CHAIN_DEPTH_MAX 4
/* Organizations in a certificate; one with more has no name at all. */
#define ORGANIZATIONS_MAX 256

struct tls_https {
	atomic_uint refs;
	SSL_CTX *ssl_ctx;
	struct tls_chain_cache *chains;
	X509_STORE *callers; /* NULL: nobody is one */
};

struct tls_https_conn {
	SSL *ssl;
	struct tls_https *ctx;
	int fd;
	struct tls_https_peer peer;
};

static const unsigned char alpn_http[] = "\x08http/1.1";

/*
 * libssl's own BIO for sockets writes with write(2), which raises SIGPIPE when
 * the client is gone.
 */
static int
bio_write(BIO *bio, const char *data, int len)
{
	const struct tls_https_conn *conn = BIO_get_data(bio);
	ssize_t n;

	do
		n = send(conn->fd, data, (size_t)len, MSG_NOSIGNAL);
	while (n == -1 && errno == EINTR);
	BIO_clear_retry_flags(bio);
	if (n == -1 && (errno == EAGAIN || errno == EWOULDBLOCK))
		BIO_set_retry_write(bio);
	return (int)n;
}

static int
bio_read(BIO *bio, char *data, int size)
{
	const struct tls_https_conn *conn = BIO_get_data(bio);
	ssize_t n;

	do
		n = recv(conn->fd, data, (size_t)size, 0);
	while (n == -1 && errno == EINTR);
	BIO_clear_retry_flags(bio);
	if (n == -1 && (errno == EAGAIN || errno == EWOULDBLOCK))
		BIO_set_retry_read(bio);
	if (n == 0)
		BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
	return (int)n;
}

static long
bio_ctrl(BIO *bio, int command, long number, void *pointer)
{
	(void)number;
	(void)pointer;
	switch (command) {
	case BIO_CTRL_FLUSH:
		return 1;
	case BIO_CTRL_EOF:
		return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0;
	default:
		return 0;
	}
}

static BIO_METHOD *bio_method;

static void
make_bio_method(void)
{
	bio_method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK,
				  "https socket");
	if (bio_method == NULL ||
	    BIO_meth_set_write(bio_method, bio_write) != 1 ||
	    BIO_meth_set_read(bio_method, bio_read) != 1 ||
	    BIO_meth_set_ctrl(bio_method, bio_ctrl) != 1)
		abort();
}

static int
on_alpn(SSL *ssl, const unsigned char **ret, unsigned char *ret_len,
	const unsigned char *offered, unsigned offered_len, void *arg)
{
	unsigned char *chosen;

	(void)ssl;
	(void)arg;
	if (SSL_select_next_proto(&chosen, ret_len, alpn_http,
				  sizeof(alpn_http) - 1, offered,
				  offered_len) != OPENSSL_NPN_NEGOTIATED)
		return SSL_TLSEXT_ERR_ALERT_FATAL;
	*ret = chosen;
	return SSL_TLSEXT_ERR_OK;
}

/*
 * Every certificate lets the handshake go on; whether it is good is read from
 * SSL_get_verify_result() afterwards.
 */
static int
on_verify(X509_STORE_CTX *store, void *arg)
{
	struct tls_https *ctx = arg;

	(void)tls_chain_verify(ctx->chains, store);
	return 1;
}

static int
set_protocol(SSL_CTX *c)
{
	/*
	 * Clients do close without close_notify; HTTP's own framing tells
	 * whether anything is missing.
	 */
	SSL_CTX_set_options(c, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION |
				       SSL_OP_NO_COMPRESSION |
				       SSL_OP_CIPHER_SERVER_PREFERENCE |
				       SSL_OP_IGNORE_UNEXPECTED_EOF);
	/*
	 * Idle connections are many, so they hold no buffers. Record header
	 * and record in one recv() instead of two.
	 */
	SSL_CTX_set_mode(c, SSL_MODE_NO_AUTO_CHAIN | SSL_MODE_RELEASE_BUFFERS |
				    SSL_MODE_ENABLE_PARTIAL_WRITE |
				    SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	SSL_CTX_set_read_ahead(c, 1);
	SSL_CTX_set_session_cache_mode(c, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_max_cert_list(c, CHAIN_BYTES_MAX);
	SSL_CTX_set_verify_depth(c, CHAIN_DEPTH_MAX);
	SSL_CTX_set_alpn_select_cb(c, on_alpn, NULL);
	if (SSL_CTX_set_min_proto_version(c, TLS1_2_VERSION) != 1 ||
	    SSL_CTX_set_num_tickets(c, 0) != 1 ||
	    SSL_CTX_set_ciphersuites(c, CIPHERS_13) != 1 ||
	    SSL_CTX_set_cipher_list(c, CIPHERS_12) != 1 ||
	    SSL_CTX_set1_groups_list(c, GROUPS) != 1)
		return -1;
	return 0;
}

/* The names of the CAs, for clients that choose by them. */
static int
add_ca_names(SSL_CTX *c, X509_STORE *store)
{
	STACK_OF(X509_OBJECT) *all = X509_STORE_get0_objects(store);

	for (int i = 0; i < sk_X509_OBJECT_num(all); i++) {
		X509 *cert =
			X509_OBJECT_get0_X509(sk_X509_OBJECT_value(all, i));

		if (cert != NULL && SSL_CTX_add_client_CA(c, cert) != 1)
			return -1;
	}
	return 0;
}

static int
set_callers(struct tls_https *ctx, const struct tls_https_pem *pem,
	    struct err *err)
{
	const struct tls_pem text = { .ca = pem->caller_ca,
				      .ca_len = pem->caller_ca_len,
				      .name = pem->name };

	ctx->callers = X509_STORE_new();
	if (ctx->callers == NULL)
		return ossl_err(err, ERR_INTERNAL, "cannot set up TLS");
	if (tls_credentials_load_store(ctx->callers, &text, err) == -1)
		return -1;
	if (add_ca_names(ctx->ssl_ctx, ctx->callers) == -1)
		return ossl_err(err, ERR_INTERNAL, "%s: cannot use the CA",
				pem->name);
	return 0;
}

/* Certificates are asked for, and looked at when they have come. */
static void
ask_clients(struct tls_https *ctx)
{
	SSL_CTX_set_verify(ctx->ssl_ctx, SSL_VERIFY_PEER, NULL);
	SSL_CTX_set_cert_verify_callback(ctx->ssl_ctx, on_verify, ctx);
}

static void
https_unrefp(struct tls_https **ctx)
{
	tls_https_unref(*ctx);
}

int
tls_https_new(const struct tls_https_pem *pem, struct tls_https **ret,
	      struct err *err)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	AUTO(https_unrefp) struct tls_https *ctx = xmalloc0(sizeof(*ctx));
	const struct tls_pem text = { .cert = pem->cert,
				      .cert_len = pem->cert_len,
				      .key = pem->key,
				      .key_len = pem->key_len,
				      .ca = pem->client_ca,
				      .ca_len = pem->client_ca_len,
				      .name = pem->name };

	(void)pthread_once(&once, make_bio_method);
	atomic_init(&ctx->refs, 1);
	ctx->chains = tls_chain_cache_new();
	ctx->ssl_ctx = SSL_CTX_new(TLS_server_method());
	if (ctx->ssl_ctx == NULL || set_protocol(ctx->ssl_ctx) == -1)
		return ossl_err(err, ERR_INTERNAL, "cannot set up TLS");
	if (tls_credentials_load_own(ctx->ssl_ctx, TLS_ROLE_SERVER, &text,
				     err) == -1)
		return -1;
	if (pem->client_ca != NULL) {
		if (tls_credentials_load_ca(ctx->ssl_ctx, &text, err) == -1)
			return -1;
		if (add_ca_names(ctx->ssl_ctx,
				 SSL_CTX_get_cert_store(ctx->ssl_ctx)) == -1)
			return ossl_err(err, ERR_INTERNAL,
					"%s: cannot use the CA", pem->name);
	}
	if (pem->caller_ca != NULL && set_callers(ctx, pem, err) == -1)
		return -1;
	if (pem->client_ca != NULL || pem->caller_ca != NULL)
		ask_clients(ctx);
	*ret = TAKE_PTR(ctx);
	return 0;
}

struct tls_https *
tls_https_ref(struct tls_https *ctx)
{
	(void)atomic_fetch_add_explicit(&ctx->refs, 1, memory_order_relaxed);
	return ctx;
}

void
tls_https_unref(struct tls_https *ctx)
{
	if (ctx == NULL ||
	    atomic_fetch_sub_explicit(&ctx->refs, 1, memory_order_acq_rel) != 1)
		return;
	SSL_CTX_free(ctx->ssl_ctx);
	X509_STORE_free(ctx->callers);
	tls_chain_cache_free(ctx->chains);
	free(ctx);
}

struct tls_https_conn *
tls_https_conn_new(struct tls_https *ctx, int fd)
{
	struct tls_https_conn *conn = xmalloc0(sizeof(*conn));
	BIO *bio = BIO_new(bio_method);

	conn->ctx = tls_https_ref(ctx);
	conn->fd = fd;
	conn->peer.common_name = "";
	conn->ssl = SSL_new(ctx->ssl_ctx);
	/* Want of memory ends the program, as everywhere. */
	if (conn->ssl == NULL || bio == NULL)
		abort();
	BIO_set_data(bio, conn);
	BIO_set_init(bio, 1);
	SSL_set_bio(conn->ssl, bio, bio);
	SSL_set_accept_state(conn->ssl);
	return conn;
}

static void
peer_clear(struct tls_https_peer *peer)
{
	for (size_t i = 0; i < peer->organization_count; i++)
		free((void *)(uintptr_t)peer->organizations[i]);
	free(peer->organizations);
	if (*peer->common_name != '\0')
		free((void *)(uintptr_t)peer->common_name);
	*peer = (struct tls_https_peer){ .common_name = "",
					 .is_caller = peer->is_caller };
}

void
tls_https_conn_free(struct tls_https_conn *conn)
{
	if (conn == NULL)
		return;
	SSL_free(conn->ssl);
	tls_https_unref(conn->ctx);
	peer_clear(&conn->peer);
	free(conn);
}

/* The entry as UTF-8, the caller's; NULL for one with a NUL, or none. */
static char *
entry_text(const X509_NAME_ENTRY *entry)
{
	const ASN1_STRING *value = X509_NAME_ENTRY_get_data(entry);
	unsigned char *utf8 = NULL;
	int len = ASN1_STRING_to_UTF8(&utf8, value);
	char *text = NULL;

	if (len > 0 && memchr(utf8, '\0', (size_t)len) == NULL)
		text = xstrndup((const char *)utf8, (size_t)len);
	OPENSSL_free(utf8);
	return text;
}

static int
take_entry(struct tls_https_peer *peer, const X509_NAME_ENTRY *entry)
{
	int nid = OBJ_obj2nid(X509_NAME_ENTRY_get_object(entry));
	char *text;

	if (nid != NID_commonName && nid != NID_organizationName)
		return 0;
	text = entry_text(entry);
	if (text == NULL)
		return -1;
	if (nid == NID_organizationName) {
		peer->organizations[peer->organization_count++] = text;
		return 0;
	}
	/* Of several the last counts, as in Go. */
	if (*peer->common_name != '\0')
		free((void *)(uintptr_t)peer->common_name);
	peer->common_name = text;
	return 0;
}

static bool
is_caller(const struct tls_https_conn *conn)
{
	X509 *cert = SSL_get0_peer_certificate(conn->ssl);
	X509_STORE_CTX *store;
	bool good;

	if (cert == NULL || conn->ctx->callers == NULL)
		return false;
	store = X509_STORE_CTX_new();
	good = store != NULL &&
	       X509_STORE_CTX_init(store, conn->ctx->callers, cert,
				   SSL_get_peer_cert_chain(conn->ssl)) == 1 &&
	       X509_STORE_CTX_set_purpose(store, X509_PURPOSE_SSL_CLIENT) ==
		       1 &&
	       X509_verify_cert(store) == 1;
	X509_STORE_CTX_free(store);
	ossl_clear();
	return good;
}

/* A certificate that cannot be read without doubt names nobody. */
static void
read_peer(struct tls_https_conn *conn)
{
	const X509 *cert = SSL_get0_peer_certificate(conn->ssl);
	struct tls_https_peer *peer = &conn->peer;
	const X509_NAME *subject;
	int count;

	if (cert == NULL || SSL_get_verify_result(conn->ssl) != X509_V_OK)
		return;
	subject = X509_get_subject_name(cert);
	count = X509_NAME_entry_count(subject);
	if (count > ORGANIZATIONS_MAX)
		return;
	peer->organizations =
		xcalloc((size_t)count + 1, sizeof(*peer->organizations));
	for (int i = 0; i < count; i++) {
		if (take_entry(peer, X509_NAME_get_entry(subject, i)) == -1) {
			peer_clear(peer);
			return;
		}
	}
	if (ossl_time(X509_get0_notAfter(cert), &peer->not_after) == -1) {
		peer_clear(peer);
		return;
	}
	peer->verified = true;
}

static enum tls_https_io
judge(const struct tls_https_conn *conn, int result, const char *what,
      struct err *err)
{
	unsigned long code;

	switch (SSL_get_error(conn->ssl, result)) {
	case SSL_ERROR_WANT_READ:
		return TLS_HTTPS_WANT_READ;
	case SSL_ERROR_WANT_WRITE:
		return TLS_HTTPS_WANT_WRITE;
	case SSL_ERROR_ZERO_RETURN:
	case SSL_ERROR_SYSCALL:
		ossl_clear();
		return TLS_HTTPS_CLOSED;
	default:
		break;
	}
	code = ERR_peek_error();
	if (ERR_GET_LIB(code) == ERR_LIB_SSL &&
	    ERR_GET_REASON(code) == SSL_R_HTTP_REQUEST) {
		ossl_clear();
		return TLS_HTTPS_PLAIN;
	}
	(void)ossl_err(err, ERR_REFUSED, "%s", what);
	return TLS_HTTPS_FAILED;
}

enum tls_https_io
tls_https_handshake(struct tls_https_conn *conn, struct err *err)
{
	int r;

	ossl_clear();
	r = SSL_do_handshake(conn->ssl);
	if (r != 1)
		return judge(conn, r, "TLS handshake", err);
	conn->peer.is_caller = is_caller(conn);
	read_peer(conn);
	return TLS_HTTPS_OK;
}

const struct tls_https_peer *
tls_https_peer(const struct tls_https_conn *conn)
{
	return &conn->peer;
}

enum tls_https_io
tls_https_read(struct tls_https_conn *conn, void *data, size_t size,
	       size_t *ret_len, struct err *err)
{
	int r;

	ossl_clear();
	r = SSL_read_ex(conn->ssl, data, size, ret_len);
	return r == 1 ? TLS_HTTPS_OK : judge(conn, r, "reading", err);
}

enum tls_https_io
tls_https_write(struct tls_https_conn *conn, const void *data, size_t len,
		size_t *ret_len, struct err *err)
{
	int r;

	ossl_clear();
	r = SSL_write_ex(conn->ssl, data, len, ret_len);
	return r == 1 ? TLS_HTTPS_OK : judge(conn, r, "writing", err);
}

void
tls_https_close_notify(struct tls_https_conn *conn)
{
	ossl_clear();
	(void)SSL_shutdown(conn->ssl);
	ossl_clear();
}
