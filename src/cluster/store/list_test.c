/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/mem.h"
#include "base/test.h"
#include "cluster/store/teststore.h"
#include "meta/selector.h"

#define STEPS 400
#define NAMES 12
#define SPACES 3

static const char *const spaces[SPACES] = { "a", "a-b", "b" };

/* What the store should hold at each revision: the revision of each key's
 * object, 0 for none. In the order of the store. */
struct model {
	uint64_t states[STEPS + 1][SPACES][NAMES];
};

static const int space_order[SPACES] = { 1, 0, 2 }; /* a-b/, a/, b/ */

static void
make_history(struct world *w, struct model *model, uint32_t seed)
{
	uint64_t now[SPACES][NAMES];

	memcpy(now, model->states[store_rv(w->store)], sizeof(now));
	while (store_rv(w->store) < STEPS) {
		uint32_t space = world_random(&seed, SPACES);
		uint32_t number = world_random(&seed, NAMES);
		uint64_t rv = store_next_rv(w->store);
		uint64_t *key = &now[space][number];
		char name[8];

		(void)snprintf(name, sizeof(name), "n%02u", number);
		if (*key != 0 && world_random(&seed, 2) == 0) {
			world_remove(w, w->pods, spaces[space], name);
			*key = 0;
		} else {
			char value[16];

			(void)snprintf(value, sizeof(value), "%d", (int)rv);
			world_put(w, w->pods, spaces[space], name, value);
			*key = rv;
		}
		memcpy(model->states[rv], now, sizeof(now));
	}
}

/* One page: at most limit (0: all) from the skip-th of the namespace. */
struct page {
	const char *ns;
	size_t skip;
	size_t limit;
	/* What the model says is on it. */
	uint64_t rvs[SPACES * NAMES];
	size_t count;
	size_t remaining;
};

static void
fill_page(const struct model *model, uint64_t rv, struct page *page)
{
	size_t seen = 0;

	page->count = 0;
	for (int i = 0; i < SPACES; i++) {
		int space = space_order[i];

		if (page->ns != NULL && strcmp(page->ns, spaces[space]) != 0)
			continue;
		for (int n = 0; n < NAMES; n++) {
			if (model->states[rv][space][n] == 0)
				continue;
			if (seen++ >= page->skip &&
			    (page->limit == 0 || page->count < page->limit))
				page->rvs[page->count++] =
					model->states[rv][space][n];
		}
	}
	page->remaining = seen > page->skip + page->count
				  ? seen - page->skip - page->count
				  : 0;
}

/* Pages through one revision, comparing each page with the model. */
static void
compare_pages(const struct world *w, const struct model *model, uint64_t rv,
	      const char *ns, size_t limit)
{
	struct page page = { .ns = ns, .limit = limit };
	char *after = NULL;

	do {
		struct list_range range = { .ns = ns,
					    .after = after,
					    .limit = limit };
		struct object_list list;
		struct err err;

		fill_page(model, rv, &page);
		assert_int_equal(
			store_list_at(w->pods, rv, &range, &list, &err), 0);
		assert_int_equal(list.count, page.count);
		assert_int_equal(list.remaining, page.remaining);
		for (size_t i = 0; i < page.count; i++)
			assert_int_equal(list.objects[i]->rv, page.rvs[i]);
		free(after);
		after = page.count > 0
				? object_key(list.objects[page.count - 1])
				: NULL;
		objects_unref(list.objects, list.count);
		page.skip += page.count;
	} while (page.remaining > 0);
	free(after);
}

static void
compare_all(const struct world *w, const struct model *model)
{
	for (uint64_t rv = store_oldest_rv(w->store); rv <= store_rv(w->store);
	     rv++) {
		compare_pages(w, model, rv, NULL, 0);
		compare_pages(w, model, rv, NULL, 5);
		compare_pages(w, model, rv, "a", 4);
		compare_pages(w, model, rv, "a-b", 0);
		compare_pages(w, model, rv, "none", 3);
		for (int n = 0; n < NAMES; n++) {
			struct object *object;
			char name[8];

			(void)snprintf(name, sizeof(name), "n%02d", n);
			object = store_get_at(w->pods, "b", name, rv);
			assert_int_equal(object != NULL ? object->rv : 0,
					 model->states[rv][2][n]);
		}
	}
}

static void
test_every_revision_of_the_history_can_be_listed(void **state)
{
	struct model *model = xmalloc0(sizeof(*model));
	struct world *w = *state;

	make_history(w, model, 1);
	compare_all(w, model);
	assert_int_equal(world_settle(w), 0);
	compare_all(w, model);
	world_reopen(w);
	assert_int_equal(store_oldest_rv(w->store), 0);
	compare_all(w, model);
	free(model);
}

static void
test_a_short_history_is_as_right_as_a_long_one(void **state)
{
	struct model *model = xmalloc0(sizeof(*model));
	struct world *w = *state;

	world_close(w);
	w->config.history_events = 37;
	world_open(w);
	make_history(w, model, 2);
	assert_int_equal(world_settle(w), 0);
	assert_int_equal(store_oldest_rv(w->store), STEPS - 37);
	compare_all(w, model);
	world_reopen(w);
	assert_int_equal(store_oldest_rv(w->store), STEPS - 37);
	compare_all(w, model);
	/* A shorter one than what is on disk. */
	world_close(w);
	w->config.history_events = 5;
	world_open(w);
	assert_int_equal(store_oldest_rv(w->store), STEPS - 5);
	compare_all(w, model);
	free(model);
}

