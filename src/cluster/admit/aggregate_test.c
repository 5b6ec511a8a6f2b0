/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/admit/aggregate.h"

#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/test.h"
#include "cluster/admit/testadmit.h"
#include "cluster/auth/user.h"
#include "http/server.h"
#include "kube/fetch.h"

#define GROUP "apiregistration.k8s.io"
#define NAME "v1.sub.example"
#define PATH "/apis/sub.example/v1"
#define CERT_DAYS 2

/*
 * A client asks the front, which hands everything to the aggregate, which asks
 * the back: three ends of HTTPS in one loop.
 */
struct bench {
	struct world *w;
	struct aggregate *agg;
	struct backend front, back;
	struct tls_pki_pem proxy;
	bool broken;                /* the back answers 500 */
	struct http_request *open;  /* a stream at the back */
	struct http_request *asked; /* the last one at the front */
	struct buf seen;            /* what the back saw of the last request */
	/* The client's side. */
	struct buf body;
	int code;
	enum fetch_error error;
	struct fetch *fetch;
	const char *stop_at; /* the client has this: stop the loop */
};

static void
note(struct bench *b, const struct http_request *req)
{
	buf_clear(&b->seen);
	(void)buf_printf(&b->seen, "%s %s?%s\ncn: %s\n", req->method, req->path,
			 req->query, req->peer->common_name);
	for (size_t i = 0; i < req->header_count; i++)
		(void)buf_printf(&b->seen, "%s: %s\n", req->headers[i].name,
				 req->headers[i].value);
	(void)buf_printf(&b->seen, "\n%s", req->body != NULL ? req->body : "");
}

static void
back_handle(struct http_request *req, void *arg)
{
	static const char list[] =
		"{\"kind\":\"APIResourceList\",\"apiVersion\":\"v1\","
		"\"groupVersion\":\"sub.example/v1\",\"resources\":["
		"{\"name\":\"things\",\"kind\":\"Thing\",\"verbs\":[]}]}";
	static const struct http_header headers[] = {
		{ "Content-Type", "application/json" }, { "X-Own", "yes" }
	};
	struct bench *b = arg;

	if (str_equal(req->path, PATH)) {
		http_reply(req, b->broken ? 500 : 200, headers, 1, list,
			   strlen(list));
		return;
	}
	note(b, req);
	if (strstr(req->query, "watch=true") != NULL) {
		http_stream_begin(req, 200, headers, 2);
		http_stream_write(req, "one\n", 4);
		b->open = req;
		return;
	}
	http_reply(req, 202, headers, 2, "done", 4);
}

static void
front_handle(struct http_request *req, void *arg)
{
	struct bench *b = arg;

	b->asked = req;
	aggregate_handle(b->agg, "sub.example", "v1", req, b->w->user);
}

static void
make_proxy_cert(struct bench *b)
{
	const struct tls_pki_subject subject = {
		.common_name = "front-proxy-client",
		.validity = tls_pki_days(CERT_DAYS),
		.usage = TLS_PKI_CLIENT,
	};
	struct err err;

	assert_int_equal(
		tls_pki_make_cert(&b->w->ca, &subject, &b->proxy, &err), 0);
}

static int
set_up(void **state)
{
	struct bench *b = xmalloc0(sizeof(*b));
	struct aggregate_config config;

	(void)world_set_up((void **)&b->w);
	make_proxy_cert(b);
	b->seen = BUF_INIT(1 << 16);
	b->body = BUF_INIT(1 << 26);
	user_add_extra(b->w->user, "example.com/Scope x", "one");
	config = (struct aggregate_config){
		.loop = b->w->loop,
		.store = b->w->store,
		.fetcher = b->w->fetcher,
		.proxy_cert_pem = b->proxy.cert,
		.proxy_key_pem = b->proxy.key,
	};
	b->agg = aggregate_new(&config);
	backend_start(&b->back, b->w, back_handle, b);
	backend_start(&b->front, b->w, front_handle, b);
	*state = b;
	return 0;
}

