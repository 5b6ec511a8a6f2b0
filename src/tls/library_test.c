/* SPDX-License-Identifier: Apache-2.0 */
#include "tls/library.h"

#include <pthread.h>
#include <string.h>

#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/rsa.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/test.h"
#include "tls/ossl.h"

#define THREADS 4

/* What a certificate's key may be. */
static const struct kind {
	const char *type;
	const char *group;
	bool digest; /* it signs the digest of a message */
} kinds[] = {
	{ "EC", "P-256", true },    { "EC", "P-384", true },
	{ "EC", "P-521", true },    { "EC", "brainpoolP256r1", true },
	{ "RSA", NULL, true },      { "RSA-PSS", NULL, true },
	{ "ED25519", NULL, false }, { "ED448", NULL, false },
};

static void
ossl_ctx_free(EVP_PKEY_CTX **ctx)
{
	EVP_PKEY_CTX_free(*ctx);
}

static EVP_PKEY *
make_key(const struct kind *kind)
{
	AUTO(ossl_ctx_free)
	EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, kind->type, NULL);
	EVP_PKEY *key = NULL;

	assert_int_equal(EVP_PKEY_keygen_init(ctx), 1);
	if (kind->group != NULL)
		assert_int_equal(EVP_PKEY_CTX_set_group_name(ctx, kind->group),
				 1);
	assert_int_equal(EVP_PKEY_generate(ctx, &key), 1);
	return key;
}

/* A certificate signed with its own key, as it comes over the network. */
static int
make_cert(const struct kind *kind, EVP_PKEY *key, unsigned char **ret_der)
{
	AUTO(ossl_x509_free) X509 *cert = X509_new();
	int len;

	assert_int_equal(X509_set_version(cert, X509_VERSION_3), 1);
	assert_non_null(X509_gmtime_adj(X509_getm_notBefore(cert), 0));
	assert_non_null(X509_gmtime_adj(X509_getm_notAfter(cert), 60));
	assert_int_equal(X509_set_pubkey(cert, key), 1);
	assert_true(X509_sign(cert, key, kind->digest ? EVP_sha256() : NULL) >
		    0);
	*ret_der = NULL;
	len = i2d_X509(cert, ret_der);
	assert_true(len > 0);
	return len;
}

/* As libssl reads what a peer sends. */
static X509 *
read_cert(const unsigned char *der, int len)
{
	X509 *cert = X509_new_ex(tls_library(), NULL);

	assert_non_null(d2i_X509(&cert, &der, len));
	return cert;
}

static void
test_keys_of_all_kinds_are_read_and_verify(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		AUTO(ossl_pkey_free) EVP_PKEY *key = make_key(&kinds[i]);
		AUTO(ossl_x509_free) X509 *cert = NULL;
		unsigned char *der;
		int len = make_cert(&kinds[i], key, &der);

		cert = read_cert(der, len);
		OPENSSL_free(der);
		if (X509_get0_pubkey(cert) == NULL)
			fail_msg("%s: no key", kinds[i].type);
		assert_int_equal(EVP_PKEY_eq(X509_get0_pubkey(cert), key), 1);
		assert_int_equal(X509_verify(cert, key), 1);
		assert_int_equal(X509_verify(cert, X509_get0_pubkey(cert)), 1);
	}
}

static void
test_a_forged_certificate_is_no_better_than_elsewhere(void **state)
{
	AUTO(ossl_pkey_free) EVP_PKEY *key = make_key(&kinds[0]);
	AUTO(ossl_x509_free) X509 *cert = NULL;
	unsigned char *der;
	int len = make_cert(&kinds[0], key, &der);

	(void)state;
	der[len - 1] ^= 1; /* the end of the signature */
	cert = read_cert(der, len);
	OPENSSL_free(der);
	assert_int_not_equal(X509_verify(cert, key), 1);
	ossl_clear();
}

static bool
has_cipher(OSSL_LIB_CTX *ctx, const char *name)
{
	EVP_CIPHER *cipher = EVP_CIPHER_fetch(ctx, name, NULL);
	bool found = cipher != NULL;

	EVP_CIPHER_free(cipher);
	ossl_clear();
	return found;
}

static void
test_only_what_tls13_needs_is_shown(void **state)
{
	OSSL_LIB_CTX *ctx = tls_library();

	(void)state;
	/* Built and tested with an OpenSSL that gains from it. */
	if (OPENSSL_version_major() > 3 || OPENSSL_version_minor() >= 2) {
		assert_null(ctx);
		return;
	}
	assert_non_null(ctx);
	assert_true(has_cipher(ctx, "AES-128-GCM"));
	assert_true(has_cipher(NULL, "AES-128-CBC"));
	assert_false(has_cipher(ctx, "AES-128-CBC"));
}

static void *
call(void *unused)
{
	(void)unused;
	return tls_library();
}

static void
test_threads_get_the_same_one(void **state)
{
	pthread_t threads[THREADS];

	(void)state;
	for (size_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, call, NULL),
				 0);
	for (size_t i = 0; i < THREADS; i++) {
		void *got = NULL;

		assert_int_equal(pthread_join(threads[i], &got), 0);
		assert_ptr_equal(got, tls_library());
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_threads_get_the_same_one),
		cmocka_unit_test(test_keys_of_all_kinds_are_read_and_verify),
		cmocka_unit_test(
			test_a_forged_certificate_is_no_better_than_elsewhere),
		cmocka_unit_test(test_only_what_tls13_needs_is_shown),
	};

	return cmocka_run_group_tests_name("library", tests, NULL, NULL);
}
