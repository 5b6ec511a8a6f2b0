/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server as a whole, with an API server that says what it is told: what
 * cannot be seen with one that works.
 */
#include "webhook/api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/js.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/test.h"
#include "http/listen.h"
#include "kube/client.h"
#include "kube/fetch.h"
#include "kube/testapi.h"

#define KUBEVIRTS "GET /apis/kubevirt.io/v1/namespaces/kubevirt/kubevirts"
#define FORBIDDEN "{\"kind\":\"Status\",\"message\":\"you must not\"}"

struct world {
	struct testapi testapi;
	struct api *api;
	struct fetcher *fetcher;
	uint16_t port;
	char dir[64];
	unsigned answers;
	int code;
	json_t *answer; /* NULL where it is no JSON */
	char *text;
};

static void
write_file(const struct world *w, const char *name, const char *text)
{
	AUTO(free_ptr) char *path = xasprintf("%s/%s", w->dir, name);
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void
start_api(struct world *w)
{
	AUTO(free_ptr) char *cert = xasprintf("%s/tls.crt", w->dir);
	AUTO(free_ptr) char *key = xasprintf("%s/tls.key", w->dir);
	AUTO(free_ptr) char *ca = xasprintf("%s/ca.crt", w->dir);
	struct api_options options = {
		.loop = w->testapi.loop,
		.config = testapi_config(&w->testapi),
		.ns = "kubevirt",
		.cert_file = cert,
		.key_file = key,
		/* So that the cluster is not asked. */
		.requestheader_ca_file = ca,
	};
	struct err err;

	assert_int_equal(listen_open("127.0.0.1:0", NULL, 0, &options.listen_fd,
				     &w->port, &err),
			 0);
	w->api = api_start(&options, &err);
	assert_non_null(w->api);
}

static int
open_world(void **state)
{
	struct world *w = xmalloc0(sizeof(*w));

	(void)strcpy(w->dir, "/tmp/ferry-api-test.XXXXXX");
	assert_non_null(mkdtemp(w->dir));
	testapi_start(&w->testapi);
	write_file(w, "tls.crt", w->testapi.cert.cert);
	write_file(w, "tls.key", w->testapi.cert.key);
	write_file(w, "ca.crt", w->testapi.ca.cert);
	w->fetcher = fetcher_new(w->testapi.loop);
	*state = w;
	return 0;
}

static int
close_world(void **state)
{
	static const char *const files[] = { "tls.crt", "tls.key", "ca.crt" };
	struct world *w = *state;

	api_free(w->api);
	fetcher_free(w->fetcher);
	testapi_stop(&w->testapi);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		AUTO(free_ptr)
		char *path = xasprintf("%s/%s", w->dir, files[i]);

		(void)unlink(path);
	}
	(void)rmdir(w->dir);
	json_decref(w->answer);
	free(w->text);
	free(w);
	return 0;
}

static void
answered(const struct fetch_result *result, void *arg)
{
	struct world *w = arg;

	json_decref(w->answer);
	free(w->text);
	w->code = result->code;
	w->text = xstrdup(result->body);
	w->answer = json_loads(result->body, 0, NULL);
	w->answers++;
}

static void
ask(struct world *w, const char *method, const char *path, const char *body)
{
	AUTO(free_ptr)
	char *url = xasprintf("https://127.0.0.1:%u%s", w->port, path);
	const struct fetch_request request = {
		.method = method,
		.url = url,
		.body = body,
		.body_len = body == NULL ? 0 : strlen(body),
		.insecure = true,
	};

	(void)fetch_start(w->fetcher, &request, answered, w);
}

/* Asks and waits for the answer. */
static void
get(struct world *w, const char *path)
{
	unsigned before = w->answers;

	ask(w, "GET", path, NULL);
	testapi_until_count(&w->testapi, &w->answers, before + 1);
}

static void
say(struct world *w, const char *expect, int code, const char *body)
{
	testapi_say(&w->testapi, (struct testapi_step){ .expect = expect,
							.code = code,
							.body = body });
}

/* The KubeVirt object is read: there is none. */
static void
say_config(struct world *w)
{
	say(w, KUBEVIRTS, 200,
	    "{\"metadata\":{\"resourceVersion\":\"1\"},\"items\":[]}");
	testapi_say(&w->testapi,
		    (struct testapi_step){ .expect = KUBEVIRTS "?",
					   .kind = TESTAPI_STREAM });
}

static void
start_ready(struct world *w)
{
	say_config(w);
	start_api(w);
	testapi_until_count(&w->testapi, &w->testapi.handled, 2);
	get(w, "/readyz");
	assert_int_equal(w->code, 200);
}

/* A review of these; object is JSON. */
static char *
review(const char *group, const char *resource, const char *sub,
       const char *name, const char *object)
{
	return xasprintf(
		"{\"apiVersion\":\"admission.k8s.io/v1\","
		"\"kind\":\"AdmissionReview\",\"request\":{\"uid\":\"u\","
		"\"operation\":\"CREATE\",\"namespace\":\"n\","
		"\"resource\":{\"group\":\"%s\",\"resource\":\"%s\"},"
		"\"subResource\":\"%s\",\"name\":\"%s\",\"object\":%s}}",
		group, resource, sub, name, object);
}

