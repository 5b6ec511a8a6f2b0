/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/informer.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/test.h"
#include "kube/testapi.h"

#define LIST(version, more, items)                                           \
	"{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"" version \
	"\",\"continue\":\"" more "\"},\"items\":[" items "]}"
#define POD(name, uid, version)                               \
	"{\"metadata\":{\"namespace\":\"w\",\"name\":\"" name \
	"\",\"uid\":\"" uid "\",\"resourceVersion\":\"" version "\"}}"
#define EVENT(type, object) "{\"type\":\"" type "\",\"object\":" object "}\n"
#define GONE                                                               \
	"{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"message\":" \
	"\"too old\",\"reason\":\"Expired\",\"code\":410}}\n"
#define PODS "/api/v1/pods"

static struct testapi api;
static struct kube_client *client;
static struct informer *inf;
static char story[4096];
static unsigned changes;
static unsigned synced;
static unsigned failed;
static bool stop_at_change;

static void
add_line(const char *what, const struct cache_object *old,
	 const struct cache_object *object)
{
	size_t len = strlen(story);

	(void)snprintf(story + len, sizeof(story) - len, "%s %s %s%s%s\n", what,
		       object->name, old != NULL ? old->version : "",
		       old != NULL ? "-" : "", object->version);
	changes++;
	if (stop_at_change)
		informer_stop(inf);
}

static void
on_added(const struct cache_object *object, void *arg)
{
	(void)arg;
	add_line("added", NULL, object);
}

static void
on_updated(const struct cache_object *old, const struct cache_object *object,
	   void *arg)
{
	(void)arg;
	add_line("updated", old, object);
}

static void
on_deleted(const struct cache_object *object, void *arg)
{
	(void)arg;
	add_line("deleted", NULL, object);
}

static void
on_synced(void *arg)
{
	(void)arg;
	synced++;
}

static void
on_failed(const char *why, void *arg)
{
	(void)arg;
	assert_true(str_has_prefix(why, "cannot "));
	failed++;
}

static const struct informer_handler handler = {
	.added = on_added,
	.updated = on_updated,
	.deleted = on_deleted,
	.synced = on_synced,
	.failed = on_failed,
};

/* Instead of the one there is, if any. */
static void
use_options(const struct kube_client_options *options)
{
	struct informer_config config = { .resource = kube_pods };

	informer_free(inf);
	kube_client_free(client);
	client = testapi_client(&api, options);
	config.client = client;
	inf = informer_new(&config);
	informer_add_handler(inf, &handler);
}

static int
setup(void **state)
{
	(void)state;
	testapi_start(&api);
	use_options(NULL);
	story[0] = '\0';
	changes = 0;
	synced = 0;
	failed = 0;
	stop_at_change = false;
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	informer_free(inf);
	kube_client_free(client);
	inf = NULL;
	client = NULL;
	testapi_stop(&api);
	return 0;
}

static void
reply(const char *expect, const char *body)
{
	testapi_say(&api,
		    (struct testapi_step){ .expect = expect, .body = body });
}

static void
stream(const char *expect, const char *body)
{
	testapi_say(&api, (struct testapi_step){ .expect = expect,
						 .kind = TESTAPI_STREAM,
						 .body = body });
}

/* Starts it with a list of a and b, and an open watch. */
static void
begin(void)
{
	reply("GET " PODS "?limit=500",
	      LIST("10", "", POD("a", "u1", "3") "," POD("b", "u2", "4")));
	stream("GET " PODS "?watch=true&allowWatchBookmarks=true&"
	       "resourceVersion=10&timeoutSeconds=",
	       "");
	informer_start(inf);
	testapi_until_count(&api, &api.handled, 2);
	assert_true(informer_has_synced(inf));
	assert_int_equal(synced, 1);
	assert_string_equal(story, "added a 3\nadded b 4\n");
	story[0] = '\0';
	changes = 0;
}

static void
test_what_is_there_is_added_and_changes_are_told(void **state)
{
	(void)state;
	assert_false(informer_has_synced(inf));
	begin();
	testapi_stream(&api, EVENT("ADDED", POD("c", "u3", "11"))
				     EVENT("MODIFIED", POD("a", "u1", "12")));
	testapi_stream(&api, EVENT("DELETED", POD("b", "u2", "13")));
	testapi_until_count(&api, &changes, 3);
	assert_string_equal(story, "added c 11\nupdated a 3-12\ndeleted b 4\n");
	assert_int_equal(cache_count(informer_cache(inf)), 2);
	assert_true(informer_stats(inf)->connected);
}

