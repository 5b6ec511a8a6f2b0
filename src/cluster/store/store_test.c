/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/test.h"
#include "cluster/store/teststore.h"

static void
assert_pods(struct world *w, const char *ns, const char *after, size_t limit,
	    const char *text)
{
	struct object **objects;
	size_t count = store_list(w->pods, ns, after, limit, &objects);

	assert_list(objects, count, text);
}

static void
test_what_was_put_is_there_at_once(void **state)
{
	struct world *w = *state;

	assert_null(store_get(w->pods, "a", "x"));
	world_put(w, w->pods, "a", "x", "1");
	assert_value(store_get(w->pods, "a", "x"), "1");
	world_put(w, w->pods, "a", "x", "2");
	assert_value(store_get(w->pods, "a", "x"), "2");
	assert_null(store_get(w->pods, "b", "x"));
	assert_null(store_get(w->nodes, "a", "x"));
	world_remove(w, w->pods, "a", "x");
	assert_null(store_get(w->pods, "a", "x"));
	assert_int_equal(store_rv(w->store), 3);
	assert_int_equal(store_durable_rv(w->store), 0);
	assert_int_equal(world_settle(w), 0);
	assert_int_equal(store_durable_rv(w->store), 3);
}

static void
test_objects_survive_closing(void **state)
{
	struct world *w = *state;

	world_put(w, w->pods, "a", "x", "1");
	world_put(w, w->pods, "a", "y", "2");
	world_put(w, w->pods, "a", "x", "3");
	world_put(w, w->nodes, "", "n", "4");
	world_remove(w, w->pods, "a", "y");
	world_reopen(w);
	assert_int_equal(store_rv(w->store), 5);
	assert_pods(w, NULL, NULL, 0, "a/x=3");
	assert_value(store_get(w->nodes, "", "n"), "4");
	assert_int_equal(store_get(w->pods, "a", "x")->rv, 3);
	world_put(w, w->pods, "a", "y", "6");
	assert_int_equal(store_get(w->pods, "a", "y")->rv, 6);
}

static void
test_lists_are_in_the_order_of_etcd(void **state)
{
	struct world *w = *state;

	world_put(w, w->pods, "a", "x", "1");
	world_put(w, w->pods, "b", "a", "1");
	world_put(w, w->pods, "a-b", "x", "1");
	world_put(w, w->pods, "a0", "x", "1");
	world_put(w, w->pods, "a", "x-1", "1");
	world_put(w, w->pods, "a", "X", "1");
	assert_pods(w, NULL, NULL, 0,
		    "a-b/x=1 a/X=1 a/x=1 a/x-1=1 a0/x=1 b/a=1");
	assert_pods(w, "a", NULL, 0, "a/X=1 a/x=1 a/x-1=1");
	assert_pods(w, "c", NULL, 0, "");
	assert_pods(w, "", NULL, 0, "");
}

static void
test_a_list_goes_on_after_a_key(void **state)
{
	struct world *w = *state;

	world_put(w, w->pods, "a", "x", "1");
	world_put(w, w->pods, "b", "x", "2");
	world_put(w, w->pods, "b", "y", "3");
	world_put(w, w->pods, "b", "z", "4");
	world_put(w, w->pods, "c", "x", "5");
	assert_pods(w, NULL, NULL, 2, "a/x=1 b/x=2");
	assert_pods(w, NULL, "b/x", 2, "b/y=3 b/z=4");
	assert_pods(w, NULL, "b/z", 2, "c/x=5");
	assert_pods(w, NULL, "c/x", 2, "");
	assert_pods(w, "b", "b/x", 0, "b/y=3 b/z=4");
	/* Keys of no object, and of other namespaces. */
	assert_pods(w, NULL, "b/xx", 1, "b/y=3");
	assert_pods(w, "b", "a/x", 0, "b/x=2 b/y=3 b/z=4");
	assert_pods(w, "b", "b0/x", 0, "");
	assert_pods(w, "b", "", 0, "b/x=2 b/y=3 b/z=4");

	world_put(w, w->nodes, "", "n1", "1");
	world_put(w, w->nodes, "", "n2", "2");
	{
		struct object **objects;
		size_t count = store_list(w->nodes, NULL, "n1", 0, &objects);

		assert_list(objects, count, "n2=2");
	}
}

