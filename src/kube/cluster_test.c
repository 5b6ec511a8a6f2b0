/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The client against a real ferry-cluster, which $FERRY_CLUSTER names; it is
 * killed and started again while it is in use.
 */

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/loop.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "base/test.h"
#include "kube/client.h"
#include "kube/config.h"
#include "kube/events.h"
#include "kube/informer.h"
#include "kube/leader.h"
#include "kube/obj.h"

#define PATIENCE_MS 60000
#define TICK_US 500
#define NAMES 40

static char dir[] = "/tmp/kube_cluster_XXXXXX";
static pid_t server;
static char listen_at[64]; /* where it was the first time */
static struct loop *loop;
static struct loop_timer *tick;
static bool (*condition)(void *arg);
static void *condition_arg;
static bool met;
static uint64_t waiting_since_ms;
static struct kube_client *client;

static void
on_tick(void *arg)
{
	(void)arg;
	met = condition(condition_arg);
	if (met || loop_now_ms() - waiting_since_ms > PATIENCE_MS)
		loop_stop(loop);
	else
		loop_timer_start(tick, TICK_US);
}

static void
until(bool (*what)(void *arg), void *arg)
{
	condition = what;
	condition_arg = arg;
	waiting_since_ms = loop_now_ms();
	loop_timer_start(tick, 0);
	loop_run(loop);
	if (!met)
		fail_msg("nothing happened for a long time");
}

static pid_t
spawn(char *const argv[], int *ret_out)
{
	int out[2];
	pid_t pid;

	assert_int_equal(pipe(out), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		(void)dup2(out[1], STDOUT_FILENO);
		(void)close(out[0]);
		(void)close(out[1]);
		(void)close(STDERR_FILENO);
		(void)open("/dev/null", O_WRONLY); /* the lowest: stderr */
		(void)execv(argv[0], argv);
		_exit(127);
	}
	(void)close(out[1]);
	*ret_out = out[0];
	return pid;
}

static char *
text(const char *s)
{
	return (char *)(uintptr_t)s;
}

/* Returns when it is ready. */
static void
start_server(void)
{
	char *argv[] = { getenv("FERRY_CLUSTER"),
			 text("serve"),
			 text("--dir"),
			 dir,
			 text("--history"),
			 text("200"),
			 text("--listen"),
			 *listen_at != '\0' ? listen_at : text("127.0.0.1:0"),
			 NULL };
	AUTO(js_unref) json_t *ready = NULL;
	char line[1024] = "";
	const char *url;
	struct err err;
	FILE *file;
	int out;

	server = spawn(argv, &out);
	file = fdopen(out, "r");
	assert_non_null(file);
	assert_non_null(fgets(line, sizeof(line), file));
	(void)fclose(file);
	ready = js_parse(line, strlen(line), &err);
	url = js_str_at(ready, "url");
	assert_true(str_has_prefix(url, "https://"));
	(void)snprintf(listen_at, sizeof(listen_at), "%s",
		       url + strlen("https://"));
}

static void
kill_server(void)
{
	assert_int_equal(kill(server, SIGKILL), 0);
	assert_int_equal(waitpid(server, NULL, 0), server);
	server = 0;
}

static struct kube_client *
new_client(void)
{
	AUTO(free_ptr) char *path = xasprintf("%s/admin.kubeconfig", dir);
	struct kube_flags flags = { .kubeconfig = path };
	struct kube_client_options options = { .loop = loop,
					       .user_agent = "test/1",
					       .qps = 100000,
					       .burst = 100000 };
	struct err err;

	assert_int_equal(kube_config_load(&flags, NULL, &options.config, &err),
			 0);
	return kube_client_new(&options);
}