static int
tear_down(void **state)
{
	struct bench *b = *state;
	struct world *w = b->w;

	if (b->fetch != NULL)
		fetch_cancel(b->fetch);
	if (b->open != NULL)
		http_stream_abort(b->open);
	aggregate_free(b->agg);
	backend_stop(&b->front);
	backend_stop(&b->back);
	tls_pki_pem_done(&b->proxy);
	buf_done(&b->seen);
	buf_done(&b->body);
	free(b);
	return world_tear_down((void **)&w);
}

static void
put_apiservice(struct bench *b, const char *more)
{
	AUTO(free_ptr)
	char *text = xasprintf(
		"{'metadata':{'name':'" NAME "'},'spec':{"
		"'group':'sub.example','version':'v1','caBundle':'%s',"
		"'groupPriorityMinimum':1000,'versionPriority':15,"
		"'service':{'namespace':'w','name':'svc'}%s}}",
		b->w->ca_bundle, more);

	world_put(b->w, GROUP, "apiservices", text);
	world_settle(b->w);
}

static void
put_service(struct bench *b)
{
	world_put(b->w, "", "services",
		  "{'metadata':{'name':'svc','namespace':'w'},"
		  "'spec':{'ports':[{'port':443}]}}");
	world_settle(b->w);
}

static void
put_endpoints(struct bench *b)
{
	AUTO(free_ptr)
	char *text = xasprintf(
		"{'metadata':{'name':'svc','namespace':'w'},'subsets':"
		"[{'addresses':[{'ip':'127.0.0.1'}],'ports':[{'port':%u}]}]}",
		b->back.port);

	world_put(b->w, "", "endpoints", text);
	world_settle(b->w);
}

/* "True Passed all checks passed". */
static char *
condition(struct bench *b)
{
	AUTO(js_unref)
	json_t *obj = world_get(b->w, GROUP, "apiservices", "", NAME);
	const json_t *condition = js_find(js_arr_at(obj, "status.conditions"),
					  "type", "Available");

	return xasprintf("%s %s %s", js_str_at(condition, "status"),
			 js_str_at(condition, "reason"),
			 js_str_at(condition, "message"));
}

static void
on_write(const struct event *event, void *arg)
{
	(void)event;
	loop_stop(arg);
}

/* Runs the loop until the condition is this. */
static void
wait_condition(struct bench *b, const char *expected)
{
	struct store *store = b->w->store;
	bool too_old;
	struct subscription *subscription = subscribe(
		store, store_collection(store, GROUP, "apiservices"),
		store_durable_rv(store), on_write, b->w->loop, &too_old);

	for (;;) {
		AUTO(free_ptr) char *is = condition(b);

		if (str_equal(is, expected))
			break;
		world_run(b->w);
	}
	unsubscribe(subscription);
}

static void
assert_condition(struct bench *b, const char *expected)
{
	AUTO(free_ptr) char *is = NULL;

	world_settle(b->w);
	is = condition(b);
	assert_string_equal(is, expected);
}

static void
make_available(struct bench *b)
{
	put_service(b);
	put_endpoints(b);
	put_apiservice(b, "");
	wait_condition(b, "True Passed all checks passed");
}

static void
on_data(const void *data, size_t len, void *arg)
{
	struct bench *b = arg;

	assert_int_equal(buf_append(&b->body, data, len), 0);
	if (b->stop_at != NULL &&
	    strstr((const char *)b->body.data, b->stop_at) != NULL)
		loop_stop(b->w->loop);
}

static void
on_head(const struct fetch_result *head, void *arg)
{
	struct bench *b = arg;

	b->code = head->code;
	if (head->code == 202)
		assert_string_equal(fetch_header_of(head, "X-Own"), "yes");
}

static void
on_done(const struct fetch_result *result, void *arg)
{
	struct bench *b = arg;

	b->fetch = NULL;
	b->error = result->error;
	loop_stop(b->w->loop);
}

