/* SPDX-License-Identifier: Apache-2.0 */
#include "webhook/pause.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/js.h"
#include "base/jsat.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/test.h"
#include "kube/client.h"
#include "kube/obj.h"
#include "kube/testapi.h"
#include "meta/status.h"

#define VMI "/apis/kubevirt.io/v1/namespaces/n/virtualmachineinstances"

struct world {
	struct testapi api;
	struct kube_client *client;
	struct pause *pause;
	unsigned ends;
	int code;
	char *message;
};

static int
open_world(void **state)
{
	struct world *w = xmalloc0(sizeof(*w));

	testapi_start(&w->api);
	w->client = testapi_client(&w->api, NULL);
	*state = w;
	return 0;
}

static int
close_world(void **state)
{
	struct world *w = *state;

	pause_free(w->pause);
	kube_client_free(w->client);
	testapi_stop(&w->api);
	free(w->message);
	free_ptr(state);
	return 0;
}

static void
ended(const struct status *st, void *arg)
{
	struct world *w = arg;

	w->ends++;
	w->code = st->code;
	w->message = xstrdup(st->message == NULL ? "" : st->message);
}

static void
start(struct world *w, bool dry_run)
{
	const struct pause_config config = {
		.client = w->client,
		.ns = "n",
		.name = "m",
		.pause = true,
		.dry_run = dry_run,
		.done = ended,
		.arg = w,
	};

	w->pause = pause_start(&config);
}

/* The id that was asked with; of the first request. */
static char *
asked_id(const struct world *w)
{
	AUTO(js_unref) json_t *body = json_loads(w->api.bodies[0], 0, NULL);
	const char *id = obj_annotation(body, "ferry.io/pause-request-id");

	assert_non_null(id);
	assert_string_equal(obj_annotation(body, "ferry.io/pause-requested"),
			    "true");
	return xstrdup(id);
}

/* The machine with the request, and the answer with what else it says. */
static char *
machine(const char *id, const char *answered, const char *failure)
{
	return xasprintf(
		"{\"metadata\":{\"name\":\"m\",\"resourceVersion\":\"5\","
		"\"annotations\":{\"ferry.io/pause-request-id\":\"%s\","
		"\"ferry.io/pause-answered\":\"%s\","
		"\"ferry.io/pause-failure\":\"%s\"}}}",
		id, answered, failure);
}

/* Begins, and has the request answered by a machine that says nothing yet. */
static char *
begin(struct world *w)
{
	AUTO(free_ptr) char *body = NULL;
	char *id;

	testapi_say(&w->api, (struct testapi_step){ .expect = "PATCH " VMI "/m",
						    .kind = TESTAPI_HOLD });
	start(w, false);
	testapi_until_count(&w->api, &w->api.handled, 1);
	id = asked_id(w);
	body = machine(id, "", "");
	testapi_say(&w->api, (struct testapi_step){ .expect = "GET " VMI "?",
						    .kind = TESTAPI_STREAM });
	testapi_answer(&w->api, body);
	testapi_until_count(&w->api, &w->api.handled, 2);
	return id;
}

static void
tell(struct world *w, const char *type, const char *object)
{
	AUTO(free_ptr)
	char *event =
		xasprintf("{\"type\":\"%s\",\"object\":%s}\n", type, object);

	testapi_stream(&w->api, event);
}

static void
test_it_is_over_when_the_agent_has_answered(void **state)
{
	struct world *w = *state;
	AUTO(free_ptr) char *id = begin(w);
	AUTO(free_ptr) char *earlier = machine(id, "another", "old");
	AUTO(free_ptr) char *done = machine(id, id, "");

	assert_non_null(
		strstr(w->api.requests[1], "fieldSelector=metadata.name%3Dm"));
	/* What was answered before is not the answer to this. */
	tell(w, "MODIFIED", earlier);
	testapi_spend(&w->api, 20);
	assert_int_equal(w->ends, 0);
	tell(w, "MODIFIED", done);
	testapi_until_count(&w->api, &w->ends, 1);
	assert_int_equal(w->code, 0);
}

