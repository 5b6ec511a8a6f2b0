/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/removal.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/test.h"

static void
make_file(const char *dir, const char *name)
{
	AUTO(free_ptr) char *path = xasprintf("%s/%s", dir, name);
	int fd = open(path, O_CREAT | O_WRONLY, 0600);

	assert_int_not_equal(fd, -1);
	(void)close(fd);
}

static void
test_a_tree_goes_and_what_links_point_to_stays(void **state)
{
	char keep[] = "/tmp/removal-keep-XXXXXX";
	char dir[] = "/tmp/removal-test-XXXXXX";
	AUTO(free_ptr) char *kept = NULL;
	AUTO(free_ptr) char *sub = NULL;
	AUTO(free_ptr) char *link = NULL;
	struct err err;

	(void)state;
	assert_non_null(mkdtemp(keep));
	assert_non_null(mkdtemp(dir));
	kept = xasprintf("%s/file", keep);
	make_file(keep, "file");
	sub = xasprintf("%s/sub", dir);
	assert_int_equal(mkdir(sub, 0700), 0);
	make_file(sub, "file");
	link = xasprintf("%s/link", sub);
	assert_int_equal(symlink(keep, link), 0);

	assert_int_equal(removal_run(dir, &err), 0);
	assert_int_equal(access(dir, F_OK), -1);
	assert_int_equal(access(kept, F_OK), 0);
	/* Again is fine; so is what was never there. */
	assert_int_equal(removal_run(dir, &err), 0);
	assert_int_equal(removal_run(keep, &err), 0);
	assert_int_equal(removal_run("relative", &err), -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_a_tree_goes_and_what_links_point_to_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