static int
setup(void **state)
{
	char *argv[] = {
		getenv("FERRY_CLUSTER"), text("init"), text("--dir"), dir,
		text("--port"),          text("0"),    NULL
	};
	int status;
	pid_t pid;
	int out;

	(void)state;
	if (argv[0] == NULL)
		fail_msg("FERRY_CLUSTER does not say where it is");
	(void)memcpy(dir + strlen(dir) - 6, "XXXXXX", 6);
	assert_non_null(mkdtemp(dir));
	listen_at[0] = '\0';
	pid = spawn(argv, &out);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	(void)close(out);
	assert_int_equal(status, 0);
	loop = loop_new();
	tick = loop_timer_new(loop, on_tick, NULL);
	start_server();
	client = new_client();
	return 0;
}

static int
teardown(void **state)
{
	struct err err;

	(void)state;
	kube_client_free(client);
	loop_timer_free(tick);
	loop_free(loop);
	if (server > 0)
		kill_server();
	return path_remove_tree(dir, &err);
}

/* What done was told, the last time. */
struct outcome {
	unsigned count;
	int code;
	json_t *answer;
};

static void
note(const struct kube_result *result, void *arg)
{
	struct outcome *o = arg;

	o->count++;
	o->code = result->code;
	json_decref(o->answer);
	o->answer = json_incref(result->answer);
}

static bool
is_told(void *arg)
{
	return ((const struct outcome *)arg)->count > 0;
}

static int
run(const struct kube_request *request, json_t **ret_answer)
{
	struct outcome o = { 0 };

	(void)kube_send(client, request, note, &o);
	until(is_told, &o);
	if (ret_answer != NULL)
		*ret_answer = o.answer;
	else
		json_decref(o.answer);
	return o.code;
}

static json_t *
config_map(const char *name, int value)
{
	char number[16];

	(void)snprintf(number, sizeof(number), "%d", value);
	return json_pack("{s:s,s:s,s:{s:s},s:{s:s}}", "apiVersion", "v1",
			 "kind", "ConfigMap", "metadata", "name", name, "data",
			 "value", number);
}

static void
test_objects_live_their_life(void **state)
{
	AUTO(js_unref) json_t *made = NULL;
	AUTO(js_unref) json_t *patched = NULL;
	AUTO(js_unref) json_t *body = config_map("a", 1);
	AUTO(js_unref) json_t *patch = json_pack("{s:{s:s}}", "data", "x", "y");
	AUTO(js_unref) json_t *wrong = kube_delete_options("u", NULL, -1);
	struct kube_request request = { .verb = KUBE_CREATE,
					.resource = &kube_configmaps,
					.ns = "default",
					.body = body };

	(void)state;
	request.dry_run = true;
	assert_int_equal(run(&request, NULL), 201);
	request.dry_run = false;
	assert_int_equal(run(&request, &made), 201);
	assert_int_equal(run(&request, NULL), 409);
	request.verb = KUBE_PATCH_MERGE;
	request.name = "a";
	request.body = patch;
	assert_int_equal(run(&request, &patched), 200);
	assert_string_equal(js_str_at(patched, "data.x"), "y");
	/* With the version from before the patch. */
	request.verb = KUBE_UPDATE;
	request.body = made;
	assert_int_equal(run(&request, NULL), 409);
	assert_int_equal(kube_client_stats(client)->conflicts, 1);
	request.verb = KUBE_DELETE;
	request.body = wrong;
	assert_int_equal(run(&request, NULL), 409);
	request.body = NULL;
	assert_int_equal(run(&request, NULL), 200);
	request.verb = KUBE_GET;
	assert_int_equal(run(&request, NULL), 404);
}

/* What the handlers were told, which must be what the cache has. */
struct model {
	struct {
		bool there;
		char uid[64];
		long version;
	} things[NAMES];
	unsigned changes;
};

static unsigned
number_of(const struct cache_object *object)
{
	assert_true(str_has_prefix(object->name, "cm-"));
	return (unsigned)strtoul(object->name + 3, NULL, 10);
}

static void
on_added(const struct cache_object *object, void *arg)
{
	struct model *m = arg;
	unsigned n = number_of(object);

	assert_false(m->things[n].there);
	m->things[n].there = true;
	(void)snprintf(m->things[n].uid, sizeof(m->things[n].uid), "%s",
		       object->uid);
	m->things[n].version = strtol(object->version, NULL, 10);
	m->changes++;
}

