/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/events.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/test.h"
#include "kube/client.h"
#include "kube/testapi.h"
#include "meta/time.h"

#define WRITES_MAX 64

/* What was written, instead of to a server. */
static struct {
	char *method;
	char *path;
	json_t *body;
} writes[WRITES_MAX];
static unsigned write_count;

static struct loop *loop;
static struct events *events;

static const struct events_ref vmi = { "kubevirt.io/v1",
				       "VirtualMachineInstance", "w", "vm1",
				       "u1" };

static void
on_write(const struct events_write *write, void *arg)
{
	(void)arg;
	assert_true(write_count < WRITES_MAX);
	writes[write_count].method = xstrdup(write->method);
	writes[write_count].path = xstrdup(write->path);
	writes[write_count].body = json_incref(write->body);
	write_count++;
}

#define REPEAT_MS 40
#define OTHER_SECOND_MS 1100

static int
setup(void **state)
{
	struct events_config config = { .component = "virt-controller",
					.write = on_write };

	(void)state;
	loop = loop_new();
	config.loop = loop;
	events = events_new(&config);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	events_free(events);
	loop_free(loop);
	for (unsigned i = 0; i < write_count; i++) {
		free(writes[i].method);
		free(writes[i].path);
		json_decref(writes[i].body);
	}
	write_count = 0;
	return 0;
}

static const char *
text(unsigned i, const char *path)
{
	return js_str_at(writes[i].body, path);
}

static void
test_an_event_says_what_about_whom_and_by_whom(void **state)
{
	(void)state;
	events_emit(events, &vmi, "Warning", "FailedMigration", "reason: %s",
		    "none");
	assert_int_equal(write_count, 1);
	assert_string_equal(writes[0].method, "POST");
	assert_string_equal(writes[0].path, "/api/v1/namespaces/w/events");
	assert_true(str_has_prefix(text(0, "metadata.name"), "vm1."));
	assert_string_equal(text(0, "metadata.namespace"), "w");
	assert_string_equal(text(0, "type"), "Warning");
	assert_string_equal(text(0, "reason"), "FailedMigration");
	assert_string_equal(text(0, "message"), "reason: none");
	assert_string_equal(text(0, "source.component"), "virt-controller");
	assert_string_equal(text(0, "involvedObject.kind"),
			    "VirtualMachineInstance");
	assert_string_equal(text(0, "involvedObject.apiVersion"),
			    "kubevirt.io/v1");
	assert_string_equal(text(0, "involvedObject.namespace"), "w");
	assert_string_equal(text(0, "involvedObject.name"), "vm1");
	assert_string_equal(text(0, "involvedObject.uid"), "u1");
	assert_int_equal(js_int_at(writes[0].body, "count", 0), 1);
	assert_string_equal(text(0, "firstTimestamp"),
			    text(0, "lastTimestamp"));
}

/* Its count would be written to what is not there, until it is forgotten. */
static void
test_an_event_whose_write_failed_is_written_anew(void **state)
{
	AUTO(free_ptr) char *path = NULL;

	(void)state;
	events_emit(events, &vmi, "Normal", "R", "same");
	events_emit(events, &vmi, "Normal", "R", "same");
	assert_int_equal(write_count, 1);
	path = xasprintf("%s/%s", writes[0].path, text(0, "metadata.name"));
	events_lost(events, "/api/v1/namespaces/w/events/another");
	events_emit(events, &vmi, "Normal", "R", "same");
	assert_int_equal(write_count, 1);
	events_lost(events, path);
	assert_int_equal(events_stats(events)->lost, 1);
	events_emit(events, &vmi, "Normal", "R", "same");
	assert_int_equal(write_count, 2);
	assert_string_equal(writes[1].method, "POST");
}

static void
test_an_object_without_namespace_has_its_events_in_default(void **state)
{
	struct events_ref node = { "v1", "Node", "", "n1", "u" };

	(void)state;
	events_emit(events, &node, "Normal", "R", "m");
	assert_string_equal(writes[0].path,
			    "/api/v1/namespaces/default/events");
	assert_null(js_at(writes[0].body, "involvedObject.namespace"));
}

static void
test_the_same_news_is_counted_and_not_written_each_time(void **state)
{
	(void)state;
	for (int i = 0; i < 100; i++)
		events_emit(events, &vmi, "Normal", "R", "same");
	loop_poll(loop);
	assert_int_equal(write_count, 1);
	assert_int_equal(events_stats(events)->emitted, 100);
	/* Another type, reason, text or object is other news. */
	events_emit(events, &vmi, "Warning", "R", "same");
	events_emit(events, &vmi, "Normal", "S", "same");
	events_emit(events, &vmi, "Normal", "R", "other");
	assert_int_equal(write_count, 4);
	for (unsigned i = 1; i < write_count; i++)
		assert_string_not_equal(text(i, "metadata.name"),
					text(0, "metadata.name"));
}

static void
until_written(unsigned count)
{
	uint64_t start = loop_now_ms();

	while (write_count < count) {
		loop_poll(loop);
		if (loop_now_ms() - start > 10000)
			fail_msg("it was not written");
	}
}

