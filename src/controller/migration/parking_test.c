/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/migration/parking.h"

#include <stdio.h>
#include <string.h>

#include "base/test.h"

static struct parking *parking;
static const char *full; /* the node that has no slot; NULL: all have */
static char taken[64];

static bool
has_slot(const char *node, void *arg)
{
	(void)arg;
	return full == NULL || strcmp(node, full) != 0;
}

static void
on_taken(const struct parked *parked, void *arg)
{
	(void)arg;
	(void)snprintf(taken, sizeof(taken), "%s", parked->key);
}

/* The key of the next one, "" for none. */
static const char *
take(void)
{
	const struct parking_taker taker = { has_slot, on_taken, NULL };

	taken[0] = '\0';
	(void)parking_take(parking, &taker);
	return taken;
}

static void
put(const char *key, const char *node, int priority, int64_t created_us)
{
	parking_put(parking,
		    &(struct parked){ key, key, node, priority, created_us });
}

static int
set_up(void **state)
{
	(void)state;
	parking = parking_new();
	full = NULL;
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	parking_free(parking);
	return 0;
}

static void
test_priority_goes_before_age(void **state)
{
	(void)state;
	put("low", "a", 20, 1);
	put("high", "a", 200, 9);
	put("middle", "b", 50, 2);
	assert_string_equal(take(), "high");
	assert_string_equal(take(), "middle");
	assert_string_equal(take(), "low");
	assert_string_equal(take(), "");
}

static void
test_nodes_take_turns_and_the_oldest_of_each_is_first(void **state)
{
	(void)state;
	put("a2", "a", 0, 2);
	put("a1", "a", 0, 1);
	put("a3", "a", 0, 3);
	put("b1", "b", 0, 9);
	assert_string_equal(take(), "a1");
	assert_string_equal(take(), "b1");
	assert_string_equal(take(), "a2");
	assert_string_equal(take(), "a3");
}

static void
test_a_node_without_slots_is_passed_over(void **state)
{
	(void)state;
	put("a1", "a", 200, 1);
	put("b1", "b", 0, 2);
	full = "a";
	assert_string_equal(take(), "b1");
	assert_string_equal(take(), "");
	assert_int_equal(parking_count(parking), 1);
	full = NULL;
	assert_string_equal(take(), "a1");
}

static void
test_each_is_there_once_and_can_leave(void **state)
{
	(void)state;
	put("x", "a", 0, 1);
	put("x", "a", 0, 1);
	put("x", "b", 100, 1);
	assert_int_equal(parking_count(parking), 1);
	full = "b";
	assert_string_equal(take(), "");
	parking_drop(parking, "x");
	parking_drop(parking, "x");
	assert_int_equal(parking_count(parking), 0);
	full = NULL;
	assert_string_equal(take(), "");
}

static void
test_thousands_that_wait_are_not_looked_at(void **state)
{
	char key[32], node[32];

	(void)state;
	for (int i = 0; i < 20000; i++) {
		(void)snprintf(key, sizeof(key), "k%05d", i);
		(void)snprintf(node, sizeof(node), "n%d", i % 50);
		put(key, node, i % 3, i);
	}
	for (int i = 0; i < 20000; i++)
		assert_string_not_equal(take(), "");
	assert_int_equal(parking_count(parking), 0);
}

int
main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		CASE(test_priority_goes_before_age),
		CASE(test_nodes_take_turns_and_the_oldest_of_each_is_first),
		CASE(test_a_node_without_slots_is_passed_over),
		CASE(test_each_is_there_once_and_can_leave),
		CASE(test_thousands_that_wait_are_not_looked_at),
	};

	return cmocka_run_group_tests_name("parking", tests, NULL, NULL);
}
