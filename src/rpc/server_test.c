/* SPDX-License-Identifier: Apache-2.0 */
#include "rpc/server.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"

#define PING "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n"
#define BIG "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"big\"}\n"
#define BIG_SIZE (4UL * 1024 * 1024) /* more than a socket buffer holds */
#define PATIENCE_MS 60000
#define SHORT_MS 30

struct fixture {
	struct loop *loop;
	struct rpc_server *server;
	uint64_t timeout_ms; /* both deadlines; 0: those of rpc.h */
	int calls;
};

static int
method_ping(void *ctx, const json_t *params, struct rpc_fds *fds,
	    json_t **ret_result, struct err *err)
{
	struct fixture *f = ctx;

	(void)params;
	(void)fds;
	(void)ret_result; /* nothing to say is null */
	(void)err;
	f->calls++;
	return 0;
}

/* Writes into the descriptor it is given. */
static int
method_mark(void *ctx, const json_t *params, struct rpc_fds *fds,
	    json_t **ret_result, struct err *err)
{
	int fd = rpc_fds_take(fds, 0);

	(void)ctx;
	(void)params;
	(void)ret_result;
	if (fd == -1)
		return err_set(err, ERR_INVALID, "no descriptor");
	if (write(fd, "m", 1) != 1)
		(void)err_errno(err, "cannot write");
	(void)close(fd);
	return 0;
}

static int
method_big(void *ctx, const json_t *params, struct rpc_fds *fds,
	   json_t **ret_result, struct err *err)
{
	char *text = xmalloc0(BIG_SIZE + 1);

	(void)ctx;
	(void)params;
	(void)fds;
	(void)err;
	memset(text, 'b', BIG_SIZE);
	*ret_result = json_string(text);
	free(text);
	return 0;
}

static const struct rpc_method methods[] = {
	{ "ping", method_ping },
	{ "mark", method_mark },
	{ "big", method_big },
};

static void
start(struct fixture *f, uid_t uid, int listen_fd)
{
	struct rpc_server_config config = {
		.loop = f->loop,
		.service = { .self = { "ferry-test", "1" },
			     .methods = methods,
			     .n_methods = 3,
			     .ctx = f },
		.uids = &uid,
		.n_uids = 1,
		.receive_timeout_ms = f->timeout_ms,
		.send_timeout_ms = f->timeout_ms,
	};

	f->server = rpc_server_new(&config, listen_fd);
}

static int
setup(void **state)
{
	struct fixture *f = xmalloc0(sizeof(*f));

	f->loop = loop_new();
	*state = f;
	return 0;
}

static int
teardown(void **state)
{
	struct fixture *f = *state;

	rpc_server_free(f->server);
	loop_free(f->loop);
	free(f);
	return 0;
}

/* A client of the server; non-blocking. */
static int
add_client(struct fixture *f)
{
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX,
				    SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
				    0, pair),
			 0);
	rpc_server_adopt(f->server, pair[1]);
	return pair[0];
}

static void
say(int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL),
			 strlen(text));
}

/*
 * Lets the server work until the client has a line, or the end of the
 * connection (an empty text). The caller frees.
 */
static char *
hear(struct fixture *f, int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	struct buf line = BUF_INIT(2 * BIG_SIZE);
	uint64_t end = loop_now_ms() + PATIENCE_MS;
	ssize_t got = 1;
	static char c[65536];

	while (loop_now_ms() < end) {
		loop_poll(f->loop);
		(void)poll(&pfd, 1, 1);
		got = recv(fd, c, sizeof(c), MSG_DONTWAIT);
		if (got == 0 || (got == -1 && errno == ECONNRESET))
			break;
		if (got > 0)
			assert_int_equal(buf_append(&line, c, (size_t)got), 0);
		if (line.len > 0 && line.data[line.len - 1] == '\n')
			break;
	}
	assert_true(loop_now_ms() < end);
	(void)buf_append(&line, "", 0);
	return (char *)line.data;
}

