/* SPDX-License-Identifier: Apache-2.0 */
#include "base/tree.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/mem.h"
#include "base/test.h"

#define COUNT 2000U

struct item {
	unsigned key;
	struct tree_node node;
};

/* Twice the key, so that odd numbers stand between nodes. */
static int
compare(const void *key, const struct tree_node *node)
{
	unsigned wanted = *(const unsigned *)key;
	unsigned has = TREE_ENTRY(node, struct item, node)->key * 2;

	return wanted < has ? -1 : wanted > has;
}

static void
insert(struct tree *tree, struct item *item)
{
	unsigned key = item->key * 2;

	assert_null(tree_insert(tree, &key, &item->node));
}

/* Counts, parents and balance of all nodes; returns how many there are. */
static size_t
check(const struct tree *tree)
{
	const struct tree_node *node = tree_first(tree);
	size_t seen = 0;

	for (; node != NULL; node = tree_next(node), seen++) {
		size_t count[2] = { 0, 0 };

		for (int i = 0; i < 2; i++) {
			if (node->child[i] == NULL)
				continue;
			assert_ptr_equal(node->child[i]->parent, node);
			count[i] = node->child[i]->count;
		}
		assert_int_equal(node->count, count[0] + count[1] + 1);
		assert_true(count[0] + 1 <= 3 * (count[1] + 1));
		assert_true(count[1] + 1 <= 3 * (count[0] + 1));
	}
	assert_int_equal(seen, tree_count(tree));
	return seen;
}

/* In an order that is neither rising nor falling: 707 shares no factor with
 * COUNT. */
static unsigned
scattered(unsigned i)
{
	return i * 707 % COUNT;
}

static void
test_nodes_come_in_order_however_they_went_in(void **state)
{
	unsigned (*const orders[])(unsigned) = { NULL, scattered };
	struct item *items = xcalloc(COUNT, sizeof(*items));

	(void)state;
	for (size_t o = 0; o < ARRAY_LEN(orders); o++) {
		struct tree tree = { .compare = compare };
		const struct tree_node *node;
		unsigned expected = 0;

		for (unsigned i = 0; i < COUNT; i++) {
			items[i].key = orders[o] != NULL ? orders[o](i) : i;
			insert(&tree, &items[i]);
		}
		assert_int_equal(check(&tree), COUNT);
		for (node = tree_first(&tree); node; node = tree_next(node)) {
			assert_int_equal(
				TREE_ENTRY(node, struct item, node)->key,
				expected++);
		}
	}
	free(items);
}

static void
test_nodes_are_found_counted_and_gone_on_from(void **state)
{
	struct item *items = xcalloc(COUNT, sizeof(*items));
	struct tree tree = { .compare = compare };

	(void)state;
	for (unsigned i = 0; i < COUNT; i++) {
		items[i].key = i;
		insert(&tree, &items[i]);
	}
	for (unsigned i = 0; i < COUNT; i++) {
		unsigned at = i * 2, behind = i * 2 + 1;

		assert_ptr_equal(tree_find(&tree, &at), &items[i].node);
		assert_null(tree_find(&tree, &behind));
		assert_ptr_equal(tree_from(&tree, &at), &items[i].node);
		assert_ptr_equal(tree_from(&tree, &behind),
				 i + 1 < COUNT ? &items[i + 1].node : NULL);
		assert_int_equal(tree_rank(&tree, &at), i);
		assert_int_equal(tree_rank(&tree, &behind), i + 1);
	}
	free(items);
}

static void
test_a_key_is_in_the_tree_once(void **state)
{
	struct tree tree = { .compare = compare };
	struct item first = { .key = 4 }, second = { .key = 4 };
	unsigned key = 8;

	(void)state;
	insert(&tree, &first);
	assert_ptr_equal(tree_insert(&tree, &key, &second.node), &first.node);
	assert_int_equal(tree_count(&tree), 1);
}

static void
test_removing_keeps_order_and_balance(void **state)
{
	struct item *items = xcalloc(COUNT, sizeof(*items));
	struct tree tree = { .compare = compare };

	(void)state;
	for (unsigned i = 0; i < COUNT; i++) {
		items[i].key = i;
		insert(&tree, &items[i]);
	}
	for (unsigned i = 0; i < COUNT; i++) {
		struct item *item = &items[scattered(i)];
		unsigned key = item->key * 2;

		tree_remove(&tree, &item->node);
		assert_null(tree_find(&tree, &key));
		if (i % 50 == 0)
			assert_int_equal(check(&tree), COUNT - i - 1);
	}
	assert_null(tree.root);
	assert_null(tree_first(&tree));
	free(items);
}

static void
test_adding_and_removing_in_turn_stays_balanced(void **state)
{
	struct item *items = xcalloc(COUNT, sizeof(*items));
	struct tree tree = { .compare = compare };
	unsigned in = 0;

	(void)state;
	for (unsigned i = 0; i < COUNT; i++) {
		items[i].key = i;
		insert(&tree, &items[i]);
		in++;
		/* A window that moves: always from one end only. */
		if (i >= 300) {
			tree_remove(&tree, &items[i - 300].node);
			in--;
		}
		if (i % 50 == 0)
			assert_int_equal(check(&tree), in);
	}
	free(items);
}

static void
test_an_empty_tree_has_nothing(void **state)
{
	struct tree tree = { .compare = compare };
	unsigned key = 1;

	(void)state;
	assert_int_equal(tree_count(&tree), 0);
	assert_null(tree_first(&tree));
	assert_null(tree_find(&tree, &key));
	assert_null(tree_from(&tree, &key));
	assert_int_equal(tree_rank(&tree, &key), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nodes_come_in_order_however_they_went_in),
		cmocka_unit_test(test_nodes_are_found_counted_and_gone_on_from),
		cmocka_unit_test(test_a_key_is_in_the_tree_once),
		cmocka_unit_test(test_removing_keeps_order_and_balance),
		cmocka_unit_test(
			test_adding_and_removing_in_turn_stays_balanced),
		cmocka_unit_test(test_an_empty_tree_has_nothing),
	};

	return cmocka_run_group_tests_name("tree", tests, NULL, NULL);
}
