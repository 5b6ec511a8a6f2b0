/* SPDX-License-Identifier: Apache-2.0 */
#include "tls/https.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <openssl/pem.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/test.h"
#include "tls/ossl.h"
#include "tls/pki.h"
#include "tls/testclient.h"

static struct tls_pki_pem ca;
static struct tls_pki_pem server;

/* A context, a client, and the connection between them. */
struct pair {
	struct tls_https *ctx;
	struct tls_https_conn *conn;
	struct testclient *client;
	int fds[2];
};

static struct tls_https_pem
pem_of(const struct tls_pki_pem *pem)
{
	return (struct tls_https_pem){ .cert = pem->cert,
				       .cert_len = pem->cert_len,
				       .key = pem->key,
				       .key_len = pem->key_len,
				       .client_ca = ca.cert,
				       .client_ca_len = ca.cert_len,
				       .name = "apiserver.crt" };
}

static void
pair_start_with(struct pair *p, const struct tls_https_pem *with,
		const struct tls_pki_pem *client)
{
	struct tls_https_pem pem = *with;
	struct testclient_config config = { .ca = &ca, .cert = client };
	struct err err;

	assert_int_equal(tls_https_new(&pem, &p->ctx, &err), 0);
	assert_int_equal(socketpair(AF_UNIX,
				    SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
				    0, p->fds),
			 0);
	p->conn = tls_https_conn_new(p->ctx, p->fds[0]);
	p->client = testclient_new(p->fds[1], &config);
}

static void
pair_start(struct pair *p, const struct tls_pki_pem *client)
{
	const struct tls_https_pem pem = pem_of(&server);

	pair_start_with(p, &pem, client);
}

static void
pair_shake(struct pair *p)
{
	enum tls_https_io io = TLS_HTTPS_WANT_READ;
	int client = -1;
	struct err err;

	for (int i = 0; i < 100 && (io != TLS_HTTPS_OK || client == -1); i++) {
		if (client == -1)
			client = testclient_handshake(p->client);
		if (io != TLS_HTTPS_OK)
			io = tls_https_handshake(p->conn, &err);
	}
	assert_int_equal(client, 0);
	assert_int_equal(io, TLS_HTTPS_OK);
}

static void
pair_done(struct pair *p)
{
	testclient_free(p->client);
	tls_https_conn_free(p->conn);
	tls_https_unref(p->ctx);
	for (int i = 0; i < 2; i++) {
		if (p->fds[i] != -1)
			(void)close(p->fds[i]);
	}
}

static void
test_bytes_go_both_ways(void **state)
{
	struct pair p;
	char data[100];
	struct err err;
	size_t len = 0;

	(void)state;
	pair_start(&p, NULL);
	pair_shake(&p);
	assert_int_equal(tls_https_read(p.conn, data, 100, &len, &err),
			 TLS_HTTPS_WANT_READ);
	assert_int_equal(testclient_write(p.client, "question", 8), 8);
	assert_int_equal(tls_https_read(p.conn, data, 100, &len, &err),
			 TLS_HTTPS_OK);
	assert_int_equal(len, 8);
	assert_memory_equal(data, "question", 8);
	assert_int_equal(tls_https_write(p.conn, "answer", 6, &len, &err),
			 TLS_HTTPS_OK);
	assert_int_equal(testclient_read(p.client, data, 100), 6);
	tls_https_close_notify(p.conn);
	assert_int_equal(testclient_read(p.client, data, 100), 0);
	pair_done(&p);
}

static void
test_the_end_comes_with_or_without_notice(void **state)
{
	(void)state;
	for (int notice = 0; notice < 2; notice++) {
		struct pair p;
		char data[10];
		struct err err;
		size_t len;

		pair_start(&p, NULL);
		pair_shake(&p);
		if (notice)
			testclient_close_notify(p.client);
		(void)close(p.fds[1]);
		p.fds[1] = -1;
		assert_int_equal(tls_https_read(p.conn, data, 10, &len, &err),
				 TLS_HTTPS_CLOSED);
		/* And no signal. */
		assert_int_not_equal(
			tls_https_write(p.conn, "x", 1, &len, &err),
			TLS_HTTPS_OK);
		pair_done(&p);
	}
}

static void
test_a_full_socket_takes_the_same_bytes_later(void **state)
{
	static char piece[16384];
	static char data[16384];
	enum tls_https_io io;
	size_t written = 0;
	size_t received = 0;
	struct pair p;
	struct err err;
	size_t len;

	(void)state;
	pair_start(&p, NULL);
	pair_shake(&p);
	while ((io = tls_https_write(p.conn, piece, sizeof(piece), &len,
				     &err)) == TLS_HTTPS_OK)
		written += len;
	assert_int_equal(io, TLS_HTTPS_WANT_WRITE);
	while (received < written) {
		ssize_t n = testclient_read(p.client, data, sizeof(data));

		assert_true(n > 0);
		received += (size_t)n;
	}
	assert_int_equal(
		tls_https_write(p.conn, piece, sizeof(piece), &len, &err),
		TLS_HTTPS_OK);
	pair_done(&p);
}

