/* SPDX-License-Identifier: Apache-2.0 */
#include "tls/jwt.h"

#include <stdlib.h>
#include <string.h>

#include <openssl/pem.h>
#include <openssl/rsa.h>

#include "base/array.h"
#include "base/base64.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/test.h"
#include "tls/ossl.h"
#include "tls/pki.h"

#define CLAIMS "{\"sub\":\"system:serviceaccount:default:default\"}"

/* A key as PEM, private or public. */
static char *
pem_of(EVP_PKEY *pkey, bool private)
{
	AUTO(ossl_bio_free) BIO *bio = BIO_new(BIO_s_mem());
	char *data;
	long len;

	if (private)
		assert_int_equal(PEM_write_bio_PrivateKey(bio, pkey, NULL, NULL,
							  0, NULL, NULL),
				 1);
	else
		assert_int_equal(PEM_write_bio_PUBKEY(bio, pkey), 1);
	len = BIO_get_mem_data(bio, &data);
	return xstrndup(data, (size_t)len);
}

static struct jwt_key *
key_of(EVP_PKEY *pkey, bool private)
{
	AUTO(free_ptr) char *pem = pem_of(pkey, private);
	struct jwt_key *key;
	struct err err;

	assert_int_equal(jwt_key_new(pem, strlen(pem), "k", &key, &err), 0);
	return key;
}

static void
check_round_trip(EVP_PKEY *pkey, const char *algorithm)
{
	struct jwt_key *private = key_of(pkey, true);
	struct jwt_key *public = key_of(pkey, false);
	const struct jwt_key *keys[] = { public };
	AUTO(free_ptr) char *token = NULL;
	AUTO(free_ptr) char *claims = NULL;
	char *none = NULL;
	struct err err;

	assert_string_equal(jwt_key_id(private), jwt_key_id(public));
	assert_int_equal(strlen(jwt_key_id(public)), 43);
	assert_string_equal(jwt_key_algorithm(private), algorithm);
	assert_int_equal(jwt_sign(private, CLAIMS, &token, &err), 0);
	assert_int_equal(jwt_verify(keys, 1, token, &claims, &err), 0);
	assert_string_equal(claims, CLAIMS);
	assert_int_equal(jwt_sign(public, CLAIMS, &none, &err), -1);
	jwt_key_free(private);
	jwt_key_free(public);
}

static void
test_what_a_private_key_signs_its_public_key_verifies(void **state)
{
	AUTO(ossl_pkey_free) EVP_PKEY *ec = EVP_EC_gen("P-256");
	AUTO(ossl_pkey_free) EVP_PKEY *rsa = EVP_RSA_gen(2048);

	(void)state;
	/* r or s begins with a zero byte about once in 128 times. */
	for (int i = 0; i < 400; i++)
		check_round_trip(ec, "ES256");
	check_round_trip(rsa, "RS256");
}

/* RFC 7515, A.3: a token made by someone else. */
static void
test_a_token_of_another_program_is_verified(void **state)
{
	static const char pem[] =
		"-----BEGIN PUBLIC KEY-----\n"
		"MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEf83OJ3D2xF1Bg8vub9tLe1gH\n"
		"MzV76e8Tus9uPHvRVEXH8UTNG72bfocs3+257rn0s2ldbqkLJK2KRiMohYjl\n"
		"rQ==\n"
		"-----END PUBLIC KEY-----\n";
	static const char token[] =
		"eyJhbGciOiJFUzI1NiJ9"
		".eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9"
		"leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
		".DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8I"
		"SlSApmWQxfKTUJqPP3-Kg6NU1Q";
	AUTO(free_ptr) char *claims = NULL;
	struct jwt_key *key;
	struct err err;

	(void)state;
	assert_int_equal(jwt_key_new(pem, strlen(pem), "k", &key, &err), 0);
	assert_int_equal(jwt_verify((const struct jwt_key *const[]){ key }, 1,
				    token, &claims, &err),
			 0);
	assert_string_equal(claims, "{\"iss\":\"joe\",\r\n \"exp\":1300819380,"
				    "\r\n \"http://example.com/is_root\":"
				    "true}");
	jwt_key_free(key);
}

static void
check_refused(const struct jwt_key *key, const char *token, enum err_kind kind)
{
	const struct jwt_key *keys[] = { key };
	char *claims = NULL;
	struct err err;

	assert_int_equal(jwt_verify(keys, 1, token, &claims, &err), -1);
	assert_int_equal(err.kind, kind);
	assert_null(claims);
}

static void
test_any_change_of_a_token_is_noticed(void **state)
{
	AUTO(ossl_pkey_free) EVP_PKEY *ec = EVP_EC_gen("P-256");
	struct jwt_key *key = key_of(ec, true);
	AUTO(free_ptr) char *token = NULL;
	struct err err;
	size_t len;

	(void)state;
	assert_int_equal(jwt_sign(key, CLAIMS, &token, &err), 0);
	len = strlen(token);
	for (size_t i = 0; i < len; i++) {
		const struct jwt_key *keys[] = { key };
		char was = token[i];
		char *claims = NULL;

		token[i] = was == 'A' ? 'B' : 'A';
		assert_int_equal(jwt_verify(keys, 1, token, &claims, &err), -1);
		token[i] = was;
	}
	token[len - 1] = '\0';
	assert_int_equal(jwt_verify((const struct jwt_key *const[]){ key }, 1,
				    token, &(char *){ NULL }, &err),
			 -1);
	jwt_key_free(key);
}

/* header.claims.signature with the given header. */
static char *
forge(const char *header, const char *signature)
{
	AUTO(free_ptr) char *h = NULL;
	AUTO(free_ptr) char *c = NULL;

	h = base64_encode(BASE64_URL, header, strlen(header));
	c = base64_encode(BASE64_URL, CLAIMS, strlen(CLAIMS));
	return xasprintf("%s.%s.%s", h, c, signature);
}

