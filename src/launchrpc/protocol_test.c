/* SPDX-License-Identifier: Apache-2.0 */
#include "launchrpc/protocol.h"

#include <string.h>

#include "base/test.h"

#define CHECK_NAMES(type, count)                                             \
	do {                                                                 \
		for (unsigned i = 0; i < (count); i++) {                     \
			const char *name =                                   \
				launch_##type##_name((enum launch_##type)i); \
			assert_non_null(name);                               \
			assert_int_equal(launch_##type##_parse(name), i);    \
		}                                                            \
		assert_int_equal(launch_##type##_parse("nothing such"),      \
				 count);                                     \
		assert_int_equal(launch_##type##_parse(NULL), count);        \
	} while (0)

static void
test_each_name_is_one_value(void **state)
{
	(void)state;
	CHECK_NAMES(state, LAUNCH_STATE_COUNT);
	CHECK_NAMES(cause, LAUNCH_CAUSE_COUNT);
	CHECK_NAMES(role, LAUNCH_ROLE_COUNT);
	CHECK_NAMES(mode, LAUNCH_MODE_COUNT);
	CHECK_NAMES(abort, LAUNCH_ABORT_COUNT);
	CHECK_NAMES(reason, LAUNCH_REASON_COUNT);
}

static void
test_each_method_has_a_name_and_a_deadline(void **state)
{
	(void)state;
	for (unsigned i = 0; i < LAUNCH_METHOD_COUNT; i++) {
		assert_non_null(launch_method_name(i));
		assert_true(launch_method_timeout_ms(i) > 0);
		for (unsigned j = 0; j < i; j++)
			assert_string_not_equal(launch_method_name(i),
						launch_method_name(j));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_name_is_one_value),
		cmocka_unit_test(test_each_method_has_a_name_and_a_deadline),
	};

	return cmocka_run_group_tests_name("protocol", tests, NULL, NULL);
}
