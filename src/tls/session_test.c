/* SPDX-License-Identifier: Apache-2.0 */
#include "tls/session.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/test.h"
#include "tls/testpair.h"

/* What one side of a handshake brings. */
struct party {
	const char *node;
	struct tls_pki_validity validity; /* all 0: valid */
	bool other_ca;                    /* signed by another CA */
	const char *expects;              /* of the peer; NULL: the truth */
};

struct world {
	struct tls_pki_pem ca;
	struct tls_pki_pem other_ca;
};

static int
make_world(void **state)
{
	static struct world world;

	testpair_ca("Ferry", &world.ca);
	/* The same name, so that only the key tells them apart. */
	testpair_ca("Ferry", &world.other_ca);
	*state = &world;
	return 0;
}

static int
drop_world(void **state)
{
	struct world *w = *state;

	tls_pki_pem_done(&w->ca);
	tls_pki_pem_done(&w->other_ca);
	return 0;
}

static struct tls_session *
make_session(const struct world *w, enum tls_role role, const struct party *p,
	     const char *peer)
{
	struct tls_pki_pem node = { 0 };
	struct tls_context *ctx;
	struct tls_session *s;
	char uri[TLS_IDENTITY_SIZE];

	testpair_node(p->other_ca ? &w->other_ca : &w->ca, p->node,
		      p->validity.not_after != 0 ? &p->validity : NULL, &node);
	ctx = testpair_context(role, &node, &w->ca);
	s = tls_session_new(
		ctx, testpair_uri(p->expects != NULL ? p->expects : peer, uri));
	tls_context_unref(ctx);
	tls_pki_pem_done(&node);
	return s;
}

static void
shake_hands(const struct world *w, struct testpair *pair,
	    const struct party *client, const struct party *server)
{
	pair->client.session =
		make_session(w, TLS_ROLE_CLIENT, client, server->node);
	pair->server.session =
		make_session(w, TLS_ROLE_SERVER, server, client->node);
	testpair_run(pair);
}

/*
 * The client is done when the server refuses it; the refusal comes with the
 * first record that it opens.
 */
static void
collect_refusal(struct testpair_side *client)
{
	struct tls_opened opened;

	assert_non_null(client->stream);
	assert_int_equal(tls_stream_open(client->stream, client->left,
					 client->left_len, 0, &opened,
					 &client->failure),
			 -1);
}

static struct tls_pki_validity
days_from_now(int from, int to)
{
	int64_t now = (int64_t)time(NULL);

	return (struct tls_pki_validity){ now + from * 86400,
					  now + to * 86400 };
}

static void
expect(const struct tls_failure *f, enum tls_reason reason, bool by_peer)
{
	assert_string_equal(tls_reason_name(f->reason),
			    tls_reason_name(reason));
	assert_int_equal(f->by_peer, by_peer);
	assert_true(strlen(f->text) > 0);
}

static void
test_two_nodes_of_one_ca_agree(void **state)
{
	for (size_t chunk = 0; chunk < 40; chunk++) {
		struct testpair pair = { .chunk = chunk };

		shake_hands(*state, &pair, &(struct party){ .node = "a" },
			    &(struct party){ .node = "b" });
		assert_non_null(pair.client.stream);
		assert_non_null(pair.server.stream);
		assert_string_equal(tls_stream_cipher(pair.client.stream),
				    "TLS_AES_128_GCM_SHA256");
		assert_int_equal(pair.client.left_len, 0);
		assert_int_equal(pair.server.left_len, 0);
		testpair_done(&pair);
	}
}

/* Each fault of a client, and what both sides say about it. */
static void
test_a_bad_client_is_refused_with_the_same_reason_on_both_sides(void **state)
{
	const struct {
		struct party client;
		enum tls_reason reason;
	} rows[] = {
		{ { .node = "a", .validity = days_from_now(-9, -1) },
		  TLS_REASON_CERT_EXPIRED },
		{ { .node = "a", .validity = days_from_now(1, 9) },
		  TLS_REASON_CERT_NOT_YET_VALID },
		{ { .node = "a", .other_ca = true }, TLS_REASON_WRONG_CA },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct testpair pair = { 0 };

		shake_hands(*state, &pair, &rows[i].client,
			    &(struct party){ .node = "b" });
		assert_int_equal(pair.server.progress, TLS_FAILED);
		expect(&pair.server.failure, rows[i].reason, false);
		collect_refusal(&pair.client);
		expect(&pair.client.failure, rows[i].reason, true);
		testpair_done(&pair);
	}
}

static void
test_a_bad_server_is_refused_with_the_same_reason_on_both_sides(void **state)
{
	const struct {
		struct party server;
		enum tls_reason reason;
	} rows[] = {
		{ { .node = "b", .validity = days_from_now(-9, -1) },
		  TLS_REASON_CERT_EXPIRED },
		{ { .node = "b", .validity = days_from_now(1, 9) },
		  TLS_REASON_CERT_NOT_YET_VALID },
		{ { .node = "b", .other_ca = true }, TLS_REASON_WRONG_CA },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct testpair pair = { 0 };

		shake_hands(*state, &pair, &(struct party){ .node = "a" },
			    &rows[i].server);
		assert_int_equal(pair.client.progress, TLS_FAILED);
		expect(&pair.client.failure, rows[i].reason, false);
		assert_int_equal(pair.server.progress, TLS_FAILED);
		expect(&pair.server.failure, rows[i].reason, true);
		testpair_done(&pair);
	}
}