static void
test_the_token_does_not_choose_the_algorithm(void **state)
{
	static const char *const headers[] = {
		"{\"alg\":\"none\"}",
		"{\"alg\":\"HS256\"}",
		"{\"alg\":\"RS256\"}",
		"{\"alg\":\"es256\"}",
		"{\"alg\":\"ES256\",\"kid\":\"other\"}",
	};
	AUTO(ossl_pkey_free) EVP_PKEY *ec = EVP_EC_gen("P-256");
	struct jwt_key *key = key_of(ec, false);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(headers); i++) {
		AUTO(free_ptr) char *empty = forge(headers[i], "");
		AUTO(free_ptr) char *zero = forge(headers[i], "AAAA");

		check_refused(key, empty, ERR_DENIED);
		check_refused(key, zero, ERR_DENIED);
	}
	jwt_key_free(key);
}

static void
test_what_is_no_token_is_refused(void **state)
{
	static const char *const texts[] = {
		"",
		".",
		"..",
		"a.b",
		"...",
		"a.b.c.d",
		"e30.e30.e30",
		"e30=.e30.e30",
		"bm90anNvbg.e30.AA",
		/* {"alg":"ES256","crit":[]} and an alg that is no text */
		"eyJhbGciOiJFUzI1NiIsImNyaXQiOltdfQ.e30.AAAA",
		"eyJhbGciOjF9.e30.AAAA",
	};
	AUTO(ossl_pkey_free) EVP_PKEY *ec = EVP_EC_gen("P-256");
	AUTO(free_ptr) char *big = xmalloc0(JWT_TOKEN_MAX + 2);
	struct jwt_key *key = key_of(ec, false);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		check_refused(key, texts[i], ERR_INVALID);
	memset(big, '.', JWT_TOKEN_MAX + 1);
	check_refused(key, big, ERR_INVALID);
	jwt_key_free(key);
}

static void
test_several_keys_are_told_apart_by_id(void **state)
{
	AUTO(ossl_pkey_free) EVP_PKEY *a = EVP_EC_gen("P-256");
	AUTO(ossl_pkey_free) EVP_PKEY *b = EVP_EC_gen("P-256");
	struct jwt_key *ka = key_of(a, true);
	struct jwt_key *kb = key_of(b, true);
	const struct jwt_key *both[] = { ka, kb };
	AUTO(free_ptr) char *token = NULL;
	AUTO(free_ptr) char *claims = NULL;
	struct err err;

	(void)state;
	assert_string_not_equal(jwt_key_id(ka), jwt_key_id(kb));
	assert_int_equal(jwt_sign(kb, CLAIMS, &token, &err), 0);
	assert_int_equal(jwt_verify(both, 2, token, &claims, &err), 0);
	check_refused(ka, token, ERR_DENIED);
	jwt_key_free(ka);
	jwt_key_free(kb);
}

static void
test_keys_of_other_kinds_are_refused(void **state)
{
	AUTO(ossl_pkey_free) EVP_PKEY *p384 = EVP_EC_gen("P-384");
	AUTO(ossl_pkey_free) EVP_PKEY *small = EVP_RSA_gen(1024);
	AUTO(free_ptr) char *a = pem_of(p384, true);
	AUTO(free_ptr) char *b = pem_of(small, true);
	struct jwt_key *key = NULL;
	struct err err;

	(void)state;
	assert_int_equal(jwt_key_new(a, strlen(a), "sa.key", &key, &err), -1);
	assert_int_equal(jwt_key_new(b, strlen(b), "sa.key", &key, &err), -1);
	assert_int_equal(jwt_key_new("", 0, "sa.key", &key, &err), -1);
	assert_int_equal(jwt_key_new("junk", 4, "sa.key", &key, &err), -1);
	assert_int_equal(err.kind, ERR_INVALID);
	assert_non_null(strstr(err.text, "sa.key"));
	assert_null(key);
	jwt_key_free(NULL);
}

static void
test_a_key_of_the_pki_signs(void **state)
{
	struct tls_pki_pem pem = { 0 };
	AUTO(free_ptr) char *token = NULL;
	AUTO(free_ptr) char *long_claims = xmalloc0(JWT_CLAIMS_MAX + 2);
	struct jwt_key *key;
	struct err err;

	(void)state;
	assert_int_equal(tls_pki_make_key(&pem, &err), 0);
	assert_null(pem.cert);
	assert_int_equal(jwt_key_new(pem.key, pem.key_len, "k", &key, &err), 0);
	assert_int_equal(jwt_sign(key, "{}", &token, &err), 0);
	memset(long_claims, 'x', JWT_CLAIMS_MAX + 1);
	assert_int_equal(jwt_sign(key, long_claims, &(char *){ NULL }, &err),
			 -1);
	assert_int_equal(err.kind, ERR_LIMIT);
	jwt_key_free(key);
	tls_pki_pem_done(&pem);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_what_a_private_key_signs_its_public_key_verifies),
		cmocka_unit_test(test_a_token_of_another_program_is_verified),
		cmocka_unit_test(test_any_change_of_a_token_is_noticed),
		cmocka_unit_test(test_the_token_does_not_choose_the_algorithm),
		cmocka_unit_test(test_what_is_no_token_is_refused),
		cmocka_unit_test(test_several_keys_are_told_apart_by_id),
		cmocka_unit_test(test_keys_of_other_kinds_are_refused),
		cmocka_unit_test(test_a_key_of_the_pki_signs),
	};

	return cmocka_run_group_tests_name("jwt", tests, NULL, NULL);
}
