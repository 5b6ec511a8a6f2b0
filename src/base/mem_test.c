/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/test.h"

static void
test_memory_is_zeroed(void **state)
{
	static const char zeros[64];
	AUTO(free_ptr) char *a = xmalloc0(sizeof(zeros));
	AUTO(free_ptr) char *b = xcalloc(8, sizeof(zeros) / 8);

	(void)state;
	assert_memory_equal(a, zeros, sizeof(zeros));
	assert_memory_equal(b, zeros, sizeof(zeros));
}

static void
test_nothing_is_still_a_pointer(void **state)
{
	AUTO(free_ptr) void *a = xmalloc0(0);
	AUTO(free_ptr) void *b = xcalloc(0, 5);
	AUTO(free_ptr) void *c = xrealloc(NULL, 0);

	(void)state;
	assert_non_null(a);
	assert_non_null(b);
	assert_non_null(c);
}

static void
test_text_is_copied(void **state)
{
	AUTO(free_ptr) char *a = xstrdup("ferry");
	AUTO(free_ptr) char *b = xstrndup("ferryman", 5);
	AUTO(free_ptr) char *c = xasprintf("%s-%d", "ferry", 7);

	(void)state;
	assert_string_equal(a, "ferry");
	assert_string_equal(b, "ferry");
	assert_string_equal(c, "ferry-7");
}

static void
test_free_ptr_leaves_null_behind(void **state)
{
	char *p = xstrdup("x");

	(void)state;
	free_ptr(&p);
	assert_null(p);
	free_ptr(&p);
}

static void
test_what_is_taken_is_not_freed(void **state)
{
	char *kept;

	(void)state;
	{
		AUTO(free_ptr) char *p = xstrdup("kept");

		kept = TAKE_PTR(p);
		assert_null(p);
	}
	assert_string_equal(kept, "kept");
	free(kept);
}

static void
test_running_out_of_memory_ends_the_program(void **state)
{
	/* Volatile: the compiler would refuse a size it can see. */
	volatile size_t huge = SIZE_MAX / 4;
	int status = 0;
	pid_t pid = fork();

	(void)state;
	assert_int_not_equal(pid, -1);
	if (pid == 0) {
		(void)close(STDERR_FILENO);
		free(xcalloc(huge, 8));
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	/* abort() here; a sanitizer ends the program in its own way. */
	assert_false(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_memory_is_zeroed),
		cmocka_unit_test(test_nothing_is_still_a_pointer),
		cmocka_unit_test(test_text_is_copied),
		cmocka_unit_test(test_free_ptr_leaves_null_behind),
		cmocka_unit_test(test_what_is_taken_is_not_freed),
		cmocka_unit_test(test_running_out_of_memory_ends_the_program),
	};

	return cmocka_run_group_tests_name("mem", tests, NULL, NULL);
}
