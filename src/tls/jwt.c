/* SPDX-License-Identifier: Apache-2.0 */
#include "tls/jwt.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/pem.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/js.h"
#include "base/mem.h"
#include "base/str.h"
#include "tls/context.h"
#include "tls/digest.h"
#include "tls/ossl.h"

#define RSA_BITS_MIN 2048
#define RSA_BITS_MAX 8192
#define ES256_HALF 32 /* r and s, each */
#define SIGNATURE_MAX (RSA_BITS_MAX / 8)
#define HEADER_MAX 2048 /* decoded */

struct jwt_key {
	EVP_PKEY *pkey;
	bool private;
	const char *algorithm;
	char *id;
	char *header; /* encoded, with the dot behind it */
};

/* The three parts of a token, as they stand in it. */
struct parts {
	const char *header, *claims, *signature;
	size_t header_len, claims_len, signature_len;
};

static void
md_ctx_free(EVP_MD_CTX **p)
{
	EVP_MD_CTX_free(*p);
}

static void
ecdsa_sig_free(ECDSA_SIG **p)
{
	ECDSA_SIG_free(*p);
}

static void
key_freep(struct jwt_key **p)
{
	jwt_key_free(*p);
}

/* Whatever of the three kinds of PEM the text is. */
static EVP_PKEY *
read_pkey(const char *pem, size_t len, bool *ret_private)
{
	AUTO(ossl_bio_free) BIO *bio = BIO_new_mem_buf(pem, (int)len);
	AUTO(ossl_x509_free) X509 *cert = NULL;
	EVP_PKEY *pkey;

	if (bio == NULL)
		return NULL;
	pkey = PEM_read_bio_PrivateKey(bio, NULL, ossl_no_passphrase, NULL);
	*ret_private = pkey != NULL;
	if (pkey != NULL)
		return pkey;
	(void)BIO_reset(bio);
	pkey = PEM_read_bio_PUBKEY(bio, NULL, ossl_no_passphrase, NULL);
	if (pkey != NULL)
		return pkey;
	(void)BIO_reset(bio);
	cert = PEM_read_bio_X509(bio, NULL, ossl_no_passphrase, NULL);
	return cert != NULL ? X509_get_pubkey(cert) : NULL;
}

/* NULL when the key is of no kind that is used here. */
static const char *
algorithm_of(const EVP_PKEY *pkey)
{
	char group[32];
	size_t len;

	if (EVP_PKEY_is_a(pkey, "RSA"))
		return EVP_PKEY_get_bits(pkey) >= RSA_BITS_MIN &&
				       EVP_PKEY_get_bits(pkey) <= RSA_BITS_MAX
			       ? "RS256"
			       : NULL;
	if (EVP_PKEY_is_a(pkey, "EC") &&
	    EVP_PKEY_get_group_name(pkey, group, sizeof(group), &len) == 1 &&
	    str_equal(group, SN_X9_62_prime256v1))
		return "ES256";
	return NULL;
}

static int
name_key(struct jwt_key *key)
{
	AUTO(free_ptr) char *header = NULL;
	uint8_t digest[DIGEST_SHA256_LEN];
	unsigned char *der = NULL;
	int len = i2d_PUBKEY(key->pkey, &der);
	char *encoded;

	if (len <= 0)
		return -1;
	digest_sha256(der, (size_t)len, digest);
	OPENSSL_free(der);
	key->id = base64_encode(BASE64_URL, digest, sizeof(digest));
	header = xasprintf("{\"alg\":\"%s\",\"kid\":\"%s\"}", key->algorithm,
			   key->id);
	encoded = base64_encode(BASE64_URL, header, strlen(header));
	key->header = xasprintf("%s.", encoded);
	free(encoded);
	return 0;
}

int
jwt_key_new(const char *pem, size_t len, const char *name, struct jwt_key **ret,
	    struct err *err)
{
	AUTO(key_freep) struct jwt_key *key = xmalloc0(sizeof(*key));

