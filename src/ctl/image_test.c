/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/image.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/test.h"
#include "meta/imagename.h"

#define NAME "ferry/launcher:latest"
#define REPLACED 400

static char dir[64];

static int
set_up(void **state)
{
	(void)state;
	(void)snprintf(dir, sizeof(dir), "/tmp/image-XXXXXX");
	return mkdtemp(dir) == NULL ? -1 : 0;
}

static int
tear_down(void **state)
{
	struct err err;

	(void)state;
	return path_remove_tree(dir, &err);
}

static void
add(int number)
{
	AUTO(js_unref) json_t *config = json_pack("{s:i}", "number", number);
	struct err err;

	assert_int_equal(
		image_add_host(dir, NAME, "/proc/self/exe", config, &err), 0);
}

static char *
json_path(void)
{
	char escaped[IMAGENAME_ESCAPED_MAX];

	assert_int_equal(imagename_escape(NAME, escaped), 0);
	return xasprintf("%s/%s/image.json", dir, escaped);
}

static size_t
count_entries(void)
{
	DIR *all = opendir(dir);
	const struct dirent *entry;
	size_t count = 0;

	assert_non_null(all);
	while ((entry = readdir(all)) != NULL) {
		if (strcmp(entry->d_name, ".") != 0 &&
		    strcmp(entry->d_name, "..") != 0)
			count++;
	}
	(void)closedir(all);
	return count;
}

static void
note_number(const char *name, const json_t *config, void *arg)
{
	assert_string_equal(name, NAME);
	*(json_int_t *)arg =
		json_integer_value(json_object_get(config, "number"));
}

static void
test_an_image_takes_the_place_of_the_one_before(void **state)
{
	json_int_t number = 0;
	struct err err;

	(void)state;
	add(1);
	add(2);
	assert_int_equal(image_each(dir, note_number, &number, &err), 0);
	assert_int_equal(number, 2);
	assert_int_equal(count_entries(), 1);
}

/* Whoever is killed is killed at one of the moments that are seen here. */
static void
test_an_image_is_there_while_it_is_replaced(void **state)
{
	AUTO(free_ptr) char *path = json_path();
	size_t seen = 0, missing = 0;
	int status = -1;
	pid_t pid;

	(void)state;
	add(0);
	pid = fork();
	assert_int_not_equal(pid, -1);
	if (pid == 0) {
		for (int i = 1; i <= REPLACED; i++)
			add(i);
		_exit(0);
	}
	while (waitpid(pid, &status, WNOHANG) == 0) {
		if (access(path, F_OK) == 0)
			seen++;
		else
			missing++;
	}
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	assert_int_equal(missing, 0);
	assert_true(seen > REPLACED);
	assert_int_equal(count_entries(), 1);
}

static void
test_a_name_that_is_none_changes_nothing(void **state)
{
	AUTO(js_unref) json_t *config = json_object();
	struct err err;

	(void)state;
	assert_int_equal(
		image_add_host(dir, "..", "/proc/self/exe", config, &err), -1);
	assert_int_equal(err.kind, ERR_INVALID);
	assert_int_equal(count_entries(), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_an_image_takes_the_place_of_the_one_before),
		TEST(test_an_image_is_there_while_it_is_replaced),
		TEST(test_a_name_that_is_none_changes_nothing),
	};

	return cmocka_run_group_tests_name("image", tests, NULL, NULL);
}