static void
on_updated(const struct cache_object *old, const struct cache_object *object,
	   void *arg)
{
	struct model *m = arg;
	unsigned n = number_of(object);
	long version = strtol(object->version, NULL, 10);

	assert_true(m->things[n].there);
	assert_string_equal(m->things[n].uid, object->uid);
	assert_int_equal(m->things[n].version, strtol(old->version, NULL, 10));
	assert_true(version > m->things[n].version);
	m->things[n].version = version;
	m->changes++;
}

static void
on_deleted(const struct cache_object *object, void *arg)
{
	struct model *m = arg;
	unsigned n = number_of(object);

	assert_true(m->things[n].there);
	assert_string_equal(m->things[n].uid, object->uid);
	m->things[n].there = false;
	m->changes++;
}

static bool
is_synced(void *arg)
{
	return informer_has_synced(arg);
}

/* Makes a random change of a random object. */
static void
disturb(unsigned *seed, struct outcome *o)
{
	AUTO(js_unref) json_t *body = NULL;
	char name[16];
	struct kube_request request = { .resource = &kube_configmaps,
					.ns = "default" };

	(void)snprintf(name, sizeof(name), "cm-%d", rand_r(seed) % NAMES);
	body = config_map(name, rand_r(seed));
	switch (rand_r(seed) % 4) {
	case 0:
		request.verb = KUBE_DELETE;
		request.name = name;
		break;
	case 1:
		request.verb = KUBE_CREATE;
		request.body = body;
		break;
	default:
		request.verb = KUBE_PATCH_MERGE;
		request.name = name;
		request.body = body;
		break;
	}
	(void)kube_send(client, &request, note, o);
}

struct goal {
	const unsigned *count;
	unsigned value;
};

static bool
is_reached(void *arg)
{
	const struct goal *goal = arg;

	return *goal->count >= goal->value;
}

struct compare {
	const struct cache *cache;
	const json_t *items;
};

/* Whether the cache has what the server has. */
static bool
is_equal(void *arg)
{
	const struct compare *c = arg;
	const struct cache_object *object;
	const json_t *item;
	size_t i;

	if (cache_count(c->cache) != json_array_size(c->items))
		return false;
	json_array_foreach(c->items, i, item)
	{
		object = cache_get(c->cache, "default", obj_name(item));
		if (object == NULL ||
		    !str_equal(object->version, obj_version(item)))
			return false;
	}
	return true;
}

#define OURS "metadata.name!=kube-root-ca.crt"

static struct informer *
start_informer(struct model *model)
{
	struct informer_config config = { .client = client,
					  .resource = kube_configmaps,
					  .ns = "default",
					  .field_selector = OURS,
					  .page = 7 };
	struct informer_handler handler = { .added = on_added,
					    .updated = on_updated,
					    .deleted = on_deleted,
					    .arg = model };
	struct informer *inf = informer_new(&config);

	informer_add_handler(inf, &handler);
	informer_start(inf);
	until(is_synced, inf);
	return inf;
}

/* Waits until the cache has what the server has, and the handlers know. */
static void
check_informer(const struct informer *inf, const struct model *model)
{
	struct kube_request list = { .resource = &kube_configmaps,
				     .ns = "default",
				     .field_selector = OURS };
	AUTO(js_unref) json_t *answer = NULL;
	struct compare compare;

	assert_int_equal(run(&list, &answer), 200);
	compare = (struct compare){ informer_cache(inf),
				    js_arr_at(answer, "items") };
	until(is_equal, &compare);
	for (unsigned n = 0; n < NAMES; n++) {
		const struct cache_object *object;
		char name[16];

		(void)snprintf(name, sizeof(name), "cm-%u", n);
		object = cache_get(informer_cache(inf), "default", name);
		assert_int_equal(model->things[n].there, object != NULL);
		if (object != NULL)
			assert_int_equal(model->things[n].version,
					 strtol(object->version, NULL, 10));
	}
}