static void
test_a_failure_is_told(void **state)
{
	struct world *w = *state;
	AUTO(free_ptr) char *id = begin(w);
	AUTO(free_ptr) char *failed = machine(id, id, "no domain");

	tell(w, "MODIFIED", failed);
	testapi_until_count(&w->api, &w->ends, 1);
	assert_int_equal(w->code, 500);
	assert_string_equal(w->message, "Internal error occurred: no domain");
}

static void
test_another_request_ends_it(void **state)
{
	struct world *w = *state;
	AUTO(free_ptr) char *other = machine("other", "", "");

	free(begin(w));
	tell(w, "MODIFIED", other);
	testapi_until_count(&w->api, &w->ends, 1);
	assert_int_equal(w->code, 500);
}

static void
test_a_machine_that_is_deleted_ends_it(void **state)
{
	struct world *w = *state;
	AUTO(free_ptr) char *id = begin(w);
	AUTO(free_ptr) char *gone = machine(id, "", "");

	tell(w, "DELETED", gone);
	testapi_until_count(&w->api, &w->ends, 1);
	assert_string_equal(w->message,
			    "Internal error occurred: the machine is gone");
}

/* A watch that ends is taken up by looking again. */
static void
test_an_answer_between_two_watches_is_seen(void **state)
{
	struct world *w = *state;
	AUTO(free_ptr) char *id = begin(w);
	AUTO(free_ptr) char *done = machine(id, id, "");

	testapi_say(&w->api, (struct testapi_step){ .expect = "GET " VMI "/m",
						    .body = done });
	testapi_end_stream(&w->api);
	testapi_until_count(&w->api, &w->ends, 1);
	assert_int_equal(w->code, 0);
}

/* As one does that is overloaded, or has thrown away its history. */
static void
test_a_server_that_ends_each_watch_at_once_is_not_asked_all_the_time(
	void **state)
{
	struct world *w = *state;
	AUTO(free_ptr) char *id = begin(w);
	AUTO(free_ptr) char *waits = machine(id, "", "");
	uint64_t began_ms = loop_now_ms();

	for (int i = 0; i < 3; i++) {
		testapi_say(&w->api,
			    (struct testapi_step){ .expect = "GET " VMI "/m",
						   .body = waits });
		testapi_say(&w->api,
			    (struct testapi_step){ .expect = "GET " VMI "?",
						   .kind = TESTAPI_STREAM });
		testapi_end_stream(&w->api);
		testapi_until_count(&w->api, &w->api.handled,
				    2 + 2 * ((unsigned)i + 1));
	}
	assert_true(loop_now_ms() - began_ms >= 3 * 200);
	assert_int_equal(w->ends, 0);
}

static void
test_a_dry_run_waits_for_nobody(void **state)
{
	struct world *w = *state;

	testapi_say(&w->api, (struct testapi_step){
				     .expect = "PATCH " VMI "/m?dryRun=All",
				     .body = "{\"metadata\":{}}" });
	start(w, true);
	testapi_until_count(&w->api, &w->ends, 1);
	assert_int_equal(w->code, 0);
}

static void
test_a_request_that_is_refused_ends_it(void **state)
{
	struct world *w = *state;

	testapi_say(&w->api,
		    (struct testapi_step){ .code = 403,
					   .body = "{\"kind\":\"Status\","
						   "\"message\":\"no\"}" });
	start(w, false);
	testapi_until_count(&w->api, &w->ends, 1);
	assert_int_equal(w->code, 500);
	assert_string_equal(w->message, "Internal error occurred: no");
}

#define CASE(test) \
	cmocka_unit_test_setup_teardown(test, open_world, close_world)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_it_is_over_when_the_agent_has_answered),
		CASE(test_a_failure_is_told),
		CASE(test_another_request_ends_it),
		CASE(test_a_machine_that_is_deleted_ends_it),
		CASE(test_an_answer_between_two_watches_is_seen),
		CASE(test_a_server_that_ends_each_watch_at_once_is_not_asked_all_the_time),
		CASE(test_a_dry_run_waits_for_nobody),
		CASE(test_a_request_that_is_refused_ends_it),
	};

	js_init();
	return cmocka_run_group_tests_name("pause", tests, NULL, NULL);
}
