/* SPDX-License-Identifier: Apache-2.0 */
#include "tls/pki.h"

#include <assert.h>
#include <string.h>

#include <openssl/pem.h>

#include "base/test.h"
#include "tls/ossl.h"
#include "tls/san.h"

static X509 *
parse(const struct tls_pki_pem *pem)
{
	BIO *bio = BIO_new_mem_buf(pem->cert, (int)pem->cert_len);
	X509 *cert = PEM_read_bio_X509(bio, NULL, NULL, NULL);

	BIO_free(bio);
	assert_non_null(cert);
	return cert;
}

static void
make_ca(struct tls_pki_pem *ret)
{
	struct tls_pki_validity v = { 1000000000, 2000000000 };
	struct err err;

	assert_int_equal(tls_pki_make_ca("Test CA", &v, ret, &err), 0);
	assert_int_equal(strlen(ret->cert), ret->cert_len);
	assert_int_equal(strlen(ret->key), ret->key_len);
}

static void
test_a_node_certificate_says_what_was_asked_for(void **state)
{
	/* A comma must not end the identity and begin something else. */
	static const char uri[] = "spiffe://x/a,DNS:evil";
	struct tls_pki_node spec = { .node = uri,
				     .validity = { 1500000000, 1600000000 } };
	struct tls_pki_pem ca = { 0 };
	struct tls_pki_pem node = { 0 };
	struct err err;
	X509 *ca_cert;
	X509 *cert;
	int64_t seconds;

	(void)state;
	make_ca(&ca);
	assert_int_equal(tls_pki_make_node(&ca, &spec, &node, &err), 0);
	ca_cert = parse(&ca);
	cert = parse(&node);
	assert_true(tls_san_has(cert, uri));
	assert_false(tls_san_has(cert, "spiffe://x/a"));
	assert_int_equal(X509_check_host(cert, "evil", 0, 0, NULL), 0);
	assert_int_equal(ossl_time(X509_get0_notBefore(cert), &seconds), 0);
	assert_int_equal(seconds, 1500000000);
	assert_int_equal(ossl_time(X509_get0_notAfter(cert), &seconds), 0);
	assert_int_equal(seconds, 1600000000);
	assert_int_equal(X509_check_issued(ca_cert, cert), X509_V_OK);
	assert_int_equal(X509_verify(cert, X509_get0_pubkey(ca_cert)), 1);
	assert_int_equal(X509_check_ca(cert), 0);
	assert_int_equal(X509_check_ca(ca_cert), 1);
	assert_int_equal(X509_check_purpose(cert, X509_PURPOSE_SSL_SERVER, 0),
			 1);
	assert_int_equal(X509_check_purpose(cert, X509_PURPOSE_SSL_CLIENT, 0),
			 1);
	X509_free(ca_cert);
	X509_free(cert);
	tls_pki_pem_done(&ca);
	tls_pki_pem_done(&node);
	assert_null(node.key);
}

static void
test_a_use_can_be_left_out(void **state)
{
	struct tls_pki_node spec = { .node = "a",
				     .validity = { 1500000000, 1600000000 },
				     .usage = TLS_PKI_CLIENT };
	struct tls_pki_pem ca = { 0 };
	struct tls_pki_pem node = { 0 };
	struct err err;
	X509 *cert;

	(void)state;
	make_ca(&ca);
	assert_int_equal(tls_pki_make_node(&ca, &spec, &node, &err), 0);
	cert = parse(&node);
	assert_int_equal(X509_check_purpose(cert, X509_PURPOSE_SSL_SERVER, 0),
			 0);
	assert_int_equal(X509_check_purpose(cert, X509_PURPOSE_SSL_CLIENT, 0),
			 1);
	X509_free(cert);
	tls_pki_pem_done(&ca);
	tls_pki_pem_done(&node);
}

static void
test_a_broken_ca_or_name_makes_nothing(void **state)
{
	struct tls_pki_node spec = { .node = "a", .validity = { 0, 1 } };
	struct tls_pki_pem ca = { 0 };
	struct tls_pki_pem other = { 0 };
	struct tls_pki_pem mixed;
	struct tls_pki_pem none = { 0 };
	struct err err;

	(void)state;
	make_ca(&ca);
	make_ca(&other);
	mixed = (struct tls_pki_pem){ ca.cert, ca.cert_len, other.key,
				      other.key_len };
	assert_int_equal(tls_pki_make_node(&mixed, &spec, &none, &err), -1);
	assert_int_equal(err.kind, ERR_INVALID);
	spec.node = "not a name";
	assert_int_equal(tls_pki_make_node(&ca, &spec, &none, &err), -1);
	assert_int_equal(err.kind, ERR_INVALID);
	assert_null(none.cert);
	assert_null(none.key);
	tls_pki_pem_done(&ca);
	tls_pki_pem_done(&other);
}

