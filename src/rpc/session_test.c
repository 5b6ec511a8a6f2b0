/* SPDX-License-Identifier: Apache-2.0 */
#include "rpc/session.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"

#define CALL(id, method) \
	"{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"" method "\"}\n"
#define NOTIFY(method) "{\"jsonrpc\":\"2.0\",\"method\":\"" method "\"}\n"

/* What the methods below were called with. */
struct seen {
	int calls;
	size_t n_fds;
	int taken; /* first descriptor, -1: none */
};

static int
method_count(void *ctx, const json_t *params, struct rpc_fds *fds,
	     json_t **ret_result, struct err *err)
{
	struct seen *seen = ctx;

	(void)params;
	(void)err;
	seen->calls++;
	seen->n_fds = fds->count;
	seen->taken = rpc_fds_take(fds, 0);
	*ret_result = json_integer(seen->calls);
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
	return err_set(err, ERR_CONFLICT, "it changed");
}

static int
method_huge(void *ctx, const json_t *params, struct rpc_fds *fds,
	    json_t **ret_result, struct err *err)
{
	char *text = xmalloc0(RPC_REPLY_MAX + 1);

	(void)ctx;
	(void)params;
	(void)fds;
	(void)err;
	memset(text, 'a', RPC_REPLY_MAX);
	*ret_result = json_string(text);
	free(text);
	return 0;
}

static const struct rpc_method methods[] = {
	{ "count", method_count },
	{ "fail", method_fail },
	{ "huge", method_huge },
};

struct fixture {
	struct seen seen;
	struct rpc_service service;
	struct rpc_session session;
};

static int
setup(void **state)
{
	struct fixture *f = xmalloc0(sizeof(*f));

	f->seen.taken = -1;
	f->service = (struct rpc_service){
		.self = { "ferry-test", "1.2.3" },
		.methods = methods,
		.n_methods = 3,
		.ctx = &f->seen,
	};
	rpc_session_init(&f->session, &f->service);
	*state = f;
	return 0;
}

static int
teardown(void **state)
{
	struct fixture *f = *state;

	rpc_session_done(&f->session);
	free(f);
	return 0;
}

static void
feed_bytes(struct fixture *f, const char *text, size_t len)
{
	struct rpc_fds none = { .count = 0 };

	rpc_session_feed(&f->session, text, len, &none);
}

/* Feeds text with a copy of one descriptor, and returns the copy. */
static int
feed_fd(struct fixture *f, const char *text)
{
	struct rpc_fds fds = { .count = 1 };
	int fd = dup(STDIN_FILENO);

	fds.fd[0] = fd;
	rpc_session_feed(&f->session, text, strlen(text), &fds);
	return fd;
}

/* Takes the one reply that is there. */
static json_t *
take_reply(struct fixture *f)
{
	struct buf *out = &f->session.out;
	struct err err;
	json_t *reply;

	assert_true(out->len > 0);
	assert_int_equal(out->data[out->len - 1], '\n');
	assert_ptr_equal(memchr(out->data, '\n', out->len),
			 out->data + out->len - 1);
	reply = js_parse((const char *)out->data, out->len, &err);
	assert_non_null(reply);
	buf_clear(out);
	return reply;
}

static void
expect_error(struct fixture *f, int code, const char *kind)
{
	json_t *reply, *error;

	assert_true(rpc_session_step(&f->session));
	reply = take_reply(f);
	error = json_object_get(reply, "error");
	assert_int_equal(json_integer_value(json_object_get(error, "code")),
			 code);
	assert_string_equal(json_string_value(json_object_get(
				    json_object_get(error, "data"), "kind")),
			    kind);
	json_decref(reply);
}

static void
expect_result(struct fixture *f, json_int_t value)
{
	json_t *reply;

	assert_true(rpc_session_step(&f->session));
	reply = take_reply(f);
	assert_int_equal(json_integer_value(json_object_get(reply, "result")),
			 value);
	json_decref(reply);
}