static void
test_a_server_refuses_any_node_but_the_one_it_was_told(void **state)
{
	struct testpair pair = { 0 };

	shake_hands(*state, &pair, &(struct party){ .node = "a" },
		    &(struct party){ .node = "b", .expects = "aa" });
	expect(&pair.server.failure, TLS_REASON_WRONG_NODE, false);
	assert_string_equal(pair.server.failure.text,
			    "peer is 'spiffe://ferry.io/node/a', expected "
			    "'spiffe://ferry.io/node/aa'");
	collect_refusal(&pair.client);
	expect(&pair.client.failure, TLS_REASON_WRONG_NODE, true);
	testpair_done(&pair);
}

static void
test_a_client_refuses_any_node_but_the_one_it_was_told(void **state)
{
	struct testpair pair = { 0 };

	shake_hands(*state, &pair,
		    &(struct party){ .node = "a", .expects = "c" },
		    &(struct party){ .node = "b" });
	expect(&pair.client.failure, TLS_REASON_WRONG_NODE, false);
	expect(&pair.server.failure, TLS_REASON_WRONG_NODE, true);
	testpair_done(&pair);
}

static void
test_what_comes_behind_the_handshake_is_handed_back(void **state)
{
	static const char hello[5] = { 'h', 'e', 'l', 'l', 'o' };
	struct testpair pair = { 0 };
	struct testpair_side *c = &pair.client;
	struct testpair_side *s = &pair.server;
	uint8_t in[TLS_SESSION_STEP_MAX];
	uint8_t *buf = xmalloc0(TLS_BUF_SIZE);
	const uint8_t *data;
	struct iovec wire;
	struct tls_opened opened;
	size_t len;

	c->session = make_session(*state, TLS_ROLE_CLIENT,
				  &(struct party){ .node = "a" }, "b");
	s->session = make_session(*state, TLS_ROLE_SERVER,
				  &(struct party){ .node = "b" }, "a");
	(void)tls_session_step(c->session, NULL, 0, &c->failure);
	len = tls_session_output(c->session, &data);
	(void)tls_session_step(s->session, data, len, &s->failure);
	tls_session_sent(c->session, len);
	len = tls_session_output(s->session, &data);
	assert_int_equal(tls_session_step(c->session, data, len, &c->failure),
			 TLS_DONE);
	tls_session_sent(s->session, len);

	/* The client's last flight and its first data in one piece. */
	len = tls_session_output(c->session, &data);
	memcpy(in, data, len);
	tls_session_sent(c->session, len);
	c->stream = tls_session_finish(TAKE_PTR(c->session), TLS_ENGINE_RECORD,
				       c->left, sizeof(c->left), &c->left_len);
	memcpy(buf + TLS_HEADROOM + TLS_RECORD_HEADER, hello, sizeof(hello));
	assert_int_equal(tls_stream_seal(c->stream, buf, 5, &wire, &c->failure),
			 0);
	memcpy(in + len, wire.iov_base, wire.iov_len);
	assert_int_equal(tls_session_step(s->session, in, len + wire.iov_len,
					  &s->failure),
			 TLS_DONE);
	s->stream = tls_session_finish(TAKE_PTR(s->session), TLS_ENGINE_RECORD,
				       s->left, sizeof(s->left), &s->left_len);
	assert_int_equal(s->left_len, wire.iov_len);
	assert_int_equal(tls_stream_open(s->stream, s->left, s->left_len, 0,
					 &opened, &s->failure),
			 0);
	assert_int_equal(opened.plain_len, 5);
	assert_memory_equal(opened.iov[0].iov_base, "hello", 5);
	testpair_done(&pair);
	free(buf);
}

/* New certificates, and the old ones gone, between two flights. */
static void
test_a_handshake_goes_on_with_the_context_it_began_with(void **state)
{
	const struct world *w = *state;
	struct testpair pair = { 0 };
	struct testpair_side *c = &pair.client;
	struct testpair_side *s = &pair.server;
	struct tls_pki_pem next = { 0 };
	struct tls_context *ctx;
	const uint8_t *data;
	size_t len;

	c->session = make_session(w, TLS_ROLE_CLIENT,
				  &(struct party){ .node = "a" }, "b");
	s->session = make_session(w, TLS_ROLE_SERVER,
				  &(struct party){ .node = "b" }, "a");
	(void)tls_session_step(c->session, NULL, 0, &c->failure);
	len = tls_session_output(c->session, &data);
	(void)tls_session_step(s->session, data, len, &s->failure);
	tls_session_sent(c->session, len);
	testpair_node(&w->other_ca, "b", NULL, &next);
	ctx = testpair_context(TLS_ROLE_SERVER, &next, &w->other_ca);
	testpair_run(&pair);
	assert_non_null(c->stream);
	assert_non_null(s->stream);
	tls_context_unref(ctx);
	tls_pki_pem_done(&next);
	testpair_done(&pair);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_two_nodes_of_one_ca_agree),
		cmocka_unit_test(
			test_a_bad_client_is_refused_with_the_same_reason_on_both_sides),
		cmocka_unit_test(
			test_a_bad_server_is_refused_with_the_same_reason_on_both_sides),
		cmocka_unit_test(
			test_a_server_refuses_any_node_but_the_one_it_was_told),
		cmocka_unit_test(
			test_a_client_refuses_any_node_but_the_one_it_was_told),
		cmocka_unit_test(
			test_what_comes_behind_the_handshake_is_handed_back),
		cmocka_unit_test(
			test_a_handshake_goes_on_with_the_context_it_began_with),
	};

	return cmocka_run_group_tests_name("session", tests, make_world,
					   drop_world);
}