static void
test_counting_needs_no_list(void **state)
{
	struct world *w = *state;
	char name[16];

	assert_int_equal(store_count(w->pods, NULL), 0);
	for (int i = 0; i < 100; i++) {
		(void)snprintf(name, sizeof(name), "p%02d", i);
		world_put(w, w->pods, i % 2 ? "odd" : "even", name, "1");
	}
	assert_int_equal(store_count(w->pods, NULL), 100);
	assert_int_equal(store_count(w->pods, "odd"), 50);
	assert_int_equal(store_count(w->pods, "none"), 0);
	assert_int_equal(store_count_after(w->pods, "odd", "odd/p01"), 49);
	assert_int_equal(store_count_after(w->pods, "odd", "even/p01"), 50);
	assert_int_equal(store_count_after(w->pods, "even", "odd/p01"), 0);
	assert_int_equal(store_count_after(w->pods, NULL, "even/p98"), 50);
	world_remove(w, w->pods, "odd", "p01");
	assert_int_equal(store_count(w->pods, "odd"), 49);
}

static void
test_a_list_is_a_snapshot(void **state)
{
	struct world *w = *state;
	struct object **objects;
	size_t count;

	world_put(w, w->pods, "a", "x", "1");
	world_put(w, w->pods, "a", "y", "2");
	count = store_list(w->pods, NULL, NULL, 0, &objects);
	world_put(w, w->pods, "a", "x", "3");
	world_remove(w, w->pods, "a", "y");
	assert_list(objects, count, "a/x=1 a/y=2");
}

static void
test_objects_are_found_by_uid(void **state)
{
	struct world *w = *state;

	world_put(w, w->pods, "a", "x", "1");
	world_put(w, w->nodes, "", "n", "2");
	assert_value(store_by_uid(w->store, "uid-a-x"), "1");
	assert_value(store_by_uid(w->store, "uid--n"), "2");
	world_put(w, w->pods, "a", "x", "3");
	assert_value(store_by_uid(w->store, "uid-a-x"), "3");
	world_remove(w, w->pods, "a", "x");
	assert_null(store_by_uid(w->store, "uid-a-x"));
	world_reopen(w);
	assert_null(store_by_uid(w->store, "uid-a-x"));
	assert_value(store_by_uid(w->store, "uid--n"), "2");
}

static void
test_a_collection_is_made_once(void **state)
{
	struct world *w = *state;
	struct collection *c = store_collection(w->store, "kubevirt.io", "vms");

	assert_ptr_equal(c, store_collection(w->store, "kubevirt.io", "vms"));
	assert_ptr_not_equal(c, store_collection(w->store, "", "vms"));
	assert_string_equal(collection_group(c), "kubevirt.io");
	assert_string_equal(collection_resource(c), "vms");
	assert_ptr_equal(collection_store(c), w->store);
}

static void
test_a_directory_is_opened_once(void **state)
{
	struct world *w = *state;
	struct err err;

	assert_null(store_open(&w->config, &err));
	assert_int_equal(err.kind, ERR_CONFLICT);
	assert_non_null(strstr(err.text, w->dir));
	world_close(w);
	world_open(w);
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, world_set_up, world_tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_what_was_put_is_there_at_once),
		TEST(test_objects_survive_closing),
		TEST(test_lists_are_in_the_order_of_etcd),
		TEST(test_a_list_goes_on_after_a_key),
		TEST(test_counting_needs_no_list),
		TEST(test_a_list_is_a_snapshot),
		TEST(test_objects_are_found_by_uid),
		TEST(test_a_collection_is_made_once),
		TEST(test_a_directory_is_opened_once),
	};

	return cmocka_run_group_tests_name("store", tests, NULL, NULL);
}