/* That the range lists what it would without its label, filtered. */
static void
compare_labelled(const struct world *w, uint64_t rv,
		 const struct list_range *range)
{
	const struct list_range without = { .ns = range->ns,
					    .after = range->after };
	struct object_list all, some;
	size_t seen = 0, limit = range->limit > 0 ? range->limit : SIZE_MAX;
	struct err err;

	assert_int_equal(store_list_at(w->pods, rv, &without, &all, &err), 0);
	assert_int_equal(store_list_at(w->pods, rv, range, &some, &err), 0);
	for (size_t i = 0; i < all.count; i++) {
		const char *value =
			object_label(all.objects[i], range->label->key);

		if (strcmp(value, range->label->value) != 0)
			continue;
		if (seen < limit)
			assert_ptr_equal(some.objects[seen], all.objects[i]);
		seen++;
	}
	assert_int_equal(some.count, seen < limit ? seen : limit);
	assert_int_equal(some.remaining, seen - some.count);
	objects_unref(all.objects, all.count);
	objects_unref(some.objects, some.count);
}

static void
compare_labels(const struct world *w)
{
	static const struct label labels[] = { { "end", "0" },
					       { "end", "7" },
					       { "end", "none" },
					       { "name", "n03" },
					       { "name", "n11" } };
	static const struct list_range ranges[] = {
		{ 0 }, { .ns = "a" }, { .limit = 2 }, { .after = "a-b/n05" }
	};

	for (uint64_t rv = store_oldest_rv(w->store); rv <= store_rv(w->store);
	     rv++) {
		for (size_t i = 0; i < ARRAY_LEN(labels) * ARRAY_LEN(ranges);
		     i++) {
			struct list_range range = ranges[i % ARRAY_LEN(ranges)];

			range.label = &labels[i / ARRAY_LEN(ranges)];
			compare_labelled(w, rv, &range);
		}
	}
}

static void
test_what_has_a_label_can_be_listed_at_every_revision(void **state)
{
	struct model *model = xmalloc0(sizeof(*model));
	struct world *w = *state;

	make_history(w, model, 3);
	compare_labels(w);
	assert_int_equal(world_settle(w), 0);
	compare_labels(w);
	world_reopen(w);
	compare_labels(w);
	world_close(w);
	w->config.history_events = 20;
	world_open(w);
	compare_labels(w);
	free(model);
}

static void
test_labels_are_counted_as_they_are_now(void **state)
{
	const struct label one = { "end", "1" }, two = { "end", "2" };
	struct world *w = *state;

	world_put(w, w->pods, "a", "x", "1");
	world_put(w, w->pods, "b", "x", "11");
	assert_int_equal(store_count_labelled(w->pods, &one), 2);
	assert_int_equal(store_count_labelled(w->nodes, &one), 0);
	world_put(w, w->pods, "a", "x", "2");
	assert_int_equal(store_count_labelled(w->pods, &one), 1);
	assert_int_equal(store_count_labelled(w->pods, &two), 1);
	world_remove(w, w->pods, "b", "x");
	assert_int_equal(store_count_labelled(w->pods, &one), 0);
}

static void
test_a_revision_outside_of_the_history_is_refused(void **state)
{
	struct world *w = *state;
	struct list_range range = { 0 };
	struct object_list list = { 0 };
	struct err err;

	world_close(w);
	w->config.history_events = 2;
	world_open(w);
	for (int i = 0; i < 5; i++)
		world_put(w, w->pods, "a", "x", "1");
	assert_int_equal(world_settle(w), 0);
	assert_int_equal(store_list_at(w->pods, 2, &range, &list, &err), -1);
	assert_int_equal(err.kind, ERR_NOT_FOUND);
	assert_int_equal(store_list_at(w->pods, 6, &range, &list, &err), -1);
	assert_int_equal(err.kind, ERR_INVALID);
	assert_null(list.objects);
	assert_int_equal(store_list_at(w->pods, 3, &range, &list, &err), 0);
	objects_unref(list.objects, list.count);
}

static void
test_other_collections_do_not_matter(void **state)
{
	struct world *w = *state;
	struct list_range range = { .limit = 1 };
	struct object_list list;
	struct err err;

	world_put(w, w->pods, "a", "x", "1");
	world_put(w, w->pods, "a", "y", "2");
	world_put(w, w->nodes, "", "n", "3");
	world_put(w, w->pods, "a", "z", "4");
	world_put(w, w->nodes, "", "m", "5");
	assert_int_equal(store_list_at(w->pods, 3, &range, &list, &err), 0);
	assert_int_equal(list.remaining, 1);
	assert_list(list.objects, list.count, "a/x=1");
	assert_int_equal(store_list_at(w->nodes, 4, &range, &list, &err), 0);
	assert_int_equal(list.remaining, 0);
	assert_list(list.objects, list.count, "n=3");
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, world_set_up, world_tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_every_revision_of_the_history_can_be_listed),
		TEST(test_a_short_history_is_as_right_as_a_long_one),
		TEST(test_what_has_a_label_can_be_listed_at_every_revision),
		TEST(test_labels_are_counted_as_they_are_now),
		TEST(test_a_revision_outside_of_the_history_is_refused),
		TEST(test_other_collections_do_not_matter),
	};

	return cmocka_run_group_tests_name("list", tests, NULL, NULL);
}
