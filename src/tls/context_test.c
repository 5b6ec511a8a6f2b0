/* SPDX-License-Identifier: Apache-2.0 */
#include "tls/context.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <openssl/pem.h>

#define TLS_ALLOW_PRIVATE

#include "base/array.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/test.h"
#include "tls/context_priv.h"
#include "tls/ossl.h"
#include "tls/private.h"
#include "tls/testpair.h"

struct world {
	struct tls_pki_pem ca;
	struct tls_pki_pem other_ca;
	struct tls_pki_pem a;
	struct tls_pki_pem b;
};

static int
make_world(void **state)
{
	static struct world w;

	testpair_ca("one", &w.ca);
	testpair_ca("two", &w.other_ca);
	testpair_node(&w.ca, "a", NULL, &w.a);
	testpair_node(&w.ca, "b", NULL, &w.b);
	*state = &w;
	return 0;
}

static int
drop_world(void **state)
{
	struct world *w = *state;

	tls_pki_pem_done(&w->ca);
	tls_pki_pem_done(&w->other_ca);
	tls_pki_pem_done(&w->a);
	tls_pki_pem_done(&w->b);
	return 0;
}

/* Texts for certificate, key and CA; what must the error say? */
static void
expect_error(const char *cert, const char *key, const char *ca,
	     const char *text)
{
	struct tls_pem pem = { .cert = cert,
			       .cert_len = strlen(cert),
			       .key = key,
			       .key_len = strlen(key),
			       .ca = ca,
			       .ca_len = strlen(ca),
			       .name = "server" };
	struct tls_context *ctx = NULL;
	struct err err = { 0 };

	assert_int_equal(tls_context_new(TLS_ROLE_SERVER, &pem, &ctx, &err),
			 -1);
	assert_null(ctx);
	assert_int_equal(err.kind, ERR_INVALID);
	if (strncmp(err.text, text, strlen(text)) != 0)
		fail_msg("'%s' instead of '%s'", err.text, text);
}

static void
test_errors_name_what_is_wrong(void **state)
{
	const struct world *w = *state;
	AUTO(free_ptr) char *cut = xstrdup(w->a.cert);
	char *end;
	AUTO(free_ptr)
	char *wrong_chain = xasprintf("%s%s", w->a.cert, w->other_ca.cert);
	AUTO(free_ptr)
	char *ca_and_node = xasprintf("%s%s", w->ca.cert, w->a.cert);

	/* Part of its last lines goes, the end stays. */
	end = strstr(cut, "-----END");
	memmove(end - 100, end - 1, strlen(end) + 2);
	expect_error("", w->a.key, w->ca.cert, "server: no certificate");
	expect_error(w->a.cert, "", w->ca.cert, "server: no private key");
	expect_error(w->a.cert, w->a.key, "", "server: no CA");
	expect_error("text", w->a.key, w->ca.cert,
		     "server: the certificate file holds no certificate");
	expect_error(cut, w->a.key, w->ca.cert,
		     "server: cannot read the certificate: ");
	expect_error(wrong_chain, w->a.key, w->ca.cert,
		     "server: certificate 2 did not issue certificate 1");
	expect_error(w->a.cert, "text", w->ca.cert,
		     "server: cannot read the private key: ");
	expect_error(w->a.cert, w->b.key, w->ca.cert,
		     "server: key and certificate do not match: ");
	expect_error(w->a.cert, w->a.key, "text",
		     "server: the CA file holds no certificate");
	expect_error(w->a.cert, w->a.key, ca_and_node,
		     "server: CA certificate 2 is not one of a CA");
	expect_error(w->a.cert, w->a.key, cut,
		     "server: cannot read CA certificate 1: ");
	expect_error(w->ca.cert, w->ca.key, w->ca.cert,
		     "server: the certificate is not meant for a server");
}

static char *
take_text(BIO *bio)
{
	char *data;
	long len = BIO_get_mem_data(bio, &data);
	char *text = xstrndup(data, (size_t)len);

	BIO_free(bio);
	return text;
}

static void
test_a_certificate_that_names_no_node_is_an_error(void **state)
{
	const struct world *w = *state;
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *cert = X509_new();
	BIO *cert_bio = BIO_new(BIO_s_mem());
	BIO *key_bio = BIO_new(BIO_s_mem());
	AUTO(free_ptr) char *cert_text = NULL;
	AUTO(free_ptr) char *key_text = NULL;

	assert_non_null(X509_gmtime_adj(X509_getm_notBefore(cert), 0));
	assert_non_null(X509_gmtime_adj(X509_getm_notAfter(cert), 60));
	assert_int_equal(X509_set_pubkey(cert, key), 1);
	assert_true(X509_sign(cert, key, EVP_sha256()) > 0);
	assert_int_equal(PEM_write_bio_X509(cert_bio, cert), 1);
	assert_int_equal(PEM_write_bio_PrivateKey(key_bio, key, NULL, NULL, 0,
						  NULL, NULL),
			 1);
	cert_text = take_text(cert_bio);
	key_text = take_text(key_bio);
	X509_free(cert);
	EVP_PKEY_free(key);
	expect_error(cert_text, key_text, w->ca.cert,
		     "server: the certificate names no node");
}

