/* SPDX-License-Identifier: Apache-2.0 */
#include "rpc/caller.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/array.h"
#include "base/err.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/test.h"
#include "rpc/client.h"
#include "rpc/fds.h"
#include "rpc/server.h"

#define PATIENCE_US 60000000U

struct fixture {
	struct loop *loop;
	struct loop_timer *patience;
	struct rpc_server *server;
	struct rpc_caller *caller;
	struct rpc_pending *pending;
	char trace[256]; /* a word for each thing that happened */
	const char *until;
};

static void
note(struct fixture *f, const char *word)
{
	strncat(f->trace, word, sizeof(f->trace) - strlen(f->trace) - 1);
	strncat(f->trace, " ", sizeof(f->trace) - strlen(f->trace) - 1);
	if (f->until != NULL && strcmp(f->until, word) == 0)
		loop_stop(f->loop);
}

static void
impatient(void *arg)
{
	struct fixture *f = arg;

	fail_msg("nothing happens any more after '%s'", f->trace);
}

static void
run_until(struct fixture *f, const char *word)
{
	f->until = word;
	loop_timer_start(f->patience, PATIENCE_US);
	loop_run(f->loop);
	loop_timer_stop(f->patience);
}

static int
method_ping(void *ctx, const json_t *params, struct rpc_fds *fds,
	    json_t **ret_result, struct err *err)
{
	(void)params;
	(void)fds;
	(void)err;
	note(ctx, "ping");
	*ret_result = json_string("pong");
	return 0;
}

static int
method_fail(void *ctx, const json_t *params, struct rpc_fds *fds,
	    json_t **ret_result, struct err *err)
{
	(void)ctx;
	(void)params;
	(void)fds;
	(void)ret_result;
	return err_set(err, ERR_CONFLICT, "no");
}

static int
method_slow(void *ctx, const json_t *params, struct rpc_pending *pending,
	    struct err *err)
{
	struct fixture *f = ctx;

	(void)params;
	(void)err;
	f->pending = pending;
	note(f, "slow");
	return 0;
}

static int
method_refuse_later(void *ctx, const json_t *params,
		    struct rpc_pending *pending, struct err *err)
{
	(void)ctx;
	(void)params;
	(void)pending;
	return err_set(err, ERR_DENIED, "not later either");
}

/* Tells before it answers, from within the method. */
static int
method_tell(void *ctx, const json_t *params, struct rpc_pending *pending,
	    struct err *err)
{
	struct fixture *f = ctx;

	(void)params;
	(void)err;
	rpc_server_notify(f->server, "news", NULL);
	rpc_pending_result(pending, NULL);
	return 0;
}

/* Writes a letter to each descriptor that came along. */
static int
method_mark(void *ctx, const json_t *params, struct rpc_fds *fds,
	    json_t **ret_result, struct err *err)
{
	(void)ctx;
	(void)err;
	for (size_t i = 0; i < fds->count; i++) {
		int fd = rpc_fds_take(fds, i);

		assert_int_equal(
			write(fd, json_string_value(json_array_get(params, 0)),
			      1),
			1);
		close(fd);
	}
	*ret_result = json_string("marked");
	return 0;
}

static const struct rpc_method methods[] = {
	{ .name = "mark", .fn = method_mark },
	{ .name = "ping", .fn = method_ping },
	{ .name = "fail", .fn = method_fail },
};

static const struct rpc_late_method late_methods[] = {
	{ .name = "slow", .fn = method_slow },
	{ .name = "refuse", .fn = method_refuse_later },
	{ .name = "tell", .fn = method_tell },
};

static void
on_ready(void *ctx, const json_t *hello)
{
	assert_string_equal(
		json_string_value(json_object_get(hello, "program")), "server");
	note(ctx, "ready");
}

static void
on_notified(void *ctx, const char *method, const json_t *params)
{
	(void)params;
	note(ctx, method);
}

static void
on_ended(void *ctx, const struct err *err)
{
	note(ctx, "ended");
	note(ctx, err_kind_name(err->kind));
}

static void
answered(void *arg, const json_t *result, const struct err *err)
{
	note(arg, err != NULL
			  ? err_kind_name(err->kind)
			  : (json_is_string(result) ? json_string_value(result)
						    : "null"));
}

static void
answered_and_free(void *arg, const json_t *result, const struct err *err)
{
	struct fixture *f = arg;

	(void)result;
	(void)err;
	rpc_caller_free(f->caller);
	f->caller = NULL;
	note(f, "freed");
}

