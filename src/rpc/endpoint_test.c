/* SPDX-License-Identifier: Apache-2.0 */
#include "rpc/endpoint.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/array.h"
#include "base/err.h"

#define OTHER_ID 12345U /* anybody who is not us */

static char dir[64];
static int dir_fd;

static int
setup(void **state)
{
	(void)state;
	(void)snprintf(dir, sizeof(dir), "/tmp/ferry-endpoint-XXXXXX");
	if (mkdtemp(dir) == NULL)
		return -1;
	dir_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return dir_fd == -1 ? -1 : 0;
}

/* Counts what is in the directory and removes it. */
static int
empty_dir(void)
{
	DIR *d = opendir(dir);
	struct dirent *entry;
	int count = 0;

	while ((entry = readdir(d)) != NULL) {
		if (strcmp(entry->d_name, ".") == 0 ||
		    strcmp(entry->d_name, "..") == 0)
			continue;
		count++;
		if (unlinkat(dirfd(d), entry->d_name, 0) == -1)
			(void)unlinkat(dirfd(d), entry->d_name, AT_REMOVEDIR);
	}
	(void)closedir(d);
	return count;
}

static int
teardown(void **state)
{
	(void)state;
	(void)close(dir_fd);
	(void)empty_dir();
	return rmdir(dir);
}

static struct endpoint
listen_ok(const char *name)
{
	struct endpoint ep = ENDPOINT_NONE;
	struct err err;

	if (endpoint_listen(dir_fd, name, NULL, &ep, &err) == -1)
		fail_msg("%s", err.text);
	return ep;
}

static void
expect_listen_fails(const char *name, enum err_kind kind, const char *part)
{
	struct endpoint ep = { .fd = -7 };
	struct err err;

	assert_int_equal(endpoint_listen(dir_fd, name, NULL, &ep, &err), -1);
	assert_int_equal(err.kind, kind);
	if (strstr(err.text, part) == NULL)
		fail_msg("'%s' does not say '%s'", err.text, part);
	assert_int_equal(ep.fd, -7);
}

static void
expect_connect_fails(const char *name, enum err_kind kind)
{
	struct err err;
	int fd = -7;

	assert_int_equal(endpoint_connect(dir_fd, name, &fd, &err), -1);
	assert_int_equal(err.kind, kind);
	assert_non_null(strstr(err.text, name));
	assert_int_equal(fd, -7);
}

static void
test_a_connection_arrives(void **state)
{
	struct endpoint ep = listen_ok("vm-source.sock");
	struct err err;
	int fd, other;
	char c = 0;

	(void)state;
	assert_int_equal(endpoint_connect(dir_fd, "vm-source.sock", &fd, &err),
			 0);
	assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	assert_true(fcntl(ep.fd, F_GETFL) & O_NONBLOCK);
	assert_true(fcntl(ep.fd, F_GETFD) & FD_CLOEXEC);
	other = accept4(ep.fd, NULL, NULL, SOCK_CLOEXEC);
	assert_true(other >= 0);
	assert_int_equal(write(fd, "x", 1), 1);
	assert_int_equal(read(other, &c, 1), 1);
	assert_int_equal(c, 'x');
	(void)close(other);
	(void)close(fd);
	(void)close(ep.fd);
	assert_int_equal(empty_dir(), 1); /* the socket and nothing else */
}

static void
test_only_the_owner_may_connect_whatever_the_umask(void **state)
{
	static const mode_t masks[] = { 0, 022, 077 };
	mode_t before = umask(0);
	struct endpoint ep;
	struct stat st;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(masks); i++) {
		(void)umask(masks[i]);
		ep = listen_ok("s");
		assert_int_equal(fstatat(dir_fd, "s", &st, 0), 0);
		assert_int_equal(st.st_mode, S_IFSOCK | 0600);
		assert_int_equal(st.st_uid, geteuid());
		assert_int_equal(st.st_ino, ep.ino);
		assert_int_equal(st.st_dev, ep.dev);
		(void)close(ep.fd);
	}
	(void)umask(before);
}

static void
test_the_socket_is_given_to_its_owner_or_not_made(void **state)
{
	struct endpoint_owner owner = { OTHER_ID, OTHER_ID + 1 };
	struct endpoint ep = ENDPOINT_NONE;
	struct stat st;
	struct err err;
	int rc;

	(void)state;
	rc = endpoint_listen(dir_fd, "s", &owner, &ep, &err);
	if (geteuid() != 0) {
		assert_int_equal(rc, -1);
		assert_int_equal(err.kind, ERR_DENIED);
		assert_int_equal(empty_dir(), 0);
		return;
	}
	assert_int_equal(rc, 0);
	assert_int_equal(fstatat(dir_fd, "s", &st, 0), 0);
	assert_int_equal(st.st_uid, OTHER_ID);
	assert_int_equal(st.st_gid, OTHER_ID + 1);
	assert_int_equal(st.st_mode & 07777, 0600);
	(void)close(ep.fd);

	owner = (struct endpoint_owner){ ENDPOINT_KEEP_ID, OTHER_ID };
	assert_int_equal(endpoint_listen(dir_fd, "s", &owner, &ep, &err), 0);
	assert_int_equal(fstatat(dir_fd, "s", &st, 0), 0);
	assert_int_equal(st.st_uid, geteuid());
	assert_int_equal(st.st_gid, OTHER_ID);
	(void)close(ep.fd);
}

