/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Tasks, the worker and api together, and the recorder on top, against a server
 * that is played here.
 */

#include "cluster/control/task.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/jsat.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/test.h"
#include "cluster/control/api.h"
#include "cluster/control/recorder.h"
#include "cluster/server/client.h"
#include "kube/worker.h"

#define REQUESTS_MAX 16

/* What the server has been asked, and who waits for an answer. */
static struct {
	struct {
		char method[8];
		char path[128];
		json_t *body;
		void (*done)(int code, const json_t *answer, void *arg);
		void *arg;
	} requests[REQUESTS_MAX];
	size_t count;
	int at_once; /* the code to answer with from inside, 0: later */
} played;

void
client_request(struct server *server, const struct client_call *what,
	       void (*done)(int code, const json_t *answer, void *arg),
	       void *arg)
{
	size_t i = played.count++;

	(void)server;
	assert_true(i < REQUESTS_MAX);
	assert_string_equal(what->user, "me");
	(void)snprintf(played.requests[i].method, sizeof("DELETE"), "%s",
		       what->method);
	(void)snprintf(played.requests[i].path, sizeof(played.requests[i].path),
		       "%s", what->path);
	played.requests[i].body = json_deep_copy(what->body);
	played.requests[i].done = done;
	played.requests[i].arg = arg;
	if (played.at_once != 0)
		done(played.at_once, NULL, arg);
}

static void
answer(size_t i, int code)
{
	played.requests[i].done(code, NULL, played.requests[i].arg);
}

struct world {
	struct loop *loop;
	struct api *api;
	struct worker *worker;
	int works;    /* how often work() was called */
	int requests; /* how many it sends each time */
	bool again;
};

static void
work(const char *key, void *arg)
{
	struct world *w = arg;
	struct task *task = task_new(w->worker, w->api, key);

	w->works++;
	task->again = w->again;
	w->again = false;
	for (int i = 0; i < w->requests; i++)
		task_send(task,
			  &(struct api_call){ .method = "PUT", .path = "/x" });
	task_close(task);
}

static int
setup(void **state)
{
	struct world *w = xmalloc0(sizeof(*w));

	memset(&played, 0, sizeof(played));
	w->loop = loop_new();
	w->api = api_new(NULL, "me");
	w->worker = worker_new(&(struct worker_config){
		.loop = w->loop, .parallel = 2, .work = work, .arg = w });
	*state = w;
	return 0;
}

static int
teardown(void **state)
{
	struct world *w = *state;

	api_close(w->api);
	worker_free(w->worker);
	api_free(w->api);
	loop_free(w->loop);
	for (size_t i = 0; i < played.count; i++)
		json_decref(played.requests[i].body);
	free(w);
	return 0;
}

/* Lets the worker do all that is due; its timers need a turn each. */
static void
turn(struct world *w)
{
	for (int i = 0; i < 5; i++)
		loop_poll(w->loop);
}

static void
test_work_begins_from_the_loop_and_once_for_a_key(void **state)
{
	struct world *w = *state;

	worker_add(w->worker, "a");
	worker_add(w->worker, "a");
	assert_int_equal(w->works, 0);
	turn(w);
	assert_int_equal(w->works, 1);
	worker_add(w->worker, "a");
	turn(w);
	assert_int_equal(w->works, 2);
}

static void
test_a_task_lasts_until_all_answers_are_there(void **state)
{
	struct world *w = *state;

	w->requests = 2;
	worker_add(w->worker, "a");
	turn(w);
	assert_int_equal(played.count, 2);
	worker_add(w->worker, "a");
	answer(1, 200);
	turn(w);
	assert_int_equal(w->works, 1);
	answer(0, 201);
	turn(w);
	assert_int_equal(w->works, 2);
	answer(2, 200);
	answer(3, 200);
}

static void
test_only_so_many_are_worked_on_at_a_time(void **state)
{
	struct world *w = *state;

	w->requests = 1;
	worker_add(w->worker, "a");
	worker_add(w->worker, "b");
	worker_add(w->worker, "c");
	turn(w);
	assert_int_equal(w->works, 2);
	answer(0, 200);
	turn(w);
	assert_int_equal(w->works, 3);
	answer(1, 200);
	answer(2, 200);
}