static void
assert_denied(struct world *w, const char *path, const char *question, int code,
	      const char *message)
{
	unsigned before = w->answers;

	ask(w, "POST", path, question);
	testapi_until_count(&w->testapi, &w->answers, before + 1);
	assert_int_equal(w->code, 200);
	assert_false(js_bool_at(w->answer, "response.allowed", true));
	assert_int_equal(js_int_at(w->answer, "response.status.code", 0), code);
	assert_string_equal(js_str_at(w->answer, "response.status.message"),
			    message);
}

static char *
migration(void)
{
	return review("kubevirt.io", "virtualmachineinstancemigrations", "",
		      "m",
		      "{\"metadata\":{\"name\":\"m\"},"
		      "\"spec\":{\"vmiName\":\"x\"}}");
}

#define VMI_X "GET /apis/kubevirt.io/v1/namespaces/n/virtualmachineinstances/x"

static void
test_before_the_settings_are_known_nothing_is_decided(void **state)
{
	struct world *w = *state;
	AUTO(free_ptr)
	char *question = review("migrations.kubevirt.io", "migrationpolicies",
				"", "p", "{\"metadata\":{\"name\":\"p\"}}");

	testapi_say(&w->testapi, (struct testapi_step){ .expect = KUBEVIRTS,
							.kind = TESTAPI_HOLD });
	start_api(w);
	testapi_until_count(&w->testapi, &w->testapi.handled, 1);
	get(w, "/healthz");
	assert_int_equal(w->code, 200);
	get(w, "/readyz");
	assert_int_equal(w->code, 503);
	assert_denied(w, "/migration-policy-validate-create", question, 503,
		      "the KubeVirt object has not been read yet");
}

static void
test_what_cannot_be_read_is_refused(void **state)
{
	struct world *w = *state;
	AUTO(free_ptr) char *question = migration();

	start_ready(w);
	/* Both are sent at once and may arrive either way: each is refused. */
	say(w, NULL, 403, FORBIDDEN);
	say(w, NULL, 403, FORBIDDEN);
	assert_denied(w, "/migration-validate-create", question, 500,
		      "Internal error occurred: cannot read the VMI: you must "
		      "not");
	get(w, "/metrics");
	assert_non_null(strstr(w->text,
			       "ferry_api_requests_total{route=\"migration-"
			       "validate-create\",result=\"failed\"} 1\n"));
}

static void
test_a_pod_that_cannot_be_read_is_not_evicted(void **state)
{
	struct world *w = *state;
	AUTO(free_ptr)
	char *question = review("", "pods", "eviction", "virt-launcher-x",
				"{\"metadata\":{}}");

	start_ready(w);
	say(w, "GET /api/v1/namespaces/n/pods/virt-launcher-x", 403, FORBIDDEN);
	assert_denied(w, "/pod-eviction-validate", question, 429,
		      "kubevirt failed getting the pod: you must not");
}

static void
test_a_mark_that_cannot_be_written_is_told(void **state)
{
	struct world *w = *state;
	AUTO(free_ptr)
	char *question = review("", "pods", "eviction", "virt-launcher-x",
				"{\"metadata\":{}}");

	start_ready(w);
	say(w, "GET /api/v1/namespaces/n/pods/virt-launcher-x", 200,
	    "{\"metadata\":{\"name\":\"virt-launcher-x\",\"namespace\":\"n\","
	    "\"labels\":{\"kubevirt.io\":\"virt-launcher\"},"
	    "\"annotations\":{\"kubevirt.io/domain\":\"x\"}},"
	    "\"spec\":{\"nodeName\":\"n1\"}}");
	say(w, VMI_X, 200,
	    "{\"metadata\":{\"name\":\"x\",\"namespace\":\"n\"},"
	    "\"spec\":{\"evictionStrategy\":\"External\"},"
	    "\"status\":{\"nodeName\":\"n1\"}}");
	say(w, "PATCH /apis/kubevirt.io/v1/namespaces/n/", 422, FORBIDDEN);
	assert_denied(w, "/pod-eviction-validate", question, 429,
		      "kubevirt failed marking the vmi for eviction: you must "
		      "not");
}

/* The answer goes nowhere, and nothing is left of the call. */
static void
test_a_server_that_ends_lets_go_of_what_is_under_way(void **state)
{
	struct world *w = *state;
	AUTO(free_ptr)
	char *question = review("", "pods", "eviction", "virt-launcher-x",
				"{\"metadata\":{}}");

	start_ready(w);
	testapi_say(&w->testapi, (struct testapi_step){ .kind = TESTAPI_HOLD });
	ask(w, "POST", "/pod-eviction-validate", question);
	testapi_until_count(&w->testapi, &w->testapi.handled, 3);
	assert_non_null(w->api->calls);
	api_free(w->api);
	w->api = NULL;
	testapi_until_count(&w->testapi, &w->answers, 2);
	assert_int_equal(w->code, 0);
}

#define CASE(test) \
	cmocka_unit_test_setup_teardown(test, open_world, close_world)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_before_the_settings_are_known_nothing_is_decided),
		CASE(test_what_cannot_be_read_is_refused),
		CASE(test_a_pod_that_cannot_be_read_is_not_evicted),
		CASE(test_a_mark_that_cannot_be_written_is_told),
		CASE(test_a_server_that_ends_lets_go_of_what_is_under_way),
	};

	js_init();
	return cmocka_run_group_tests_name("api", tests, NULL, NULL);
}