static void
test_a_message_may_come_byte_by_byte(void **state)
{
	static const char text[] = CALL("1", "count");
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(text) - 1; i++) {
		assert_false(rpc_session_step(&f->session));
		feed_bytes(f, &text[i], 1);
	}
	expect_result(f, 1);
	assert_false(rpc_session_step(&f->session));
	assert_false(rpc_session_partial(&f->session));
}

static void
test_several_messages_are_answered_one_at_a_time(void **state)
{
	static const char text[] =
		CALL("1", "count") "\n" CALL("2", "count") "{";
	struct fixture *f = *state;

	feed_bytes(f, text, sizeof(text) - 1);
	expect_result(f, 1);
	assert_int_equal(f->seen.calls, 1);
	assert_true(rpc_session_step(&f->session)); /* the blank line */
	assert_int_equal(f->session.out.len, 0);
	expect_result(f, 2);
	assert_false(rpc_session_step(&f->session));
	assert_true(rpc_session_partial(&f->session));
}

static void
test_notifications_are_not_answered(void **state)
{
	static const char text[] =
		NOTIFY("count") NOTIFY("nope") NOTIFY("fail");
	struct fixture *f = *state;

	feed_bytes(f, text, sizeof(text) - 1);
	for (int i = 0; i < 3; i++)
		assert_true(rpc_session_step(&f->session));
	assert_int_equal(f->seen.calls, 1);
	assert_int_equal(f->session.out.len, 0);
}

static void
test_errors_have_their_codes_and_the_session_goes_on(void **state)
{
	static const char text[] = "nonsense\n[]\n" CALL("1", "nope")
		CALL("2", "fail") CALL("3", "count");
	struct fixture *f = *state;

	feed_bytes(f, text, sizeof(text) - 1);
	expect_error(f, RPC_CODE_PARSE, "Invalid");
	expect_error(f, RPC_CODE_REQUEST, "Invalid");
	expect_error(f, RPC_CODE_METHOD, "NotFound");
	expect_error(f, RPC_CODE_KIND - ERR_CONFLICT, "Conflict");
	expect_result(f, 1);
}

static void
test_hello_tells_who_we_are_and_refuses_another_protocol(void **state)
{
	static const char strange[] =
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"hello\","
		"\"params\":{\"protocol\":2,\"program\":\"p\"}}\n";
	static const char plain[] = CALL("1", "hello");
	struct fixture *f = *state;
	json_t *reply, *hello;

	feed_bytes(f, plain, sizeof(plain) - 1);
	assert_true(rpc_session_step(&f->session));
	reply = take_reply(f);
	hello = json_object_get(reply, "result");
	assert_int_equal(json_integer_value(json_object_get(hello, "protocol")),
			 1);
	assert_string_equal(
		json_string_value(json_object_get(hello, "program")),
		"ferry-test");
	assert_string_equal(
		json_string_value(json_object_get(hello, "version")), "1.2.3");
	json_decref(reply);

	feed_bytes(f, strange, sizeof(strange) - 1);
	expect_error(f, RPC_CODE_KIND - ERR_REFUSED, "Refused");
}

static void
test_a_message_that_is_too_long_ends_the_session(void **state)
{
	struct fixture *f = *state;
	char *chunk = xmalloc0(RPC_SESSION_CHUNK);
	size_t fed = 0;

	memset(chunk, ' ', RPC_SESSION_CHUNK);
	while (!rpc_session_step(&f->session)) {
		assert_true(fed <= RPC_MESSAGE_MAX);
		feed_bytes(f, chunk, RPC_SESSION_CHUNK);
		fed += RPC_SESSION_CHUNK;
	}
	free(chunk);
	assert_true(f->session.closing);
	json_decref(take_reply(f));

	feed_bytes(f, CALL("1", "count"), sizeof(CALL("1", "count")) - 1);
	assert_false(rpc_session_step(&f->session));
	assert_int_equal(f->seen.calls, 0);
}