static void
test_what_is_not_tls_is_told_apart(void **state)
{
	static const struct {
		const char *text;
		enum tls_https_io io;
	} cases[] = {
		{ "GET / HTTP/1.1\r\n\r\n", TLS_HTTPS_PLAIN },
		{ "POST /x HTTP/1.1\r\n", TLS_HTTPS_PLAIN },
		{ "\x16\x09\x09 no such version", TLS_HTTPS_FAILED },
		{ "SSH-2.0-OpenSSH_9.2p1\r\n", TLS_HTTPS_FAILED },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t len = strlen(cases[i].text);
		struct err err = { 0 };
		struct pair p;

		pair_start(&p, NULL);
		assert_int_equal(write(p.fds[1], cases[i].text, len), len);
		assert_int_equal(tls_https_handshake(p.conn, &err),
				 cases[i].io);
		pair_done(&p);
	}
}

/* Signs cert again, after its subject was changed, with the CA's key. */
static void
sign_again(struct tls_pki_pem *pem, X509 *cert)
{
	BIO *bio = BIO_new_mem_buf(ca.key, (int)ca.key_len);
	EVP_PKEY *key = PEM_read_bio_PrivateKey(bio, NULL, NULL, NULL);
	char *text;

	assert_true(X509_sign(cert, key, EVP_sha256()) > 0);
	BIO_free(bio);
	EVP_PKEY_free(key);
	bio = BIO_new(BIO_s_mem());
	assert_int_equal(PEM_write_bio_X509(bio, cert), 1);
	free_ptr(&pem->cert);
	pem->cert_len = (size_t)BIO_get_mem_data(bio, &text);
	pem->cert = xstrndup(text, pem->cert_len);
	BIO_free(bio);
}

/* A client whose subject has one more entry. */
static void
make_client(const char *field, const char *value, int len,
	    struct tls_pki_pem *ret)
{
	static const char *const groups[] = { "first", NULL };
	struct tls_pki_subject subject = { .common_name = "alice",
					   .organizations = groups,
					   .validity = tls_pki_days(1),
					   .usage = TLS_PKI_CLIENT };
	struct err err;
	BIO *bio;
	X509 *cert;

	assert_int_equal(tls_pki_make_cert(&ca, &subject, ret, &err), 0);
	if (field == NULL)
		return;
	bio = BIO_new_mem_buf(ret->cert, (int)ret->cert_len);
	cert = PEM_read_bio_X509(bio, NULL, NULL, NULL);
	BIO_free(bio);
	assert_int_equal(X509_NAME_add_entry_by_txt(
				 X509_get_subject_name(cert), field,
				 V_ASN1_UTF8STRING,
				 (const unsigned char *)value, len, -1, 0),
			 1);
	sign_again(ret, cert);
	X509_free(cert);
}

static void
test_names_are_read_as_kubernetes_reads_them(void **state)
{
	struct tls_pki_pem client = { 0 };
	const struct tls_https_peer *peer;
	struct pair p;

	(void)state;
	make_client("CN", "bob", -1, &client);
	pair_start(&p, &client);
	assert_false(tls_https_peer(p.conn)->verified);
	pair_shake(&p);
	peer = tls_https_peer(p.conn);
	assert_true(peer->verified);
	assert_string_equal(peer->common_name, "bob");
	assert_int_equal(peer->organization_count, 1);
	assert_string_equal(peer->organizations[0], "first");
	pair_done(&p);
	tls_pki_pem_done(&client);

	make_client("O", "second", -1, &client);
	pair_start(&p, &client);
	pair_shake(&p);
	peer = tls_https_peer(p.conn);
	assert_string_equal(peer->common_name, "alice");
	assert_int_equal(peer->organization_count, 2);
	assert_string_equal(peer->organizations[1], "second");
	pair_done(&p);
	tls_pki_pem_done(&client);
}

/* A server that has the authorities wants, and a client of ca's or other's. */
static struct tls_https_peer
meet(const struct tls_https_pem *pem, const struct tls_pki_pem *client)
{
	struct tls_https_peer seen;
	struct pair p;

	pair_start_with(&p, pem, client);
	pair_shake(&p);
	seen = *tls_https_peer(p.conn);
	pair_done(&p);
	return seen;
}

