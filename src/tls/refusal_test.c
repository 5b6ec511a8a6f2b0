/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A session against peers that are not Ferry: plain libssl, set up to be wrong
 * in one way each.
 */

#include <assert.h>
#include <string.h>

#include <openssl/err.h>
#include <openssl/pem.h>

#include "base/array.h"
#include "base/test.h"
#include "tls/ossl.h"
#include "tls/testpair.h"

struct rogue {
	const char *what;
	const char *alpn; /* in wire form; NULL: none */
	const char *ciphers;
	const char *groups;
	unsigned usage; /* of its certificate */
	/* What must come of it. */
	enum tls_reason reason; /* TLS_REASON_NONE: it is accepted */
	unsigned alert;         /* that the rogue receives; 0: none */
	bool by_peer;
	/* What else is wrong with it. */
	bool tls12;
	bool no_cert;
	bool refuses_alpn; /* a server that wants another one */
};

struct world {
	struct tls_pki_pem ca;
	struct tls_context *server;
	struct tls_context *client;
};

static int
make_world(void **state)
{
	static struct world w;
	struct tls_pki_pem node = { 0 };

	testpair_ca("Ferry", &w.ca);
	testpair_node(&w.ca, "ferry", NULL, &node);
	w.server = testpair_context(TLS_ROLE_SERVER, &node, &w.ca);
	w.client = testpair_context(TLS_ROLE_CLIENT, &node, &w.ca);
	tls_pki_pem_done(&node);
	*state = &w;
	return 0;
}

static int
drop_world(void **state)
{
	struct world *w = *state;

	tls_context_unref(w->server);
	tls_context_unref(w->client);
	tls_pki_pem_done(&w->ca);
	return 0;
}

static void
give_cert(SSL_CTX *c, const struct world *w, unsigned usage)
{
	struct tls_pki_node spec = { .node = "rogue", .usage = usage };
	struct tls_pki_pem pem = { 0 };
	struct err err;
	BIO *cert_bio;
	BIO *key_bio;
	X509 *cert;
	EVP_PKEY *key;

	spec.validity = tls_pki_days(1);
	assert_int_equal(tls_pki_make_node(&w->ca, &spec, &pem, &err), 0);
	cert_bio = BIO_new_mem_buf(pem.cert, -1);
	key_bio = BIO_new_mem_buf(pem.key, -1);
	cert = PEM_read_bio_X509(cert_bio, NULL, NULL, NULL);
	key = PEM_read_bio_PrivateKey(key_bio, NULL, NULL, NULL);
	assert_int_equal(SSL_CTX_use_certificate(c, cert), 1);
	assert_int_equal(SSL_CTX_use_PrivateKey(c, key), 1);
	X509_free(cert);
	EVP_PKEY_free(key);
	BIO_free(cert_bio);
	BIO_free(key_bio);
	tls_pki_pem_done(&pem);
}

static int
choose_alpn(SSL *ssl, const unsigned char **ret, unsigned char *ret_len,
	    const unsigned char *in, unsigned in_len, void *arg)
{
	const struct rogue *r = arg;

	(void)ssl;
	(void)in_len;
	if (r->refuses_alpn)
		return SSL_TLSEXT_ERR_ALERT_FATAL;
	if (r->alpn == NULL)
		return SSL_TLSEXT_ERR_NOACK;
	*ret = in + 1;
	*ret_len = in[0];
	return SSL_TLSEXT_ERR_OK;
}