/* Reads lines until one has part in it. */
static void
expect_line(struct fixture *f, int fd, const char *part)
{
	bool found = false;

	while (!found) {
		char *text = hear(f, fd);

		found = strstr(text, part) != NULL;
		assert_true(found || strlen(text) > 0);
		free(text);
	}
}

static void
expect_end(struct fixture *f, int fd)
{
	char *text = hear(f, fd);

	assert_string_equal(text, "");
	free(text);
}

static void
test_answers_on_a_listening_socket(void **state)
{
	struct fixture *f = *state;
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	char dir[] = "/tmp/ferry-rpc-XXXXXX";
	int listener, fd;

	assert_non_null(mkdtemp(dir));
	(void)snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/s", dir);
	listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(listener, (struct sockaddr *)&addr, sizeof(addr)),
			 0);
	assert_int_equal(listen(listener, 4), 0);
	start(f, getuid(), listener);

	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&addr, sizeof(addr)),
			 0);
	say(fd, PING);
	expect_line(f, fd, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":null}\n");
	assert_int_equal(f->calls, 1);
	assert_int_equal(rpc_server_connections(f->server), 1);

	(void)close(fd);
	loop_poll(f->loop);
	assert_int_equal(rpc_server_connections(f->server), 0);
	(void)unlink(addr.sun_path);
	(void)rmdir(dir);
}

static void
test_other_users_are_refused_with_a_reason(void **state)
{
	struct fixture *f = *state;
	int fd;

	start(f, getuid() + 1, -1);
	fd = add_client(f);
	expect_line(f, fd, "\"kind\":\"Denied\"");
	expect_end(f, fd);
	assert_int_equal(rpc_server_connections(f->server), 0);
	(void)close(fd);
}

static void
test_connections_are_limited(void **state)
{
	struct fixture *f = *state;
	int fd[RPC_CONNECTIONS_MAX + 1];

	start(f, getuid(), -1);
	for (unsigned i = 0; i <= RPC_CONNECTIONS_MAX; i++)
		fd[i] = add_client(f);
	expect_line(f, fd[RPC_CONNECTIONS_MAX], "LimitReached");
	assert_int_equal(rpc_server_connections(f->server),
			 RPC_CONNECTIONS_MAX);

	/* A place that gets free is free. */
	(void)close(fd[0]);
	loop_poll(f->loop);
	fd[0] = add_client(f);
	say(fd[0], PING);
	expect_line(f, fd[0], "result");
	for (unsigned i = 0; i <= RPC_CONNECTIONS_MAX; i++)
		(void)close(fd[i]);
}

static void
test_half_a_message_is_waited_for_only_so_long(void **state)
{
	struct fixture *f = *state;
	int silent, half;

	f->timeout_ms = SHORT_MS;
	start(f, getuid(), -1);
	silent = add_client(f);
	half = add_client(f);
	say(half, "{\"jsonrpc\":");
	expect_end(f, half);

	/* Saying nothing at all is fine. */
	say(silent, PING);
	expect_line(f, silent, "result");
	(void)close(silent);
	(void)close(half);
}

static void
test_trickling_bytes_do_not_put_the_deadline_off(void **state)
{
	struct fixture *f = *state;
	struct pollfd pfd;
	int fd;

	f->timeout_ms = SHORT_MS;
	start(f, getuid(), -1);
	fd = add_client(f);
	pfd = (struct pollfd){ .fd = fd, .events = POLLIN };
	while (send(fd, " ", 1, MSG_NOSIGNAL) == 1) {
		loop_poll(f->loop);
		(void)poll(&pfd, 1, 1);
	}
	assert_int_equal(errno, EPIPE);
	(void)close(fd);
}

