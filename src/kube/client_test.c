/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/client.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/test.h"
#include "kube/config.h"
#include "kube/testapi.h"

#define POD "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\"}}"
#define CONFLICT                                                           \
	"{\"kind\":\"Status\",\"status\":\"Failure\",\"message\":\"old\"," \
	"\"reason\":\"Conflict\",\"code\":409}"

/* What done was told, the last time. */
struct outcome {
	unsigned count;
	int code;
	int status_code;
	bool unknown;
	char reason[64];
	char message[512];
	char name[64];
};

static struct testapi api;
static struct kube_client *client;

static void
note(const struct kube_result *result, void *arg)
{
	struct outcome *o = arg;

	o->count++;
	o->code = result->code;
	o->status_code = result->status->code;
	o->unknown = result->unknown;
	(void)snprintf(o->reason, sizeof(o->reason), "%s",
		       result->status->reason != NULL ? result->status->reason
						      : "");
	(void)snprintf(o->message, sizeof(o->message), "%s",
		       result->status->message != NULL ? result->status->message
						       : "");
	(void)snprintf(o->name, sizeof(o->name), "%s",
		       js_str_at(result->answer, "metadata.name"));
}

static int
setup(void **state)
{
	(void)state;
	testapi_start(&api);
	client = testapi_client(&api, NULL);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	kube_client_free(client);
	testapi_stop(&api);
	return 0;
}

static void
use_options(struct kube_client_options options)
{
	kube_client_free(client);
	client = testapi_client(&api, &options);
}

static struct outcome
run(const struct kube_request *request)
{
	struct outcome o = { 0 };

	(void)kube_send(client, request, note, &o);
	assert_int_equal(o.count, 0);
	testapi_until_count(&api, &o.count, 1);
	return o;
}

static const struct kube_request get_pod = {
	.verb = KUBE_GET, .resource = &kube_pods, .ns = "w", .name = "a"
};

static struct outcome
write_pod(void)
{
	AUTO(js_unref) json_t *body = json_pack("{s:s}", "kind", "Pod");
	struct kube_request request = { .verb = KUBE_CREATE,
					.resource = &kube_pods,
					.ns = "w",
					.body = body };

	return run(&request);
}

static void
test_requests_have_their_paths_parameters_and_bodies(void **state)
{
	AUTO(js_unref) json_t *body = json_pack("{s:s}", "a", "b");
	struct kube_request list = { .resource = &kube_leases,
				     .label_selector = "a in (b,c)",
				     .field_selector = "metadata.name=x",
				     .limit = 5,
				     .continue_token = "t/+=" };
	struct kube_request patch = { .verb = KUBE_PATCH_MERGE,
				      .resource = &kube_pods,
				      .ns = "w",
				      .name = "../x",
				      .subresource = "status",
				      .body = body,
				      .dry_run = true };

	(void)state;
	testapi_say(&api, (struct testapi_step){
				  .expect = "GET /api/v1/namespaces/w/pods/a",
				  .body = POD });
	testapi_say(&api,
		    (struct testapi_step){
			    .expect = "GET /apis/coordination.k8s.io/v1/leases?"
				      "labelSelector=a%20in%20%28b%2Cc%29&"
				      "fieldSelector=metadata.name%3Dx&limit=5&"
				      "continue=t%2F%2B%3D" });
	testapi_say(&api, (struct testapi_step){
				  .expect = "PATCH /api/v1/namespaces/w/pods/"
					    "..%2Fx/status?dryRun=All" });
	assert_string_equal(run(&get_pod).name, "a");
	(void)run(&list);
	(void)run(&patch);
	assert_string_equal(api.bodies[0], "");
	assert_string_equal(api.bodies[2], "{\"a\":\"b\"}");
}

static void
test_a_status_is_told_as_it_came(void **state)
{
	struct outcome o;

	(void)state;
	testapi_say(&api,
		    (struct testapi_step){ .code = 409, .body = CONFLICT });
	o = write_pod();
	assert_int_equal(o.code, 409);
	assert_int_equal(o.status_code, 409);
	assert_string_equal(o.reason, "Conflict");
	assert_string_equal(o.message, "old");
	assert_false(o.unknown);
	assert_int_equal(kube_client_stats(client)->conflicts, 1);
}