static void
test_the_longest_message_is_accepted(void **state)
{
	static const char call[] = CALL("1", "count");
	struct fixture *f = *state;
	size_t len = RPC_MESSAGE_MAX, step;
	char *text = xmalloc0(len);

	memset(text, ' ', len);
	memcpy(text + len - (sizeof(call) - 1), call, sizeof(call) - 1);
	for (size_t i = 0; i < len; i += step) {
		step = len - i < RPC_SESSION_CHUNK ? len - i
						   : RPC_SESSION_CHUNK;
		assert_false(rpc_session_step(&f->session));
		feed_bytes(f, text + i, step);
	}
	free(text);
	expect_result(f, 1);
	assert_false(f->session.closing);
	/* And the memory it took is given back. */
	assert_true(f->session.in.size <= RPC_SESSION_CHUNK);
}

static void
test_a_reply_that_is_too_long_becomes_an_error(void **state)
{
	struct fixture *f = *state;

	feed_bytes(f, CALL("1", "huge"), sizeof(CALL("1", "huge")) - 1);
	expect_error(f, RPC_CODE_KIND - ERR_LIMIT, "LimitReached");
}

static void
test_descriptors_go_to_the_message_whose_bytes_they_came_with(void **state)
{
	struct fixture *f = *state;
	int first, second;

	/* In the middle of the first, at the end of the second. */
	first = feed_fd(f, "{\"jsonrpc\":\"2.0\",\"id\":1,");
	assert_false(rpc_session_step(&f->session));
	second = feed_fd(f, "\"method\":\"count\"}\n" CALL("2", "count"));

	expect_result(f, 1);
	assert_int_equal(f->seen.n_fds, 1);
	assert_int_equal(f->seen.taken, first);
	expect_result(f, 2);
	assert_int_equal(f->seen.n_fds, 1);
	assert_int_equal(f->seen.taken, second);
	feed_bytes(f, CALL("3", "count"), sizeof(CALL("3", "count")) - 1);
	expect_result(f, 3);
	assert_int_equal(f->seen.n_fds, 0);
	(void)close(first);
	(void)close(second);
}

static void
test_descriptors_nobody_takes_are_closed(void **state)
{
	struct fixture *f = *state;
	int fd = feed_fd(f, CALL("1", "fail"));

	expect_error(f, RPC_CODE_KIND - ERR_CONFLICT, "Conflict");
	assert_int_equal(fcntl(fd, F_GETFD), -1);

	fd = feed_fd(f, "half");
	rpc_session_done(&f->session);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	rpc_session_init(&f->session, &f->service);
}

static void
test_too_many_descriptors_for_one_message_end_the_session(void **state)
{
	struct fixture *f = *state;

	for (unsigned i = 0; i <= RPC_FDS_MAX; i++)
		(void)feed_fd(f, " ");
	feed_bytes(f, CALL("1", "count"), sizeof(CALL("1", "count")) - 1);
	expect_error(f, RPC_CODE_REQUEST, "LimitReached");
	assert_true(f->session.closing);
	assert_int_equal(f->seen.calls, 0);
}

static void
test_descriptors_without_an_end_are_bounded(void **state)
{
	struct fixture *f = *state;

	for (unsigned i = 0; i <= 2 * RPC_FDS_MAX; i++)
		(void)feed_fd(f, " ");
	assert_true(f->session.closing);
	assert_int_equal(f->session.n_fds, 2 * RPC_FDS_MAX);
	json_decref(take_reply(f));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_message_may_come_byte_by_byte),
		TEST(test_several_messages_are_answered_one_at_a_time),
		TEST(test_notifications_are_not_answered),
		TEST(test_errors_have_their_codes_and_the_session_goes_on),
		TEST(test_hello_tells_who_we_are_and_refuses_another_protocol),
		TEST(test_a_message_that_is_too_long_ends_the_session),
		TEST(test_the_longest_message_is_accepted),
		TEST(test_a_reply_that_is_too_long_becomes_an_error),
		TEST(test_descriptors_go_to_the_message_whose_bytes_they_came_with),
		TEST(test_descriptors_nobody_takes_are_closed),
		TEST(test_too_many_descriptors_for_one_message_end_the_session),
		TEST(test_descriptors_without_an_end_are_bounded),
	};

	return cmocka_run_group_tests_name("rpc/session", tests, NULL, NULL);
}
