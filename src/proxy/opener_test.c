/* SPDX-License-Identifier: Apache-2.0 */
#include "proxy/opener.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"
#include "proxy/opener_internal.h"

#define CALLS 50 /* of each thread */

/*
 * A directory of our own:
 *   allowed/pod/           where sockets go
 *   allowed/link -> pod
 *   way -> allowed         how the operator may have written it
 *   outside/
 *   cert, cert-link -> cert
 */
struct world {
	char root[64];
	char allowed[80];
	char way[80];
	char cert[80];
	char cert_link[80];
	const char *dirs[2];
	const char *files[3];
	struct opener_config config;
	struct opener *opener;
	int root_fd;
	int pod_fd; /* from the opener */
};

static char *
path_of(const struct world *w, const char *name)
{
	static char path[160];

	(void)snprintf(path, sizeof(path), "%s/%s", w->root, name);
	return path;
}

static void
write_file(const char *path, const char *text)
{
	int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	(void)close(fd);
}

static void
make_world(struct world *w)
{
	(void)snprintf(w->root, sizeof(w->root), "/tmp/ferry-opener-XXXXXX");
	assert_non_null(mkdtemp(w->root));
	w->root_fd = open(w->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(mkdirat(w->root_fd, "allowed", 0755), 0);
	assert_int_equal(mkdirat(w->root_fd, "allowed/pod", 0755), 0);
	assert_int_equal(mkdirat(w->root_fd, "allowed2", 0755), 0);
	assert_int_equal(mkdirat(w->root_fd, "outside", 0755), 0);
	assert_int_equal(symlinkat("pod", w->root_fd, "allowed/link"), 0);
	assert_int_equal(symlinkat("../outside", w->root_fd, "allowed/out"), 0);
	assert_int_equal(symlinkat("allowed", w->root_fd, "way"), 0);
	assert_int_equal(symlinkat("cert", w->root_fd, "cert-link"), 0);
	(void)snprintf(w->allowed, sizeof(w->allowed), "%s/allowed/", w->root);
	(void)snprintf(w->way, sizeof(w->way), "%s/way", w->root);
	(void)snprintf(w->cert, sizeof(w->cert), "%s/cert", w->root);
	(void)snprintf(w->cert_link, sizeof(w->cert_link), "%s/cert-link",
		       w->root);
	write_file(w->cert, "first");
}

static int
setup(void **state)
{
	struct world *w = xmalloc0(sizeof(*w));
	struct err err;

	make_world(w);
	w->dirs[0] = w->allowed;
	w->dirs[1] = w->way;
	w->files[0] = w->cert;
	w->files[1] = w->cert_link;
	w->files[2] = w->allowed; /* not a file */
	w->config = (struct opener_config){
		.dirs = w->dirs, .n_dirs = 2, .files = w->files, .n_files = 3
	};
	if (opener_start(&w->config, &w->opener, &err) == -1)
		fail_msg("%s", err.text);
	if (opener_open_dir(w->opener, path_of(w, "allowed/pod"), &w->pod_fd,
			    &err) == -1)
		fail_msg("%s", err.text);
	*state = w;
	return 0;
}

static int
teardown(void **state)
{
	static const char *const files[] = { "allowed/pod/s", "allowed/link",
					     "allowed/out",   "way",
					     "cert-link",     "cert",
					     "outside/s" };
	static const char *const dirs[] = { "allowed/pod", "allowed",
					    "allowed2", "outside" };
	struct world *w = *state;
	int rc = 0;

	opener_free(w->opener);
	(void)close(w->pod_fd);
	for (size_t i = 0; i < ARRAY_LEN(files); i++)
		(void)unlinkat(w->root_fd, files[i], 0);
	for (size_t i = 0; i < ARRAY_LEN(dirs); i++)
		rc |= unlinkat(w->root_fd, dirs[i], AT_REMOVEDIR);
	(void)close(w->root_fd);
	rc |= rmdir(w->root);
	free(w);
	return rc;
}

static void
expect_dir_fails(struct world *w, const char *path, enum err_kind kind)
{
	struct err err;
	int fd = -7;

	assert_int_equal(opener_open_dir(w->opener, path, &fd, &err), -1);
	assert_int_equal(err.kind, kind);
	assert_int_equal(fd, -7);
}

static void
test_sockets_are_made_reached_and_removed(void **state)
{
	struct world *w = *state;
	struct endpoint ep = ENDPOINT_NONE;
	struct stat st;
	struct err err;
	int fd, peer;
	char c = 0;

	if (opener_listen(w->opener, w->pod_fd, "s", NULL, &ep, &err) == -1)
		fail_msg("%s", err.text);
	assert_int_equal(fstatat(w->pod_fd, "s", &st, 0), 0);
	assert_int_equal(st.st_mode, S_IFSOCK | 0600);
	assert_int_equal(st.st_ino, ep.ino);
	assert_int_equal(opener_connect(w->opener, w->pod_fd, "s", &fd, &err),
			 0);
	assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	peer = accept4(ep.fd, NULL, NULL, SOCK_CLOEXEC);
	assert_int_equal(write(fd, "x", 1), 1);
	assert_int_equal(read(peer, &c, 1), 1);
	assert_int_equal(c, 'x');
	(void)close(peer);
	(void)close(fd);
	assert_int_equal(opener_unlink(w->opener, w->pod_fd, "s", &ep, &err),
			 0);
	assert_int_equal(fstatat(w->pod_fd, "s", &st, 0), -1);
	(void)close(ep.fd);
	assert_int_equal(opener_connect(w->opener, w->pod_fd, "s", &fd, &err),
			 -1);
	assert_int_equal(err.kind, ERR_NOT_FOUND);
}

static void
test_stale_sockets_are_replaced_and_others_not(void **state)
{
	struct world *w = *state;
	struct endpoint old = ENDPOINT_NONE, ep = ENDPOINT_NONE;
	struct err err;

	assert_int_equal(
		opener_listen(w->opener, w->pod_fd, "s", NULL, &old, &err), 0);
	assert_int_equal(
		opener_listen(w->opener, w->pod_fd, "s", NULL, &ep, &err), -1);
	assert_int_equal(err.kind, ERR_EXISTS);
	(void)close(old.fd);
	if (opener_listen(w->opener, w->pod_fd, "s", NULL, &ep, &err) == -1)
		fail_msg("%s", err.text);
	assert_int_not_equal(ep.ino, old.ino);
	(void)close(ep.fd);
}

static void
test_the_owner_is_passed_on(void **state)
{
	struct endpoint_owner owner = { 12345, 54321 };
	struct endpoint ep = ENDPOINT_NONE;
	struct world *w = *state;
	struct stat st;
	struct err err;
	int rc;

	rc = opener_listen(w->opener, w->pod_fd, "s", &owner, &ep, &err);
	if (geteuid() != 0) {
		assert_int_equal(rc, -1);
		assert_int_equal(err.kind, ERR_DENIED);
		return;
	}
	assert_int_equal(rc, 0);
	assert_int_equal(fstatat(w->pod_fd, "s", &st, 0), 0);
	assert_int_equal(st.st_uid, 12345);
	assert_int_equal(st.st_gid, 54321);
	(void)close(ep.fd);
}

static void
test_directories_are_opened_only_at_or_below_allowed_ones(void **state)
{
	struct world *w = *state;
	char path[OPENER_PATH_MAX + 2];
	struct err err;
	int fd;

	assert_int_equal(
		opener_open_dir(w->opener, path_of(w, "allowed"), &fd, &err),
		0);
	(void)close(fd);
	assert_int_equal(opener_open_dir(w->opener, path_of(w, "allowed//pod/"),
					 &fd, &err),
			 0);
	(void)close(fd);
	/* The operator's own link is followed. */
	assert_int_equal(
		opener_open_dir(w->opener, path_of(w, "way/pod"), &fd, &err),
		0);
	(void)close(fd);

	expect_dir_fails(w, path_of(w, "outside"), ERR_DENIED);
	expect_dir_fails(w, path_of(w, "allowed2"), ERR_DENIED);
	expect_dir_fails(w, w->root, ERR_DENIED);
	expect_dir_fails(w, "/", ERR_DENIED);
	expect_dir_fails(w, path_of(w, "allowed/../outside"), ERR_DENIED);
	expect_dir_fails(w, path_of(w, "allowed/link"), ERR_DENIED);
	expect_dir_fails(w, path_of(w, "allowed/out"), ERR_DENIED);
	expect_dir_fails(w, path_of(w, "allowed/none"), ERR_NOT_FOUND);
	expect_dir_fails(w, "allowed/pod", ERR_INVALID);
	expect_dir_fails(w, "", ERR_INVALID);
	memset(path, '/', sizeof(path));
	path[sizeof(path) - 1] = '\0';
	expect_dir_fails(w, path, ERR_INVALID);
}

static void
test_only_allowed_directories_are_taken_unless_told_otherwise(void **state)
{
	struct world *w = *state;
	struct opener_config config = w->config;
	struct endpoint ep = ENDPOINT_NONE;
	struct opener *other;
	struct err err;
	int outside, file;

	outside =
		openat(w->root_fd, "outside", O_PATH | O_DIRECTORY | O_CLOEXEC);
	file = openat(w->root_fd, "cert", O_PATH | O_CLOEXEC);
	assert_int_equal(
		opener_listen(w->opener, outside, "s", NULL, &ep, &err), -1);
	assert_int_equal(err.kind, ERR_DENIED);
	assert_int_equal(opener_listen(w->opener, file, "s", NULL, &ep, &err),
			 -1);
	assert_int_equal(err.kind, ERR_INVALID);

	config.foreign_dirs = true;
	assert_int_equal(opener_start(&config, &other, &err), 0);
	assert_int_equal(opener_listen(other, outside, "s", NULL, &ep, &err),
			 0);
	(void)close(ep.fd);
	assert_int_equal(opener_listen(other, file, "s", NULL, &ep, &err), -1);
	assert_int_equal(err.kind, ERR_INVALID);
	opener_free(other);
	(void)close(outside);
	(void)close(file);
}

static void
test_credentials_are_read_also_through_links(void **state)
{
	struct world *w = *state;
	struct err err;
	char *data;
	size_t len;

	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(
			opener_read_file(w->opener, i, 100, &data, &len, &err),
			0);
		assert_int_equal(len, 5);
		assert_string_equal(data, "first");
		free(data);
	}
	assert_int_equal(opener_read_file(w->opener, 0, 4, &data, &len, &err),
			 -1);
	assert_non_null(strstr(err.text, w->cert));
	assert_int_equal(opener_read_file(w->opener, 2, 100, &data, &len, &err),
			 -1);
	assert_int_equal(err.kind, ERR_INVALID);
	assert_int_equal(opener_read_file(w->opener, 3, 100, &data, &len, &err),
			 -1);
	assert_int_equal(err.kind, ERR_INVALID);
	assert_int_equal(unlinkat(w->root_fd, "cert", 0), 0);
	assert_int_equal(opener_read_file(w->opener, 1, 100, &data, &len, &err),
			 -1);
	assert_int_equal(err.kind, ERR_NOT_FOUND);
	assert_non_null(strstr(err.text, w->cert_link));
}

