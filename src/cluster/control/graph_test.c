/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/control/graph.h"

#include <string.h>

#include "base/test.h"
#include "cluster/control/testjson.h"

static bool
set(struct graph *graph, const char *uid, const char *owners)
{
	json_t *json = testjson("%s", owners);
	bool news = graph_set(graph, uid, json);

	json_decref(json);
	return news;
}

struct found {
	size_t count;
	size_t blocking;
	char last[8];
};

static bool
note(const char *uid, bool blocks, void *arg)
{
	struct found *found = arg;

	found->count++;
	found->blocking += blocks;
	strncpy(found->last, uid, sizeof(found->last) - 1);
	return true;
}

static struct found
dependents(const struct graph *graph, const char *owner)
{
	struct found found = { 0 };

	graph_dependents(graph, owner, note, &found);
	return found;
}

static void
test_dependents_are_found_by_their_owner(void **state)
{
	struct graph *g = graph_new();

	(void)state;
	assert_true(set(g, "p1", "[{'uid':'rs','blockOwnerDeletion':true}]"));
	assert_true(set(g, "p2", "[{'uid':'rs'},{'uid':'x'}]"));
	assert_int_equal(dependents(g, "rs").count, 2);
	assert_int_equal(dependents(g, "rs").blocking, 1);
	assert_int_equal(dependents(g, "x").count, 1);
	assert_string_equal(dependents(g, "x").last, "p2");
	assert_false(graph_has_dependents(g, "p1"));
	assert_true(graph_has_dependents(g, "rs"));
	graph_free(g);
}

static void
test_only_changes_are_news(void **state)
{
	struct graph *g = graph_new();

	(void)state;
	assert_false(set(g, "p", "[]"));
	assert_true(set(g, "p", "[{'uid':'a'}]"));
	assert_false(set(g, "p", "[{'uid':'a'}]"));
	assert_true(set(g, "p", "[{'uid':'a','blockOwnerDeletion':true}]"));
	assert_true(set(g, "p", "[{'uid':'b'}]"));
	assert_int_equal(dependents(g, "a").count, 0);
	assert_true(set(g, "p", "[]"));
	assert_false(graph_has_dependents(g, "b"));
	graph_free(g);
}

static void
test_the_removed_depends_on_nobody_but_keeps_its_dependents(void **state)
{
	struct graph *g = graph_new();

	(void)state;
	(void)set(g, "child", "[{'uid':'middle'}]");
	(void)set(g, "middle", "[{'uid':'top'}]");
	graph_remove(g, "middle");
	graph_remove(g, "middle");
	assert_false(graph_has_dependents(g, "top"));
	assert_string_equal(dependents(g, "middle").last, "child");
	graph_free(g);
}

static void
test_owners_are_found_by_their_dependent(void **state)
{
	struct graph *g = graph_new();
	struct found found = { 0 };

	(void)state;
	(void)set(g, "p",
		  "[{'uid':'a'},{'uid':'b','blockOwnerDeletion':true}]");
	graph_owners(g, "p", note, &found);
	assert_int_equal(found.count, 2);
	assert_int_equal(found.blocking, 1);
	graph_owners(g, "a", note, &found);
	assert_int_equal(found.count, 2);
	graph_free(g);
}

/* Nobody should write these, but somebody will. */
static void
test_circles_and_repeated_owners_are_survived(void **state)
{
	struct graph *g = graph_new();

	(void)state;
	(void)set(g, "me", "[{'uid':'me'}]");
	assert_int_equal(dependents(g, "me").count, 1);
	(void)set(g, "me", "[]");
	assert_false(graph_has_dependents(g, "me"));
	(void)set(g, "a", "[{'uid':'b'}]");
	(void)set(g, "b", "[{'uid':'a'}]");
	graph_remove(g, "a");
	graph_remove(g, "b");
	(void)set(g, "p", "[{'uid':'a'},{'uid':'a'}]");
	assert_int_equal(dependents(g, "a").count, 2);
	graph_remove(g, "p");
	assert_false(graph_has_dependents(g, "a"));
	graph_free(g);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dependents_are_found_by_their_owner),
		cmocka_unit_test(test_only_changes_are_news),
		cmocka_unit_test(
			test_the_removed_depends_on_nobody_but_keeps_its_dependents),
		cmocka_unit_test(test_owners_are_found_by_their_dependent),
		cmocka_unit_test(test_circles_and_repeated_owners_are_survived),
	};

	return cmocka_run_group_tests_name("graph", tests, NULL, NULL);
}