/* Asks the front and runs until the answer is there, or has stop_at in it. */
static void
ask(struct bench *b, const char *method, const char *path, const char *body)
{
	static const struct fetch_header headers[] = {
		{ "Authorization", "Bearer secret" },
		{ "X-Remote-User", "admin" },
		{ "x-remote-group", "system:masters" },
		{ "X-Remote-Extra-A", "b" },
		{ "Impersonate-User", "admin" },
		{ "X-Kept", "kept" },
		{ "X-Forwarded-For", "192.0.2.7" },
		{ "Content-Type", "application/json" },
	};
	AUTO(free_ptr)
	char *url = xasprintf("https://127.0.0.1:%u%s", b->front.port, path);
	struct fetch_request request = {
		.method = method,
		.url = url,
		.headers = headers,
		.header_count = sizeof(headers) / sizeof(headers[0]),
		.body = body,
		.body_len = body != NULL ? strlen(body) : 0,
		.ca_pem = b->w->ca.cert,
		.on_head = on_head,
		.on_data = on_data,
	};

	buf_clear(&b->body);
	b->code = 0;
	b->fetch = fetch_start(b->w->fetcher, &request, on_done, b);
	world_run(b->w);
}

static void
assert_answer(struct bench *b, int code, const char *body)
{
	assert_int_equal(b->code, code);
	assert_string_equal(b->body.len > 0 ? (const char *)b->body.data : "",
			    body);
}

static void
assert_saw(struct bench *b, const char *text, bool should)
{
	if ((strcasestr((const char *)b->seen.data, text) != NULL) != should)
		fail_msg("'%s' in: %s", text, (const char *)b->seen.data);
}

static void
test_only_group_versions_with_a_service_are_handed_on(void **state)
{
	struct bench *b = *state;

	assert_false(aggregate_owns(b->agg, "sub.example", "v1"));
	put_apiservice(b, "");
	assert_true(aggregate_owns(b->agg, "sub.example", "v1"));
	assert_false(aggregate_owns(b->agg, "sub.example", "v2"));
	assert_false(aggregate_owns(b->agg, "other.example", "v1"));
	world_put(b->w, GROUP, "apiservices",
		  "{'metadata':{'name':'v1.local'},'spec':{'group':'local',"
		  "'version':'v1'}}");
	world_put(b->w, GROUP, "apiservices",
		  "{'metadata':{'name':'wrong'},'spec':{'group':'wrong',"
		  "'version':'v1','service':{'namespace':'w','name':'svc'}}}");
	world_settle(b->w);
	assert_false(aggregate_owns(b->agg, "local", "v1"));
	assert_false(aggregate_owns(b->agg, "wrong", "v1"));
	{
		AUTO(js_unref)
		json_t *local =
			world_get(b->w, GROUP, "apiservices", "", "v1.local");

		assert_string_equal(
			js_str_at(json_array_get(
					  js_arr_at(local, "status.conditions"),
					  0),
				  "reason"),
			"Local");
	}
	world_remove(b->w, GROUP, "apiservices", "", NAME);
	world_settle(b->w);
	assert_false(aggregate_owns(b->agg, "sub.example", "v1"));
}

static void
test_the_condition_says_what_is_missing(void **state)
{
	struct bench *b = *state;

	put_apiservice(b, "");
	assert_condition(b, "False ServiceNotFound service/svc in \"w\" is not "
			    "present");
	ask(b, "GET", PATH "/things", NULL);
	assert_answer(b, 503, "service unavailable\n");
	world_put(b->w, "", "services",
		  "{'metadata':{'name':'svc','namespace':'w'},"
		  "'spec':{'ports':[{'port':80}]}}");
	world_settle(b->w);
	assert_condition(b, "False ServicePortError service/svc in \"w\" is "
			    "not listening on port 443");
	put_service(b);
	assert_condition(b, "False EndpointsNotFound cannot find endpoints for "
			    "service/svc in \"w\"");
	b->broken = true;
	put_endpoints(b);
	wait_condition(b,
		       "False FailedDiscoveryCheck failing or missing "
		       "response from https://svc.w.svc:443" PATH
		       ": bad status from https://svc.w.svc:443" PATH ": 500");
	b->broken = false;
	/* Nothing in the store changes: it is tried again by itself. */
	wait_condition(b, "True Passed all checks passed");
}