static int
setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	uid_t self = geteuid();
	struct rpc_server_config config = {
		.service = { .self = { "server", "1" },
			     .methods = methods,
			     .n_methods = ARRAY_LEN(methods),
			     .late = late_methods,
			     .n_late = ARRAY_LEN(late_methods),
			     .ctx = f },
		.uids = &self,
		.n_uids = 1,
	};
	struct rpc_caller_config caller = {
		.self = { "caller", "1" },
		.ready = on_ready,
		.notified = on_notified,
		.ended = on_ended,
		.ctx = f,
	};
	int pair[2];

	log_init("test", LOG_LEVEL_ERROR, LOG_FORMAT_JSON);
	f->loop = config.loop = caller.loop = loop_new();
	f->patience = loop_timer_new(f->loop, impatient, f);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	f->server = rpc_server_new(&config, -1);
	rpc_server_adopt(f->server, pair[0]);
	f->caller = rpc_caller_new(&caller, pair[1]);
	*state = f;
	return 0;
}

static int
teardown(void **state)
{
	struct fixture *f = *state;

	rpc_caller_free(f->caller);
	rpc_server_free(f->server);
	if (f->pending != NULL)
		rpc_pending_result(f->pending, NULL);
	loop_timer_free(f->patience);
	loop_free(f->loop);
	free(f);
	return 0;
}

static void
call(struct fixture *f, const char *method, uint64_t timeout_ms,
     rpc_answer_fn fn)
{
	struct err err;

	assert_int_equal(rpc_caller_call(f->caller, method, NULL, timeout_ms,
					 fn, f, &err),
			 0);
}

static void
test_calls_are_answered_in_order_after_hello(void **state)
{
	struct fixture *f = *state;

	call(f, "ping", 0, answered);
	call(f, "fail", 0, answered);
	call(f, "nothing", 0, answered);
	call(f, "refuse", 0, answered);
	run_until(f, "Denied");
	assert_string_equal(f->trace,
			    "ping ready pong Conflict NotFound Denied ");
}

static void
mark(struct fixture *f, const char *letter, const int *fds, size_t count)
{
	json_t *params = json_pack("[s]", letter);
	struct rpc_call what = {
		.method = "mark", .params = params, .fds = fds, .n_fds = count
	};
	struct err err;

	assert_int_equal(rpc_caller_send(f->caller, &what, answered, f, &err),
			 0);
	json_decref(params);
}

static void
test_descriptors_go_with_their_own_call(void **state)
{
	struct fixture *f = *state;
	int a[2], b[2];
	char text[8] = "";

	assert_int_equal(pipe(a), 0);
	assert_int_equal(pipe(b), 0);
	call(f, "ping", 0, answered);
	mark(f, "x", &a[1], 1);
	mark(f, "y", (int[]){ a[1], b[1] }, 2);
	mark(f, "z", NULL, 0);
	call(f, "fail", 0, answered);
	close(a[1]);
	close(b[1]);
	run_until(f, "Conflict");
	assert_int_equal(read(a[0], text, sizeof(text)), 2);
	assert_string_equal(text, "xy");
	memset(text, 0, sizeof(text));
	assert_int_equal(read(b[0], text, sizeof(text)), 1);
	assert_string_equal(text, "y");
	/* No copy of them is left anywhere. */
	assert_int_equal(read(a[0], text, sizeof(text)), 0);
	close(a[0]);
	close(b[0]);
}

static void
test_a_late_answer_keeps_its_place_and_notifications_pass_it(void **state)
{
	struct fixture *f = *state;

	call(f, "slow", 0, answered);
	call(f, "ping", 0, answered);
	run_until(f, "slow");
	rpc_server_notify(f->server, "news", NULL);
	run_until(f, "news");
	rpc_pending_result(f->pending, json_string("done"));
	f->pending = NULL;
	run_until(f, "pong");
	assert_string_equal(f->trace, "slow ready news ping done pong ");
}

static void
say(int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL),
			 strlen(text));
}

/* A server that is nothing but a socket: its hello, and then what it likes. */
static int
talk_to_socket(struct fixture *f)
{
	struct rpc_caller_config config = {
		.loop = f->loop,
		.self = { "test", "1" },
		.notified = on_notified,
		.ended = on_ended,
		.ctx = f,
	};
	int fds[2];

	rpc_caller_free(f->caller);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	f->caller = rpc_caller_new(&config, fds[0]);
	say(fds[1], "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocol\":"
		    "1,\"program\":\"p\",\"version\":\"1\"}}\n");
	return fds[1];
}

#define EXTRA 20U

static void
test_a_server_that_never_stops_talking_is_listened_to_at_its_rate(void **state)
{
	struct fixture *f = *state;
	uint64_t begin_ns = loop_now_ns();
	int fd = talk_to_socket(f);

	for (unsigned i = 0; i < RPC_NOTIFY_BURST + EXTRA; i++)
		say(fd, "{\"jsonrpc\":\"2.0\",\"method\":\"news\"}\n");
	say(fd, "{\"jsonrpc\":\"2.0\",\"method\":\"last\"}\n");
	run_until(f, "last");
	assert_true(loop_now_ns() - begin_ns >=
		    EXTRA * UINT64_C(1000000000) / RPC_NOTIFY_PER_S);
	close(fd);
	run_until(f, "ended");
}

