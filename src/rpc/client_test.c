/* SPDX-License-Identifier: Apache-2.0 */
#include "rpc/client.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/log.h"
#include "base/loop.h"
#include "rpc/server.h"

#define HELLO                                                       \
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocol\":1," \
	"\"program\":\"p\",\"version\":\"v\"}}\n"
#define SHORT_MS 20

static const struct rpc_identity self = { "ferry-test", "1.0" };

/* Answers with its params, or fails without any. */
static int
method_echo(void *ctx, const json_t *params, struct rpc_fds *fds,
	    json_t **ret_result, struct err *err)
{
	(void)ctx;
	if (params == NULL)
		return err_set(err, ERR_LIMIT, "nothing to echo");
	*ret_result = json_pack("{s:O, s:i}", "params", params, "fds",
				(int)fds->count);
	return 0;
}

static void *
serve(void *arg)
{
	loop_run(arg);
	return NULL;
}

static void
stop(void *arg)
{
	loop_stop(arg);
}

static void
talk_to_server(const char *path)
{
	json_t *params = json_pack("{s:s}", "a", "b");
	int fds[2] = { STDIN_FILENO, STDOUT_FILENO };
	struct rpc_call call = {
		.method = "echo", .params = params, .fds = fds, .n_fds = 2
	};
	struct rpc_client *client;
	json_t *result;
	struct err err;

	assert_int_equal(rpc_client_connect(path, &self, &client, &err), 0);
	assert_string_equal(json_string_value(json_object_get(
				    rpc_client_peer(client), "program")),
			    "ferry-server");
	for (int i = 0; i < 3; i++) {
		assert_int_equal(rpc_client_call(client, &call, &result, &err),
				 0);
		assert_true(
			json_equal(json_object_get(result, "params"), params));
		assert_int_equal(
			json_integer_value(json_object_get(result, "fds")), 2);
		json_decref(result);
	}
	call = (struct rpc_call){ .method = "echo" };
	assert_int_equal(rpc_client_call(client, &call, &result, &err), -1);
	assert_int_equal(err.kind, ERR_LIMIT);
	assert_string_equal(err.text, "nothing to echo");

	call.method = "nope";
	assert_int_equal(rpc_client_call(client, &call, &result, &err), -1);
	assert_int_equal(err.kind, ERR_NOT_FOUND);
	rpc_client_free(client);
	json_decref(params);
}

static int
listen_at(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
	assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(listen(fd, 4), 0);
	return fd;
}

static void
test_calls_a_server(void **state)
{
	static const struct rpc_method methods[] = { { "echo", method_echo } };
	char dir[] = "/tmp/ferry-rpc-XXXXXX", path[64];
	uid_t uid = getuid();
	struct rpc_server_config config = {
		.service = { .self = { "ferry-server", "2" },
			     .methods = methods,
			     .n_methods = 1 },
		.uids = &uid,
		.n_uids = 1,
	};
	struct rpc_server *server;
	pthread_t thread;

	(void)state;
	assert_non_null(mkdtemp(dir));
	(void)snprintf(path, sizeof(path), "%s/s", dir);
	config.loop = loop_new();
	server = rpc_server_new(&config, listen_at(path));
	assert_int_equal(pthread_create(&thread, NULL, serve, config.loop), 0);

	talk_to_server(path);

	loop_post(config.loop, stop, config.loop);
	assert_int_equal(pthread_join(thread, NULL), 0);
	rpc_server_free(server);
	loop_free(config.loop);
	(void)unlink(path);
	(void)rmdir(dir);
}

static void
test_errors_tell_missing_from_refusing(void **state)
{
	char dir[] = "/tmp/ferry-rpc-XXXXXX", path[200];
	struct rpc_client *client;
	struct err err;

	(void)state;
	assert_non_null(mkdtemp(dir));
	(void)snprintf(path, sizeof(path), "%s/s", dir);
	assert_int_equal(rpc_client_connect(path, &self, &client, &err), -1);
	assert_int_equal(err.kind, ERR_NOT_FOUND);
	assert_non_null(strstr(err.text, path));

	(void)close(listen_at(path));
	assert_int_equal(rpc_client_connect(path, &self, &client, &err), -1);
	assert_int_equal(err.kind, ERR_REFUSED);

	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(rpc_client_connect(path, &self, &client, &err), -1);
	assert_int_equal(err.kind, ERR_INVALID);
	(void)snprintf(path, sizeof(path), "%s/s", dir);
	(void)unlink(path);
	(void)rmdir(dir);
}