static void
test_two_authorities_do_not_stand_for_each_other(void **state)
{
	const struct tls_pki_validity validity = tls_pki_days(1);
	struct tls_pki_subject subject = { .common_name = "front-proxy",
					   .validity = validity,
					   .usage = TLS_PKI_CLIENT };
	struct tls_pki_pem other = { 0 }, theirs = { 0 }, ours = { 0 };
	struct tls_https_pem pem = pem_of(&server);
	struct err err;

	(void)state;
	assert_int_equal(tls_pki_make_ca("other", &validity, &other, &err), 0);
	assert_int_equal(tls_pki_make_cert(&other, &subject, &theirs, &err), 0);
	assert_int_equal(tls_pki_make_cert(&ca, &subject, &ours, &err), 0);
	assert_false(meet(&pem, &ours).is_caller);
	pem.caller_ca = other.cert;
	pem.caller_ca_len = other.cert_len;
	assert_true(meet(&pem, &ours).verified);
	assert_false(meet(&pem, &ours).is_caller);
	assert_false(meet(&pem, &theirs).verified);
	assert_true(meet(&pem, &theirs).is_caller);
	assert_false(meet(&pem, NULL).is_caller);
	/* Alone it is asked for as well. */
	pem.client_ca = NULL;
	assert_true(meet(&pem, &theirs).is_caller);
	assert_false(meet(&pem, &theirs).verified);
	assert_false(meet(&pem, &ours).is_caller);
	/* A certificate for servers is none for callers. */
	subject.usage = TLS_PKI_SERVER;
	tls_pki_pem_done(&theirs);
	assert_int_equal(tls_pki_make_cert(&other, &subject, &theirs, &err), 0);
	assert_false(meet(&pem, &theirs).is_caller);
	pem.caller_ca = "nonsense";
	pem.caller_ca_len = strlen("nonsense");
	assert_int_equal(
		tls_https_new(&pem, &(struct tls_https *){ NULL }, &err), -1);
	tls_pki_pem_done(&other);
	tls_pki_pem_done(&theirs);
	tls_pki_pem_done(&ours);
}

static void
test_a_name_with_a_nul_is_no_name(void **state)
{
	static const char *const fields[] = { "CN", "O" };

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct tls_pki_pem client = { 0 };
		struct pair p;

		make_client(fields[i], "admin\0x", 7, &client);
		pair_start(&p, &client);
		pair_shake(&p);
		assert_false(tls_https_peer(p.conn)->verified);
		assert_string_equal(tls_https_peer(p.conn)->common_name, "");
		assert_int_equal(tls_https_peer(p.conn)->organization_count, 0);
		pair_done(&p);
		tls_pki_pem_done(&client);
	}
}

static void
test_bad_credentials_are_named(void **state)
{
	struct tls_https_pem pem = pem_of(&server);
	struct tls_https *ctx = NULL;
	struct err err;

	(void)state;
	pem.key = ca.key;
	pem.key_len = ca.key_len;
	assert_int_equal(tls_https_new(&pem, &ctx, &err), -1);
	assert_int_equal(err.kind, ERR_INVALID);
	assert_non_null(strstr(err.text, "apiserver.crt"));
	pem = pem_of(&server);
	pem.client_ca = "junk";
	pem.client_ca_len = 4;
	assert_int_equal(tls_https_new(&pem, &ctx, &err), -1);
	pem = pem_of(&server);
	pem.cert_len = 0;
	assert_int_equal(tls_https_new(&pem, &ctx, &err), -1);
	assert_null(ctx);
	/* Without a CA nobody is asked for a certificate. */
	pem = pem_of(&server);
	pem.client_ca = NULL;
	assert_int_equal(tls_https_new(&pem, &ctx, &err), 0);
	tls_https_unref(ctx);
	tls_https_unref(NULL);
}

static int
make_certificates(void **state)
{
	static const char *const names[] = { "localhost", NULL };
	struct tls_pki_subject subject = { .common_name = "apiserver",
					   .names = names,
					   .validity = tls_pki_days(1),
					   .usage = TLS_PKI_SERVER };
	struct err err;

	(void)state;
	return tls_pki_make_ca("ca", &subject.validity, &ca, &err) |
	       tls_pki_make_cert(&ca, &subject, &server, &err);
}

static int
drop_certificates(void **state)
{
	(void)state;
	tls_pki_pem_done(&ca);
	tls_pki_pem_done(&server);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bytes_go_both_ways),
		cmocka_unit_test(test_the_end_comes_with_or_without_notice),
		cmocka_unit_test(test_a_full_socket_takes_the_same_bytes_later),
		cmocka_unit_test(test_what_is_not_tls_is_told_apart),
		cmocka_unit_test(test_names_are_read_as_kubernetes_reads_them),
		cmocka_unit_test(
			test_two_authorities_do_not_stand_for_each_other),
		cmocka_unit_test(test_a_name_with_a_nul_is_no_name),
		cmocka_unit_test(test_bad_credentials_are_named),
	};

	return cmocka_run_group_tests_name("https", tests, make_certificates,
					   drop_certificates);
}
