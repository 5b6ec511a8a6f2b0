/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/migration/slots.h"

#include <stdio.h>

#include "base/test.h"

static const struct slot_limits limits = { .cluster = 3,
					   .outbound = 2,
					   .inbound = 1 };

static void
test_limits_of_cluster_and_source_node_hold(void **state)
{
	struct slots *slots = slots_new();

	(void)state;
	assert_int_equal(slots_take(slots, "1", "a", &limits), SLOT_HELD);
	assert_int_equal(slots_take(slots, "2", "a", &limits), SLOT_HELD);
	assert_int_equal(slots_take(slots, "3", "a", &limits),
			 SLOT_SOURCE_FULL);
	assert_int_equal(slots_take(slots, "4", "b", &limits), SLOT_HELD);
	assert_int_equal(slots_take(slots, "5", "b", &limits),
			 SLOT_CLUSTER_FULL);
	slots_release(slots, "1");
	assert_int_equal(slots_ask(slots, "3", "a", &limits), SLOT_FREE);
	assert_int_equal(slots_take(slots, "3", "a", &limits), SLOT_HELD);
	assert_int_equal(slots_used(slots), 3);
	assert_int_equal(slots_outbound(slots, "a"), 2);
	slots_free(slots);
}

static void
test_who_has_a_slot_has_it_once(void **state)
{
	struct slots *slots = slots_new();

	(void)state;
	for (int i = 0; i < 3; i++)
		assert_int_equal(slots_take(slots, "1", "a", &limits),
				 SLOT_HELD);
	assert_int_equal(slots_used(slots), 1);
	slots_release(slots, "1");
	slots_release(slots, "1");
	assert_int_equal(slots_used(slots), 0);
	assert_int_equal(slots_outbound(slots, "a"), 0);
	slots_free(slots);
}

static void
test_the_limit_of_a_target_node_holds(void **state)
{
	struct slots *slots = slots_new();
	struct slot_limits unlimited = limits;

	(void)state;
	unlimited.inbound = 0;
	(void)slots_take(slots, "1", "a", &limits);
	(void)slots_take(slots, "2", "a", &limits);
	assert_int_equal(slots_take_inbound(slots, "1", "c", &limits),
			 SLOT_HELD);
	assert_int_equal(slots_ask_inbound(slots, "1", "c", &limits),
			 SLOT_HELD);
	assert_int_equal(slots_take_inbound(slots, "2", "c", &limits),
			 SLOT_TARGET_FULL);
	assert_int_equal(slots_ask_inbound(slots, "2", "d", &limits),
			 SLOT_FREE);
	assert_int_equal(slots_ask_inbound(slots, "2", "c", &unlimited),
			 SLOT_FREE);
	slots_release(slots, "1");
	assert_int_equal(slots_inbound(slots, "c"), 0);
	assert_int_equal(slots_take_inbound(slots, "2", "c", &limits),
			 SLOT_HELD);
	assert_int_equal(slots_take_inbound(slots, "9", "c", &limits),
			 SLOT_CLUSTER_FULL);
	slots_free(slots);
}

static void
test_what_is_adopted_counts_beyond_the_limits(void **state)
{
	struct slots *slots = slots_new();
	char uid[16];

	(void)state;
	for (int i = 0; i < 5; i++) {
		(void)snprintf(uid, sizeof(uid), "%d", i);
		slots_adopt(slots, uid, "a", i == 0 ? "" : "b");
		slots_adopt(slots, uid, "a", "b");
	}
	assert_int_equal(slots_used(slots), 5);
	assert_int_equal(slots_outbound(slots, "a"), 5);
	assert_int_equal(slots_inbound(slots, "b"), 5);
	assert_int_equal(slots_ask(slots, "9", "c", &limits),
			 SLOT_CLUSTER_FULL);
	slots_free(slots);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_limits_of_cluster_and_source_node_hold),
		cmocka_unit_test(test_who_has_a_slot_has_it_once),
		cmocka_unit_test(test_the_limit_of_a_target_node_holds),
		cmocka_unit_test(test_what_is_adopted_counts_beyond_the_limits),
	};

	return cmocka_run_group_tests_name("slots", tests, NULL, NULL);
}