/* A socket on which a server has already said text. */
static int
scripted(const char *text, int *ret_peer)
{
	int pair[2];

	assert_int_equal(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(send(pair[1], text, strlen(text), 0), strlen(text));
	*ret_peer = pair[1];
	return pair[0];
}

static void
test_a_server_that_is_silent_is_given_up(void **state)
{
	struct rpc_call call = { .method = "x", .timeout_ms = SHORT_MS };
	struct rpc_client *client;
	json_t *result;
	struct err err;
	int peer;

	(void)state;
	assert_int_equal(
		rpc_client_new(scripted(HELLO, &peer), &self, &client, &err),
		0);
	assert_int_equal(rpc_client_call(client, &call, &result, &err), -1);
	assert_int_equal(err.kind, ERR_TIMEOUT);

	/* A late answer must not be taken for that of a later call. */
	assert_int_equal(rpc_client_call(client, &call, &result, &err), -1);
	assert_int_equal(err.kind, ERR_UNAVAILABLE);
	rpc_client_free(client);
	(void)close(peer);
}

static void
test_a_server_that_does_not_read_is_given_up(void **state)
{
	json_t *params = json_array();
	struct rpc_call call = { .method = "x",
				 .params = params,
				 .timeout_ms = SHORT_MS };
	struct rpc_client *client;
	json_t *result;
	struct err err;
	char text[1024];
	int peer;

	(void)state;
	memset(text, 'y', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	for (int i = 0; i < 1000; i++)
		(void)json_array_append_new(params, json_string(text));
	assert_int_equal(
		rpc_client_new(scripted(HELLO, &peer), &self, &client, &err),
		0);
	assert_int_equal(rpc_client_call(client, &call, &result, &err), -1);
	assert_int_equal(err.kind, ERR_TIMEOUT);
	rpc_client_free(client);
	(void)close(peer);
	json_decref(params);
}

static void
test_a_request_that_is_too_long_is_not_sent(void **state)
{
	json_t *params = json_array();
	struct rpc_call call = { .method = "x", .params = params };
	struct rpc_client *client;
	json_t *result;
	struct err err;
	char *text = calloc(1, RPC_MESSAGE_MAX);
	int peer;

	(void)state;
	memset(text, 'z', RPC_MESSAGE_MAX - 1);
	(void)json_array_append_new(params, json_string(text));
	free(text);
	assert_int_equal(
		rpc_client_new(scripted(HELLO, &peer), &self, &client, &err),
		0);
	assert_int_equal(rpc_client_call(client, &call, &result, &err), -1);
	assert_int_equal(err.kind, ERR_INVALID);
	rpc_client_free(client);
	(void)close(peer);
	json_decref(params);
}

static void
test_a_refusal_is_read_although_the_server_is_gone(void **state)
{
	struct rpc_client *client;
	struct err err;
	int peer, fd;

	(void)state;
	fd = scripted("{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":1,"
		      "\"message\":\"not you\",\"data\":{\"kind\":"
		      "\"Denied\"}}}\n",
		      &peer);
	(void)close(peer);
	assert_int_equal(rpc_client_new(fd, &self, &client, &err), -1);
	assert_int_equal(err.kind, ERR_DENIED);
	assert_string_equal(err.text, "not you");
}

static void
test_another_protocol_or_no_protocol_is_refused(void **state)
{
	struct rpc_client *client;
	struct err err;
	int peer, fd;

	(void)state;
	fd = scripted("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":"
		      "{\"protocol\":2}}\n",
		      &peer);
	assert_int_equal(rpc_client_new(fd, &self, &client, &err), -1);
	assert_int_equal(err.kind, ERR_REFUSED);
	(void)close(peer);

	fd = scripted("SSH-2.0-OpenSSH\r\n", &peer);
	assert_int_equal(rpc_client_new(fd, &self, &client, &err), -1);
	assert_int_equal(err.kind, ERR_UNAVAILABLE);
	(void)close(peer);

	fd = scripted("", &peer);
	(void)close(peer);
	assert_int_equal(rpc_client_new(fd, &self, &client, &err), -1);
	assert_int_equal(err.kind, ERR_UNAVAILABLE);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls_a_server),
		cmocka_unit_test(test_errors_tell_missing_from_refusing),
		cmocka_unit_test(test_a_server_that_is_silent_is_given_up),
		cmocka_unit_test(test_a_server_that_does_not_read_is_given_up),
		cmocka_unit_test(test_a_request_that_is_too_long_is_not_sent),
		cmocka_unit_test(
			test_a_refusal_is_read_although_the_server_is_gone),
		cmocka_unit_test(
			test_another_protocol_or_no_protocol_is_refused),
	};

	log_init("rpc-test", LOG_LEVEL_ERROR, LOG_FORMAT_HUMAN);
	return cmocka_run_group_tests_name("rpc/client", tests, NULL, NULL);
}