static void
test_a_text_too_large_is_not_looked_at(void **state)
{
	const struct world *w = *state;
	AUTO(free_ptr) char *large = xmalloc0(TLS_PEM_MAX + 2);

	memset(large, '\n', TLS_PEM_MAX + 1);
	expect_error(w->a.cert, w->a.key, large, "server: CA is too large");
}

/* It must fail, and above all not ask for a passphrase. */
static void
test_an_encrypted_key_is_an_error(void **state)
{
	const struct world *w = *state;
	BIO *in = BIO_new_mem_buf(w->a.key, -1);
	BIO *out = BIO_new(BIO_s_mem());
	EVP_PKEY *key = PEM_read_bio_PrivateKey(in, NULL, NULL, NULL);
	AUTO(free_ptr) char *text = NULL;

	assert_int_equal(PEM_write_bio_PKCS8PrivateKey(out, key,
						       EVP_aes_128_cbc(), "pw",
						       2, NULL, NULL),
			 1);
	text = take_text(out);
	expect_error(w->a.cert, text, w->ca.cert,
		     "server: cannot read the private key: ");
	EVP_PKEY_free(key);
	BIO_free(in);
}

static void
test_a_certificate_for_the_other_role_is_an_error(void **state)
{
	const struct world *w = *state;
	struct tls_pki_node spec = { .node = "a",
				     .validity = tls_pki_days(1),
				     .usage = TLS_PKI_CLIENT };
	struct tls_pki_pem pem = { 0 };
	struct err err;

	assert_int_equal(tls_pki_make_node(&w->ca, &spec, &pem, &err), 0);
	expect_error(pem.cert, pem.key, w->ca.cert,
		     "server: the certificate is not meant for a server");
	tls_context_unref(testpair_context(TLS_ROLE_CLIENT, &pem, &w->ca));
	tls_pki_pem_done(&pem);
}

static void
test_a_context_tells_who_it_is_and_until_when(void **state)
{
	const struct world *w = *state;
	int64_t now = (int64_t)time(NULL);
	struct tls_pki_validity past = { now - 1000, now - 500 };
	struct tls_pki_pem node = { 0 };
	struct tls_context *ctx;

	/* An expired certificate loads: the peers will refuse it. */
	testpair_node(&w->ca, "x.example", &past, &node);
	ctx = testpair_context(TLS_ROLE_SERVER, &node, &w->ca);
	assert_string_equal(tls_context_identity(ctx),
			    "spiffe://ferry.io/node/x.example");
	assert_int_equal(tls_context_not_before(ctx), now - 1000);
	assert_int_equal(tls_context_not_after(ctx), now - 500);
	assert_int_equal(tls_context_role(ctx), TLS_ROLE_SERVER);
	tls_context_unref(ctx);
	tls_pki_pem_done(&node);
}

static bool
shake_hands(struct tls_context *client, struct tls_context *server,
	    const char *client_node)
{
	struct testpair pair = { 0 };
	char uri[TLS_IDENTITY_SIZE];
	bool ok;

	pair.client.session = tls_session_new(client, testpair_uri("b", uri));
	pair.server.session =
		tls_session_new(server, testpair_uri(client_node, uri));
	testpair_run(&pair);
	ok = pair.client.stream != NULL && pair.server.stream != NULL;
	testpair_done(&pair);
	return ok;
}

static void
test_any_ca_of_a_bundle_will_do(void **state)
{
	const struct world *w = *state;
	AUTO(free_ptr)
	char *both = xasprintf("%s%s", w->other_ca.cert, w->ca.cert);
	struct tls_pki_pem bundle = { .cert = both, .cert_len = strlen(both) };
	struct tls_pki_pem other = { 0 };
	struct tls_context *server =
		testpair_context(TLS_ROLE_SERVER, &w->b, &bundle);
	struct tls_context *one =
		testpair_context(TLS_ROLE_CLIENT, &w->a, &w->ca);
	struct tls_context *two;

	testpair_node(&w->other_ca, "a", NULL, &other);
	two = testpair_context(TLS_ROLE_CLIENT, &other, &w->ca);
	assert_true(shake_hands(one, server, "a"));
	assert_true(shake_hands(two, server, "a"));
	tls_context_unref(server);
	tls_context_unref(one);
	tls_context_unref(two);
	tls_pki_pem_done(&other);
}

static int64_t
far_future(void)
{
	return (int64_t)time(NULL) + 10 * 86400;
}

