/* SPDX-License-Identifier: Apache-2.0 */
#include "tls/pki.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <openssl/pem.h>
#include <openssl/rand.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "tls/ossl.h"

#define SERIAL_BYTES 16
#define DAY (24 * 3600)

void
tls_pki_pem_done(struct tls_pki_pem *pem)
{
	if (pem->key != NULL)
		OPENSSL_cleanse(pem->key, pem->key_len);
	free(pem->key);
	free(pem->cert);
	*pem = (struct tls_pki_pem){ 0 };
}

int
tls_pki_read_validity(const char *pem, size_t len, struct tls_pki_validity *ret,
		      struct err *err)
{
	AUTO(ossl_bio_free) BIO *bio = BIO_new_mem_buf(pem, (int)len);
	AUTO(ossl_x509_free)
	X509 *cert = PEM_read_bio_X509(bio, NULL, ossl_no_passphrase, NULL);

	if (cert == NULL ||
	    ossl_time(X509_get0_notBefore(cert), &ret->not_before) == -1 ||
	    ossl_time(X509_get0_notAfter(cert), &ret->not_after) == -1)
		return ossl_err(err, ERR_INVALID, "no certificate");
	return 0;
}

struct tls_pki_validity
tls_pki_days(unsigned days)
{
	int64_t now = (int64_t)time(NULL);

	return (struct tls_pki_validity){ .not_before = now - 3600,
					  .not_after =
						  now + (int64_t)days * DAY };
}

static int
set_serial(X509 *cert)
{
	uint8_t bytes[SERIAL_BYTES];
	BIGNUM *number;
	int ok;

	if (RAND_bytes(bytes, sizeof(bytes)) != 1)
		return 0;
	bytes[0] = (bytes[0] & 0x7f) | 0x40; /* positive, of fixed length */
	number = BN_bin2bn(bytes, sizeof(bytes), NULL);
	ok = number != NULL &&
	     BN_to_ASN1_INTEGER(number, X509_get_serialNumber(cert)) != NULL;
	BN_free(number);
	return ok;
}

static int
set_validity(X509 *cert, const struct tls_pki_validity *v)
{
	return ASN1_TIME_set(X509_getm_notBefore(cert),
			     (time_t)v->not_before) != NULL &&
	       ASN1_TIME_set(X509_getm_notAfter(cert), (time_t)v->not_after) !=
		       NULL;
}

static int
add_ext(X509 *cert, X509 *issuer, int nid, const char *value)
{
	X509V3_CTX ctx;
	X509_EXTENSION *ext;
	int ok;

	X509V3_set_ctx_nodb(&ctx);
	X509V3_set_ctx(&ctx, issuer, cert, NULL, NULL, 0);
	ext = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
	ok = ext != NULL && X509_add_ext(cert, ext, -1) == 1;
	X509_EXTENSION_free(ext);
	return ok;
}

/*
 * Adds a name of that type to names. It goes in as it is: through a config
 * string, commas would split it.
 */
static int
push_name(GENERAL_NAMES *names, int type, const void *data, size_t len)
{
	GENERAL_NAME *name = GENERAL_NAME_new();
	ASN1_STRING *text = ASN1_STRING_type_new(
		type == GEN_IPADD ? V_ASN1_OCTET_STRING : V_ASN1_IA5STRING);

	if (name == NULL || text == NULL ||
	    ASN1_STRING_set(text, data, (int)len) != 1) {
		ASN1_STRING_free(text);
		GENERAL_NAME_free(name);
		return 0;
	}
	GENERAL_NAME_set0_value(name, type, text);
	if (sk_GENERAL_NAME_push(names, name) == 0) {
		GENERAL_NAME_free(name);
		return 0;
	}
	return 1;
}

static int
add_names(X509 *cert, GENERAL_NAMES *names)
{
	return X509_add1_ext_i2d(cert, NID_subject_alt_name, names, 0, 0) == 1;
}

static int
add_uri(X509 *cert, const char *uri)
{
	AUTO(ossl_names_free) GENERAL_NAMES *names = GENERAL_NAMES_new();

	return names != NULL && push_name(names, GEN_URI, uri, strlen(uri)) &&
	       add_names(cert, names);
}

/* Addresses as addresses, everything else as DNS names. */
static int
add_hosts(X509 *cert, const char *const *hosts)
{
	AUTO(ossl_names_free) GENERAL_NAMES *names = GENERAL_NAMES_new();

	if (names == NULL)
		return 0;
	for (; hosts != NULL && *hosts != NULL; hosts++) {
		uint8_t ip[sizeof(struct in6_addr)];
		int ok;

		if (inet_pton(AF_INET, *hosts, ip) == 1)
			ok = push_name(names, GEN_IPADD, ip,
				       sizeof(struct in_addr));
		else if (inet_pton(AF_INET6, *hosts, ip) == 1)
			ok = push_name(names, GEN_IPADD, ip, sizeof(ip));
		else
			ok = push_name(names, GEN_DNS, *hosts, strlen(*hosts));
		if (!ok)
			return 0;
	}
	return sk_GENERAL_NAME_num(names) == 0 || add_names(cert, names);
}