static void
test_a_changed_file_has_another_stamp(void **state)
{
	struct opener_stamp before, after;
	struct world *w = *state;
	struct err err;

	assert_int_equal(opener_stat_file(w->opener, 1, &before, &err), 0);
	assert_int_equal(opener_stat_file(w->opener, 1, &after, &err), 0);
	assert_memory_equal(&before, &after, sizeof(before));
	assert_int_equal(before.size, 5);

	/* Written in place. */
	write_file(w->cert, "second");
	assert_int_equal(opener_stat_file(w->opener, 1, &after, &err), 0);
	assert_memory_not_equal(&before, &after, sizeof(before));

	/* Exchanged, as a mounted Secret is, for one of the same size. */
	write_file(path_of(w, "outside/s"), "third!");
	assert_int_equal(renameat(w->root_fd, "outside/s", w->root_fd, "cert"),
			 0);
	assert_int_equal(opener_stat_file(w->opener, 1, &before, &err), 0);
	assert_memory_not_equal(&before, &after, sizeof(before));
	assert_int_equal(opener_stat_file(w->opener, 9, &before, &err), -1);
	assert_int_equal(err.kind, ERR_INVALID);
}

static bool
is_dead(struct opener *opener, int timeout_ms)
{
	struct pollfd pfd = { .fd = opener_watch_fd(opener), .events = POLLIN };

	return poll(&pfd, 1, timeout_ms) == 1;
}

