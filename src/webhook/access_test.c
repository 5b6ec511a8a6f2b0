/* SPDX-License-Identifier: Apache-2.0 */
#include "webhook/access.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/js.h"
#include "base/mem.h"
#include "base/test.h"
#include "kube/client.h"
#include "kube/testapi.h"

#define ASKED "POST /apis/authorization.k8s.io/v1/subjectaccessreviews"

struct world {
	struct testapi api;
	struct kube_client *client;
	struct access *access;
	unsigned answers;
	enum access_answer last;
	char text[256];
};

static int
open_world(void **state)
{
	struct world *w = xmalloc0(sizeof(*w));

	testapi_start(&w->api);
	w->client = testapi_client(&w->api, NULL);
	w->access = access_new(w->client);
	*state = w;
	return 0;
}

static int
close_world(void **state)
{
	struct world *w = *state;

	access_free(w->access);
	kube_client_free(w->client);
	testapi_stop(&w->api);
	free_ptr(state);
	return 0;
}

static void
answered(enum access_answer answer, const char *text, void *arg)
{
	struct world *w = arg;

	w->answers++;
	w->last = answer;
	(void)strncpy(w->text, text, sizeof(w->text) - 1);
}

static struct access_wait *
ask(struct world *w, const char *user, const char *name)
{
	AUTO(js_unref)
	json_t *who = json_pack("{s:s, s:[s]}", "user", user, "groups", "g");
	const struct access_question question = {
		.user = who,
		.verb = "update",
		.group = "subresources.kubevirt.io",
		.version = "v1",
		.resource = "virtualmachines",
		.subresource = "start",
		.ns = "n",
		.name = name,
	};

	return access_ask(w->access, &question, answered, w);
}

static void
say(struct world *w, const char *body)
{
	testapi_say(&w->api, (struct testapi_step){ .expect = ASKED,
						    .code = 201,
						    .body = body });
}

static void
test_an_answer_is_asked_for_once_and_kept(void **state)
{
	struct world *w = *state;

	say(w, "{\"status\":{\"allowed\":true,\"reason\":\"a role\"}}");
	say(w, "{\"status\":{\"allowed\":false}}");
	assert_non_null(ask(w, "anna", "m"));
	testapi_until_count(&w->api, &w->answers, 1);
	assert_int_equal(w->last, ACCESS_ALLOWED);
	assert_string_equal(w->text, "a role");
	assert_non_null(strstr(w->api.bodies[0], "\"user\":\"anna\""));
	assert_non_null(strstr(w->api.bodies[0], "\"subresource\":\"start\""));
	/* The same again is known. */
	assert_null(ask(w, "anna", "m"));
	assert_int_equal(w->answers, 2);
	assert_int_equal(w->api.handled, 1);
	/* Another user is another question. */
	assert_non_null(ask(w, "bert", "m"));
	testapi_until_count(&w->api, &w->answers, 3);
	assert_int_equal(w->last, ACCESS_DENIED);
	assert_null(ask(w, "bert", "m"));
	assert_int_equal(w->last, ACCESS_DENIED);
}

static void
test_a_failure_is_not_kept(void **state)
{
	struct world *w = *state;

	testapi_say(&w->api, (struct testapi_step){ .expect = ASKED,
						    .code = 403,
						    .body = "{\"kind\":"
							    "\"Status\","
							    "\"message\":"
							    "\"no\"}" });
	say(w, "{\"status\":7}");
	say(w, "{\"status\":{\"allowed\":true}}");
	(void)ask(w, "anna", "m");
	testapi_until_count(&w->api, &w->answers, 1);
	assert_int_equal(w->last, ACCESS_FAILED);
	assert_string_equal(w->text, "no");
	(void)ask(w, "anna", "m");
	testapi_until_count(&w->api, &w->answers, 2);
	assert_int_equal(w->last, ACCESS_FAILED);
	(void)ask(w, "anna", "m");
	testapi_until_count(&w->api, &w->answers, 3);
	assert_int_equal(w->last, ACCESS_ALLOWED);
}

static void
test_who_does_not_wait_is_not_called(void **state)
{
	struct world *w = *state;

	testapi_say(&w->api, (struct testapi_step){ .expect = ASKED,
						    .kind = TESTAPI_HOLD });
	access_cancel(ask(w, "anna", "m"));
	testapi_spend(&w->api, 20);
	assert_int_equal(w->answers, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_an_answer_is_asked_for_once_and_kept, open_world,
			close_world),
		cmocka_unit_test_setup_teardown(test_a_failure_is_not_kept,
						open_world, close_world),
		cmocka_unit_test_setup_teardown(
			test_who_does_not_wait_is_not_called, open_world,
			close_world),
	};

	js_init();
	return cmocka_run_group_tests_name("access", tests, NULL, NULL);
}