static char *
take_text(BIO *bio, size_t *ret_len)
{
	char *data;
	long len = BIO_get_mem_data(bio, &data);

	*ret_len = (size_t)len;
	return xstrndup(data, (size_t)len);
}

static int
to_pem(X509 *cert, EVP_PKEY *key, struct tls_pki_pem *ret, struct err *err)
{
	AUTO(ossl_bio_free) BIO *cert_bio = BIO_new(BIO_s_mem());
	AUTO(ossl_bio_free) BIO *key_bio = BIO_new(BIO_s_secmem());

	if (cert_bio == NULL || key_bio == NULL ||
	    PEM_write_bio_X509(cert_bio, cert) != 1 ||
	    PEM_write_bio_PrivateKey(key_bio, key, NULL, NULL, 0, NULL, NULL) !=
		    1)
		return ossl_err(err, ERR_INTERNAL,
				"cannot write a certificate");
	ret->cert = take_text(cert_bio, &ret->cert_len);
	ret->key = take_text(key_bio, &ret->key_len);
	return 0;
}

int
tls_pki_make_key(struct tls_pki_pem *ret, struct err *err)
{
	AUTO(ossl_pkey_free) EVP_PKEY *key = EVP_EC_gen("P-256");
	AUTO(ossl_bio_free) BIO *bio = BIO_new(BIO_s_secmem());

	if (key == NULL || bio == NULL ||
	    PEM_write_bio_PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL) != 1)
		return ossl_err(err, ERR_INTERNAL, "cannot make a key");
	*ret = (struct tls_pki_pem){ 0 };
	ret->key = take_text(bio, &ret->key_len);
	return 0;
}

/*
 * The type that is not converted, because converting would check for the 64
 * characters of X.520: "system:node:" and the name of a node may be longer,
 * and nobody who reads such certificates minds.
 */
static int
add_name_entry(X509 *cert, const char *field, const char *value)
{
	size_t len = strlen(value);

	return len > 0 && len <= TLS_PKI_NAME_MAX &&
	       X509_NAME_add_entry_by_txt(
		       X509_get_subject_name(cert), field, V_ASN1_UTF8STRING,
		       (const unsigned char *)value, (int)len, -1, 0) == 1;
}

/* A certificate with a key of its own, complete but for name and extensions. */
static X509 *
begin_cert(const struct tls_pki_validity *validity, const char *common_name,
	   EVP_PKEY **ret_key)
{
	AUTO(ossl_x509_free) X509 *cert = X509_new();
	AUTO(ossl_pkey_free) EVP_PKEY *key = EVP_EC_gen("P-256");

	if (cert == NULL || key == NULL ||
	    X509_set_version(cert, X509_VERSION_3) != 1 || !set_serial(cert) ||
	    !set_validity(cert, validity) ||
	    !add_name_entry(cert, "CN", common_name) ||
	    X509_set_pubkey(cert, key) != 1 ||
	    !add_ext(cert, NULL, NID_subject_key_identifier, "hash"))
		return NULL;
	*ret_key = TAKE_PTR(key);
	return TAKE_PTR(cert);
}

int
tls_pki_make_ca(const char *common_name,
		const struct tls_pki_validity *validity,
		struct tls_pki_pem *ret, struct err *err)
{
	AUTO(ossl_pkey_free) EVP_PKEY *key = NULL;
	AUTO(ossl_x509_free)
	X509 *cert = begin_cert(validity, common_name, &key);

	if (cert == NULL ||
	    X509_set_issuer_name(cert, X509_get_subject_name(cert)) != 1 ||
	    !add_ext(cert, cert, NID_basic_constraints,
		     "critical,CA:TRUE,pathlen:0") ||
	    !add_ext(cert, cert, NID_key_usage,
		     "critical,keyCertSign,cRLSign") ||
	    X509_sign(cert, key, EVP_sha256()) == 0)
		return ossl_err(err, ERR_INTERNAL, "cannot make CA '%s'",
				common_name);
	return to_pem(cert, key, ret, err);
}

static const char *
usage_text(unsigned usage)
{
	if (usage == TLS_PKI_SERVER)
		return "serverAuth";
	if (usage == TLS_PKI_CLIENT)
		return "clientAuth";
	return "serverAuth,clientAuth";
}

static int
read_ca(const struct tls_pki_pem *pem, X509 **ret_cert, EVP_PKEY **ret_key,
	struct err *err)
{
	AUTO(ossl_bio_free)
	BIO *cert_bio = BIO_new_mem_buf(pem->cert, (int)pem->cert_len);
	AUTO(ossl_bio_free)
	BIO *key_bio = BIO_new_mem_buf(pem->key, (int)pem->key_len);
	AUTO(ossl_x509_free) X509 *cert = NULL;
	AUTO(ossl_pkey_free) EVP_PKEY *key = NULL;