static void
test_a_client_that_does_not_read_is_cut_off(void **state)
{
	struct fixture *f = *state;
	uint64_t end = loop_now_ms() + PATIENCE_MS;
	int deaf, other;

	f->timeout_ms = SHORT_MS;
	start(f, getuid(), -1);
	deaf = add_client(f);
	other = add_client(f);
	say(deaf, BIG);
	loop_poll(f->loop);
	say(other, PING);
	expect_line(f, other, "result");

	while (rpc_server_connections(f->server) == 2 && loop_now_ms() < end)
		loop_poll(f->loop);
	assert_int_equal(rpc_server_connections(f->server), 1);
	(void)close(deaf);
	(void)close(other);
}

static void
test_a_long_reply_arrives_whole_and_the_next_request_after_it(void **state)
{
	struct fixture *f = *state;
	char *text;
	int fd;

	start(f, getuid(), -1);
	fd = add_client(f);
	say(fd, BIG PING);
	text = hear(f, fd);
	assert_true(strlen(text) > BIG_SIZE);
	assert_null(memchr(text, '\0', BIG_SIZE));
	if (strstr(text, "\"result\":null") == NULL)
		expect_line(f, fd, "\"result\":null");
	free(text);
	(void)close(fd);
}

static void
test_descriptors_reach_the_method(void **state)
{
	static const char text[] =
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"mark\"}\n";
	struct fixture *f = *state;
	int fd, ends[2];
	char c = 0;

	start(f, getuid(), -1);
	fd = add_client(f);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	say(fd, PING);
	assert_int_equal(rpc_fds_send(fd, text, sizeof(text) - 1, &ends[1], 1),
			 sizeof(text) - 1);
	(void)close(ends[1]);
	say(fd, text);
	expect_line(f, fd, "no descriptor");
	assert_int_equal(read(ends[0], &c, 1), 1);
	assert_int_equal(c, 'm');
	assert_int_equal(read(ends[0], &c, 1), 0);
	(void)close(ends[0]);
	(void)close(fd);
}

static void
test_requests_before_a_half_close_are_answered(void **state)
{
	struct fixture *f = *state;
	int fd;

	start(f, getuid(), -1);
	fd = add_client(f);
	say(fd, PING);
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	expect_line(f, fd, "result");
	expect_end(f, fd);
	(void)close(fd);
}

/* Leaves no descriptor for accept4(2), and tells the limit to restore. */
static rlim_t
use_up_descriptors(void)
{
	struct rlimit limit;
	rlim_t before;
	int fd = dup(STDIN_FILENO);

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	before = limit.rlim_cur;
	limit.rlim_cur = (rlim_t)fd;
	(void)close(fd);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	return before;
}

static void
test_callers_wait_while_descriptors_are_used_up(void **state)
{
	struct fixture *f = *state;
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	socklen_t len = sizeof(addr);
	struct rlimit limit;
	int listener, fd;

	/* Autobind: a name the kernel chooses. */
	listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(
		bind(listener, (struct sockaddr *)&addr, sizeof(sa_family_t)),
		0);
	assert_int_equal(listen(listener, 4), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&addr, &len),
			 0);
	start(f, getuid(), listener);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&addr, len), 0);
	say(fd, PING);

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = use_up_descriptors();
	loop_poll(f->loop);
	assert_int_equal(rpc_server_connections(f->server), 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	expect_line(f, fd, "result");
	(void)close(fd);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_answers_on_a_listening_socket),
		TEST(test_other_users_are_refused_with_a_reason),
		TEST(test_connections_are_limited),
		TEST(test_half_a_message_is_waited_for_only_so_long),
		TEST(test_trickling_bytes_do_not_put_the_deadline_off),
		TEST(test_a_client_that_does_not_read_is_cut_off),
		TEST(test_a_long_reply_arrives_whole_and_the_next_request_after_it),
		TEST(test_descriptors_reach_the_method),
		TEST(test_requests_before_a_half_close_are_answered),
		TEST(test_callers_wait_while_descriptors_are_used_up),
	};

	log_init("rpc-test", LOG_LEVEL_ERROR, LOG_FORMAT_HUMAN);
	return cmocka_run_group_tests_name("rpc/server", tests, NULL, NULL);
}