static void
test_what_is_no_status_gets_the_words_of_kubernetes(void **state)
{
	struct outcome o;

	(void)state;
	testapi_say(&api, (struct testapi_step){ .code = 404,
						 .body = "404 page not found"
							 "\n" });
	o = run(&get_pod);
	assert_int_equal(o.code, 404);
	assert_string_equal(o.message,
			    "the server could not find the requested resource");
	testapi_say(&api, (struct testapi_step){ .code = 500, .body = "boom" });
	o = write_pod();
	assert_string_equal(o.message,
			    "an error on the server (\"boom\") has prevented "
			    "the request from succeeding");
}

static void
test_retry_after_is_obeyed_by_writes_too(void **state)
{
	uint64_t start = loop_now_ms();

	(void)state;
	testapi_say(&api,
		    (struct testapi_step){ .code = 429, .retry_after = "1" });
	testapi_say(&api, (struct testapi_step){ .code = 201, .body = POD });
	assert_int_equal(write_pod().code, 201);
	assert_true(loop_now_ms() - start >= 1000);
	assert_int_equal(kube_client_stats(client)->tries, 2);
	assert_int_equal(kube_client_stats(client)->requests, 1);
}

static void
test_429_without_retry_after_is_final(void **state)
{
	(void)state;
	testapi_say(&api, (struct testapi_step){ .code = 429 });
	assert_int_equal(write_pod().code, 429);
	assert_int_equal(api.handled, 1);
}

static void
test_a_read_is_repeated_when_the_connection_breaks(void **state)
{
	(void)state;
	testapi_say(&api, (struct testapi_step){ .kind = TESTAPI_CUT });
	testapi_say(&api, (struct testapi_step){ .code = 500 });
	testapi_say(&api, (struct testapi_step){ .body = POD });
	assert_string_equal(run(&get_pod).name, "a");
}

static void
test_a_write_is_never_sent_twice_when_the_connection_breaks(void **state)
{
	struct outcome o;

	(void)state;
	/* Once on a new connection, and once on one that is kept. */
	testapi_say(&api, (struct testapi_step){ .kind = TESTAPI_CUT });
	o = write_pod();
	assert_int_equal(o.code, 0);
	assert_int_equal(o.status_code, 503);
	assert_true(o.unknown);
	testapi_say(&api, (struct testapi_step){ .body = POD });
	(void)run(&get_pod);
	testapi_say(&api, (struct testapi_step){ .kind = TESTAPI_CUT });
	o = write_pod();
	assert_true(o.unknown);
	assert_int_equal(api.handled, 3);
	assert_int_equal(kube_client_stats(client)->unknown, 2);
}

