/* SPDX-License-Identifier: Apache-2.0 */
#include "base/heap.h"

#include "base/test.h"

#define NODES 500

/* The same numbers in each run, and a failure can be repeated. */
static uint32_t
next_random(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

static void
test_an_empty_heap_has_no_first(void **state)
{
	struct heap heap = { 0 };
	struct heap_node node = { 0 };

	(void)state;
	assert_null(heap_first(&heap));
	heap_remove(&heap, &node);
	assert_null(heap_first(&heap));
	heap_done(&heap);
}

/* Takes out the first until none is left; they must come in order. */
static size_t
drain(struct heap *heap)
{
	uint64_t last = 0;
	size_t count = 0;
	struct heap_node *node;

	while ((node = heap_first(heap)) != NULL) {
		assert_true(node->key >= last);
		last = node->key;
		heap_remove(heap, node);
		assert_false(heap_has(node));
		count++;
	}
	return count;
}

static void
test_nodes_come_out_in_order(void **state)
{
	struct heap_node nodes[NODES] = { 0 };
	struct heap heap = { 0 };
	uint32_t seed = 1;

	(void)state;
	for (size_t i = 0; i < NODES; i++)
		heap_set(&heap, &nodes[i], next_random(&seed) % 100);
	assert_int_equal(drain(&heap), NODES);
	heap_done(&heap);
}

static void
test_order_holds_when_nodes_move_and_leave(void **state)
{
	struct heap_node nodes[NODES] = { 0 };
	struct heap heap = { 0 };
	uint32_t seed = 2;
	size_t present = 0;

	(void)state;
	for (size_t i = 0; i < 20 * NODES; i++) {
		struct heap_node *node = &nodes[next_random(&seed) % NODES];

		if (next_random(&seed) % 3 == 0)
			heap_remove(&heap, node);
		else
			heap_set(&heap, node, next_random(&seed) % 1000);
		/* The first is the smallest of all that are in. */
		if (i % NODES == 0) {
			for (size_t j = 0; j < NODES; j++) {
				if (heap_has(&nodes[j]))
					assert_true(heap_first(&heap)->key <=
						    nodes[j].key);
			}
		}
	}
	for (size_t i = 0; i < NODES; i++)
		present += heap_has(&nodes[i]);
	assert_int_equal(drain(&heap), present);
	heap_done(&heap);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_empty_heap_has_no_first),
		cmocka_unit_test(test_nodes_come_out_in_order),
		cmocka_unit_test(test_order_holds_when_nodes_move_and_leave),
	};

	return cmocka_run_group_tests_name("heap", tests, NULL, NULL);
}