static void
test_the_death_of_the_opener_is_noticed(void **state)
{
	struct world *w = *state;
	struct opener_stamp stamp;
	struct err err;

	assert_false(is_dead(w->opener, 0));
	assert_int_equal(kill(opener_pid(w->opener), SIGKILL), 0);
	assert_true(is_dead(w->opener, 10000));
	for (int i = 0; i < 3; i++) {
		assert_int_equal(opener_stat_file(w->opener, 0, &stamp, &err),
				 -1);
		assert_int_equal(err.kind, ERR_UNAVAILABLE);
	}
}

static void
test_signals_for_everybody_do_not_end_it(void **state)
{
	struct world *w = *state;
	struct opener_stamp stamp;
	struct err err;

	assert_int_equal(kill(opener_pid(w->opener), SIGTERM), 0);
	assert_int_equal(kill(opener_pid(w->opener), SIGINT), 0);
	assert_int_equal(kill(opener_pid(w->opener), SIGHUP), 0);
	assert_int_equal(opener_stat_file(w->opener, 0, &stamp, &err), 0);
}

static void
test_a_call_that_takes_too_long_is_given_up_and_forgotten(void **state)
{
	struct world *w = *state;
	struct opener_stamp stamp;
	struct err err;
	char *data;
	size_t len;
	int next, again;

	next = dup(STDIN_FILENO);
	(void)close(next);
	assert_int_equal(kill(opener_pid(w->opener), SIGSTOP), 0);
	assert_int_equal(opener_read_file(w->opener, 0, 100, &data, &len, &err),
			 -1);
	assert_int_equal(err.kind, ERR_TIMEOUT);
	assert_int_equal(kill(opener_pid(w->opener), SIGCONT), 0);

	/* The late reply is not taken for the next, and nothing leaks. */
	assert_int_equal(opener_stat_file(w->opener, 0, &stamp, &err), 0);
	assert_int_equal(stamp.size, 5);
	again = dup(STDIN_FILENO);
	assert_int_equal(again, next);
	(void)close(again);
}