static void
test_the_time_of_a_condition_is_that_of_its_change(void **state)
{
	struct bench *b = *state;
	AUTO(js_unref) json_t *obj = NULL;

	world_put(b->w, GROUP, "apiservices",
		  "{'metadata':{'name':'" NAME "'},'spec':{"
		  "'group':'sub.example','version':'v1',"
		  "'service':{'namespace':'w','name':'svc'}},"
		  "'status':{'conditions':[{'type':'Available',"
		  "'status':'False','reason':'Old','message':'old',"
		  "'lastTransitionTime':'2001-01-01T00:00:00Z'}]}}");
	world_settle(b->w);
	world_settle(b->w);
	obj = world_get(b->w, GROUP, "apiservices", "", NAME);
	{
		const json_t *condition =
			json_array_get(js_arr_at(obj, "status.conditions"), 0);

		assert_string_equal(js_str_at(condition, "reason"),
				    "ServiceNotFound");
		assert_string_equal(js_str_at(condition, "lastTransitionTime"),
				    "2001-01-01T00:00:00Z");
	}
}

static void
test_the_other_server_learns_who_asks_and_nothing_else(void **state)
{
	struct bench *b = *state;

	make_available(b);
	ask(b, "PUT", PATH "/namespaces/w/vms/a%20b/migrate?x=1", "{\"a\":1}");
	assert_answer(b, 202, "done");
	assert_saw(b, "PUT " PATH "/namespaces/w/vms/a%20b/migrate?x=1\n",
		   true);
	assert_saw(b, "cn: front-proxy-client\n", true);
	assert_saw(b, "X-Remote-User: tester\n", true);
	assert_saw(b, "X-Remote-Group: testers\n", true);
	assert_saw(b, "X-Remote-Group: system:authenticated\n", true);
	assert_saw(b, "X-Remote-Extra-example.com%2FScope%20x: one\n", true);
	assert_saw(b, "X-Forwarded-For: 192.0.2.7, 127.0.0.1\n", true);
	assert_saw(b, "X-Kept: kept\n", true);
	assert_saw(b, "Content-Type: application/json\n", true);
	assert_saw(b, "\n\n{\"a\":1}", true);
	assert_saw(b, "secret", false);
	assert_saw(b, "admin", false);
	assert_saw(b, "masters", false);
	assert_saw(b, "X-Remote-Extra-A", false);
	assert_saw(b, "Impersonate", false);
}

static void
test_a_watch_is_passed_on_as_it_comes(void **state)
{
	struct bench *b = *state;

	make_available(b);
	b->stop_at = "one\n";
	ask(b, "GET", PATH "/things?watch=true", NULL);
	assert_answer(b, 200, "one\n");
	http_stream_write(b->open, "two\n", 4);
	b->stop_at = "two\n";
	world_run(b->w);
	assert_answer(b, 200, "one\ntwo\n");
	b->stop_at = NULL;
	http_stream_end(b->open);
	b->open = NULL;
	world_run(b->w);
	assert_int_equal(b->error, FETCH_OK);
}

static void
on_back_close(struct http_request *req, void *arg)
{
	struct bench *b = arg;

	http_stream_abort(req);
	b->open = NULL;
	loop_stop(b->w->loop);
}

static void
test_a_client_that_goes_takes_its_request_with_it(void **state)
{
	struct bench *b = *state;

	make_available(b);
	b->stop_at = "one\n";
	ask(b, "GET", PATH "/things?watch=true", NULL);
	http_on_close(b->open, on_back_close, b);
	fetch_cancel(b->fetch);
	b->fetch = NULL;
	world_run(b->w);
	assert_null(b->open);
}

static void
test_half_an_answer_does_not_look_whole(void **state)
{
	struct bench *b = *state;

	make_available(b);
	b->stop_at = "one\n";
	ask(b, "GET", PATH "/things?watch=true", NULL);
	b->stop_at = NULL;
	http_stream_abort(b->open);
	b->open = NULL;
	world_run(b->w);
	assert_int_not_equal(b->error, FETCH_OK);
}