static void
test_events_may_come_in_any_pieces(void **state)
{
	static const char text[] = EVENT("ADDED", POD("c", "u3", "11"))
		EVENT("MODIFIED", POD("c", "u3", "12"));

	(void)state;
	begin();
	for (size_t i = 0; i < sizeof(text) - 1; i++) {
		char piece[2] = { text[i], '\0' };

		testapi_stream(&api, piece);
		if (i % 7 == 0)
			testapi_spend(&api, 1);
	}
	testapi_until_count(&api, &changes, 2);
	assert_string_equal(story, "added c 11\nupdated c 11-12\n");
}

static void
test_a_cut_watch_goes_on_where_it_was(void **state)
{
	(void)state;
	begin();
	testapi_stream(&api, EVENT("ADDED", POD("c", "u3", "11")));
	testapi_until_count(&api, &changes, 1);
	stream("GET " PODS "?watch=true&allowWatchBookmarks=true&"
	       "resourceVersion=11&",
	       EVENT("MODIFIED", POD("c", "u3", "14")));
	/* In the middle of an event. */
	testapi_stream(&api, "{\"type\":\"MODIF");
	testapi_cut_stream(&api);
	testapi_until_count(&api, &changes, 2);
	assert_string_equal(story, "added c 11\nupdated c 11-14\n");
	assert_int_equal(informer_stats(inf)->lists, 1);
	assert_int_equal(informer_stats(inf)->watches, 2);
}

static void
test_bookmarks_move_the_place_and_tell_nothing(void **state)
{
	(void)state;
	begin();
	testapi_stream(&api,
		       EVENT("BOOKMARK",
			     "{\"metadata\":{\"resourceVersion\":\"99\"}}"));
	testapi_spend(&api, 30);
	stream("GET " PODS "?watch=true&allowWatchBookmarks=true&"
	       "resourceVersion=99&",
	       "");
	testapi_end_stream(&api);
	testapi_until_count(&api, &api.handled, 3);
	assert_int_equal(changes, 0);
	assert_int_equal(informer_stats(inf)->events, 0);
}

static void
test_a_history_that_is_gone_is_made_up_for_by_a_list(void **state)
{
	(void)state;
	begin();
	/* a changed, b was deleted, c is new, and then there is a change. */
	reply("GET " PODS "?limit=500",
	      LIST("50", "", POD("a", "u1", "30") "," POD("c", "u3", "40")));
	stream("GET " PODS "?watch=true&allowWatchBookmarks=true&"
	       "resourceVersion=50&",
	       EVENT("MODIFIED", POD("c", "u3", "51")));
	testapi_stream(&api, GONE);
	testapi_until_count(&api, &changes, 4);
	assert_string_equal(story, "updated a 3-30\nadded c 40\n"
				   "deleted b 4\nupdated c 40-51\n");
	assert_int_equal(synced, 1);
	assert_int_equal(cache_count(informer_cache(inf)), 2);
}

static void
test_a_replaced_object_is_deleted_and_added(void **state)
{
	(void)state;
	begin();
	reply(NULL,
	      LIST("50", "", POD("a", "u9", "30") "," POD("b", "u2", "4")));
	stream(NULL, "");
	testapi_stream(&api, GONE);
	testapi_until_count(&api, &changes, 2);
	assert_string_equal(story, "deleted a 3\nadded a 30\n");
}

static void
test_410_as_an_answer_leads_to_a_list_too(void **state)
{
	(void)state;
	begin();
	testapi_say(&api, (struct testapi_step){ .code = 410 });
	reply("GET " PODS "?limit=500",
	      LIST("60", "", POD("b", "u2", "4") "," POD("a", "u1", "3")));
	stream("GET " PODS "?watch=true&allowWatchBookmarks=true&"
	       "resourceVersion=60&",
	       "");
	testapi_cut_stream(&api);
	testapi_until_count(&api, &api.handled, 5);
	assert_int_equal(changes, 0);
}