static void
test_a_failure_is_tried_again_but_not_at_once(void **state)
{
	struct world *w = *state;

	played.at_once = 409;
	w->requests = 1;
	worker_add(w->worker, "a");
	turn(w);
	assert_int_equal(w->works, 1);
	played.at_once = 404;
	/* As a new event would, this does not wait for the pause. */
	worker_add(w->worker, "a");
	turn(w);
	assert_int_equal(w->works, 2);
	turn(w);
	assert_int_equal(w->works, 2);
}

static void
test_a_task_may_ask_for_another_turn(void **state)
{
	struct world *w = *state;

	played.at_once = 200;
	w->requests = 1;
	w->again = true;
	worker_add(w->worker, "a");
	turn(w);
	assert_int_equal(w->works, 2);
}

static int ended_with;

static void
note_end(int code, const json_t *body, void *arg)
{
	(void)body;
	(void)arg;
	ended_with = code;
}

static void
test_what_is_in_flight_ends_when_the_controller_does(void **state)
{
	struct world *w = *state;
	struct api_call call = { .method = "GET",
				 .path = "/x",
				 .done = note_end };

	ended_with = -1;
	api_send(w->api, &call);
	api_close(w->api);
	assert_int_equal(ended_with, 0);
	/* The server does not know, and answers. */
	answer(0, 200);
	assert_int_equal(ended_with, 0);
	ended_with = -1;
	call.body = json_object();
	api_send(w->api, &call);
	assert_int_equal(ended_with, 0);
	assert_int_equal(played.count, 1);
}

static void
test_the_same_news_is_one_event(void **state)
{
	struct world *w = *state;
	struct events *r = recorder_new(w->loop, w->api, "tester");
	struct events_ref pod = { "v1", "Pod", "ns", "p", "u" };
	struct events_ref node = { "v1", "Node", "", "n", "u" };

	played.at_once = 201;
	events_emit(r, &pod, "Warning", "Bad", "no %s", "luck");
	events_emit(r, &pod, "Warning", "Bad", "no %s", "luck");
	assert_int_equal(played.count, 1);
	events_emit(r, &pod, "Warning", "Bad", "no %s", "idea");
	events_emit(r, &node, "Normal", "Good", "ok");
	assert_int_equal(played.count, 3);
	assert_string_equal(played.requests[0].path,
			    "/api/v1/namespaces/ns/events");
	assert_string_equal(js_str_at(played.requests[0].body, "message"),
			    "no luck");
	assert_string_equal(
		js_str_at(played.requests[0].body, "involvedObject.namespace"),
		"ns");
	assert_string_equal(
		js_str_at(played.requests[0].body, "source.component"),
		"tester");
	assert_string_equal(played.requests[2].path,
			    "/api/v1/namespaces/default/events");
	assert_null(js_at(played.requests[2].body, "involvedObject.namespace"));
	events_free(r);
}

static void
test_a_long_message_is_cut_between_characters(void **state)
{
	struct world *w = *state;
	struct events *r = recorder_new(w->loop, w->api, "tester");
	struct events_ref pod = { "v1", "Pod", "ns", "p", "u" };
	char text[3001];

	played.at_once = 201;
	for (size_t i = 0; i < 3000; i += 2)
		memcpy(text + i, "\xc3\xa4", 2);
	text[3000] = '\0';
	events_emit(r, &pod, "Normal", "Long", "%s", text);
	assert_non_null(played.requests[0].body);
	assert_in_range(strlen(js_str_at(played.requests[0].body, "message")),
			900, 1024);
	assert_int_equal(
		strlen(js_str_at(played.requests[0].body, "message")) % 2, 0);
	events_free(r);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_work_begins_from_the_loop_and_once_for_a_key),
		TEST(test_a_task_lasts_until_all_answers_are_there),
		TEST(test_only_so_many_are_worked_on_at_a_time),
		TEST(test_a_failure_is_tried_again_but_not_at_once),
		TEST(test_a_task_may_ask_for_another_turn),
		TEST(test_what_is_in_flight_ends_when_the_controller_does),
		TEST(test_the_same_news_is_one_event),
		TEST(test_a_long_message_is_cut_between_characters),
	};

	return cmocka_run_group_tests_name("task", tests, NULL, NULL);
}