/* In a process that ends without a word to its opener. */
static void
start_and_die(const struct opener_config *config, int tell_fd)
{
	struct opener *opener;
	struct err err;
	pid_t pid;

	if (opener_start(config, &opener, &err) == -1)
		_exit(1);
	pid = opener_pid(opener);
	if (write(tell_fd, &pid, sizeof(pid)) != (ssize_t)sizeof(pid))
		_exit(1);
	(void)kill(getpid(), SIGKILL);
	_exit(1);
}

static void
test_it_ends_with_its_parent_and_keeps_no_descriptor(void **state)
{
	struct world *w = *state;
	int ends[2], status;
	pid_t parent, pid = 0;
	char c;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	parent = fork();
	if (parent == 0)
		start_and_die(&w->config, ends[1]);
	(void)close(ends[1]);
	assert_int_equal(waitpid(parent, &status, 0), parent);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(read(ends[0], &pid, sizeof(pid)), sizeof(pid));
	/* The end of the pipe: the opener does not hold it. */
	assert_int_equal(read(ends[0], &c, 1), 0);
	(void)close(ends[0]);
	/* It was given to init, or to the reaper of the tests, to wait for. */
	for (int i = 0; i < 5000 && kill(pid, 0) == 0; i++) {
		char path[64], text[512] = "";
		int fd;

		(void)snprintf(path, sizeof(path), "/proc/%d/stat", pid);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd == -1 || read(fd, text, sizeof(text) - 1) <= 0 ||
		    strstr(text, ") Z ") != NULL) {
			(void)close(fd);
			return;
		}
		(void)close(fd);
		(void)poll(NULL, 0, 1);
	}
	assert_int_equal(kill(pid, 0), -1);
}

static void
test_it_holds_nothing_but_its_socket_and_stderr(void **state)
{
	struct world *w = *state;
	struct opener_stamp stamp;
	struct dirent *entry;
	struct err err;
	char path[64];
	int count = 0;
	DIR *d;

	/* When it answers this, it is done with all that was before. */
	assert_int_equal(opener_stat_file(w->opener, 0, &stamp, &err), 0);
	(void)snprintf(path, sizeof(path), "/proc/%d/fd",
		       opener_pid(w->opener));
	d = opendir(path);
	/* Only root may look at a process that cannot be traced. */
	if (d == NULL) {
		assert_int_not_equal(geteuid(), 0);
		return;
	}
	while ((entry = readdir(d)) != NULL)
		count += entry->d_name[0] != '.';
	(void)closedir(d);
	assert_int_equal(count, 4);
}

