/* SPDX-License-Identifier: Apache-2.0 */
#include "http/testweb.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/test.h"

#define PATIENCE_MS 20000
#define IN_MAX (64UL * 1024 * 1024)

static void
on_gone(struct http_request *req, void *arg)
{
	struct testweb *web = arg;

	assert_true(http_is_gone(req));
	web->gone++;
	if (!web->let_go)
		return;
	for (unsigned i = 0; i < web->held_count; i++) {
		if (web->held[i] == req)
			web->held[i] = NULL;
	}
	http_stream_abort(req);
}

static void
reply_text(struct http_request *req, int code, const char *text)
{
	static const struct http_header type = { "Content-Type", "text/plain" };

	http_reply(req, code, &type, 1, text, strlen(text));
}

static void
reply_echo(struct http_request *req)
{
	char *text = xasprintf("%s %s %s %zu %.100s", req->method, req->path,
			       req->query, req->body_len,
			       req->body != NULL ? req->body : "");

	reply_text(req, 200, text);
	free(text);
}

static void
reply_peer(struct http_request *req)
{
	char text[400];
	size_t n;

	n = (size_t)snprintf(text, sizeof(text), "%d '%s'", req->peer->verified,
			     req->peer->common_name);
	for (size_t i = 0; i < req->peer->organization_count; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, " %s",
				      req->peer->organizations[i]);
	reply_text(req, 200, text);
}

static void
hold(struct testweb *web, struct http_request *req)
{
	assert_true(web->held_count < TESTWEB_HELD);
	web->held[web->held_count++] = req;
	http_on_close(req, on_gone, web);
}

static void
reply_large(struct http_request *req)
{
	char *text = xmalloc0(TESTWEB_LARGE);

	memset(text, 'l', TESTWEB_LARGE);
	if (str_equal(req->path, "/taken")) {
		http_reply_taking(req, 200, NULL, 0, text, TESTWEB_LARGE);
		return;
	}
	http_reply(req, 200, NULL, 0, text, TESTWEB_LARGE);
	free(text);
}

static void
handle(struct http_request *req, void *arg)
{
	static const struct http_header split[] = {
		{ "X-A", "1\r\nX-Evil: 1" },
		{ "X-B\nX-Evil", "2" },
		{ "X-C", "3" },
	};
	struct testweb *web = arg;

	web->handled++;
	if (req->too_large) {
		assert_null(req->body);
		reply_text(req, 413, "big");
	} else if (str_equal(req->path, "/hello")) {
		reply_text(req, 200, "hello");
	} else if (str_equal(req->path, "/echo")) {
		reply_echo(req);
	} else if (str_equal(req->path, "/peer")) {
		reply_peer(req);
	} else if (str_equal(req->path, "/split")) {
		http_reply(req, 200, split, 3, "", 0);
	} else if (str_equal(req->path, "/empty")) {
		http_reply(req, 204, NULL, 0, "x", 1);
	} else if (str_equal(req->path, "/hold")) {
		hold(web, req);
	} else if (str_equal(req->path, "/stream")) {
		http_stream_begin(req, 200, NULL, 0);
		hold(web, req);
	} else {
		reply_large(req);
	}
}

static int
listen_anywhere(uint16_t *ret_port)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	socklen_t len = sizeof(addr);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(listen(fd, 256), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&addr, &len), 0);
	*ret_port = ntohs(addr.sin_port);
	return fd;
}

void
testweb_cert(struct testweb *web, const char *user, const char *const *groups,
	     struct tls_pki_pem *ret)
{
	static const char *const names[] = { "127.0.0.1", NULL };
	struct tls_pki_subject subject = {
		.common_name = user != NULL ? user : "server",
		.organizations = groups,
		.names = user != NULL ? NULL : names,
		.validity = tls_pki_days(1),
		.usage = user != NULL ? TLS_PKI_CLIENT : TLS_PKI_SERVER,
	};
	struct err err;

	assert_int_equal(tls_pki_make_cert(&web->ca, &subject, ret, &err), 0);
}

struct tls_https *
testweb_tls(const struct testweb *web, const struct tls_pki_pem *cert)
{
	struct tls_https_pem pem = { .cert = cert->cert,
				     .cert_len = cert->cert_len,
				     .key = cert->key,
				     .key_len = cert->key_len,
				     .client_ca = web->ca.cert,
				     .client_ca_len = web->ca.cert_len,
				     .name = "test" };
	struct tls_https *tls;
	struct err err;

	assert_int_equal(tls_https_new(&pem, &tls, &err), 0);
	return tls;
}