static void
test_a_user_certificate_names_user_groups_and_hosts(void **state)
{
	static const char *const groups[] = { "system:masters", "ops, DNS:x",
					      NULL };
	static const char *const hosts[] = { "kubernetes.default.svc",
					     "10.96.0.1", "2001:db8::1", NULL };
	struct tls_pki_subject spec = {
		/* Longer than the 64 characters of X.520. */
		.common_name = "system:node:a-node-with-a-name-that-is-longer-"
			       "than-most-names-of-nodes-are.example.com",
		.organizations = groups,
		.names = hosts,
		.validity = { 1500000000, 1600000000 },
		.usage = TLS_PKI_CLIENT,
	};
	struct tls_pki_pem ca = { 0 };
	struct tls_pki_pem pem = { 0 };
	char text[200];
	struct err err;
	X509 *cert;

	(void)state;
	make_ca(&ca);
	assert_int_equal(tls_pki_make_cert(&ca, &spec, &pem, &err), 0);
	cert = parse(&pem);
	assert_true(X509_NAME_get_text_by_NID(X509_get_subject_name(cert),
					      NID_commonName, text,
					      sizeof(text)) > 0);
	assert_string_equal(text, spec.common_name);
	assert_true(X509_NAME_get_text_by_NID(X509_get_subject_name(cert),
					      NID_organizationName, text,
					      sizeof(text)) > 0);
	assert_string_equal(text, "system:masters");
	assert_int_equal(X509_NAME_entry_count(X509_get_subject_name(cert)), 3);
	assert_int_equal(
		X509_check_host(cert, "kubernetes.default.svc", 0, 0, NULL), 1);
	assert_int_equal(X509_check_ip_asc(cert, "10.96.0.1", 0), 1);
	assert_int_equal(X509_check_ip_asc(cert, "2001:db8::1", 0), 1);
	assert_int_equal(X509_check_ip_asc(cert, "10.96.0.2", 0), 0);
	assert_int_equal(X509_check_purpose(cert, X509_PURPOSE_SSL_CLIENT, 0),
			 1);
	assert_int_equal(X509_check_purpose(cert, X509_PURPOSE_SSL_SERVER, 0),
			 0);
	X509_free(cert);
	tls_pki_pem_done(&pem);

	spec.common_name = "";
	assert_int_equal(tls_pki_make_cert(&ca, &spec, &pem, &err), -1);
	assert_int_equal(err.kind, ERR_INVALID);
	assert_null(pem.cert);
	tls_pki_pem_done(&ca);
}

static void
test_the_validity_can_be_read_again(void **state)
{
	const struct tls_pki_validity asked = { .not_before = 1735689600,
						.not_after = 1735776000 };
	struct tls_pki_pem ca = { 0 };
	struct tls_pki_pem pem = { 0 };
	struct tls_pki_node node = { .node = "n1", .validity = asked };
	struct tls_pki_validity read = { 0 };
	struct err err;

	(void)state;
	assert_int_equal(tls_pki_make_ca("ca", &asked, &ca, &err), 0);
	assert_int_equal(tls_pki_make_node(&ca, &node, &pem, &err), 0);
	assert_int_equal(
		tls_pki_read_validity(pem.cert, pem.cert_len, &read, &err), 0);
	assert_int_equal(read.not_before, asked.not_before);
	assert_int_equal(read.not_after, asked.not_after);
	assert_int_equal(tls_pki_read_validity("x", 1, &read, &err), -1);
	assert_int_equal(err.kind, ERR_INVALID);
	tls_pki_pem_done(&pem);
	tls_pki_pem_done(&ca);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_a_node_certificate_says_what_was_asked_for),
		cmocka_unit_test(
			test_a_user_certificate_names_user_groups_and_hosts),
		cmocka_unit_test(test_a_use_can_be_left_out),
		cmocka_unit_test(test_the_validity_can_be_read_again),
		cmocka_unit_test(test_a_broken_ca_or_name_makes_nothing),
	};

	return cmocka_run_group_tests_name("pki", tests, NULL, NULL);
}
