/* SPDX-License-Identifier: Apache-2.0 */
#include "tls/testclient.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/pem.h>

#include "base/mem.h"
#include "tls/ossl.h"

struct testclient {
	SSL_CTX *ctx;
	SSL *ssl;
};

static X509 *
read_cert(const struct tls_pki_pem *pem)
{
	BIO *bio = BIO_new_mem_buf(pem->cert, (int)pem->cert_len);
	X509 *cert = PEM_read_bio_X509(bio, NULL, NULL, NULL);

	BIO_free(bio);
	assert(cert != NULL);
	return cert;
}

static void
use_cert(SSL_CTX *ctx, const struct tls_pki_pem *pem)
{
	BIO *bio = BIO_new_mem_buf(pem->key, (int)pem->key_len);
	EVP_PKEY *key = PEM_read_bio_PrivateKey(bio, NULL, NULL, NULL);
	X509 *cert = read_cert(pem);

	(void)SSL_CTX_use_certificate(ctx, cert);
	(void)SSL_CTX_use_PrivateKey(ctx, key);
	X509_free(cert);
	EVP_PKEY_free(key);
	BIO_free(bio);
}

static void
offer_alpn(SSL_CTX *ctx, const char *name)
{
	unsigned char offer[64];
	size_t len = strlen(name);

	assert(len < sizeof(offer));
	offer[0] = (unsigned char)len;
	memcpy(offer + 1, name, len);
	(void)SSL_CTX_set_alpn_protos(ctx, offer, (unsigned)len + 1);
}

struct testclient *
testclient_new(int fd, const struct testclient_config *config)
{
	struct testclient *c = xmalloc0(sizeof(*c));

	c->ctx = SSL_CTX_new(TLS_client_method());
	if (config->ca != NULL) {
		X509 *cert = read_cert(config->ca);

		(void)X509_STORE_add_cert(SSL_CTX_get_cert_store(c->ctx), cert);
		X509_free(cert);
		SSL_CTX_set_verify(c->ctx, SSL_VERIFY_PEER, NULL);
	}
	if (config->cert != NULL)
		use_cert(c->ctx, config->cert);
	if (config->alpn != NULL)
		offer_alpn(c->ctx, config->alpn);
	if (config->tls12)
		(void)SSL_CTX_set_max_proto_version(c->ctx, TLS1_2_VERSION);
	SSL_CTX_set_mode(c->ctx, SSL_MODE_ENABLE_PARTIAL_WRITE |
					 SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	c->ssl = SSL_new(c->ctx);
	(void)SSL_set_fd(c->ssl, fd);
	SSL_set_connect_state(c->ssl);
	return c;
}

void
testclient_free(struct testclient *c)
{
	if (c == NULL)
		return;
	SSL_free(c->ssl);
	SSL_CTX_free(c->ctx);
	free(c);
}

/*
 * Writing to a server that has gone raises SIGPIPE; only here it is ignored, so
 * that one raised by the server does not go unnoticed.
 */
static void
ignore_sigpipe(bool ignore)
{
	(void)signal(SIGPIPE, ignore ? SIG_IGN : SIG_DFL);
}

static ssize_t
judge(const struct testclient *c, int result)
{
	int error = SSL_get_error(c->ssl, result);

	ossl_clear();
	if (error == SSL_ERROR_ZERO_RETURN)
		return 0;
	errno = error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE
			? EAGAIN
			: EPROTO;
	return -1;
}

ssize_t
testclient_read(struct testclient *c, void *data, size_t size)
{
	int n;

	ignore_sigpipe(true);
	n = SSL_read(c->ssl, data, (int)size);
	ignore_sigpipe(false);
	return n > 0 ? n : judge(c, n);
}

ssize_t
testclient_write(struct testclient *c, const void *data, size_t len)
{
	int n;

	ignore_sigpipe(true);
	n = SSL_write(c->ssl, data, (int)len);
	ignore_sigpipe(false);
	return n > 0 ? n : judge(c, n);
}

int
testclient_handshake(struct testclient *c)
{
	int r;

	ignore_sigpipe(true);
	r = SSL_do_handshake(c->ssl);
	ignore_sigpipe(false);
	if (r == 1)
		return 0;
	(void)judge(c, r);
	return -1;
}

void
testclient_close_notify(struct testclient *c)
{
	ignore_sigpipe(true);
	(void)SSL_shutdown(c->ssl);
	ignore_sigpipe(false);
	ossl_clear();
}

const char *
testclient_alpn(struct testclient *c, char *buf, size_t size)
{
	const unsigned char *name;
	unsigned len;

	SSL_get0_alpn_selected(c->ssl, &name, &len);
	(void)snprintf(buf, size, "%.*s", (int)len, (const char *)name);
	return buf;
}

const char *
testclient_version(const struct testclient *c)
{
	return SSL_get_version(c->ssl);
}

const char *
testclient_server(struct testclient *c, char *buf, size_t size)
{
	X509_NAME *name =
		X509_get_subject_name(SSL_get0_peer_certificate(c->ssl));

	(void)X509_NAME_get_text_by_NID(name, NID_commonName, buf, (int)size);
	return buf;
}