static void
test_the_count_is_written_when_its_time_has_come(void **state)
{
	struct events_config config = { .loop = loop,
					.component = "c",
					.write = on_write,
					.repeat_ms = REPEAT_MS };
	struct events *soon = events_new(&config);
	uint64_t start = loop_now_ms();
	char *path;

	(void)state;
	for (int i = 0; i < 5; i++)
		events_emit(soon, &vmi, "Normal", "R", "same");
	assert_int_equal(write_count, 1);
	until_written(2);
	assert_true(loop_now_ms() - start >= REPEAT_MS);
	path = xasprintf("/api/v1/namespaces/w/events/%s",
			 text(0, "metadata.name"));
	assert_string_equal(writes[1].method, "PATCH");
	assert_string_equal(writes[1].path, path);
	assert_int_equal(js_int_at(writes[1].body, "count", 0), 5);
	assert_true(*text(1, "lastTimestamp") != '\0');
	assert_null(js_at(writes[1].body, "message"));
	/* One more, and nothing but that. */
	events_emit(soon, &vmi, "Normal", "R", "same");
	until_written(3);
	assert_int_equal(js_int_at(writes[2].body, "count", 0), 6);
	assert_int_equal(events_stats(soon)->written, 3);
	free(path);
	events_free(soon);
}

static void
test_a_repeat_was_seen_when_it_was_seen_not_when_it_is_written(void **state)
{
	struct events_config config = { .loop = loop,
					.component = "c",
					.write = on_write,
					.repeat_ms = OTHER_SECOND_MS };
	struct events *later = events_new(&config);
	char seen[TIME_TEXT_SIZE];

	(void)state;
	events_emit(later, &vmi, "Normal", "R", "same");
	events_emit(later, &vmi, "Normal", "R", "same");
	(void)time_now_text(seen);
	until_written(2);
	assert_int_equal(js_int_at(writes[1].body, "count", 0), 2);
	assert_true(strcmp(text(1, "lastTimestamp"), seen) <= 0);
	events_free(later);
}

static void
test_many_messages_of_a_kind_become_one_event(void **state)
{
	(void)state;
	for (int i = 0; i < 30; i++)
		events_emit(events, &vmi, "Normal", "R", "number %d", i);
	assert_int_equal(write_count, EVENTS_SIMILAR_MAX + 1);
	assert_string_equal(text(EVENTS_SIMILAR_MAX, "message"),
			    "(combined from similar events): number 10");
	assert_int_equal(events_stats(events)->combined, 20);
	/* Those that are known are themselves still. */
	events_emit(events, &vmi, "Normal", "R", "number 3");
	assert_int_equal(events_stats(events)->combined, 20);
}

static void
test_an_object_has_a_budget_and_others_have_theirs(void **state)
{
	struct events_ref other = vmi;
	char reason[16];

	(void)state;
	for (int i = 0; i < 40; i++) {
		(void)snprintf(reason, sizeof(reason), "R%d", i);
		events_emit(events, &vmi, "Normal", reason, "m");
	}
	assert_int_equal(write_count, EVENTS_BURST);
	assert_int_equal(events_stats(events)->dropped, 40 - EVENTS_BURST);
	other.uid = "u2";
	events_emit(events, &other, "Normal", "R", "m");
	assert_int_equal(write_count, EVENTS_BURST + 1);
}

static void
test_long_texts_are_cut_between_characters(void **state)
{
	char *name = xmalloc0(254);
	struct events_ref ref = vmi;
	char *message = xmalloc0(6001);
	size_t len;

	(void)state;
	memset(name, 'n', 253);
	ref.name = name;
	for (size_t i = 0; i < 6000; i += 3)
		memcpy(message + i, "\xe2\x82\xac", 3); /* the euro sign */
	events_emit(events, &ref, "Normal", "R", "%s", message);
	len = strlen(text(0, "message"));
	assert_in_range(len, 900, EVENTS_MESSAGE_MAX);
	assert_int_equal(len % 3, 0);
	assert_int_equal(strlen(text(0, "metadata.name")), 253);
	assert_string_equal(text(0, "involvedObject.name"), name);
	free(message);
	free(name);
}

static void
test_what_is_remembered_is_limited(void **state)
{
	struct events_ref ref = vmi;
	char uid[32];

	(void)state;
	for (int i = 0; i < 2 * EVENTS_KEPT; i++) {
		(void)snprintf(uid, sizeof(uid), "u%d", i);
		ref.uid = uid;
		events_emit(events, &ref, "Normal", "R", "m");
		free(writes[0].method);
		free(writes[0].path);
		json_decref(writes[0].body);
		write_count = 0;
	}
	/* The first is forgotten, and so it is new. */
	ref.uid = "u0";
	events_emit(events, &ref, "Normal", "R", "m");
	assert_int_equal(write_count, 1);
}

static void
test_a_client_writes_them(void **state)
{
	struct testapi api;
	struct kube_client *client;
	struct events *by_client;

	(void)state;
	testapi_start(&api);
	client = testapi_client(&api, NULL);
	by_client = events_new_for(client, "virt-controller");
	testapi_say(&api, (struct testapi_step){
				  .expect = "POST /api/v1/namespaces/w/events",
				  .code = 201,
				  .body = "{}" });
	events_emit(by_client, &vmi, "Normal", "R", "m");
	testapi_until_count(&api, &api.handled, 1);
	assert_true(strstr(api.bodies[0], "\"message\":\"m\"") != NULL);
	events_free(by_client);
	kube_client_free(client);
	testapi_stop(&api);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_an_event_says_what_about_whom_and_by_whom),
		TEST(test_an_object_without_namespace_has_its_events_in_default),
		TEST(test_an_event_whose_write_failed_is_written_anew),
		TEST(test_the_same_news_is_counted_and_not_written_each_time),
		TEST(test_the_count_is_written_when_its_time_has_come),
		TEST(test_a_repeat_was_seen_when_it_was_seen_not_when_it_is_written),
		TEST(test_many_messages_of_a_kind_become_one_event),
		TEST(test_an_object_has_a_budget_and_others_have_theirs),
		TEST(test_long_texts_are_cut_between_characters),
		TEST(test_what_is_remembered_is_limited),
		TEST(test_a_client_writes_them),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	js_init();
	return cmocka_run_group_tests_name("events", tests, NULL, NULL);
}
