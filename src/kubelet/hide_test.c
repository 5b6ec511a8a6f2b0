/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/hide.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/test.h"
#include "kubelet/settings.h"
#include "kubelet/testdir.h"

/* Below the test's directory: node/ is what is hidden of, layer/ is in memory,
 * view/ is the overlay. */
static char *
at(const char *rest)
{
	return xasprintf("%s/%s", testdir, rest);
}

static void
make_dir(const char *rest, mode_t mode)
{
	AUTO(free_ptr) char *path = at(rest);

	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(chmod(path, mode), 0);
}

static void
make_file(const char *rest)
{
	AUTO(free_ptr) char *path = at(rest);
	int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	assert_int_not_equal(fd, -1);
	(void)close(fd);
}

/* Whether it is there, as the overlay shows it. */
static bool
is_seen(const char *rest)
{
	AUTO(free_ptr)
	char *path = xasprintf("%s/view%s/%s", testdir, testdir, rest);

	return access(path, F_OK) == 0;
}

static int
set_up(void **state)
{
	AUTO(free_ptr) char *layer = NULL;

	if (testdir_make(state) == -1)
		return -1;
	assert_int_equal(unshare(CLONE_NEWNS), 0);
	assert_int_equal(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL),
			 0);
	make_dir("layer", 0755);
	make_dir("view", 0755);
	layer = at("layer");
	assert_int_equal(mount("layer", layer, "tmpfs", MS_NODEV, NULL), 0);
	make_dir("layer/upper", 0755);
	make_dir("layer/work", 0755);
	make_dir("node", 0755);
	make_dir("node/cluster", 0710);
	make_file("node/cluster/ca.key");
	make_dir("node/cluster/node1", 0755);
	make_file("node/cluster/node1/tls.key");
	make_file("node/shadow");
	make_file("node/passwd");
	return 0;
}

static int
tear_down(void **state)
{
	AUTO(free_ptr) char *view = at("view");
	AUTO(free_ptr) char *layer = at("layer");

	(void)umount(view);
	assert_int_equal(umount(layer), 0);
	return testdir_remove(state);
}

static void
cover(const char *const *names)
{
	AUTO(js_unref) json_t *paths = json_array();
	AUTO(free_ptr) char *upper = at("layer/upper");
	AUTO(free_ptr) char *view = at("view");
	AUTO(free_ptr)
	char *data = xasprintf("lowerdir=/,upperdir=%s,workdir=%s/layer/work",
			       upper, testdir);
	struct err err;

	for (; *names != NULL; names++) {
		AUTO(free_ptr) char *path = at(*names);

		(void)json_array_append_new(paths, json_string(path));
	}
	if (hide_cover(upper, paths, &err) == -1)
		fail_msg("%s", err.text);
	assert_int_equal(mount("view", view, "overlay", 0, data), 0);
}

static void
test_what_is_hidden_is_empty_or_not_there(void **state)
{
	static const char *const names[] = { "node/cluster", "node/shadow",
					     NULL };
	AUTO(free_ptr)
	char *dir = xasprintf("%s/view%s/node/cluster", testdir, testdir);
	AUTO(free_ptr) char *place = xasprintf("%s/volumes", dir);
	struct stat st;

	(void)state;
	cover(names);
	assert_false(is_seen("node/shadow"));
	assert_true(is_seen("node/passwd"));
	assert_false(is_seen("node/cluster/ca.key"));
	assert_false(is_seen("node/cluster/node1"));
	assert_int_equal(stat(dir, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0710);
	/* What a container is to have from there can be mounted there. */
	assert_int_equal(mkdir(place, 0755), 0);
}

static void
test_paths_may_lie_in_each_other_and_come_twice(void **state)
{
	static const char *const names[] = { "node/cluster/node1/tls.key",
					     "node/cluster/node1",
					     "node/cluster",
					     "node/cluster",
					     "node/cluster/ca.key",
					     NULL };

	(void)state;
	cover(names);
	assert_true(is_seen("node/passwd"));
	assert_true(is_seen("node/cluster"));
	assert_false(is_seen("node/cluster/ca.key"));
	assert_false(is_seen("node/cluster/node1/tls.key"));
}

static void
test_what_a_link_points_to_is_hidden(void **state)
{
	static const char *const names[] = { "node/link", NULL };
	AUTO(free_ptr) char *link = at("node/link");

	(void)state;
	assert_int_equal(symlink("cluster", link), 0);
	cover(names);
	assert_false(is_seen("node/link/ca.key"));
	assert_false(is_seen("node/cluster/ca.key"));
}

static void
test_what_comes_later_stays_hidden(void **state)
{
	static const char *const names[] = { "node/later/pki",
					     "node/shadow/none", NULL };

	(void)state;
	cover(names);
	assert_false(is_seen("node/later"));
	make_dir("node/later", 0755);
	make_dir("node/later/pki", 0755);
	make_file("node/later/pki/ca.key");
	assert_false(is_seen("node/later/pki/ca.key"));
}

static void
test_everything_cannot_be_hidden(void **state)
{
	AUTO(free_ptr) char *upper = at("layer/upper");
	AUTO(js_unref) json_t *paths = json_pack("[s]", "/");
	struct err err;

	(void)state;
	assert_int_equal(hide_cover(upper, paths, &err), -1);
	assert_int_equal(err.kind, ERR_INVALID);
}

static void
test_a_kubelet_hides_its_own_and_what_it_is_told(void **state)
{
	const struct settings settings = {
		.root_dir = "/r",
		.image_dir = "/i",
		.tls_key = "/k",
		.hidden = { .value = { "/h" }, .count = 1 },
	};
	static const char *const names[] = { "/r", "/i",    "/k",
					     "/h", "/root", "/etc/shadow" };
	AUTO(js_unref) json_t *list = hide_list(&settings);

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const json_t *one;
		bool found = false;
		size_t k;

		json_array_foreach(list, k, one)
		{
			if (str_equal(json_string_value(one), names[i]))
				found = true;
		}
		assert_true(found);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_what_is_hidden_is_empty_or_not_there),
		TEST(test_paths_may_lie_in_each_other_and_come_twice),
		TEST(test_what_a_link_points_to_is_hidden),
		TEST(test_what_comes_later_stays_hidden),
		TEST(test_everything_cannot_be_hidden),
		cmocka_unit_test(
			test_a_kubelet_hides_its_own_and_what_it_is_told),
	};

	return cmocka_run_group_tests_name("hide", tests, NULL, NULL);
}
