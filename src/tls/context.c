/* SPDX-License-Identifier: Apache-2.0 */
#include "tls/context.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>

#define TLS_ALLOW_PRIVATE

#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "tls/context_priv.h"
#include "tls/credentials.h"
#include "tls/library.h"
#include "tls/ossl.h"
#include "tls/private.h"
#include "tls/san.h"

#define CIPHERS "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384"
#define GROUPS "X25519:P-256:P-384"
/* Of the peer's whole chain. */
#define CHAIN_BYTES_MAX (32 * 1024)
#define CHAIN_DEPTH_MAX 4

struct tls_context {
	atomic_uint refs;
	enum tls_role role;
	SSL_CTX *ssl_ctx;
	struct tls_chain_cache *chains;
	char *identity;
	int64_t not_before;
	int64_t not_after;
	bool alpn;
};

static const unsigned char alpn_offer[] = "\x07" TLS_ALPN;
static_assert(sizeof(TLS_ALPN) - 1 == 7, "the offer's length byte is wrong");

static void
context_free(struct tls_context *ctx)
{
	SSL_CTX_free(ctx->ssl_ctx);
	tls_chain_cache_free(ctx->chains);
	free(ctx->identity);
	free(ctx);
}

static void
context_unrefp(struct tls_context **ctx)
{
	tls_context_unref(*ctx);
}

static int
set_protocol(SSL_CTX *c)
{
	SSL_CTX_set_options(c, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION |
				       SSL_OP_NO_COMPRESSION |
				       SSL_OP_CIPHER_SERVER_PREFERENCE);
	/*
	 * What is sent is the chain as it was given. libssl would otherwise
	 * look for the rest among the CAs and verify it, in every handshake,
	 * and make the peer parse a root that it has.
	 */
	SSL_CTX_set_mode(c, SSL_MODE_NO_AUTO_CHAIN);
	SSL_CTX_set_session_cache_mode(c, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_max_cert_list(c, CHAIN_BYTES_MAX);
	SSL_CTX_set_verify_depth(c, CHAIN_DEPTH_MAX);
	if (SSL_CTX_set_min_proto_version(c, TLS1_3_VERSION) != 1 ||
	    SSL_CTX_set_max_proto_version(c, TLS1_3_VERSION) != 1 ||
	    SSL_CTX_set_num_tickets(c, 0) != 1 ||
	    SSL_CTX_set_ciphersuites(c, CIPHERS) != 1 ||
	    SSL_CTX_set1_groups_list(c, GROUPS) != 1)
		return -1;
	return 0;
}

static int
set_hooks(SSL_CTX *c, enum tls_role role)
{
	const struct tls_context_hooks *h = &tls_session_hooks;

	SSL_CTX_set_verify(c, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT,
			   NULL);
	SSL_CTX_set_cert_verify_callback(c, h->verify, NULL);
	SSL_CTX_set_keylog_callback(c, h->keylog);
	if (role == TLS_ROLE_SERVER) {
		SSL_CTX_set_client_hello_cb(c, h->client_hello, NULL);
		SSL_CTX_set_alpn_select_cb(c, h->alpn, NULL);
		return 0;
	}
	/* Unlike its siblings this one returns 0 for success. */
	return SSL_CTX_set_alpn_protos(c, alpn_offer, sizeof(alpn_offer) - 1) ==
			       0
		       ? 0
		       : -1;
}

static int
read_own_cert(struct tls_context *ctx, const struct tls_pem *pem,
	      struct err *err)
{
	const X509 *cert = SSL_CTX_get0_certificate(ctx->ssl_ctx);

	ctx->identity = tls_san_first(cert);
	if (ctx->identity == NULL)
		return err_set(err, ERR_INVALID,
			       "%s: the certificate names no node (no URI in "
			       "its subject alternative name)",
			       pem->name);
	if (ossl_time(X509_get0_notBefore(cert), &ctx->not_before) == -1 ||
	    ossl_time(X509_get0_notAfter(cert), &ctx->not_after) == -1)
		return err_set(err, ERR_INVALID,
			       "%s: cannot read the certificate's validity",
			       pem->name);
	return 0;
}

int
tls_context_new(enum tls_role role, const struct tls_pem *pem,
		struct tls_context **ret, struct err *err)
{
	AUTO(context_unrefp) struct tls_context *ctx = NULL;

	ctx = xmalloc0(sizeof(*ctx));
	atomic_init(&ctx->refs, 1);
	ctx->role = role;
	ctx->alpn = true;
	ctx->chains = tls_chain_cache_new();
	ctx->ssl_ctx =
		SSL_CTX_new_ex(tls_library(), NULL,
			       role == TLS_ROLE_SERVER ? TLS_server_method()
						       : TLS_client_method());
	if (ctx->ssl_ctx == NULL || set_protocol(ctx->ssl_ctx) == -1 ||
	    set_hooks(ctx->ssl_ctx, role) == -1)
		return ossl_err(err, ERR_INTERNAL, "cannot set up TLS");
	if (tls_credentials_load(ctx->ssl_ctx, role, pem, err) == -1 ||
	    read_own_cert(ctx, pem, err) == -1)
		return -1;
	*ret = TAKE_PTR(ctx);
	return 0;
}

struct tls_context *
tls_context_ref(struct tls_context *ctx)
{
	(void)atomic_fetch_add_explicit(&ctx->refs, 1, memory_order_relaxed);
	return ctx;
}

void
tls_context_unref(struct tls_context *ctx)
{
	if (ctx == NULL)
		return;
	if (atomic_fetch_sub_explicit(&ctx->refs, 1, memory_order_acq_rel) == 1)
		context_free(ctx);
}

enum tls_role
tls_context_role(const struct tls_context *ctx)
{
	return ctx->role;
}

const char *
tls_context_identity(const struct tls_context *ctx)
{
	return ctx->identity;
}

int64_t
tls_context_not_before(const struct tls_context *ctx)
{
	return ctx->not_before;
}

int64_t
tls_context_not_after(const struct tls_context *ctx)
{
	return ctx->not_after;
}

SSL *
tls_context_new_ssl(struct tls_context *ctx, void *arg)
{
	SSL *ssl = SSL_new(ctx->ssl_ctx);

	if (ssl != NULL)
		(void)SSL_set_app_data(ssl, arg);
	return ssl;
}

void *
tls_context_arg(const SSL *ssl)
{
	return SSL_get_app_data(ssl);
}

void
tls_context_untie(SSL *ssl)
{
	(void)SSL_set_app_data(ssl, NULL);
}

bool
tls_context_has_alpn(const struct tls_context *ctx)
{
	return ctx->alpn;
}

struct tls_chain_cache *
tls_context_chain_cache(struct tls_context *ctx)
{
	return ctx->chains;
}

void
tls_context_without_alpn(struct tls_context *ctx)
{
	ctx->alpn = false;
	SSL_CTX_set_client_hello_cb(ctx->ssl_ctx, NULL, NULL);
	SSL_CTX_set_alpn_select_cb(ctx->ssl_ctx, NULL, NULL);
	(void)SSL_CTX_set_alpn_protos(ctx->ssl_ctx, NULL, 0);
}

void
tls_context_verified(struct tls_context *ctx, unsigned *ret_full,
		     unsigned *ret_remembered)
{
	tls_chain_cache_counts(ctx->chains, ret_full, ret_remembered);
}
