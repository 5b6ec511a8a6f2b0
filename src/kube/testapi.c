/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/testapi.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/test.h"
#include "kube/client.h"
#include "kube/config.h"

#define PATIENCE_MS 20000
#define TICK_US 500

static void
on_gone(struct http_request *req, void *arg)
{
	struct testapi *api = arg;

	api->gone++;
	if (api->held == req)
		api->held = NULL;
	if (api->stream == req)
		api->stream = NULL;
	http_stream_abort(req);
}

static void
keep(struct testapi *api, struct http_request *req, struct http_request **in)
{
	if (*in != NULL) {
		http_on_close(*in, NULL, NULL);
		http_stream_abort(*in);
	}
	*in = req;
	http_on_close(req, on_gone, api);
}

static void
note(struct testapi *api, const struct http_request *req)
{
	const char *token = http_header(req, "Authorization");
	unsigned n = api->handled;

	assert_true(n < TESTAPI_REQUESTS);
	api->requests[n] =
		xasprintf("%s %s%s%s", req->method, req->path,
			  *req->query != '\0' ? "?" : "", req->query);
	api->bodies[n] = xstrdup(req->body != NULL ? req->body : "");
	api->tokens[n] = xstrdup(token != NULL ? token : "");
	api->handled++;
}

static void
handle(struct http_request *req, void *arg)
{
	struct http_header headers[2] = {
		{ "Content-Type", "application/json" },
	};
	struct testapi *api = arg;
	const struct testapi_step *step;
	size_t header_count = 1;
	const char *body;
	int code;

	note(api, req);
	if (api->handled > api->step_count)
		fail_msg("unexpected: %s", api->requests[api->handled - 1]);
	step = &api->steps[api->handled - 1];
	if (step->expect != NULL &&
	    !str_has_prefix(api->requests[api->handled - 1], step->expect))
		fail_msg("'%s' instead of '%s'",
			 api->requests[api->handled - 1], step->expect);
	code = step->code != 0 ? step->code : 200;
	body = step->body != NULL ? step->body : "";
	if (step->retry_after != NULL)
		headers[header_count++] =
			(struct http_header){ "Retry-After",
					      step->retry_after };
	switch (step->kind) {
	case TESTAPI_REPLY:
		http_reply(req, code, headers, header_count, body,
			   strlen(body));
		break;
	case TESTAPI_CUT:
		http_stream_abort(req);
		break;
	case TESTAPI_HOLD:
		keep(api, req, &api->held);
		break;
	case TESTAPI_STREAM:
		http_stream_begin(req, code, headers, header_count);
		http_stream_write(req, body, strlen(body));
		keep(api, req, &api->stream);
		break;
	}
}

/* On the port it had before, if it had one. */
static void
serve(struct testapi *api)
{
	struct sockaddr_in addr = { .sin_family = AF_INET,
				    .sin_port = htons(api->port) };
	socklen_t len = sizeof(addr);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int one = 1;
	struct http_config config = {
		.loop = api->loop,
		.listen_fd = fd,
		.tls = api->tls,
		.handle = handle,
		.arg = api,
	};

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)), 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(listen(fd, 64), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&addr, &len), 0);
	api->port = ntohs(addr.sin_port);
	api->server = http_server_new(&config);
}

static void
on_tick(void *arg)
{
	struct testapi *api = arg;

	if (api->condition(api->condition_arg)) {
		api->met = true;
		loop_stop(api->loop);
		return;
	}
	if (loop_now_ms() - api->waiting_since_ms > PATIENCE_MS) {
		loop_stop(api->loop);
		return;
	}
	loop_timer_start(api->tick, TICK_US);
}