static void
test_a_chain_is_remembered_but_not_beyond_its_validity(void **state)
{
	const struct world *w = *state;
	struct tls_context *server =
		testpair_context(TLS_ROLE_SERVER, &w->b, &w->ca);
	struct tls_context *client =
		testpair_context(TLS_ROLE_CLIENT, &w->a, &w->ca);
	unsigned full;
	unsigned remembered;

	for (unsigned i = 0; i < 5; i++)
		assert_true(shake_hands(client, server, "a"));
	tls_context_verified(server, &full, &remembered);
	assert_int_equal(full, 1);
	assert_int_equal(remembered, 4);
	tls_context_verified(client, &full, &remembered);
	assert_int_equal(full, 1);
	assert_int_equal(remembered, 4);

	tls_chain_cache_set_clock(tls_context_chain_cache(server), far_future);
	assert_true(shake_hands(client, server, "a"));
	tls_context_verified(server, &full, &remembered);
	assert_int_equal(full, 2);
	assert_int_equal(remembered, 4);
	tls_context_unref(server);
	tls_context_unref(client);
}

static void
test_a_remembered_chain_is_no_leave_for_another_node(void **state)
{
	const struct world *w = *state;
	struct tls_context *server =
		testpair_context(TLS_ROLE_SERVER, &w->b, &w->ca);
	struct tls_context *client =
		testpair_context(TLS_ROLE_CLIENT, &w->a, &w->ca);

	assert_true(shake_hands(client, server, "a"));
	assert_false(shake_hands(client, server, "other"));
	tls_context_unref(server);
	tls_context_unref(client);
}

static void
test_old_chains_make_room_for_new_ones(void **state)
{
	const struct world *w = *state;
	struct tls_context *server =
		testpair_context(TLS_ROLE_SERVER, &w->b, &w->ca);
	unsigned full;
	unsigned remembered;

	for (unsigned i = 0; i < TLS_CHAIN_CACHE + 2; i++) {
		struct tls_pki_pem node = { 0 };
		struct tls_context *client;

		testpair_node(&w->ca, "a", NULL, &node);
		client = testpair_context(TLS_ROLE_CLIENT, &node, &w->ca);
		assert_true(shake_hands(client, server, "a"));
		assert_true(shake_hands(client, server, "a"));
		tls_context_unref(client);
		tls_pki_pem_done(&node);
	}
	tls_context_verified(server, &full, &remembered);
	assert_int_equal(full, TLS_CHAIN_CACHE + 2);
	assert_int_equal(remembered, TLS_CHAIN_CACHE + 2);
	tls_context_unref(server);
}

struct shared {
	struct tls_context *client;
	struct tls_context *server;
};

static void *
shake_many_hands(void *arg)
{
	const struct shared *s = arg;
	struct tls_context *client = tls_context_ref(s->client);
	struct tls_context *server = tls_context_ref(s->server);
	uintptr_t failed = 0;

	for (unsigned i = 0; i < 10; i++)
		failed += !shake_hands(client, server, "a");
	tls_context_unref(client);
	tls_context_unref(server);
	return (void *)failed;
}

static void
test_threads_may_share_a_context(void **state)
{
	const struct world *w = *state;
	struct shared s = {
		.client = testpair_context(TLS_ROLE_CLIENT, &w->a, &w->ca),
		.server = testpair_context(TLS_ROLE_SERVER, &w->b, &w->ca),
	};
	pthread_t threads[4];

	for (size_t i = 0; i < ARRAY_LEN(threads); i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, shake_many_hands, &s),
			0);
	for (size_t i = 0; i < ARRAY_LEN(threads); i++) {
		void *failed = NULL;

		assert_int_equal(pthread_join(threads[i], &failed), 0);
		assert_null(failed);
	}
	tls_context_unref(s.client);
	tls_context_unref(s.server);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_errors_name_what_is_wrong),
		cmocka_unit_test(
			test_a_certificate_that_names_no_node_is_an_error),
		cmocka_unit_test(test_a_text_too_large_is_not_looked_at),
		cmocka_unit_test(test_an_encrypted_key_is_an_error),
		cmocka_unit_test(
			test_a_certificate_for_the_other_role_is_an_error),
		cmocka_unit_test(test_a_context_tells_who_it_is_and_until_when),
		cmocka_unit_test(test_any_ca_of_a_bundle_will_do),
		cmocka_unit_test(
			test_a_chain_is_remembered_but_not_beyond_its_validity),
		cmocka_unit_test(
			test_a_remembered_chain_is_no_leave_for_another_node),
		cmocka_unit_test(test_old_chains_make_room_for_new_ones),
		cmocka_unit_test(test_threads_may_share_a_context),
	};

	return cmocka_run_group_tests_name("context", tests, make_world,
					   drop_world);
}
