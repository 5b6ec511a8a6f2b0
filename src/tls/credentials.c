/* SPDX-License-Identifier: Apache-2.0 */
#include "tls/credentials.h"

#include <openssl/err.h>
#include <openssl/pem.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "tls/ossl.h"

static BIO *
open_text(const char *text, size_t len)
{
	return BIO_new_mem_buf(text, (int)len);
}

static int
check_size(const struct tls_pem *pem, const char *what, const char *text,
	   size_t len, struct err *err)
{
	if (text == NULL || len == 0)
		return err_set(err, ERR_INVALID, "%s: no %s", pem->name, what);
	if (len > TLS_PEM_MAX)
		return err_set(err, ERR_INVALID, "%s: %s is too large",
			       pem->name, what);
	return 0;
}

/*
 * The next certificate. 1 when there is one, 0 at the end of the text, -1 for
 * something that is no certificate.
 */
static int
read_cert(BIO *bio, X509 **ret)
{
	unsigned long code;

	ERR_clear_error();
	*ret = PEM_read_bio_X509(bio, NULL, ossl_no_passphrase, NULL);
	if (*ret != NULL)
		return 1;
	code = ERR_peek_last_error();
	if (ERR_GET_LIB(code) == ERR_LIB_PEM &&
	    ERR_GET_REASON(code) == PEM_R_NO_START_LINE) {
		ERR_clear_error();
		return 0;
	}
	return -1;
}

/* Each further certificate must have issued the one before it. */
static int
load_intermediates(SSL_CTX *ssl_ctx, BIO *bio, X509 *issued,
		   const struct tls_pem *pem, struct err *err)
{
	for (unsigned i = 2;; i++) {
		X509 *issuer;
		int r = read_cert(bio, &issuer);

		if (r == 0)
			return 0;
		if (r == -1)
			return ossl_err(err, ERR_INVALID,
					"%s: cannot read certificate %u",
					pem->name, i);
		if (X509_check_issued(issuer, issued) != X509_V_OK) {
			X509_free(issuer);
			return err_set(err, ERR_INVALID,
				       "%s: certificate %u did not issue "
				       "certificate %u",
				       pem->name, i, i - 1);
		}
		if (SSL_CTX_add0_chain_cert(ssl_ctx, issuer) != 1) {
			X509_free(issuer);
			return ossl_err(err, ERR_INVALID,
					"%s: cannot use certificate %u",
					pem->name, i);
		}
		issued = issuer;
	}
}

static int
load_cert(SSL_CTX *ssl_ctx, enum tls_role role, const struct tls_pem *pem,
	  struct err *err)
{
	AUTO(ossl_bio_free) BIO *bio = open_text(pem->cert, pem->cert_len);
	AUTO(ossl_x509_free) X509 *cert = NULL;
	bool server = role == TLS_ROLE_SERVER;
	int purpose =
		server ? X509_PURPOSE_SSL_SERVER : X509_PURPOSE_SSL_CLIENT;
	int r = bio != NULL ? read_cert(bio, &cert) : -1;

	if (r == 0)
		return err_set(err, ERR_INVALID,
			       "%s: the certificate file holds no certificate",
			       pem->name);
	if (r == -1)
		return ossl_err(err, ERR_INVALID,
				"%s: cannot read the certificate", pem->name);
	if (X509_check_purpose(cert, purpose, 0) != 1)
		return err_set(err, ERR_INVALID,
			       "%s: the certificate is not meant for a %s",
			       pem->name, server ? "server" : "client");
	if (SSL_CTX_use_certificate(ssl_ctx, cert) != 1)
		return ossl_err(err, ERR_INVALID,
				"%s: cannot use the certificate", pem->name);
	return load_intermediates(ssl_ctx, bio, cert, pem, err);
}

static int
load_key(SSL_CTX *ssl_ctx, const struct tls_pem *pem, struct err *err)
{
	AUTO(ossl_bio_free) BIO *bio = open_text(pem->key, pem->key_len);
	AUTO(ossl_pkey_free) EVP_PKEY *key = NULL;

	ERR_clear_error();
	if (bio != NULL)
		key = PEM_read_bio_PrivateKey(bio, NULL, ossl_no_passphrase,
					      NULL);
	if (key == NULL)
		return ossl_err(err, ERR_INVALID,
				"%s: cannot read the private key", pem->name);
	if (X509_check_private_key(SSL_CTX_get0_certificate(ssl_ctx), key) != 1)
		return ossl_err(err, ERR_INVALID,
				"%s: key and certificate do not match",
				pem->name);
	if (SSL_CTX_use_PrivateKey(ssl_ctx, key) != 1)
		return ossl_err(err, ERR_INVALID,
				"%s: cannot use the private key", pem->name);
	return 0;
}

static int
load_ca(X509_STORE *store, const struct tls_pem *pem, struct err *err)
{
	AUTO(ossl_bio_free) BIO *bio = open_text(pem->ca, pem->ca_len);
	unsigned count = 0;

	for (;;) {
		AUTO(ossl_x509_free) X509 *cert = NULL;
		int r = bio != NULL ? read_cert(bio, &cert) : -1;

		if (r == 0)
			break;
		count++;
		if (r == -1)
			return ossl_err(err, ERR_INVALID,
					"%s: cannot read CA certificate %u",
					pem->name, count);
		if (X509_check_ca(cert) == 0)
			return err_set(err, ERR_INVALID,
				       "%s: CA certificate %u is not one of a "
				       "CA",
				       pem->name, count);
		if (X509_STORE_add_cert(store, cert) != 1)
			return ossl_err(err, ERR_INVALID,
					"%s: cannot use CA certificate %u",
					pem->name, count);
	}
	if (count == 0)
		return err_set(err, ERR_INVALID,
			       "%s: the CA file holds no certificate",
			       pem->name);
	return 0;
}

int
tls_credentials_load_own(SSL_CTX *ssl_ctx, enum tls_role role,
			 const struct tls_pem *pem, struct err *err)
{
	if (check_size(pem, "certificate", pem->cert, pem->cert_len, err) ||
	    check_size(pem, "private key", pem->key, pem->key_len, err))
		return -1;
	if (load_cert(ssl_ctx, role, pem, err) == -1 ||
	    load_key(ssl_ctx, pem, err) == -1)
		return -1;
	return 0;
}

int
tls_credentials_load_store(X509_STORE *store, const struct tls_pem *pem,
			   struct err *err)
{
	if (check_size(pem, "CA", pem->ca, pem->ca_len, err))
		return -1;
	return load_ca(store, pem, err);
}

int
tls_credentials_load_ca(SSL_CTX *ssl_ctx, const struct tls_pem *pem,
			struct err *err)
{
	return tls_credentials_load_store(SSL_CTX_get_cert_store(ssl_ctx), pem,
					  err);
}

int
tls_credentials_load(SSL_CTX *ssl_ctx, enum tls_role role,
		     const struct tls_pem *pem, struct err *err)
{
	if (tls_credentials_load_own(ssl_ctx, role, pem, err) == -1)
		return -1;
	return tls_credentials_load_ca(ssl_ctx, pem, err);
}