void
testapi_start(struct testapi *api)
{
	static const char *const names[] = { "127.0.0.1", NULL };
	struct tls_pki_validity days = tls_pki_days(1);
	struct tls_pki_subject subject = {
		.common_name = "server",
		.names = names,
		.validity = days,
		.usage = TLS_PKI_SERVER,
	};
	struct tls_https_pem pem = { .name = "test" };
	struct err err;

	*api = (struct testapi){ 0 };
	assert_int_equal(tls_pki_make_ca("ca", &days, &api->ca, &err), 0);
	assert_int_equal(
		tls_pki_make_cert(&api->ca, &subject, &api->cert, &err), 0);
	pem.cert = api->cert.cert;
	pem.cert_len = api->cert.cert_len;
	pem.key = api->cert.key;
	pem.key_len = api->cert.key_len;
	assert_int_equal(tls_https_new(&pem, &api->tls, &err), 0);
	api->loop = loop_new();
	api->tick = loop_timer_new(api->loop, on_tick, api);
	serve(api);
}

void
testapi_close(struct testapi *api)
{
	http_server_free(api->server);
	api->server = NULL;
}

void
testapi_reopen(struct testapi *api)
{
	serve(api);
}

void
testapi_stop(struct testapi *api)
{
	http_server_free(api->server);
	if (api->held != NULL)
		http_stream_abort(api->held);
	if (api->stream != NULL)
		http_stream_abort(api->stream);
	loop_timer_free(api->tick);
	loop_free(api->loop);
	tls_https_unref(api->tls);
	tls_pki_pem_done(&api->ca);
	tls_pki_pem_done(&api->cert);
	for (unsigned i = 0; i < api->handled; i++) {
		free(api->requests[i]);
		free(api->bodies[i]);
		free(api->tokens[i]);
	}
}

void
testapi_say(struct testapi *api, struct testapi_step step)
{
	assert_true(api->step_count < TESTAPI_STEPS);
	api->steps[api->step_count++] = step;
}

void
testapi_answer(struct testapi *api, const char *body)
{
	static const struct http_header type = { "Content-Type",
						 "application/json" };
	struct http_request *req = api->held;

	assert_non_null(req);
	api->held = NULL;
	http_on_close(req, NULL, NULL);
	http_reply(req, 200, &type, 1, body, strlen(body));
}

void
testapi_stream(struct testapi *api, const char *text)
{
	assert_non_null(api->stream);
	http_stream_write(api->stream, text, strlen(text));
}

static struct http_request *
take_stream(struct testapi *api)
{
	struct http_request *req = api->stream;

	assert_non_null(req);
	api->stream = NULL;
	http_on_close(req, NULL, NULL);
	return req;
}

void
testapi_end_stream(struct testapi *api)
{
	http_stream_end(take_stream(api));
}

void
testapi_cut_stream(struct testapi *api)
{
	http_stream_abort(take_stream(api));
}

void
testapi_until(struct testapi *api, bool (*condition)(void *arg), void *arg)
{
	api->condition = condition;
	api->condition_arg = arg;
	api->met = false;
	api->waiting_since_ms = loop_now_ms();
	loop_timer_start(api->tick, 0);
	loop_run(api->loop);
	if (!api->met)
		fail_msg("nothing happened for a long time");
}

struct count {
	const unsigned *counter;
	unsigned value;
};

static bool
is_reached(void *arg)
{
	const struct count *count = arg;

	return *count->counter >= count->value;
}

void
testapi_until_count(struct testapi *api, const unsigned *counter,
		    unsigned value)
{
	struct count count = { counter, value };

	testapi_until(api, is_reached, &count);
}

static bool
is_over(void *arg)
{
	return loop_now_ms() >= *(const uint64_t *)arg;
}

void
testapi_spend(struct testapi *api, unsigned ms)
{
	uint64_t end = loop_now_ms() + ms;

	testapi_until(api, is_over, &end);
}

struct kube_config *
testapi_config(const struct testapi *api)
{
	struct kube_config *c = xmalloc0(sizeof(*c));

	c->server = xasprintf("https://127.0.0.1:%u", api->port);
	c->ns = xstrdup("default");
	c->context = xstrdup("");
	c->origin = xstrdup("test");
	c->ca.text = xstrdup(api->ca.cert);
	return c;
}

struct kube_client *
testapi_client(struct testapi *api, const struct kube_client_options *options)
{
	struct kube_client_options o = { .user_agent = "test/1" };

	if (options != NULL)
		o = *options;
	o.loop = api->loop;
	if (o.config == NULL)
		o.config = testapi_config(api);
	return kube_client_new(&o);
}