static void
test_a_slow_client_does_not_make_us_grow(void **state)
{
	enum {
		PIECE = 64 * 1024,
		PIECES = 384,
		BOUND = 512 * 1024
	};
	struct bench *b = *state;
	AUTO(free_ptr) char *piece = xmalloc0(PIECE);

	memset(piece, 'x', PIECE);
	make_available(b);
	b->stop_at = "one\n";
	ask(b, "GET", PATH "/things?watch=true", NULL);
	b->stop_at = NULL;
	/* The client takes nothing; the kernel cannot hold all of it. */
	fetch_pause(b->fetch, true);
	for (int i = 0; i < PIECES; i++)
		http_stream_write(b->open, piece, PIECE);
	for (int i = 0; i < 2000 && http_stream_backlog(b->open) > 0; i++) {
		loop_poll(b->w->loop);
		assert_true(http_stream_backlog(b->asked) < BOUND);
	}
	assert_true(http_stream_backlog(b->asked) > 0);
	http_stream_end(b->open);
	b->open = NULL;
	fetch_pause(b->fetch, false);
	world_run(b->w);
	assert_int_equal(b->error, FETCH_OK);
	assert_int_equal(b->body.len, 4 + (size_t)PIECE * PIECES);
}

static void
test_a_path_that_would_lead_elsewhere_is_refused(void **state)
{
	static const char *const paths[] = {
		PATH "/%2e%2e/v2/x",
		PATH "/a/%2E./b",
		PATH "/%2e/x",
		PATH "/x/.%2e",
	};
	struct bench *b = *state;

	make_available(b);
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		ask(b, "GET", paths[i], NULL);
		assert_int_equal(b->code, 400);
	}
	assert_int_equal(b->seen.len, 0);
	ask(b, "GET", PATH "/a..b/...", NULL);
	assert_int_equal(b->code, 202);
}

static void
test_a_server_with_the_wrong_certificate_gets_no_request(void **state)
{
	struct bench *b = *state;
	struct tls_pki_pem other = { .cert = NULL };
	struct tls_pki_validity validity = tls_pki_days(1);
	AUTO(js_unref) json_t *obj = NULL;
	struct err err;

	assert_int_equal(tls_pki_make_ca("other", &validity, &other, &err), 0);
	free(b->w->ca_bundle);
	b->w->ca_bundle = base64_encode(BASE64_STD, other.cert, other.cert_len);
	tls_pki_pem_done(&other);
	/* The check for availability does not look at certificates. */
	make_available(b);
	ask(b, "GET", PATH "/things", NULL);
	assert_int_equal(b->code, 503);
	assert_non_null(strstr((const char *)b->body.data,
			       "error trying to reach service: "));
	assert_int_equal(b->seen.len, 0);
	/* Unless the APIService says that it does not matter; it stays
	 * available while it is checked anew. */
	obj = world_get(b->w, GROUP, "apiservices", "", NAME);
	(void)json_object_set_new(js_obj_at(obj, "spec"),
				  "insecureSkipTLSVerify", json_true());
	world_put_json(b->w, GROUP, "apiservices", obj);
	world_settle(b->w);
	ask(b, "GET", PATH "/things", NULL);
	assert_int_equal(b->code, 202);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_only_group_versions_with_a_service_are_handed_on),
		CASE(test_the_condition_says_what_is_missing),
		CASE(test_the_time_of_a_condition_is_that_of_its_change),
		CASE(test_the_other_server_learns_who_asks_and_nothing_else),
		CASE(test_a_watch_is_passed_on_as_it_comes),
		CASE(test_a_client_that_goes_takes_its_request_with_it),
		CASE(test_half_an_answer_does_not_look_whole),
		CASE(test_a_slow_client_does_not_make_us_grow),
		CASE(test_a_path_that_would_lead_elsewhere_is_refused),
		CASE(test_a_server_with_the_wrong_certificate_gets_no_request),
	};

	return cmocka_run_group_tests_name("aggregate", tests, NULL, NULL);
}