static void
test_a_write_may_have_been_done_whatever_a_server_in_trouble_says(void **state)
{
	static const struct {
		int code;
		bool unknown;
	} cases[] = {
		{ 500, true },  { 502, true },  { 504, true },  { 503, false },
		{ 429, false }, { 409, false }, { 403, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct outcome o;

		testapi_say(&api,
			    (struct testapi_step){ .code = cases[i].code });
		o = write_pod();
		assert_int_equal(o.code, cases[i].code);
		assert_int_equal(o.unknown, cases[i].unknown);
	}
	assert_int_equal(api.handled, ARRAY_LEN(cases));
}

/* Webhooks are asked before anything is stored. */
static void
test_a_webhook_that_fails_has_kept_a_write_from_being_done(void **state)
{
	struct outcome o;

	(void)state;
	testapi_say(&api,
		    (struct testapi_step){
			    .code = 500,
			    .body = "{\"kind\":\"Status\",\"status\":"
				    "\"Failure\",\"code\":500,\"reason\":"
				    "\"InternalError\",\"message\":\"Internal "
				    "error occurred: failed calling webhook "
				    "\\\"x\\\": EOF\"}" });
	o = write_pod();
	assert_int_equal(o.code, 500);
	assert_false(o.unknown);
}

static void
test_a_server_that_is_away_is_waited_for(void **state)
{
	struct outcome o = { 0 };

	(void)state;
	testapi_close(&api);
	(void)kube_send(client, &get_pod, note, &o);
	testapi_spend(&api, 150);
	assert_int_equal(o.count, 0);
	testapi_say(&api, (struct testapi_step){ .body = POD });
	testapi_reopen(&api);
	testapi_until_count(&api, &o.count, 1);
	assert_string_equal(o.name, "a");
}

static void
test_who_wants_to_know_at_once_is_told_that_nobody_listens(void **state)
{
	struct outcome o;

	(void)state;
	use_options((struct kube_client_options){ .at_once = true });
	testapi_close(&api);
	o = run(&get_pod);
	assert_int_equal(o.status_code, 503);
	assert_non_null(strstr(o.message, "connection refused"));
	assert_int_equal(kube_client_stats(client)->tries, 1);
}

static void
test_time_runs_out_with_its_own_code(void **state)
{
	struct kube_request request = get_pod;
	struct outcome o;

	(void)state;
	request.timeout_ms = 100;
	testapi_say(&api, (struct testapi_step){ .kind = TESTAPI_HOLD });
	o = run(&request);
	assert_int_equal(o.code, 0);
	assert_int_equal(o.status_code, 504);
	assert_string_equal(o.reason, "Timeout");
	assert_true(strstr(o.message, "context deadline exceeded") != NULL);
}

static void
test_what_waits_for_others_has_its_time_too(void **state)
{
	struct kube_request request = get_pod;
	struct outcome held = { 0 };
	struct kube_call *call;
	struct outcome o;

	(void)state;
	use_options((struct kube_client_options){ .in_flight = 1 });
	testapi_say(&api, (struct testapi_step){ .kind = TESTAPI_HOLD });
	call = kube_send(client, &get_pod, note, &held);
	testapi_until_count(&api, &api.handled, 1);
	request.timeout_ms = 50;
	o = run(&request);
	assert_int_equal(o.status_code, 504);
	assert_int_equal(api.handled, 1);
	assert_int_equal(kube_client_stats(client)->waiting, 0);
	assert_int_equal(held.count, 0);
	kube_cancel(call);
	assert_int_equal(kube_client_stats(client)->in_flight, 0);
	/* And its place is free again. */
	testapi_say(&api, (struct testapi_step){ .body = POD });
	assert_string_equal(run(&get_pod).name, "a");
}

static void
test_what_is_urgent_waits_for_nobody(void **state)
{
	struct kube_request urgent = get_pod;
	struct outcome held = { 0 };
	struct outcome late = { 0 };

	(void)state;
	use_options((struct kube_client_options){
		.in_flight = 1, .qps = 1, .burst = 1 });
	testapi_say(&api, (struct testapi_step){ .kind = TESTAPI_HOLD });
	(void)kube_send(client, &get_pod, note, &held);
	testapi_until_count(&api, &api.handled, 1);
	(void)kube_send(client, &get_pod, note, &late);
	urgent.urgent = true;
	testapi_say(&api, (struct testapi_step){ .body = POD });
	assert_string_equal(run(&urgent).name, "a");
	assert_int_equal(held.count, 0);
	assert_int_equal(late.count, 0);
	assert_int_equal(kube_client_stats(client)->waiting, 1);
}

static void
test_the_rate_is_kept(void **state)
{
	struct outcome o = { 0 };
	uint64_t start = loop_now_ms();

	(void)state;
	use_options((struct kube_client_options){ .qps = 5, .burst = 2 });
	for (int i = 0; i < 6; i++) {
		testapi_say(&api, (struct testapi_step){ .body = POD });
		(void)kube_send(client, &get_pod, note, &o);
	}
	testapi_until_count(&api, &o.count, 6);
	/* Two at once, four more at 200 ms each; of these, some find that their
	 * time has come when the CPU is taken away between two of them. */
	assert_true(loop_now_ms() - start >= 790);
	assert_true(kube_client_stats(client)->throttled > 0);
}

static void
cancel_other(const struct kube_result *result, void *arg)
{
	struct kube_call **calls = arg;

	(void)result;
	kube_cancel(calls[0]); /* itself: ignored */
	kube_cancel(calls[1]);
	calls[1] = NULL;
}

static void
test_a_callback_may_cancel_others_and_itself(void **state)
{
	struct kube_call *calls[2];
	struct outcome never = { 0 };

	(void)state;
	testapi_say(&api, (struct testapi_step){ .body = POD });
	use_options((struct kube_client_options){ .in_flight = 1 });
	calls[0] = kube_send(client, &get_pod, cancel_other, calls);
	calls[1] = kube_send(client, &get_pod, note, &never);
	testapi_until_count(&api, &api.handled, 1);
	testapi_spend(&api, 50);
	assert_null(calls[1]);
	assert_int_equal(never.count, 0);
	assert_int_equal(api.handled, 1);
}

static bool
refuse(void *arg)
{
	(*(unsigned *)arg)++;
	return false;
}

static void
test_who_may_not_write_does_not_but_reads(void **state)
{
	unsigned asked = 0;
	struct kube_request forced = { .verb = KUBE_DELETE,
				       .resource = &kube_pods,
				       .ns = "w",
				       .name = "a",
				       .always = true };

	(void)state;
	use_options((struct kube_client_options){ .may_write = refuse,
						  .may_write_arg = &asked });
	assert_int_equal(write_pod().status_code, 409);
	assert_int_equal(asked, 1);
	assert_int_equal(api.handled, 0);
	testapi_say(&api, (struct testapi_step){ .body = POD });
	testapi_say(&api, (struct testapi_step){ .body = "{}" });
	assert_int_equal(run(&get_pod).code, 200);
	assert_int_equal(run(&forced).code, 200);
	assert_int_equal(asked, 1);
}

static void
write_file(const char *path, const char *text)
{
	AUTO(free_ptr) char *temporary = xasprintf("%s.new", path);
	FILE *file = fopen(temporary, "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(rename(temporary, path), 0);
}

static void
test_a_token_that_was_replaced_is_read_again_after_401(void **state)
{
	struct kube_config *config = testapi_config(&api);
	char dir[] = "/tmp/kube_client_XXXXXX";
	char *path;

	(void)state;
	assert_non_null(mkdtemp(dir));
	path = xasprintf("%s/token", dir);
	write_file(path, "first\n");
	config->token.path = xstrdup(path);
	use_options((struct kube_client_options){ .config = config });
	testapi_say(&api, (struct testapi_step){ .body = POD });
	(void)run(&get_pod);
	assert_string_equal(api.tokens[0], "Bearer first");
	write_file(path, "second\n");
	testapi_say(&api, (struct testapi_step){ .code = 401 });
	testapi_say(&api, (struct testapi_step){ .code = 201, .body = POD });
	assert_int_equal(write_pod().code, 201);
	assert_string_equal(api.tokens[1], "Bearer first");
	assert_string_equal(api.tokens[2], "Bearer second");
	/* Without a new one, 401 is final. */
	testapi_say(&api, (struct testapi_step){ .code = 401 });
	assert_int_equal(run(&get_pod).code, 401);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(dir), 0);
	free(path);
}

static void
test_a_server_of_another_ca_is_not_talked_to(void **state)
{
	struct kube_config *config = testapi_config(&api);
	struct tls_pki_validity days = tls_pki_days(1);
	struct tls_pki_pem other = { 0 };
	struct outcome o;

	(void)state;
	assert_int_equal(tls_pki_make_ca("other", &days, &other, NULL), 0);
	free(config->ca.text);
	config->ca.text = xstrdup(other.cert);
	use_options((struct kube_client_options){ .config = config });
	o = write_pod();
	assert_int_equal(o.status_code, 503);
	assert_false(o.unknown);
	assert_true(strstr(o.message, "x509") != NULL);
	assert_int_equal(api.handled, 0);
	tls_pki_pem_done(&other);
}

static void
test_delete_options_say_what_is_given(void **state)
{
	AUTO(js_unref) json_t *o = kube_delete_options("u", "Foreground", 0);
	AUTO(js_unref) json_t *none = kube_delete_options(NULL, NULL, -1);

	(void)state;
	assert_string_equal(js_str_at(o, "preconditions.uid"), "u");
	assert_string_equal(js_str_at(o, "propagationPolicy"), "Foreground");
	assert_int_equal(js_int_at(o, "gracePeriodSeconds", -1), 0);
	assert_int_equal(json_object_size(none), 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_requests_have_their_paths_parameters_and_bodies),
		TEST(test_a_status_is_told_as_it_came),
		TEST(test_what_is_no_status_gets_the_words_of_kubernetes),
		TEST(test_retry_after_is_obeyed_by_writes_too),
		TEST(test_429_without_retry_after_is_final),
		TEST(test_a_read_is_repeated_when_the_connection_breaks),
		TEST(test_a_write_is_never_sent_twice_when_the_connection_breaks),
		TEST(test_a_write_may_have_been_done_whatever_a_server_in_trouble_says),
		TEST(test_a_webhook_that_fails_has_kept_a_write_from_being_done),
		TEST(test_a_server_that_is_away_is_waited_for),
		TEST(test_who_wants_to_know_at_once_is_told_that_nobody_listens),
		TEST(test_time_runs_out_with_its_own_code),
		TEST(test_what_waits_for_others_has_its_time_too),
		TEST(test_what_is_urgent_waits_for_nobody),
		TEST(test_the_rate_is_kept),
		TEST(test_a_callback_may_cancel_others_and_itself),
		TEST(test_who_may_not_write_does_not_but_reads),
		TEST(test_a_token_that_was_replaced_is_read_again_after_401),
		TEST(test_a_server_of_another_ca_is_not_talked_to),
		TEST(test_delete_options_say_what_is_given),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	js_init();
	return cmocka_run_group_tests_name("client", tests, NULL, NULL);
}