void
testweb_start(struct testweb *web, const struct http_limits *limits)
{
	struct tls_pki_validity days = tls_pki_days(1);
	struct http_config config = { .handle = handle, .arg = web };
	struct err err;

	*web = (struct testweb){ .let_go = true };
	assert_int_equal(tls_pki_make_ca("ca", &days, &web->ca, &err), 0);
	testweb_cert(web, NULL, NULL, &web->cert);
	web->tls = testweb_tls(web, &web->cert);
	web->loop = loop_new();
	config.loop = web->loop;
	config.tls = web->tls;
	config.listen_fd = listen_anywhere(&web->port);
	if (limits != NULL)
		config.limits = *limits;
	web->server = http_server_new(&config);
}

void
testweb_stop(struct testweb *web)
{
	http_server_free(web->server);
	tls_https_unref(web->tls);
	loop_free(web->loop);
	tls_pki_pem_done(&web->ca);
	tls_pki_pem_done(&web->cert);
}

void
testweb_turn(struct testweb *web)
{
	loop_poll(web->loop);
}

/* Ends the test when start is too long ago. */
static void
be_patient(uint64_t start)
{
	if (loop_now_ms() - start > PATIENCE_MS)
		fail_msg("nothing happened for a long time");
}

void
testweb_until(struct testweb *web, const unsigned *counter, unsigned value)
{
	uint64_t start = loop_now_ms();

	while (*counter < value) {
		testweb_turn(web);
		be_patient(start);
	}
}

void
testweb_spend(struct testweb *web, unsigned ms)
{
	uint64_t start = loop_now_ms();

	while (loop_now_ms() - start < ms)
		testweb_turn(web);
}

void
testweb_connect(struct testweb *web, struct testweb_client *c,
		const struct testclient_config *config)
{
	static const struct testclient_config anybody;
	struct sockaddr_in addr = { .sin_family = AF_INET,
				    .sin_port = htons(web->port) };

	*c = (struct testweb_client){ .web = web, .in = BUF_INIT(IN_MAX) };
	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(c->fd, (struct sockaddr *)&addr, sizeof(addr)),
			 0);
	assert_int_equal(fcntl(c->fd, F_SETFL, O_NONBLOCK), 0);
	c->tls = testclient_new(c->fd, config != NULL ? config : &anybody);
}

void
testweb_disconnect(struct testweb_client *c)
{
	testclient_free(c->tls);
	if (c->fd != -1)
		(void)close(c->fd);
	buf_done(&c->in);
	c->tls = NULL;
	c->fd = -1;
}

size_t
testweb_send_some(struct testweb_client *c, const void *data, size_t len)
{
	ssize_t n = testclient_write(c->tls, data, len);

	return n > 0 ? (size_t)n : 0;
}

void
testweb_send(struct testweb_client *c, const char *text)
{
	uint64_t start = loop_now_ms();
	size_t len = strlen(text);

	while (len > 0) {
		size_t n = testweb_send_some(c, text, len);

		text += n;
		len -= n;
		testweb_turn(c->web);
		be_patient(start);
	}
}

bool
testweb_receive(struct testweb_client *c)
{
	uint8_t *room = buf_reserve(&c->in, 32768);
	ssize_t n;

	assert_non_null(room);
	n = testclient_read(c->tls, room, 32768);
	if (n > 0) {
		buf_commit(&c->in, (size_t)n);
		c->in.data[c->in.len] = '\0';
		c->records++;
		return true;
	}
	if (n == 0)
		c->eof = true;
	else if (errno != EAGAIN)
		c->failed = true;
	return false;
}

void
testweb_expect(struct testweb_client *c, const char *text)
{
	uint64_t start = loop_now_ms();
	const char *found;

	for (;;) {
		found = c->in.len > 0 ? memmem(c->in.data, c->in.len, text,
					       strlen(text))
				      : NULL;
		if (found != NULL)
			break;
		if (c->eof || c->failed)
			fail_msg("the end instead of '%s'; there was '%.300s'",
				 text, c->in.len > 0 ? (char *)c->in.data : "");
		testweb_turn(c->web);
		(void)testweb_receive(c);
		be_patient(start);
	}
	buf_consume(&c->in,
		    (size_t)(found - (const char *)c->in.data) + strlen(text));
}

void
testweb_expect_end(struct testweb_client *c)
{
	uint64_t start = loop_now_ms();

	while (!c->eof && !c->failed) {
		testweb_turn(c->web);
		(void)testweb_receive(c);
		be_patient(start);
	}
}

void
testweb_get(struct testweb_client *c, const char *path)
{
	char text[200];

	(void)snprintf(text, sizeof(text),
		       "GET %s HTTP/1.1\r\nHost: test\r\n\r\n", path);
	testweb_send(c, text);
}