	if (len > TLS_PEM_MAX)
		return err_set(err, ERR_INVALID, "%s: the key is too large",
			       name);
	key->pkey = read_pkey(pem, len, &key->private);
	if (key->pkey == NULL)
		return ossl_err(err, ERR_INVALID, "%s: cannot read the key",
				name);
	/* What the tries before the right one said. */
	ossl_clear();
	key->algorithm = algorithm_of(key->pkey);
	if (key->algorithm == NULL)
		return err_set(err, ERR_INVALID,
			       "%s: the key is neither P-256 nor RSA of %d to "
			       "%d bits",
			       name, RSA_BITS_MIN, RSA_BITS_MAX);
	if (name_key(key) == -1)
		return ossl_err(err, ERR_INTERNAL, "%s: cannot use the key",
				name);
	*ret = TAKE_PTR(key);
	return 0;
}

void
jwt_key_free(struct jwt_key *key)
{
	if (key == NULL)
		return;
	EVP_PKEY_free(key->pkey);
	free(key->id);
	free(key->header);
	free(key);
}

const char *
jwt_key_id(const struct jwt_key *key)
{
	return key->id;
}

const char *
jwt_key_algorithm(const struct jwt_key *key)
{
	return key->algorithm;
}

/* DER to the two numbers side by side that a token has. */
static int
to_raw(const uint8_t *der, size_t len, uint8_t raw[2 * ES256_HALF])
{
	AUTO(ecdsa_sig_free)
	ECDSA_SIG *sig = d2i_ECDSA_SIG(NULL, &der, (long)len);

	if (sig == NULL ||
	    BN_bn2binpad(ECDSA_SIG_get0_r(sig), raw, ES256_HALF) == -1 ||
	    BN_bn2binpad(ECDSA_SIG_get0_s(sig), raw + ES256_HALF, ES256_HALF) ==
		    -1)
		return -1;
	return 0;
}

/* And back; returns the length of *ret_der, which OPENSSL_free() frees. */
static int
from_raw(const uint8_t *raw, size_t len, unsigned char **ret_der)
{
	AUTO(ecdsa_sig_free) ECDSA_SIG *sig = NULL;
	BIGNUM *r;
	BIGNUM *s;

	if (len != (size_t)2 * ES256_HALF)
		return -1;
	sig = ECDSA_SIG_new();
	r = BN_bin2bn(raw, ES256_HALF, NULL);
	s = BN_bin2bn(raw + ES256_HALF, ES256_HALF, NULL);
	if (sig == NULL || r == NULL || s == NULL ||
	    ECDSA_SIG_set0(sig, r, s) != 1) {
		BN_free(r);
		BN_free(s);
		return -1;
	}
	return i2d_ECDSA_SIG(sig, ret_der);
}

int
jwt_sign(const struct jwt_key *key, const char *claims, char **ret_token,
	 struct err *err)
{
	AUTO(md_ctx_free) EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	AUTO(free_ptr) char *payload = NULL;
	AUTO(free_ptr) char *input = NULL;
	AUTO(free_ptr) char *tail = NULL;
	uint8_t sig[SIGNATURE_MAX];
	uint8_t raw[2 * ES256_HALF];
	size_t len = sizeof(sig);

	if (!key->private)
		return err_set(err, ERR_INVALID,
			       "a public key cannot sign tokens");
	if (strlen(claims) > JWT_CLAIMS_MAX)
		return err_set(err, ERR_LIMIT, "the claims are too long");
	payload = base64_encode(BASE64_URL, claims, strlen(claims));
	input = xasprintf("%s%s", key->header, payload);
	if (ctx == NULL ||
	    EVP_DigestSignInit(ctx, NULL, EVP_sha256(), NULL, key->pkey) != 1 ||
	    EVP_DigestSign(ctx, sig, &len, (const uint8_t *)input,
			   strlen(input)) != 1)
		return ossl_err(err, ERR_INTERNAL, "cannot sign a token");
	if (EVP_PKEY_is_a(key->pkey, "RSA")) {
		tail = base64_encode(BASE64_URL, sig, len);
	} else {
		if (to_raw(sig, len, raw) == -1)
			return ossl_err(err, ERR_INTERNAL,
					"cannot sign a token");
		tail = base64_encode(BASE64_URL, raw, sizeof(raw));
	}
	*ret_token = xasprintf("%s.%s", input, tail);
	return 0;
}

