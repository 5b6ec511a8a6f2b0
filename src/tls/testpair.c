/* SPDX-License-Identifier: Apache-2.0 */
#include "tls/testpair.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"

static void
must(int result, const struct err *err)
{
	if (result == 0)
		return;
	(void)fprintf(stderr, "testpair: %s\n", err->text);
	abort();
}

void
testpair_ca(const char *name, struct tls_pki_pem *ret)
{
	struct tls_pki_validity validity = tls_pki_days(1);
	struct err err;

	must(tls_pki_make_ca(name, &validity, ret, &err), &err);
}

void
testpair_node(const struct tls_pki_pem *ca, const char *node,
	      const struct tls_pki_validity *validity, struct tls_pki_pem *ret)
{
	struct tls_pki_node spec = { .node = node };
	struct err err;

	spec.validity = validity != NULL ? *validity : tls_pki_days(1);
	must(tls_pki_make_node(ca, &spec, ret, &err), &err);
}

struct tls_context *
testpair_context(enum tls_role role, const struct tls_pki_pem *node,
		 const struct tls_pki_pem *ca)
{
	struct tls_pem pem = {
		.cert = node->cert,
		.cert_len = node->cert_len,
		.key = node->key,
		.key_len = node->key_len,
		.ca = ca->cert,
		.ca_len = ca->cert_len,
		.name = "test",
	};
	struct tls_context *ctx = NULL;
	struct err err;

	must(tls_context_new(role, &pem, &ctx, &err), &err);
	return ctx;
}

const char *
testpair_uri(const char *node, char buf[TLS_IDENTITY_SIZE])
{
	struct err err;

	must(tls_identity_uri(node, buf, TLS_IDENTITY_SIZE, &err), &err);
	return buf;
}

static void
finish_if_done(struct testpair_side *side)
{
	const uint8_t *data;

	if (side->progress != TLS_DONE || side->session == NULL ||
	    tls_session_output(side->session, &data) > 0)
		return;
	side->stream =
		tls_session_finish(side->session, side->engine, side->left,
				   sizeof(side->left), &side->left_len);
	side->session = NULL;
}

/* Gives a side that is done already what came for its stream. */
static void
take(struct testpair_side *to, const uint8_t *data, size_t len)
{
	if (to->session != NULL && to->progress == TLS_WANT_READ) {
		to->progress =
			tls_session_step(to->session, data, len, &to->failure);
		return;
	}
	assert(to->left_len + len <= sizeof(to->left));
	memcpy(to->left + to->left_len, data, len);
	to->left_len += len;
}

static bool
carry(struct testpair_side *from, struct testpair_side *to, size_t chunk)
{
	const uint8_t *data;
	size_t len;

	if (from->session == NULL)
		return false;
	len = tls_session_output(from->session, &data);
	if (len == 0)
		return false;
	if (chunk > 0 && len > chunk)
		len = chunk;
	if (len > TLS_SESSION_STEP_MAX)
		len = TLS_SESSION_STEP_MAX;
	finish_if_done(to);
	take(to, data, len);
	tls_session_sent(from->session, len);
	finish_if_done(from);
	return true;
}

void
testpair_run(struct testpair *pair)
{
	struct testpair_side *c = &pair->client;
	struct testpair_side *s = &pair->server;

	if (c->progress == TLS_WANT_READ && c->session != NULL)
		c->progress =
			tls_session_step(c->session, NULL, 0, &c->failure);
	while (carry(c, s, pair->chunk) || carry(s, c, pair->chunk))
		continue;
	finish_if_done(c);
	finish_if_done(s);
}

void
testpair_connect(struct testpair *pair, enum tls_engine client,
		 enum tls_engine server)
{
	struct tls_pki_pem ca = { 0 };
	struct tls_pki_pem a = { 0 };
	struct tls_pki_pem b = { 0 };
	struct tls_context *client_ctx;
	struct tls_context *server_ctx;
	char uri[TLS_IDENTITY_SIZE];

	testpair_ca("test", &ca);
	testpair_node(&ca, "a", NULL, &a);
	testpair_node(&ca, "b", NULL, &b);
	client_ctx = testpair_context(TLS_ROLE_CLIENT, &a, &ca);
	server_ctx = testpair_context(TLS_ROLE_SERVER, &b, &ca);
	pair->client.engine = client;
	pair->server.engine = server;
	pair->client.session =
		tls_session_new(client_ctx, testpair_uri("b", uri));
	pair->server.session =
		tls_session_new(server_ctx, testpair_uri("a", uri));
	tls_context_unref(client_ctx);
	tls_context_unref(server_ctx);
	tls_pki_pem_done(&ca);
	tls_pki_pem_done(&a);
	tls_pki_pem_done(&b);
	testpair_run(pair);
	assert(pair->client.stream != NULL && pair->server.stream != NULL);
}

void
testpair_done(struct testpair *pair)
{
	tls_session_free(pair->client.session);
	tls_session_free(pair->server.session);
	tls_stream_free(pair->client.stream);
	tls_stream_free(pair->server.stream);
	*pair = (struct testpair){ 0 };
}