	if (cert_bio != NULL && key_bio != NULL) {
		cert = PEM_read_bio_X509(cert_bio, NULL, NULL, NULL);
		/* An empty passphrase, so that none is asked for. */
		key = PEM_read_bio_PrivateKey(key_bio, NULL, NULL,
					      (void *)(uintptr_t) "");
	}
	if (cert == NULL || key == NULL)
		return ossl_err(err, ERR_INVALID, "cannot read the CA");
	if (X509_check_private_key(cert, key) != 1)
		return ossl_err(err, ERR_INVALID,
				"the CA's key and certificate do not match");
	*ret_cert = TAKE_PTR(cert);
	*ret_key = TAKE_PTR(key);
	return 0;
}

/* What both kinds of leaf have, up to the names they go by. */
static int
add_leaf_exts(X509 *cert, X509 *ca, unsigned usage)
{
	return X509_set_issuer_name(cert, X509_get_subject_name(ca)) == 1 &&
	       add_ext(cert, ca, NID_authority_key_identifier, "keyid") &&
	       add_ext(cert, ca, NID_basic_constraints, "critical,CA:FALSE") &&
	       add_ext(cert, ca, NID_key_usage, "critical,digitalSignature") &&
	       add_ext(cert, ca, NID_ext_key_usage, usage_text(usage));
}

int
tls_pki_make_node(const struct tls_pki_pem *ca_pem,
		  const struct tls_pki_node *node, struct tls_pki_pem *ret,
		  struct err *err)
{
	AUTO(ossl_pkey_free) EVP_PKEY *ca_key = NULL;
	AUTO(ossl_pkey_free) EVP_PKEY *key = NULL;
	AUTO(ossl_x509_free) X509 *ca = NULL;
	AUTO(ossl_x509_free) X509 *cert = NULL;
	char uri[TLS_IDENTITY_SIZE];

	if (tls_identity_uri(node->node, uri, sizeof(uri), err) == -1 ||
	    read_ca(ca_pem, &ca, &ca_key, err) == -1)
		return -1;
	/* The name that counts is the URI; a subject is there for people. */
	cert = begin_cert(&node->validity, "ferry node", &key);
	if (cert == NULL || !add_leaf_exts(cert, ca, node->usage) ||
	    !add_uri(cert, uri) || X509_sign(cert, ca_key, EVP_sha256()) == 0)
		return ossl_err(err, ERR_INTERNAL,
				"cannot make a certificate for '%.100s'",
				node->node);
	return to_pem(cert, key, ret, err);
}

static int
add_organizations(X509 *cert, const char *const *names)
{
	for (; names != NULL && *names != NULL; names++) {
		if (!add_name_entry(cert, "O", *names))
			return 0;
	}
	return 1;
}

static int
check_name(const char *what, const char *name, struct err *err)
{
	size_t len = strlen(name);

	if (len == 0 || len > TLS_PKI_NAME_MAX)
		return err_set(err, ERR_INVALID,
			       "%s '%.64s' must have 1 to %d characters", what,
			       name, TLS_PKI_NAME_MAX);
	return 0;
}

static int
check_subject(const struct tls_pki_subject *subject, struct err *err)
{
	const char *const *o = subject->organizations;
	const char *const *n = subject->names;

	if (check_name("common name", subject->common_name, err) == -1)
		return -1;
	for (; o != NULL && *o != NULL; o++) {
		if (check_name("organization", *o, err) == -1)
			return -1;
	}
	for (; n != NULL && *n != NULL; n++) {
		if (check_name("host name", *n, err) == -1)
			return -1;
	}
	return 0;
}

int
tls_pki_make_cert(const struct tls_pki_pem *ca_pem,
		  const struct tls_pki_subject *subject,
		  struct tls_pki_pem *ret, struct err *err)
{
	AUTO(ossl_pkey_free) EVP_PKEY *ca_key = NULL;
	AUTO(ossl_pkey_free) EVP_PKEY *key = NULL;
	AUTO(ossl_x509_free) X509 *ca = NULL;
	AUTO(ossl_x509_free) X509 *cert = NULL;

	if (check_subject(subject, err) == -1 ||
	    read_ca(ca_pem, &ca, &ca_key, err) == -1)
		return -1;
	cert = begin_cert(&subject->validity, subject->common_name, &key);
	if (cert == NULL || !add_organizations(cert, subject->organizations) ||
	    !add_leaf_exts(cert, ca, subject->usage) ||
	    !add_hosts(cert, subject->names) ||
	    X509_sign(cert, ca_key, EVP_sha256()) == 0)
		return ossl_err(err, ERR_INTERNAL,
				"cannot make a certificate for '%.100s'",
				subject->common_name);
	return to_pem(cert, key, ret, err);
}