static int
split(const char *token, struct parts *ret, struct err *err)
{
	size_t len = strnlen(token, JWT_TOKEN_MAX + 1);
	const char *first = memchr(token, '.', len);
	const char *second;

	if (len > JWT_TOKEN_MAX)
		return err_set(err, ERR_INVALID, "the token is too long");
	second = first != NULL ? strchr(first + 1, '.') : NULL;
	if (second == NULL || strchr(second + 1, '.') != NULL)
		return err_set(err, ERR_INVALID,
			       "a token has three parts, this has not");
	ret->header = token;
	ret->header_len = (size_t)(first - token);
	ret->claims = first + 1;
	ret->claims_len = (size_t)(second - first - 1);
	ret->signature = second + 1;
	ret->signature_len = strlen(second + 1);
	return 0;
}

/* Reads algorithm and key id; the texts are those of *ret_json. */
static int
read_header(const struct parts *parts, json_t **ret_json,
	    const char **ret_algorithm, const char **ret_kid, struct err *err)
{
	AUTO(free_ptr) uint8_t *text = NULL;
	AUTO(js_unref) json_t *json = NULL;
	size_t len;

	if (parts->header_len > base64_encoded_len(BASE64_URL, HEADER_MAX))
		return err_set(err, ERR_INVALID, "the header is too long");
	if (base64_decode(BASE64_URL, parts->header, parts->header_len, &text,
			  &len, err) == -1)
		return -1;
	json = js_parse((const char *)text, len, err);
	if (json == NULL)
		return -1;
	*ret_kid = NULL;
	if (js_get_str(json, "alg", ret_algorithm, err) == -1 ||
	    js_opt_str(json, "kid", ret_kid, err) == -1)
		return -1;
	/* Extensions that must be understood: none is. */
	if (json_object_get(json, "crit") != NULL)
		return err_set(err, ERR_INVALID, "'crit' is not supported");
	*ret_json = TAKE_PTR(json);
	return 0;
}

static bool
is_signed_by(const struct jwt_key *key, const struct parts *parts,
	     const uint8_t *sig, size_t sig_len)
{
	AUTO(md_ctx_free) EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	const uint8_t *input = (const uint8_t *)parts->header;
	size_t len = parts->header_len + 1 + parts->claims_len;
	unsigned char *der = NULL;
	bool good;

	if (ctx == NULL ||
	    EVP_DigestVerifyInit(ctx, NULL, EVP_sha256(), NULL, key->pkey) != 1)
		return false;
	if (EVP_PKEY_is_a(key->pkey, "RSA")) {
		good = EVP_DigestVerify(ctx, sig, sig_len, input, len) == 1;
	} else {
		int der_len = from_raw(sig, sig_len, &der);

		good = der_len > 0 &&
		       EVP_DigestVerify(ctx, der, (size_t)der_len, input,
					len) == 1;
		OPENSSL_free(der);
	}
	ossl_clear();
	return good;
}

static int
check_signature(const struct jwt_key *const *keys, size_t count,
		const struct parts *parts, struct err *err)
{
	AUTO(js_unref) json_t *header = NULL;
	AUTO(free_ptr) uint8_t *sig = NULL;
	const char *algorithm;
	const char *kid;
	size_t len;
	bool known = false;

	if (read_header(parts, &header, &algorithm, &kid, err) == -1 ||
	    base64_decode(BASE64_URL, parts->signature, parts->signature_len,
			  &sig, &len, err) == -1)
		return err_prefix(err, "token");
	for (size_t i = 0; i < count; i++) {
		if (!str_equal(algorithm, keys[i]->algorithm) ||
		    (kid != NULL && !str_equal(kid, keys[i]->id)))
			continue;
		known = true;
		if (is_signed_by(keys[i], parts, sig, len))
			return 0;
	}
	return err_set(err, ERR_DENIED,
		       known ? "the token's signature is wrong"
			     : "the token's key is not known");
}

int
jwt_verify(const struct jwt_key *const *keys, size_t count, const char *token,
	   char **ret_claims, struct err *err)
{
	AUTO(free_ptr) uint8_t *claims = NULL;
	struct parts parts = { 0 };
	size_t len;

	if (split(token, &parts, err) == -1 ||
	    check_signature(keys, count, &parts, err) == -1)
		return -1;
	if (base64_decode(BASE64_URL, parts.claims, parts.claims_len, &claims,
			  &len, err) == -1)
		return err_prefix(err, "token");
	if (memchr(claims, '\0', len) != NULL)
		return err_set(err, ERR_INVALID, "token: a NUL in the claims");
	*ret_claims = (char *)TAKE_PTR(claims);
	return 0;
}