static void
test_an_informer_survives_crashes_and_misses_nothing(void **state)
{
	struct model model = { 0 };
	struct informer *inf = start_informer(&model);
	struct outcome o = { 0 };
	unsigned seed = 7;
	unsigned sent = 0;

	(void)state;
	for (int round = 0; round < 6; round++) {
		struct goal goal = { &o.count, 0 };

		for (int i = 0; i < 300; i++) {
			disturb(&seed, &o);
			sent++;
		}
		/* In the middle of it. */
		goal.value = sent - 150;
		until(is_reached, &goal);
		kill_server();
		start_server();
		goal.value = sent;
		until(is_reached, &goal);
	}
	check_informer(inf, &model);
	assert_true(informer_stats(inf)->watches > 6);
	assert_true(model.changes > 300);
	json_decref(o.answer);
	informer_free(inf);
}

/* What runs on one loop, put aside while another does. */
struct aside {
	struct loop *loop;
	struct loop_timer *tick;
	struct kube_client *client;
};

static struct aside
begin_aside(void)
{
	struct aside aside = { loop, tick, client };

	loop = loop_new();
	tick = loop_timer_new(loop, on_tick, NULL);
	client = new_client();
	return aside;
}

static void
end_aside(const struct aside *aside)
{
	kube_client_free(client);
	loop_timer_free(tick);
	loop_free(loop);
	loop = aside->loop;
	tick = aside->tick;
	client = aside->client;
}

static void
test_an_informer_that_missed_too_much_lists_again(void **state)
{
	struct model model = { 0 };
	struct informer *inf = start_informer(&model);
	struct outcome o = { 0 };
	struct goal goal = { &o.count, 600 };
	unsigned seed = 3;
	struct aside aside;
	unsigned told;

	(void)state;
	for (int i = 0; i < 600; i++)
		disturb(&seed, &o);
	until(is_reached, &goal);
	check_informer(inf, &model);
	assert_int_equal(informer_stats(inf)->lists, 1);
	/* Its connection goes, and while it does not look the server forgets
	 * what it has seen last. */
	kill_server();
	start_server();
	told = model.changes;
	aside = begin_aside();
	for (int i = 0; i < 1000; i++)
		disturb(&seed, &o);
	goal.value = 1600;
	until(is_reached, &goal);
	end_aside(&aside);
	assert_int_equal(model.changes, told);
	check_informer(inf, &model);
	assert_int_equal(informer_stats(inf)->lists, 2);
	assert_true(model.changes > told);
	json_decref(o.answer);
	informer_free(inf);
}

/* Two who want to lead. */
struct reign {
	struct leader *leaders[2];
	unsigned started[2];
	unsigned stopped[2];
};

static struct reign reign;

static void
on_started(void *arg)
{
	unsigned *started = arg;

	(*started)++;
	assert_false(leader_leads(reign.leaders[0]) &&
		     leader_leads(reign.leaders[1]));
}

static void
on_stopped(void *arg)
{
	unsigned *started = arg;

	reign.stopped[started - reign.started]++;
}

static struct leader *
new_leader(unsigned n, struct kube_client *by)
{
	struct leader_config config = { .client = by,
					.ns = "default",
					.name = "lease",
					.identity = n == 0 ? "zero" : "one",
					.lease_ms = 1000,
					.renew_ms = 700,
					.retry_ms = 100,
					.started = on_started,
					.stopped = on_stopped,
					.arg = &reign.started[n] };

	return leader_new(&config);
}

static bool
one_leads(void *arg)
{
	(void)arg;
	assert_false(leader_leads(reign.leaders[0]) &&
		     leader_leads(reign.leaders[1]));
	return leader_leads(reign.leaders[0]) || leader_leads(reign.leaders[1]);
}

static bool
other_leads(void *arg)
{
	assert_false(leader_leads(reign.leaders[0]) &&
		     leader_leads(reign.leaders[1]));
	return leader_leads(arg);
}

