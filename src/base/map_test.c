/* SPDX-License-Identifier: Apache-2.0 */
#include "base/map.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/mem.h"
#include "base/test.h"

#define MANY 5000

struct thing {
	int number;
	char key[24];
	struct map_node node;
};

static struct thing *
thing_of(struct map_node *node)
{
	return node == NULL ? NULL : MAP_ENTRY(node, struct thing, node);
}

static struct thing *
make_many(struct map *map)
{
	struct thing *things = xcalloc(MANY, sizeof(struct thing));

	for (int i = 0; i < MANY; i++) {
		things[i].number = i;
		/* Lengths on both sides of the hash's word. */
		(void)snprintf(things[i].key, sizeof(things[i].key), "%.*s%d",
			       i % 12, "------------", i);
		map_put(map, &things[i].node, things[i].key);
	}
	return things;
}

static void
test_what_was_put_is_found_and_nothing_else(void **state)
{
	struct map map = { 0 };
	struct thing *things = make_many(&map);

	(void)state;
	assert_int_equal(map.count, MANY);
	for (int i = 0; i < MANY; i++)
		assert_ptr_equal(thing_of(map_get(&map, things[i].key)),
				 &things[i]);
	assert_null(map_get(&map, ""));
	assert_null(map_get(&map, "5000"));
	assert_null(map_get(&map, "-"));
	map_done(&map);
	free(things);
}

static void
test_an_empty_map_finds_nothing(void **state)
{
	struct map map = { 0 };

	(void)state;
	assert_null(map_get(&map, "a"));
	assert_null(map_next(&map, NULL));
	map_done(&map);
}

static void
test_the_removed_is_gone_and_may_come_back(void **state)
{
	struct map map = { 0 };
	struct thing *things = make_many(&map);

	(void)state;
	for (int i = 0; i < MANY; i += 2)
		map_remove(&map, &things[i].node);
	map_remove(&map, &things[0].node);
	assert_int_equal(map.count, MANY / 2);
	for (int i = 0; i < MANY; i++) {
		struct thing *found = thing_of(map_get(&map, things[i].key));

		assert_ptr_equal(found, i % 2 == 0 ? NULL : &things[i]);
	}
	map_put(&map, &things[0].node, things[0].key);
	assert_ptr_equal(thing_of(map_get(&map, things[0].key)), &things[0]);
	map_done(&map);
	free(things);
}

static void
test_each_is_visited_once_even_when_removed_on_the_way(void **state)
{
	struct map map = { 0 };
	struct thing *things = make_many(&map);
	struct map_node *node = map_next(&map, NULL);

	(void)state;
	while (node != NULL) {
		struct map_node *next = map_next(&map, node);

		thing_of(node)->number += MANY;
		map_remove(&map, node);
		node = next;
	}
	assert_int_equal(map.count, 0);
	for (int i = 0; i < MANY; i++)
		assert_int_equal(things[i].number, i + MANY);
	map_done(&map);
	free(things);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_was_put_is_found_and_nothing_else),
		cmocka_unit_test(test_an_empty_map_finds_nothing),
		cmocka_unit_test(test_the_removed_is_gone_and_may_come_back),
		cmocka_unit_test(
			test_each_is_visited_once_even_when_removed_on_the_way),
	};

	return cmocka_run_group_tests_name("map", tests, NULL, NULL);
}
