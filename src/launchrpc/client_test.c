/* SPDX-License-Identifier: Apache-2.0 */
#include "launchrpc/client.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/test.h"
#include "rpc/server.h"

#define PATIENCE_US 60000000U

/* A launcher's end of the socket, which says what a test wants. */
struct fixture {
	struct loop *loop;
	struct loop_timer *patience;
	struct rpc_server *server;
	struct launch_client *client;
	struct launch_versions versions;
	enum launch_state state;
	bool early; /* it has news before it has said its versions */
	char trace[256];
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

static json_t *
status_of(const struct fixture *f)
{
	char version[] = "1.0";
	struct launch_status status = { .version = version, .state = f->state };

	return launch_status_encode(&status);
}

static int
method_versions(void *ctx, const json_t *params, struct rpc_fds *fds,
		json_t **ret_result, struct err *err)
{
	struct fixture *f = ctx;
	AUTO(launch_versions_done) struct launch_versions peer = { 0 };

	(void)fds;
	if (f->early) {
		AUTO(js_unref) json_t *news = status_of(f);

		rpc_server_notify(f->server, LAUNCH_NOTIFY_STATUS, news);
	}
	assert_int_equal(launch_versions_decode(params, &peer, err), 0);
	assert_string_equal(peer.program, "ferry-handler");
	*ret_result = launch_versions_encode(&f->versions);
	return 0;
}

static int
method_sync(void *ctx, const json_t *params, struct rpc_fds *fds,
	    json_t **ret_result, struct err *err)
{
	struct fixture *f = ctx;
	AUTO(js_unref) json_t *news = NULL;

	(void)params;
	(void)fds;
	(void)err;
	f->state = LAUNCH_RUNNING;
	news = status_of(f);
	rpc_server_notify(f->server, LAUNCH_NOTIFY_STATUS, news);
	*ret_result = status_of(f);
	return 0;
}

static const struct rpc_method methods[] = {
	{ "versions", method_versions },
	{ "sync", method_sync },
};

static void
on_ready(void *ctx, const struct launch_versions *launcher)
{
	assert_string_equal(launcher->version, "1.0");
	note(ctx, "ready");
}

static void
on_status(void *ctx, const struct launch_status *status)
{
	note(ctx, launch_state_name(status->state));
}

static void
on_ended(void *ctx, const struct err *err)
{
	note(ctx, err_kind_name(err->kind));
	note(ctx, "ended");
}

static void
answered(void *arg, const struct launch_status *status, const struct err *err)
{
	note(arg, err != NULL ? err_kind_name(err->kind) : "answer");
	assert_true(err != NULL || status->state == LAUNCH_RUNNING);
}

static int
setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	uid_t self = geteuid();
	struct rpc_server_config config = {
		.service = { .self = { "ferry-launcher", "1.0" },
			     .methods = methods,
			     .n_methods = ARRAY_LEN(methods),
			     .ctx = f },
		.uids = &self,
		.n_uids = 1,
	};
	struct launch_client_config client = {
		.program = "ferry-handler",
		.version = "2.0",
		.ready = on_ready,
		.status = on_status,
		.ended = on_ended,
		.ctx = f,
	};
	int pair[2];

	log_init("test", LOG_LEVEL_ERROR, LOG_FORMAT_JSON);
	f->versions = (struct launch_versions){
		.protocol_min = LAUNCH_PROTOCOL_MIN,
		.protocol_max = LAUNCH_PROTOCOL_MAX,
		.program = xstrdup("ferry-launcher"),
		.version = xstrdup("1.0"),
	};
	f->loop = config.loop = client.loop = loop_new();
	f->patience = loop_timer_new(f->loop, impatient, f);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	f->server = rpc_server_new(&config, -1);
	rpc_server_adopt(f->server, pair[0]);
	f->client = launch_client_new(&client, pair[1]);
	*state = f;
	return 0;
}

static int
teardown(void **state)
{
	struct fixture *f = *state;

	launch_client_free(f->client);
	rpc_server_free(f->server);
	launch_versions_done(&f->versions);
	loop_timer_free(f->patience);
	loop_free(f->loop);
	free(f);
	return 0;
}

static void
test_calls_are_answered_with_the_status_behind_the_news(void **state)
{
	struct fixture *f = *state;
	struct err err;

	run_until(f, "ready");
	assert_int_equal(launch_client_call(f->client, LAUNCH_SYNC, NULL,
					    answered, f, &err),
			 0);
	assert_int_equal(launch_client_call(f->client, LAUNCH_KILL, NULL,
					    answered, f, &err),
			 0);
	run_until(f, "NotFound");
	assert_string_equal(f->trace, "ready Running answer NotFound ");
}

static void
test_a_launcher_of_another_age_is_refused(void **state)
{
	struct fixture *f = *state;
	struct err err;

	f->versions.protocol_min = f->versions.protocol_max = 99;
	run_until(f, "ended");
	assert_string_equal(f->trace, "Refused ended ");
	assert_int_equal(launch_client_call(f->client, LAUNCH_SYNC, NULL, NULL,
					    NULL, &err),
			 -1);
}

/* Whoever hears them goes by the versions, too. */
static void
test_news_are_not_told_before_the_versions(void **state)
{
	struct fixture *f = *state;
	struct err err;

	f->early = true;
	run_until(f, "ready");
	assert_string_equal(f->trace, "ready ");
	assert_int_equal(launch_client_call(f->client, LAUNCH_SYNC, NULL,
					    answered, f, &err),
			 0);
	run_until(f, "answer");
	assert_string_equal(f->trace, "ready Running answer ");
}

static void
test_the_end_of_a_launcher_is_told_once(void **state)
{
	struct fixture *f = *state;

	rpc_server_free(f->server);
	f->server = NULL;
	run_until(f, "ended");
	assert_string_equal(f->trace, "Unavailable ended ");
}

static void
test_calls_in_flight_are_forgotten_with_the_client(void **state)
{
	struct fixture *f = *state;
	struct err err;

	run_until(f, "ready");
	assert_int_equal(launch_client_call(f->client, LAUNCH_SYNC, NULL,
					    answered, f, &err),
			 0);
	launch_client_free(f->client);
	f->client = NULL;
	loop_poll(f->loop);
	assert_string_equal(f->trace, "ready ");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_calls_are_answered_with_the_status_behind_the_news,
			setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_a_launcher_of_another_age_is_refused, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			test_news_are_not_told_before_the_versions, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			test_the_end_of_a_launcher_is_told_once, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			test_calls_in_flight_are_forgotten_with_the_client,
			setup, teardown),
	};

	js_init();
	return cmocka_run_group_tests_name("client", tests, NULL, NULL);
}