static SSL *
make_rogue(const struct world *w, const struct rogue *r, bool server)
{
	SSL_CTX *c =
		SSL_CTX_new(server ? TLS_server_method() : TLS_client_method());
	SSL *ssl;

	if (r->tls12)
		assert_int_equal(
			SSL_CTX_set_max_proto_version(c, TLS1_2_VERSION), 1);
	if (!r->no_cert)
		give_cert(c, w, r->usage);
	if (r->ciphers != NULL)
		assert_int_equal(SSL_CTX_set_ciphersuites(c, r->ciphers), 1);
	if (r->groups != NULL)
		assert_int_equal(SSL_CTX_set1_groups_list(c, r->groups), 1);
	if (server) {
		SSL_CTX_set_verify(c, SSL_VERIFY_NONE, NULL);
		SSL_CTX_set_alpn_select_cb(c, choose_alpn,
					   (void *)(uintptr_t)r);
	} else if (r->alpn != NULL) {
		assert_int_equal(SSL_CTX_set_alpn_protos(
					 c, (const unsigned char *)r->alpn,
					 (unsigned)strlen(r->alpn)),
				 0);
	}
	ssl = SSL_new(c);
	SSL_CTX_free(c);
	SSL_set_bio(ssl, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
	if (server)
		SSL_set_accept_state(ssl);
	else
		SSL_set_connect_state(ssl);
	return ssl;
}

/* The alert that made libssl fail, 0 if it was not an alert. */
static unsigned
queued_alert(void)
{
	int reason = ERR_GET_REASON(ERR_peek_error());

	ERR_clear_error();
	return reason > SSL_AD_REASON_OFFSET
		       ? (unsigned)(reason - SSL_AD_REASON_OFFSET)
		       : 0;
}

/* As a rogue would notice it: in the handshake, or when it reads on. */
static unsigned
step_rogue(SSL *ssl)
{
	char byte;

	ERR_clear_error();
	if (SSL_do_handshake(ssl) == 1)
		(void)SSL_read(ssl, &byte, 1);
	return queued_alert();
}

/* Lets both talk to the end. Returns the alert the rogue got. */
static unsigned
meet(SSL *ssl, struct tls_session *s, enum tls_progress *ret_progress,
     struct tls_failure *failure)
{
	uint8_t in[TLS_SESSION_STEP_MAX];
	enum tls_progress progress = TLS_WANT_READ;
	unsigned alert = 0;
	int quiet = 0;
	int n = 0;

	while (quiet < 2) {
		const uint8_t *out;
		size_t len;
		unsigned got;

		quiet++;
		if (progress == TLS_WANT_READ)
			progress = tls_session_step(s, in, (size_t)n, failure);
		len = tls_session_output(s, &out);
		if (len > 0) {
			assert_int_equal(
				BIO_write(SSL_get_rbio(ssl), out, (int)len),
				len);
			tls_session_sent(s, len);
			quiet = 0;
		}
		got = step_rogue(ssl);
		alert = got != 0 ? got : alert;
		n = BIO_read(SSL_get_wbio(ssl), in, sizeof(in));
		if (n > 0)
			quiet = 0;
		else
			n = 0;
	}
	*ret_progress = progress;
	return alert;
}

static void
check(const struct world *w, const struct rogue *r, bool rogue_is_server)
{
	struct tls_failure failure = { 0 };
	enum tls_progress progress;
	char uri[TLS_IDENTITY_SIZE];
	struct tls_session *s =
		tls_session_new(rogue_is_server ? w->client : w->server,
				testpair_uri("rogue", uri));
	SSL *ssl = make_rogue(w, r, rogue_is_server);
	unsigned alert = meet(ssl, s, &progress, &failure);

	if (failure.reason != r->reason || failure.by_peer != r->by_peer ||
	    alert != r->alert ||
	    progress != (r->reason == TLS_REASON_NONE ? TLS_DONE : TLS_FAILED))
		fail_msg("%s: %s by_peer=%d alert=%u progress=%d: %s", r->what,
			 tls_reason_name(failure.reason), failure.by_peer,
			 alert, progress, failure.text);
	tls_session_free(s);
	SSL_free(ssl);
}

#define FERRY  \
	"\x07" \
	"ferry/1"

static void
test_a_server_refuses_each_wrong_client_for_its_own_reason(void **state)
{
	static const struct rogue rows[] = {
		{ .what = "nothing wrong", .alpn = FERRY },
		{ .what = "ours among several ALPNs", .alpn = "\x02h2" FERRY },
		{ .what = "AES-256 only",
		  .alpn = FERRY,
		  .ciphers = "TLS_AES_256_GCM_SHA384" },
		{ .what = "P-256 only", .alpn = FERRY, .groups = "P-256" },
		{ .what = "TLS 1.2",
		  .alpn = FERRY,
		  .tls12 = true,
		  .reason = TLS_REASON_TLS_VERSION,
		  .alert = 70 },
		{ .what = "TLS 1.2 without ALPN",
		  .tls12 = true,
		  .reason = TLS_REASON_TLS_VERSION,
		  .alert = 70 },
		{ .what = "no ALPN",
		  .reason = TLS_REASON_WRONG_ALPN,
		  .alert = 120 },
		{ .what = "another ALPN",
		  .alpn = "\x02h2\x07"
			  "ferry/2\x05"
			  "ferry",
		  .reason = TLS_REASON_WRONG_ALPN,
		  .alert = 120 },
		{ .what = "no certificate",
		  .alpn = FERRY,
		  .no_cert = true,
		  .reason = TLS_REASON_NO_CERTIFICATE,
		  .alert = 116 },
		{ .what = "a certificate for servers only",
		  .alpn = FERRY,
		  .usage = TLS_PKI_SERVER,
		  .reason = TLS_REASON_WRONG_PURPOSE,
		  .alert = 43 },
		{ .what = "ChaCha20 only",
		  .alpn = FERRY,
		  .ciphers = "TLS_CHACHA20_POLY1305_SHA256",
		  .reason = TLS_REASON_NO_COMMON_CIPHER,
		  .alert = 40 },
		{ .what = "P-521 only",
		  .alpn = FERRY,
		  .groups = "P-521",
		  .reason = TLS_REASON_NO_COMMON_CIPHER,
		  .alert = 40 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check(*state, &rows[i], false);
}

static void
test_a_client_refuses_each_wrong_server_for_its_own_reason(void **state)
{
	static const struct rogue rows[] = {
		{ .what = "nothing wrong", .alpn = FERRY },
		{ .what = "AES-256 only",
		  .alpn = FERRY,
		  .ciphers = "TLS_AES_256_GCM_SHA384" },
		{ .what = "TLS 1.2",
		  .alpn = FERRY,
		  .tls12 = true,
		  .reason = TLS_REASON_TLS_VERSION,
		  .by_peer = true },
		{ .what = "ignores ALPN",
		  .reason = TLS_REASON_WRONG_ALPN,
		  .alert = 40 },
		{ .what = "refuses ALPN",
		  .refuses_alpn = true,
		  .reason = TLS_REASON_WRONG_ALPN,
		  .by_peer = true },
		{ .what = "a certificate for clients only",
		  .alpn = FERRY,
		  .usage = TLS_PKI_CLIENT,
		  .reason = TLS_REASON_WRONG_PURPOSE,
		  .alert = 43 },
		{ .what = "ChaCha20 only",
		  .alpn = FERRY,
		  .ciphers = "TLS_CHACHA20_POLY1305_SHA256",
		  .reason = TLS_REASON_PEER_ALERT,
		  .by_peer = true },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check(*state, &rows[i], true);
}

static struct tls_session *
new_server(const struct world *w)
{
	char uri[TLS_IDENTITY_SIZE];

	return tls_session_new(w->server, testpair_uri("rogue", uri));
}

static void
test_plain_bytes_are_told_from_tls_at_the_first_byte(void **state)
{
	static const char *const texts[] = { "G", "QEMU", "\n", "\x16\x05",
					     "\x80\x2e\x01" };

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct tls_session *s = new_server(*state);
		const uint8_t *data;
		struct tls_failure f;

		assert_int_equal(tls_session_step(s, (const uint8_t *)texts[i],
						  strlen(texts[i]), &f),
				 TLS_FAILED);
		assert_int_equal(f.reason, TLS_REASON_NOT_TLS);
		/* Someone who speaks no TLS has no use for an alert. */
		assert_int_equal(tls_session_output(s, &data), 0);
		tls_session_free(s);
	}
}

static void
test_a_client_tells_plain_bytes_from_a_server(void **state)
{
	const struct world *w = *state;
	struct tls_session *s = tls_session_new(w->client, "x://y");
	struct tls_failure f;

	assert_int_equal(tls_session_step(s, NULL, 0, &f), TLS_WANT_READ);
	assert_int_equal(
		tls_session_step(s, (const uint8_t *)"HTTP/1.1", 8, &f),
		TLS_FAILED);
	assert_int_equal(f.reason, TLS_REASON_NOT_TLS);
	tls_session_free(s);
}

static void
test_half_a_hello_is_waited_for_until_the_connection_ends(void **state)
{
	struct tls_session *s = new_server(*state);
	struct tls_failure f;

	assert_int_equal(tls_session_step(s,
					  (const uint8_t *)"\x16\x03\x01\x02\0"
							   "\x01\0\x01\xfc",
					  9, &f),
			 TLS_WANT_READ);
	assert_int_equal(tls_session_eof(s, &f), -1);
	assert_int_equal(f.reason, TLS_REASON_TRUNCATED);
	assert_int_equal(tls_session_step(s, NULL, 0, &f), TLS_FAILED);
	tls_session_free(s);
}

/* A hello that claims 120 KB, in full records. */
static void
test_a_hello_without_end_is_cut_off(void **state)
{
	struct tls_session *s = new_server(*state);
	static uint8_t record[5 + 16000] = { 22, 3, 1,    0x3e, 0x80,
					     1,  1, 0xd4, 0xc0 };
	enum tls_progress progress = TLS_WANT_READ;
	struct tls_failure f;
	size_t total = 0;

	while (progress == TLS_WANT_READ) {
		progress = tls_session_step(s, record, sizeof(record), &f);
		total += sizeof(record);
		assert_true(total <= TLS_HANDSHAKE_MAX + sizeof(record));
	}
	assert_int_equal(f.reason, TLS_REASON_TOO_MUCH);
	tls_session_free(s);
}

static void
test_an_oversized_record_is_refused_by_its_header(void **state)
{
	struct tls_session *s = new_server(*state);
	const uint8_t *data;
	struct tls_failure f;

	assert_int_equal(
		tls_session_step(s, (const uint8_t *)"\x16\x03\x01\xff\xff", 5,
				 &f),
		TLS_FAILED);
	assert_int_equal(f.reason, TLS_REASON_BAD_RECORD);
	assert_int_equal(tls_session_output(s, &data), 7);
	assert_memory_equal(data, "\x15\x03", 2);
	tls_session_free(s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_a_server_refuses_each_wrong_client_for_its_own_reason),
		cmocka_unit_test(
			test_a_client_refuses_each_wrong_server_for_its_own_reason),
		cmocka_unit_test(
			test_plain_bytes_are_told_from_tls_at_the_first_byte),
		cmocka_unit_test(test_a_client_tells_plain_bytes_from_a_server),
		cmocka_unit_test(
			test_half_a_hello_is_waited_for_until_the_connection_ends),
		cmocka_unit_test(test_a_hello_without_end_is_cut_off),
		cmocka_unit_test(
			test_an_oversized_record_is_refused_by_its_header),
	};

	return cmocka_run_group_tests_name("refusal", tests, make_world,
					   drop_world);
}
