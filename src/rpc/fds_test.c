/* SPDX-License-Identifier: Apache-2.0 */
#include "rpc/fds.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

static int pair[2];

static int
setup(void **state)
{
	(void)state;
	return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair);
}

static int
teardown(void **state)
{
	(void)state;
	(void)close(pair[0]);
	(void)close(pair[1]);
	return 0;
}

static bool
is_open(int fd)
{
	return fcntl(fd, F_GETFD) != -1;
}

static void
test_descriptors_arrive_with_their_bytes_and_close_on_exec(void **state)
{
	struct rpc_fds fds;
	char data[16];
	int pipe_fd[2], got;

	(void)state;
	assert_int_equal(pipe2(pipe_fd, O_CLOEXEC), 0);
	assert_int_equal(rpc_fds_send(pair[0], "hi", 2, &pipe_fd[1], 1), 2);
	assert_int_equal(rpc_fds_receive(pair[1], data, sizeof(data), &fds), 2);
	assert_int_equal(fds.count, 1);

	got = rpc_fds_take(&fds, 0);
	assert_true(got >= 0);
	assert_int_equal(fcntl(got, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	assert_int_equal(write(got, "x", 1), 1);
	assert_int_equal(read(pipe_fd[0], data, 1), 1);
	assert_int_equal(data[0], 'x');

	assert_int_equal(rpc_fds_take(&fds, 0), -1);
	assert_int_equal(rpc_fds_take(&fds, 1), -1);
	rpc_fds_done(&fds);
	assert_true(is_open(got));
	(void)close(got);
	(void)close(pipe_fd[0]);
	(void)close(pipe_fd[1]);
}

static void
test_what_is_not_taken_is_closed(void **state)
{
	struct rpc_fds fds;
	char c;
	int both[2] = { STDIN_FILENO, STDIN_FILENO }, taken, left;

	(void)state;
	assert_int_equal(rpc_fds_send(pair[0], "x", 1, both, 2), 1);
	assert_int_equal(rpc_fds_receive(pair[1], &c, 1, &fds), 1);
	assert_int_equal(fds.count, 2);
	left = fds.fd[0];
	taken = rpc_fds_take(&fds, 1);
	rpc_fds_done(&fds);
	assert_false(is_open(left));
	assert_true(is_open(taken));
	(void)close(taken);
}

/* Bypasses rpc_fds_send(), which would not send so many. */
static void
send_many(size_t count)
{
	_Alignas(struct cmsghdr) char
		control[CMSG_SPACE(4 * RPC_FDS_MAX * sizeof(int))] = { 0 };
	struct iovec iov = { .iov_base = (char[]){ 'x' }, .iov_len = 1 };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = control,
			      .msg_controllen =
				      CMSG_SPACE(count * sizeof(int)) };
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);

	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(count * sizeof(int));
	for (size_t i = 0; i < count; i++)
		((int *)(void *)CMSG_DATA(cmsg))[i] = STDIN_FILENO;
	assert_int_equal(sendmsg(pair[0], &msg, 0), 1);
}

static void
test_more_than_the_limit_is_an_error_and_leaks_nothing(void **state)
{
	struct rpc_fds fds;
	int next = dup(STDIN_FILENO), again;
	int many[RPC_FDS_MAX + 1] = { 0 };
	char c;

	(void)state;
	(void)close(next);
	send_many(RPC_FDS_MAX + 1);
	assert_int_equal(rpc_fds_receive(pair[1], &c, 1, &fds), -1);
	assert_int_equal(errno, EMSGSIZE);
	assert_int_equal(fds.count, 0);

	send_many(RPC_FDS_MAX);
	assert_int_equal(rpc_fds_receive(pair[1], &c, 1, &fds), 1);
	assert_int_equal(fds.count, RPC_FDS_MAX);
	rpc_fds_done(&fds);

	again = dup(STDIN_FILENO);
	assert_int_equal(again, next);
	(void)close(again);

	assert_int_equal(rpc_fds_send(pair[0], "x", 1, many, RPC_FDS_MAX + 1),
			 -1);
	assert_int_equal(errno, EMSGSIZE);
}

static void
test_a_peer_that_is_gone_raises_no_signal(void **state)
{
	(void)state;
	assert_int_equal(shutdown(pair[1], SHUT_RDWR), 0);
	assert_int_equal(rpc_fds_send(pair[0], "x", 1, NULL, 0), -1);
	assert_int_equal(errno, EPIPE);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_descriptors_arrive_with_their_bytes_and_close_on_exec),
		TEST(test_what_is_not_taken_is_closed),
		TEST(test_more_than_the_limit_is_an_error_and_leaks_nothing),
		TEST(test_a_peer_that_is_gone_raises_no_signal),
	};

	return cmocka_run_group_tests_name("rpc/fds", tests, NULL, NULL);
}