/* One notification with a name that is as long as one likes, written as the
 * socket takes it. */
struct drone {
	struct loop_io *io;
	int fd;
	size_t left;
};

static void
drone_on(unsigned ready, void *arg)
{
	static const char end[] = "\"],\"method\":\"news\"}\n";
	struct drone *d = arg;
	char text[4096];
	size_t len = d->left < sizeof(text) ? d->left : sizeof(text);
	ssize_t sent;

	(void)ready;
	memset(text, 'x', sizeof(text));
	sent = send(d->fd, len > 0 ? text : end, len > 0 ? len : strlen(end),
		    MSG_NOSIGNAL | MSG_DONTWAIT);
	if (len > 0 && sent > 0)
		d->left -= (size_t)sent;
	else if (sent > 0)
		loop_io_want(d->io, 0);
}

static void
say_at_length(struct fixture *f, size_t length, const char *until)
{
	struct drone d = { .fd = talk_to_socket(f), .left = length };

	d.io = loop_io_new(f->loop, d.fd, drone_on, &d);
	say(d.fd, "{\"jsonrpc\":\"2.0\",\"params\":[\"");
	loop_io_want(d.io, LOOP_WRITE);
	run_until(f, until);
	loop_io_free(d.io);
	close(d.fd);
}

static void
test_a_notification_may_be_long_but_not_too_long(void **state)
{
	struct fixture *f = *state;

	say_at_length(f, RPC_NOTIFY_BYTES_BURST / 2, "news");
	say_at_length(f, RPC_NOTIFY_BYTES_BURST, "LimitReached");
	assert_non_null(strstr(f->trace, "ended LimitReached"));
}

static void
test_a_method_may_notify_and_answer_at_once(void **state)
{
	struct fixture *f = *state;

	call(f, "tell", 0, answered);
	call(f, "ping", 0, answered);
	run_until(f, "pong");
	assert_string_equal(f->trace, "ping ready news null pong ");
}

static void
test_a_client_that_left_may_be_answered(void **state)
{
	struct fixture *f = *state;
	struct err err;

	call(f, "slow", 0, answered);
	run_until(f, "slow");
	rpc_caller_free(f->caller);
	f->caller = NULL;
	rpc_server_notify(f->server, "news", NULL);
	loop_poll(f->loop);
	(void)err_set(&err, ERR_TIMEOUT, "too late");
	rpc_pending_error(f->pending, &err);
	f->pending = NULL;
	loop_poll(f->loop);
	assert_int_equal(rpc_server_connections(f->server), 0);
}

static void
test_a_deadline_ends_the_connection_for_all(void **state)
{
	struct fixture *f = *state;
	struct err err;

	call(f, "slow", 30, answered);
	call(f, "ping", 0, answered);
	run_until(f, "ended");
	assert_string_equal(f->trace,
			    "slow ready Timeout Timeout ended Timeout ");
	assert_int_equal(
		rpc_caller_call(f->caller, "ping", NULL, 0, NULL, NULL, &err),
		-1);
	assert_int_equal(err.kind, ERR_UNAVAILABLE);
}

static void
test_a_server_that_goes_is_told_of(void **state)
{
	struct fixture *f = *state;

	call(f, "slow", 0, answered);
	run_until(f, "slow");
	rpc_server_free(f->server);
	f->server = NULL;
	run_until(f, "ended");
	assert_string_equal(f->trace,
			    "slow ready Unavailable ended Unavailable ");
}

static void
test_an_answer_may_free_the_caller(void **state)
{
	struct fixture *f = *state;

	call(f, "ping", 0, answered_and_free);
	call(f, "ping", 0, answered);
	run_until(f, "freed");
	loop_poll(f->loop);
	assert_non_null(strstr(f->trace, "freed"));
	assert_null(strstr(f->trace, "pong"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_calls_are_answered_in_order_after_hello, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			test_descriptors_go_with_their_own_call, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			test_a_late_answer_keeps_its_place_and_notifications_pass_it,
			setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_a_server_that_never_stops_talking_is_listened_to_at_its_rate,
			setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_a_notification_may_be_long_but_not_too_long, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			test_a_method_may_notify_and_answer_at_once, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			test_a_client_that_left_may_be_answered, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			test_a_deadline_ends_the_connection_for_all, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			test_a_server_that_goes_is_told_of, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_an_answer_may_free_the_caller, setup, teardown),
	};

	js_init();
	return cmocka_run_group_tests_name("caller", tests, NULL, NULL);
}
