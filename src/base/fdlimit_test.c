/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/resource.h>

#include "base/fdlimit.h"
#include "base/test.h"

static void
test_the_soft_limit_becomes_the_hard_one(void **state)
{
	struct rlimit limit;
	rlim_t hard;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	hard = limit.rlim_max;
	limit.rlim_cur = 64;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	fdlimit_raise();
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_true(limit.rlim_cur == hard && limit.rlim_max == hard);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_soft_limit_becomes_the_hard_one),
	};

	return cmocka_run_group_tests_name("fdlimit", tests, NULL, NULL);
}
