/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/parents.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"

static void
test_all_but_the_last_part_is_made(void **state)
{
	char dir[] = "/tmp/ctl-parents-XXXXXX";
	char path[64], part[64];
	struct stat st;
	struct err err;

	(void)state;
	assert_non_null(mkdtemp(dir));
	(void)snprintf(path, sizeof(path), "%s/a/b/c", dir);
	(void)snprintf(part, sizeof(part), "%s/a/b", dir);
	assert_int_equal(parents_make(path, &err), 0);
	assert_int_equal(stat(part, &st), 0);
	assert_int_equal(stat(path, &st), -1);
	assert_string_equal(path + strlen(path) - 6, "/a/b/c");
	/* What is there already is as good. */
	assert_int_equal(parents_make(path, &err), 0);
	assert_int_equal(rmdir(part), 0);
	(void)snprintf(part, sizeof(part), "%s/a", dir);
	assert_int_equal(rmdir(part), 0);
	assert_int_equal(rmdir(dir), 0);
}

static void
test_a_file_in_the_way_is_named(void **state)
{
	char path[] = "/dev/null/a/b";
	struct err err;

	(void)state;
	assert_int_equal(parents_make(path, &err), -1);
	assert_non_null(strstr(err.text, "'/dev/null/a'"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_but_the_last_part_is_made),
		cmocka_unit_test(test_a_file_in_the_way_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