static void
count_done(void *arg)
{
	(*(unsigned *)arg)++;
}

static void
test_one_of_two_leads_through_crashes_and_resignations(void **state)
{
	struct kube_client *second = new_client();
	unsigned resigned = 0;
	struct goal goal = { NULL, 1 };
	unsigned first;

	(void)state;
	reign = (struct reign){ 0 };
	reign.leaders[0] = new_leader(0, client);
	reign.leaders[1] = new_leader(1, second);
	until(one_leads, NULL);
	first = leader_leads(reign.leaders[0]) ? 0 : 1;
	/* The server goes for longer than a lease lasts. */
	kill_server();
	goal.count = &reign.stopped[first];
	until(is_reached, &goal);
	assert_false(leader_leads(reign.leaders[first]));
	start_server();
	until(one_leads, NULL);
	/* Who resigns is followed at once. */
	first = leader_leads(reign.leaders[0]) ? 0 : 1;
	leader_stop(reign.leaders[first], count_done, &resigned);
	goal.count = &resigned;
	until(is_reached, &goal);
	until(other_leads, reign.leaders[1 - first]);
	assert_string_equal(leader_holder(reign.leaders[1 - first]),
			    first == 0 ? "one" : "zero");
	leader_free(reign.leaders[0]);
	leader_free(reign.leaders[1]);
	kube_client_free(second);
}

static bool
is_written(void *arg)
{
	const struct kube_client_stats *stats = kube_client_stats(client);

	return stats->requests >= *(const uint64_t *)arg;
}

static void
test_events_arrive(void **state)
{
	struct events *events = events_new_for(client, "tester");
	struct events_ref ref = { "v1", "ConfigMap", "default", "cm", "u" };
	struct kube_request list = {
		.resource = &kube_events,
		.ns = "default",
		.field_selector = "involvedObject.uid=u",
	};
	AUTO(js_unref) json_t *answer = NULL;
	const json_t *items;
	uint64_t writes = 1;

	(void)state;
	events_emit(events, &ref, "Normal", "Reason", "some %s", "text");
	until(is_written, &writes);
	assert_int_equal(run(&list, &answer), 200);
	items = js_arr_at(answer, "items");
	assert_int_equal(json_array_size(items), 1);
	assert_string_equal(js_str_at(json_array_get(items, 0), "message"),
			    "some text");
	events_free(events);
}

static void
test_a_thousand_requests_at_once_are_all_answered(void **state)
{
	struct outcome o = { 0 };
	struct goal goal = { &o.count, 1000 };
	struct kube_request request = { .verb = KUBE_CREATE,
					.resource = &kube_configmaps,
					.ns = "default" };
	AUTO(js_unref) json_t *answer = NULL;
	struct kube_request list = { .resource = &kube_configmaps,
				     .ns = "default" };

	(void)state;
	for (int i = 0; i < 1000; i++) {
		AUTO(js_unref) json_t *body = NULL;
		char name[16];

		(void)snprintf(name, sizeof(name), "many-%d", i);
		body = config_map(name, i);
		request.body = body;
		(void)kube_send(client, &request, note, &o);
	}
	until(is_reached, &goal);
	assert_int_equal(kube_client_stats(client)->failed, 0);
	assert_int_equal(kube_client_stats(client)->in_flight, 0);
	assert_int_equal(run(&list, &answer), 200);
	/* And the namespace's own. */
	assert_int_equal(json_array_size(js_arr_at(answer, "items")), 1001);
	json_decref(o.answer);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_objects_live_their_life),
		TEST(test_an_informer_survives_crashes_and_misses_nothing),
		TEST(test_an_informer_that_missed_too_much_lists_again),
		TEST(test_one_of_two_leads_through_crashes_and_resignations),
		TEST(test_events_arrive),
		TEST(test_a_thousand_requests_at_once_are_all_answered),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	js_init();
	return cmocka_run_group_tests_name("cluster", tests, NULL, NULL);
}