static void
test_a_server_that_always_says_410_is_not_asked_without_pause(void **state)
{
	(void)state;
	begin();
	testapi_stream(&api, GONE);
	for (int i = 0; i < 50; i++) {
		reply("GET " PODS "?limit=500", LIST("60", "", ""));
		stream("GET " PODS "?watch=true", GONE);
	}
	testapi_spend(&api, 1000);
	assert_in_range(api.handled, 4, 2 + 2 * 6);
}

static void
test_pages_are_one_list(void **state)
{
	(void)state;
	reply("GET " PODS "?limit=500",
	      LIST("10", "tok1", POD("a", "u1", "3")));
	testapi_say(&api,
		    (struct testapi_step){ .expect = "GET " PODS
						     "?limit=500&continue=tok1",
					   .kind = TESTAPI_HOLD });
	stream("GET " PODS "?watch=true", "");
	informer_start(inf);
	testapi_until_count(&api, &api.handled, 2);
	assert_int_equal(synced, 0);
	assert_string_equal(story, "added a 3\n");
	testapi_answer(&api, LIST("10", "", POD("b", "u2", "4")));
	testapi_until_count(&api, &api.handled, 3);
	assert_int_equal(synced, 1);
	assert_string_equal(story, "added a 3\nadded b 4\n");
}

static void
test_pages_that_took_too_long_are_listed_anew_and_at_once(void **state)
{
	(void)state;
	reply("GET " PODS "?limit=500",
	      LIST("10", "tok1", POD("a", "u1", "3") "," POD("x", "u7", "2")));
	testapi_say(&api,
		    (struct testapi_step){ .expect = "GET " PODS "?limit=500&"
						     "continue=tok1",
					   .code = 410 });
	reply("GET " PODS,
	      LIST("20", "", POD("a", "u1", "3") "," POD("b", "u2", "15")));
	stream("GET " PODS "?watch=true&allowWatchBookmarks=true&"
	       "resourceVersion=20&",
	       "");
	informer_start(inf);
	testapi_until_count(&api, &api.handled, 4);
	assert_string_equal(api.requests[2], "GET " PODS);
	assert_string_equal(story, "added a 3\nadded x 2\nadded b 15\n"
				   "deleted x 2\n");
}

static void
test_pages_that_are_too_large_are_asked_for_in_smaller_ones(void **state)
{
	struct kube_client_options options = { .body_max = 300 };
	struct informer_config config = { .resource = kube_pods };
	struct kube_client *small = testapi_client(&api, &options);
	struct informer *other;

	(void)state;
	config.client = small;
	config.page = 2;
	other = informer_new(&config);
	informer_add_handler(other, &handler);
	reply("GET " PODS "?limit=2",
	      LIST("10", "",
		   POD("a", "u1", "3") "," POD("b", "u2",
					       "4") "," POD("c", "u3", "5")));
	reply("GET " PODS "?limit=1", LIST("10", "t", POD("a", "u1", "3")));
	reply("GET " PODS "?limit=1&continue=t",
	      LIST("10", "", POD("b", "u2", "4")));
	stream("GET " PODS "?watch=true", "");
	informer_start(other);
	testapi_until_count(&api, &api.handled, 4);
	assert_string_equal(story, "added a 3\nadded b 4\n");
	informer_free(other);
	kube_client_free(small);
}

static void
test_a_server_that_is_away_at_first_is_waited_for(void **state)
{
	(void)state;
	testapi_say(&api, (struct testapi_step){ .code = 403 });
	testapi_say(&api, (struct testapi_step){ .code = 403 });
	reply(NULL, LIST("10", "", POD("a", "u1", "3")));
	stream(NULL, "");
	informer_start(inf);
	testapi_until_count(&api, &api.handled, 4);
	assert_int_equal(synced, 1);
	assert_int_equal(informer_stats(inf)->failures, 2);
	assert_int_equal(failed, 2);
	assert_true(str_has_prefix(informer_stats(inf)->last_failure,
				   "cannot list pods: "));
}

static void
hold(const char *expect)
{
	testapi_say(&api, (struct testapi_step){ .expect = expect,
						 .kind = TESTAPI_HOLD });
}