static void *
call_often(void *arg)
{
	struct world *w = arg;
	struct opener_stamp stamp;
	struct err err;
	char *data;
	size_t len;

	for (int i = 0; i < CALLS; i++) {
		if (opener_stat_file(w->opener, 0, &stamp, &err) == -1 ||
		    stamp.size != 5 ||
		    opener_read_file(w->opener, 1, 100, &data, &len, &err))
			return w;
		free(data);
	}
	return NULL;
}

static void
test_threads_get_the_answers_to_their_own_questions(void **state)
{
	pthread_t thread[4];
	void *failed;

	for (size_t i = 0; i < ARRAY_LEN(thread); i++)
		assert_int_equal(
			pthread_create(&thread[i], NULL, call_often, *state),
			0);
	for (size_t i = 0; i < ARRAY_LEN(thread); i++) {
		assert_int_equal(pthread_join(thread[i], &failed), 0);
		assert_null(failed);
	}
}

/* What an intruder in main could send. */
static void
expect_refused(struct world *w, const struct opener_request *request,
	       const int *fds, size_t n_fds)
{
	struct opener_reply reply;
	int fd;

	opener_serve(&w->config, request, fds, n_fds, &reply, &fd);
	assert_int_equal(reply.failed, 1);
	assert_int_equal(reply.err.kind, ERR_INVALID);
	assert_int_equal(reply.number, request->number);
	assert_int_equal(fd, -1);
}

static void
test_requests_that_main_would_not_make_are_refused(void **state)
{
	struct world *w = *state;
	struct opener_request r = { .op = OPENER_OP_COUNT, .number = 7 };
	int fds[2] = { w->pod_fd, w->pod_fd };

	expect_refused(w, &r, NULL, 0);
	r.op = UINT32_MAX;
	expect_refused(w, &r, NULL, 0);

	r.op = OPENER_LISTEN;
	memcpy(r.name, "s", 2);
	expect_refused(w, &r, NULL, 0);
	expect_refused(w, &r, fds, 2);
	memcpy(r.name, "../s", 5);
	expect_refused(w, &r, fds, 1);
	memset(r.name, 'x', sizeof(r.name)); /* without an end */
	expect_refused(w, &r, fds, 1);

	r.op = OPENER_OPEN_DIR;
	expect_refused(w, &r, NULL, 0);
	memset(r.path, '/', sizeof(r.path)); /* without an end */
	expect_refused(w, &r, NULL, 0);

	r.op = OPENER_OPEN_FILE;
	r.index = 3;
	expect_refused(w, &r, NULL, 0);
	r.index = UINT32_MAX;
	expect_refused(w, &r, NULL, 0);
	r.index = 0;
	expect_refused(w, &r, fds, 1);
}

static void
test_a_relative_directory_is_not_started_with(void **state)
{
	static const char *const dirs[] = { "relative" };
	struct opener_config config = { .dirs = dirs, .n_dirs = 1 };
	struct opener *opener;
	struct err err;

	(void)state;
	assert_int_equal(opener_start(&config, &opener, &err), -1);
	assert_int_equal(err.kind, ERR_INVALID);
	opener_free(NULL);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_sockets_are_made_reached_and_removed),
		TEST(test_stale_sockets_are_replaced_and_others_not),
		TEST(test_the_owner_is_passed_on),
		TEST(test_directories_are_opened_only_at_or_below_allowed_ones),
		TEST(test_only_allowed_directories_are_taken_unless_told_otherwise),
		TEST(test_credentials_are_read_also_through_links),
		TEST(test_a_changed_file_has_another_stamp),
		TEST(test_the_death_of_the_opener_is_noticed),
		TEST(test_signals_for_everybody_do_not_end_it),
		TEST(test_a_call_that_takes_too_long_is_given_up_and_forgotten),
		TEST(test_it_ends_with_its_parent_and_keeps_no_descriptor),
		TEST(test_it_holds_nothing_but_its_socket_and_stderr),
		TEST(test_threads_get_the_answers_to_their_own_questions),
		TEST(test_requests_that_main_would_not_make_are_refused),
		cmocka_unit_test(test_a_relative_directory_is_not_started_with),
	};

	return cmocka_run_group_tests_name("proxy/opener", tests, NULL, NULL);
}
