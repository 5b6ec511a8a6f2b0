/* SPDX-License-Identifier: Apache-2.0 */
#include "launchrpc/client.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "rpc/caller.h"

/* What a call in flight remembers; freed with its answer or its client. */
struct call {
	struct call *next;
	struct launch_client *client;
	launch_answer_fn fn;
	void *arg;
};

struct launch_client {
	struct launch_client_config config;
	struct rpc_caller *caller;
	struct call *calls; /* without an answer */
	bool agreed;        /* on a protocol; nothing is heard before */
};

static void
forget(struct call *call)
{
	struct call **at = &call->client->calls;

	while (*at != call)
		at = &(*at)->next;
	*at = call->next;
	free(call);
}

static void
answered(void *arg, const json_t *result, const struct err *failure)
{
	struct call call = *(struct call *)arg;
	struct launch_status status = { 0 };
	struct err err;

	forget(arg);
	if (call.fn == NULL)
		return;
	if (failure != NULL)
		call.fn(call.arg, NULL, failure);
	else if (launch_status_decode(result, &status, &err) == -1)
		call.fn(call.arg, NULL, &err);
	else
		call.fn(call.arg, &status, NULL);
	launch_status_done(&status);
}

static void
give_up(struct launch_client *client, const struct err *err)
{
	rpc_caller_free(client->caller);
	client->caller = NULL;
	client->config.ended(client->config.ctx, err);
}

static void
agree(struct launch_client *client, const struct launch_versions *peer)
{
	client->agreed = true;
	if (client->config.ready != NULL)
		client->config.ready(client->config.ctx, peer);
}

static void
versions_answered(void *arg, const json_t *result, const struct err *failure)
{
	struct launch_client *client = arg;
	struct launch_versions here = {
		.protocol_min = LAUNCH_PROTOCOL_MIN,
		.protocol_max = LAUNCH_PROTOCOL_MAX,
	};
	AUTO(launch_versions_done) struct launch_versions peer = { 0 };
	uint32_t protocol;
	struct err err;

	if (failure != NULL) {
		err = *failure;
		give_up(client, &err);
		return;
	}
	here.program = xstrdup(client->config.program);
	here.version = xstrdup(client->config.version);
	if (launch_versions_decode(result, &peer, &err) == -1 ||
	    launch_versions_agree(&here, &peer, &protocol, &err) == -1)
		give_up(client, &err);
	else
		agree(client, &peer);
	launch_versions_done(&here);
}

static void
caller_ready(void *ctx, const json_t *hello)
{
	struct launch_client *client = ctx;
	struct launch_versions here = {
		.protocol_min = LAUNCH_PROTOCOL_MIN,
		.protocol_max = LAUNCH_PROTOCOL_MAX,
	};
	AUTO(js_unref) json_t *params = launch_versions_encode(&here);
	struct err err;

	(void)hello;
	(void)json_object_set_new(params, "program",
				  json_string(client->config.program));
	(void)json_object_set_new(params, "version",
				  json_string(client->config.version));
	if (rpc_caller_call(client->caller, launch_method_name(LAUNCH_VERSIONS),
			    params, launch_method_timeout_ms(LAUNCH_VERSIONS),
			    versions_answered, client, &err) == -1)
		give_up(client, &err);
}

static void
caller_notified(void *ctx, const char *method, const json_t *params)
{
	struct launch_client *client = ctx;
	AUTO(launch_status_done) struct launch_status status = { 0 };
	struct err err;

	if (!client->agreed || !str_equal(method, LAUNCH_NOTIFY_STATUS))
		return;
	if (launch_status_decode(params, &status, &err) == -1)
		log_debug(NULL, "a launcher's status, ignoring: %s", err.text);
	else if (client->config.status != NULL)
		client->config.status(client->config.ctx, &status);
}

/* A call that fails for the end of the connection has told the owner already,
 * who may have freed the client: nothing is touched but the copy. */
static void
caller_ended(void *ctx, const struct err *err)
{
	struct launch_client *client = ctx;

	give_up(client, err);
}

struct launch_client *
launch_client_new(const struct launch_client_config *config, int fd)
{
	struct launch_client *client = xmalloc0(sizeof(*client));
	struct rpc_caller_config caller = {
		.loop = config->loop,
		.self = { config->program, config->version },
		.ready = caller_ready,
		.notified = caller_notified,
		.ended = caller_ended,
		.ctx = client,
	};

	client->config = *config;
	client->caller = rpc_caller_new(&caller, fd);
	return client;
}

int
launch_client_call(struct launch_client *client, enum launch_method method,
		   json_t *params, launch_answer_fn fn, void *arg,
		   struct err *err)
{
	struct call *call;

	if (client->caller == NULL)
		return err_set(err, ERR_UNAVAILABLE,
			       "the connection to the launcher is lost");
	call = xmalloc0(sizeof(*call));
	call->client = client;
	call->fn = fn;
	call->arg = arg;
	call->next = client->calls;
	client->calls = call;
	if (rpc_caller_call(client->caller, launch_method_name(method), params,
			    launch_method_timeout_ms(method), answered, call,
			    err) == 0)
		return 0;
	forget(call);
	return -1;
}

void
launch_client_free(struct launch_client *client)
{
	if (client == NULL)
		return;
	rpc_caller_free(client->caller);
	for (struct call *call = client->calls, *next; call != NULL;
	     call = next) {
		next = call->next;
		free(call);
	}
	free(client);
}
