/* SPDX-License-Identifier: Apache-2.0 */
#include "http/health.h"

#include <string.h>

#include "base/err.h"
#include "base/test.h"
#include "http/testweb.h"

struct fixture {
	struct testweb web;
	struct health_server *health;
	bool ready, full;
};

static bool
is_ready(void *arg)
{
	const struct fixture *f = arg;

	return f->ready;
}

static int
write_metrics(struct buf *buf, void *arg)
{
	const struct fixture *f = arg;

	return f->full ? -1 : buf_printf(buf, "a_total 1\n");
}

/* Its clients find the health server instead of the web's own. */
static void
start(struct fixture *f)
{
	const struct health_options options = { .program = "ferry-test",
						.listen = "127.0.0.1:0" };
	const struct health_hooks hooks = { .ready = is_ready,
					    .metrics = write_metrics,
					    .arg = f };
	struct err err;

	testweb_start(&f->web, &(struct http_limits){ 0 });
	f->health = health_server_new(f->web.loop, &options, &hooks, &err);
	assert_non_null(f->health);
	f->web.port = health_server_port(f->health);
}

static void
stop(struct fixture *f)
{
	health_server_free(f->health);
	testweb_stop(&f->web);
}

static void
expect(struct fixture *f, const char *request, const char *code,
       const char *body)
{
	struct testweb_client c;

	testweb_connect(&f->web, &c, &(struct testclient_config){ 0 });
	testweb_send(&c, request);
	testweb_send(&c, " HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
	testweb_expect(&c, code);
	testweb_expect(&c, "\r\n\r\n");
	testweb_expect(&c, body);
	testweb_disconnect(&c);
}

static void
test_it_tells_how_the_process_is(void **state)
{
	struct fixture f = { .ready = false };

	(void)state;
	start(&f);
	expect(&f, "GET /healthz", "HTTP/1.1 200 ", "ok");
	expect(&f, "GET /readyz", "HTTP/1.1 503 ", "not ready");
	f.ready = true;
	expect(&f, "GET /readyz", "HTTP/1.1 200 ", "ok");
	expect(&f, "GET /metrics", "HTTP/1.1 200 ", "a_total 1\n");
	stop(&f);
}

static void
test_it_serves_nothing_else(void **state)
{
	struct fixture f = { .full = true };

	(void)state;
	start(&f);
	expect(&f, "GET /", "HTTP/1.1 404 ", "not found");
	expect(&f, "POST /metrics", "HTTP/1.1 405 ", "only GET");
	expect(&f, "GET /metrics", "HTTP/1.1 500 ", "too many");
	stop(&f);
}

static void
test_a_certificate_without_its_key_is_refused(void **state)
{
	const struct health_options options = { .program = "ferry-test",
						.listen = "127.0.0.1:0",
						.tls_cert = "/nowhere" };
	const struct health_hooks hooks = { .ready = is_ready };
	struct loop *loop = loop_new();
	struct err err;

	(void)state;
	assert_null(health_server_new(loop, &options, &hooks, &err));
	assert_non_null(strstr(err.text, "--tls-cert and --tls-key"));
	loop_free(loop);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_it_tells_how_the_process_is),
		cmocka_unit_test(test_it_serves_nothing_else),
		cmocka_unit_test(test_a_certificate_without_its_key_is_refused),
	};

	return cmocka_run_group_tests_name("health", tests, NULL, NULL);
}
