/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "net/testnet.h"

static int
count_links(void *arg, struct err *err)
{
	struct if_nameindex *names = if_nameindex();
	int *count = arg;

	(void)err;
	*count = 0;
	while (names != NULL && names[*count].if_index != 0)
		(*count)++;
	if_freenameindex(names);
	return 0;
}

static int
refuse(void *arg, struct err *err)
{
	(void)arg;
	return err_set(err, ERR_REFUSED, "no");
}

static void
test_a_visit_leaves_the_visitor_where_it_was(void **state)
{
	AUTO(testnet_done) struct testnet net = testnet_new();
	AUTO(close_fd) int before = -1;
	AUTO(close_fd) int after = -1;
	struct mac mac = testnet_mac("02:00:00:00:00:01");
	struct link_spec spec = { "here", &mac, 0 };
	int count = 0;

	(void)state;
	assert_ok(netns_open_own(&before, err));
	assert_ok(link_add_bridge(net.nl, &spec, err));
	assert_ok(netns_run(net.fd, count_links, &count, err));
	assert_int_equal(count, 2);
	assert_ok(netns_open_own(&after, err));
	assert_true(netns_same(before, after));
	assert_false(netns_same(before, net.fd));
}

static void
test_a_visit_s_failure_is_the_caller_s(void **state)
{
	AUTO(testnet_done) struct testnet net = testnet_new();

	(void)state;
	assert_fails(netns_run(net.fd, refuse, NULL, err), ERR_REFUSED);
	assert_fails(netns_run(-1, refuse, NULL, err), ERR_REFUSED);
}

static void
test_what_is_no_namespace_cannot_be_visited(void **state)
{
	AUTO(close_fd) int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int count;

	(void)state;
	assert_fails(netns_run(fd, count_links, &count, err), ERR_INVALID);
}

static void
test_a_name_keeps_a_namespace_until_it_is_deleted(void **state)
{
	AUTO(close_fd) int made = -1;
	AUTO(close_fd) int opened = -1;
	int gone = -1;

	(void)state;
	assert_ok(netns_create("one", &made, err));
	assert_ok(netns_open("one", &opened, err));
	assert_true(netns_same(made, opened));
	assert_fails(netns_create("one", NULL, err), ERR_EXISTS);
	assert_ok(netns_delete("one", err));
	assert_fails(netns_open("one", &gone, err), ERR_NOT_FOUND);
	assert_ok(netns_delete("one", err));
	assert_ok(netns_create("one", NULL, err));
	assert_ok(netns_delete("one", err));
	assert_int_equal(access(NETNS_DIR "/one", F_OK), -1);
}

static void
test_what_a_killed_maker_left_is_no_namespace(void **state)
{
	int fd = -1;

	(void)state;
	assert_ok(netns_create("half", NULL, err));
	assert_ok(netns_delete("half", err));
	fd = open(NETNS_DIR "/half", O_CREAT | O_RDONLY | O_CLOEXEC, 0);
	close_fd(&fd);
	assert_fails(netns_open("half", &fd, err), ERR_NOT_FOUND);
	assert_ok(netns_create("half", NULL, err));
	assert_ok(netns_delete("half", err));
}

static void
test_a_name_is_no_path(void **state)
{
	static const char *const bad[] = { "", ".", "..", "a/b", "../x", "-x" };
	int fd;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_fails(netns_create(bad[i], &fd, err), ERR_INVALID);
		assert_fails(netns_open(bad[i], &fd, err), ERR_INVALID);
		assert_fails(netns_delete(bad[i], err), ERR_INVALID);
	}
}

/* Names in a file system of this test's own, which nobody else sees. */
static int
make_own_run(void **state)
{
	(void)state;
	if (unshare(CLONE_NEWNS) == -1 ||
	    mount("", "/", "none", MS_REC | MS_PRIVATE, NULL) == -1 ||
	    mount("tmpfs", "/run", "tmpfs", 0, "mode=755") == -1) {
		perror("cannot make a /run");
		return -1;
	}
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_visit_leaves_the_visitor_where_it_was),
		cmocka_unit_test(test_a_visit_s_failure_is_the_caller_s),
		cmocka_unit_test(test_what_is_no_namespace_cannot_be_visited),
		cmocka_unit_test(
			test_a_name_keeps_a_namespace_until_it_is_deleted),
		cmocka_unit_test(test_what_a_killed_maker_left_is_no_namespace),
		cmocka_unit_test(test_a_name_is_no_path),
	};

	return cmocka_run_group_tests_name("netns", tests, make_own_run, NULL);
}