static void
test_a_server_that_falls_silent_is_asked_again(void **state)
{
	(void)state;
	use_options(&(struct kube_client_options){ .timeout_ms = 100 });
	hold("GET " PODS "?limit=500");
	reply("GET " PODS "?limit=500", LIST("10", "", ""));
	hold("GET " PODS "?watch=true");
	stream("GET " PODS "?watch=true", "");
	informer_start(inf);
	testapi_until_count(&api, &api.handled, 4);
	/* It has begun to answer, and may be silent for as long as it likes. */
	testapi_spend(&api, 300);
	testapi_stream(&api, EVENT("ADDED", POD("a", "u1", "11")));
	testapi_until_count(&api, &changes, 1);
	assert_int_equal(api.handled, 4);
	assert_string_equal(story, "added a 11\n");
}

static void
test_a_list_that_breaks_off_deletes_nothing(void **state)
{
	(void)state;
	begin();
	testapi_stream(&api, GONE);
	reply("GET " PODS "?limit=500", LIST("50", "tok", POD("a", "u1", "3")));
	testapi_say(&api, (struct testapi_step){ .code = 403 });
	reply("GET " PODS "?limit=500",
	      LIST("55", "", POD("b", "u2", "4") "," POD("a", "u1", "3")));
	stream(NULL, "");
	testapi_until_count(&api, &api.handled, 6);
	assert_int_equal(changes, 0);
}

static void
test_who_comes_late_is_told_what_is_there(void **state)
{
	(void)state;
	begin();
	informer_add_handler(inf, &handler);
	assert_int_equal(changes, 2);
	assert_int_equal(synced, 2);
	testapi_stream(&api, EVENT("ADDED", POD("c", "u3", "11")));
	testapi_until_count(&api, &changes, 4);
}

static void
test_a_handler_may_stop_it(void **state)
{
	(void)state;
	begin();
	stop_at_change = true;
	testapi_stream(&api, EVENT("ADDED", POD("c", "u3", "11"))
				     EVENT("ADDED", POD("d", "u4", "12")));
	testapi_until_count(&api, &api.gone, 1);
	assert_string_equal(story, "added c 11\n");
	assert_int_equal(kube_client_stats(client)->watches, 0);
}

static void
test_a_handler_may_stop_it_during_the_list(void **state)
{
	(void)state;
	stop_at_change = true;
	reply(NULL,
	      LIST("10", "tok", POD("a", "u1", "3") "," POD("b", "u2", "4")));
	informer_start(inf);
	testapi_until_count(&api, &changes, 1);
	testapi_spend(&api, 50);
	assert_int_equal(api.handled, 1);
	assert_int_equal(synced, 0);
	assert_string_equal(story, "added a 3\n");
}

static void
test_lines_that_are_no_events_end_the_watch_only(void **state)
{
	(void)state;
	begin();
	stream("GET " PODS "?watch=true&allowWatchBookmarks=true&"
	       "resourceVersion=11&",
	       EVENT("MODIFIED", POD("a", "u1", "12")));
	testapi_stream(&api, EVENT("ADDED", POD("c", "u3", "11")) "garbage\n");
	testapi_until_count(&api, &changes, 2);
	assert_string_equal(story, "added c 11\nupdated a 3-12\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_what_is_there_is_added_and_changes_are_told),
		TEST(test_events_may_come_in_any_pieces),
		TEST(test_a_cut_watch_goes_on_where_it_was),
		TEST(test_bookmarks_move_the_place_and_tell_nothing),
		TEST(test_a_history_that_is_gone_is_made_up_for_by_a_list),
		TEST(test_a_replaced_object_is_deleted_and_added),
		TEST(test_410_as_an_answer_leads_to_a_list_too),
		TEST(test_a_server_that_always_says_410_is_not_asked_without_pause),
		TEST(test_pages_are_one_list),
		TEST(test_pages_that_took_too_long_are_listed_anew_and_at_once),
		TEST(test_pages_that_are_too_large_are_asked_for_in_smaller_ones),
		TEST(test_a_server_that_is_away_at_first_is_waited_for),
		TEST(test_a_server_that_falls_silent_is_asked_again),
		TEST(test_a_list_that_breaks_off_deletes_nothing),
		TEST(test_who_comes_late_is_told_what_is_there),
		TEST(test_a_handler_may_stop_it),
		TEST(test_a_handler_may_stop_it_during_the_list),
		TEST(test_lines_that_are_no_events_end_the_watch_only),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	js_init();
	return cmocka_run_group_tests_name("informer", tests, NULL, NULL);
}