static void
test_a_stale_socket_is_replaced(void **state)
{
	struct endpoint old = listen_ok("s"), now;
	struct err err;
	int fd;

	(void)state;
	(void)close(old.fd);
	expect_connect_fails("s", ERR_REFUSED);
	now = listen_ok("s");
	assert_int_equal(endpoint_connect(dir_fd, "s", &fd, &err), 0);
	(void)close(fd);
	(void)close(now.fd);
	assert_int_equal(empty_dir(), 1);
}

static void
test_a_socket_in_use_is_left_alone_and_not_disturbed(void **state)
{
	struct endpoint ep = listen_ok("s");
	struct err err;
	int fd;

	(void)state;
	expect_listen_fails("s", ERR_EXISTS, "in use");
	/* The question whether it is in use was no connection. */
	assert_int_equal(accept4(ep.fd, NULL, NULL, SOCK_CLOEXEC), -1);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(endpoint_connect(dir_fd, "s", &fd, &err), 0);
	(void)close(fd);
	(void)close(ep.fd);
	assert_int_equal(empty_dir(), 1);
}

static void
test_links_files_and_directories_are_left_alone(void **state)
{
	struct endpoint ep = listen_ok("real");
	struct stat st;
	int fd;

	(void)state;
	(void)close(ep.fd);
	assert_int_equal(symlinkat("real", dir_fd, "link"), 0);
	assert_int_equal(symlinkat("nowhere", dir_fd, "dangling"), 0);
	assert_int_equal(mkdirat(dir_fd, "dir", 0755), 0);
	fd = openat(dir_fd, "file", O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
	assert_int_equal(write(fd, "keep", 4), 4);
	(void)close(fd);

	expect_listen_fails("link", ERR_EXISTS, "not a socket");
	expect_listen_fails("dangling", ERR_EXISTS, "not a socket");
	expect_listen_fails("dir", ERR_EXISTS, "not a socket");
	expect_listen_fails("file", ERR_EXISTS, "not a socket");
	assert_int_equal(fstatat(dir_fd, "file", &st, 0), 0);
	assert_int_equal(st.st_size, 4);
	assert_int_equal(fstatat(dir_fd, "link", &st, AT_SYMLINK_NOFOLLOW), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_int_equal(fstatat(dir_fd, "nowhere", &st, 0), -1);
	assert_int_equal(empty_dir(), 5);
}

static void
test_names_that_could_leave_the_directory_are_refused(void **state)
{
	char name[ENDPOINT_NAME_MAX + 2];
	struct endpoint ep;

	(void)state;
	expect_listen_fails("", ERR_INVALID, "name");
	expect_listen_fails("..", ERR_INVALID, "name");
	expect_listen_fails("a/b", ERR_INVALID, "name");
	expect_listen_fails("/tmp/x", ERR_INVALID, "name");
	expect_connect_fails("../x", ERR_INVALID);

	memset(name, 'n', sizeof(name));
	name[ENDPOINT_NAME_MAX + 1] = '\0';
	expect_listen_fails(name, ERR_INVALID, "name");
	name[ENDPOINT_NAME_MAX] = '\0';
	ep = listen_ok(name);
	(void)close(ep.fd);
	assert_int_equal(empty_dir(), 1);
}

static void
test_connecting_tells_missing_refusing_and_wrong_apart(void **state)
{
	struct endpoint ep = listen_ok("real");
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd;

	(void)state;
	expect_connect_fails("missing", ERR_NOT_FOUND);
	assert_int_equal(symlinkat("real", dir_fd, "link"), 0);
	expect_connect_fails("link", ERR_DENIED);
	assert_int_equal(mkdirat(dir_fd, "dir", 0755), 0);
	expect_connect_fails("dir", ERR_INVALID);
	(void)close(ep.fd);
	expect_connect_fails("real", ERR_REFUSED);

	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	(void)snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/seq", dir);
	assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(listen(fd, 1), 0);
	expect_connect_fails("seq", ERR_INVALID);
	(void)close(fd);
}

static void
test_a_full_queue_is_worth_another_try(void **state)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	struct err err;
	int listener, fd;

	(void)state;
	listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	(void)snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/s", dir);
	assert_int_equal(bind(listener, (struct sockaddr *)&addr, sizeof(addr)),
			 0);
	assert_int_equal(listen(listener, 0), 0);
	assert_int_equal(endpoint_connect(dir_fd, "s", &fd, &err), 0);
	expect_connect_fails("s", ERR_LIMIT);
	(void)close(accept4(listener, NULL, NULL, SOCK_CLOEXEC));
	(void)close(fd);
	assert_int_equal(endpoint_connect(dir_fd, "s", &fd, &err), 0);
	(void)close(fd);
	(void)close(listener);
}

static void
test_only_our_own_socket_is_removed(void **state)
{
	struct endpoint ep = listen_ok("s"), other;
	struct err err;
	struct stat st;

	(void)state;
	/* Somebody put another socket under our name. */
	assert_int_equal(renameat(dir_fd, "s", dir_fd, "moved"), 0);
	other = listen_ok("s");
	assert_int_equal(endpoint_unlink(dir_fd, "s", &ep, &err), 0);
	assert_int_equal(fstatat(dir_fd, "s", &st, 0), 0);

	assert_int_equal(endpoint_unlink(dir_fd, "s", &other, &err), 0);
	assert_int_equal(fstatat(dir_fd, "s", &st, 0), -1);
	assert_int_equal(endpoint_unlink(dir_fd, "s", &other, &err), 0);
	assert_int_equal(endpoint_unlink(dir_fd, "../s", &other, &err), -1);
	(void)close(ep.fd);
	(void)close(other.fd);
}

static void
test_a_directory_replaced_by_a_link_does_not_matter(void **state)
{
	char moved[80], trap[] = "/tmp/ferry-trap-XXXXXX";
	struct endpoint ep;
	struct err err;
	int fd;

	(void)state;
	assert_non_null(mkdtemp(trap));
	(void)snprintf(moved, sizeof(moved), "%s-moved", dir);
	assert_int_equal(rename(dir, moved), 0);
	assert_int_equal(symlink(trap, dir), 0);

	ep = listen_ok("s");
	assert_int_equal(endpoint_connect(dir_fd, "s", &fd, &err), 0);
	assert_int_equal(rmdir(trap), 0); /* nothing came into it */
	(void)close(fd);
	(void)close(ep.fd);
	assert_int_equal(unlink(dir), 0);
	assert_int_equal(rename(moved, dir), 0);
	assert_int_equal(empty_dir(), 1);
}

static void
test_a_directory_that_is_gone_is_an_error(void **state)
{
	struct endpoint ep = ENDPOINT_NONE;
	struct err err;

	(void)state;
	assert_int_equal(rmdir(dir), 0);
	assert_int_equal(endpoint_listen(dir_fd, "s", NULL, &ep, &err), -1);
	assert_int_equal(err.kind, ERR_NOT_FOUND);
	assert_int_equal(mkdir(dir, 0700), 0);
}

static void
test_absolute_paths_work_and_must_fit(void **state)
{
	char path[200], file[80];
	struct endpoint ep = ENDPOINT_NONE;
	struct err err;
	struct stat st;

	(void)state;
	(void)snprintf(file, sizeof(file), "%s/control.sock", dir);
	assert_int_equal(endpoint_listen_path(file, NULL, &ep, &err), 0);
	assert_int_equal(stat(file, &st), 0);
	assert_int_equal(st.st_mode, S_IFSOCK | 0600);
	assert_int_equal(endpoint_unlink_path(file, &ep, &err), 0);
	assert_int_equal(stat(file, &st), -1);
	(void)close(ep.fd);

	assert_int_equal(endpoint_listen_path("relative", NULL, &ep, &err), -1);
	assert_int_equal(err.kind, ERR_INVALID);
	assert_int_equal(
		endpoint_listen_path("/nonexistent/x", NULL, &ep, &err), -1);
	assert_int_equal(err.kind, ERR_NOT_FOUND);
	memset(path, 'p', sizeof(path) - 1);
	path[0] = '/';
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(endpoint_listen_path(path, NULL, &ep, &err), -1);
	assert_int_equal(err.kind, ERR_INVALID);
	assert_non_null(strstr(err.text, "too long"));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_connection_arrives),
		TEST(test_only_the_owner_may_connect_whatever_the_umask),
		TEST(test_the_socket_is_given_to_its_owner_or_not_made),
		TEST(test_a_stale_socket_is_replaced),
		TEST(test_a_socket_in_use_is_left_alone_and_not_disturbed),
		TEST(test_links_files_and_directories_are_left_alone),
		TEST(test_names_that_could_leave_the_directory_are_refused),
		TEST(test_connecting_tells_missing_refusing_and_wrong_apart),
		TEST(test_a_full_queue_is_worth_another_try),
		TEST(test_only_our_own_socket_is_removed),
		TEST(test_a_directory_replaced_by_a_link_does_not_matter),
		TEST(test_a_directory_that_is_gone_is_an_error),
		TEST(test_absolute_paths_work_and_must_fit),
	};

	return cmocka_run_group_tests_name("proxy/endpoint", tests, NULL, NULL);
}
