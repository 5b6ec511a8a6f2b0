/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/service.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/mem.h"
#include "launcher/launcher.h"
#include "launchrpc/request.h"
#include "rpc/endpoint.h"
#include "rpc/server.h"
#include "version.h"

#define PROGRAM "ferry-launcher"
/* News come in bursts: one message for those of a moment. */
#define TELL_US 20000U

struct service {
	struct loop *loop;
	struct launcher *launcher;
	struct rpc_server *server;
	struct loop_timer *tell;
	int fd;
};

static json_t *
status_of(void *ctx)
{
	struct service *service = ctx;

	return launcher_status(service->launcher);
}

static int
method_versions(void *ctx, const json_t *params, struct rpc_fds *fds,
		json_t **ret_result, struct err *err)
{
	struct service *service = ctx;
	AUTO(launch_versions_done) struct launch_versions peer = { 0 };
	char program[] = PROGRAM, version[] = FERRY_VERSION;
	struct launch_versions here = {
		.protocol_min = LAUNCH_PROTOCOL_MIN,
		.protocol_max = LAUNCH_PROTOCOL_MAX,
		.program = program,
		.version = version,
		.libvirt = service->launcher->libvirt,
		.qemu = service->launcher->qemu,
	};
	uint32_t protocol;

	(void)fds;
	if (launch_versions_decode(params, &peer, err) == -1 ||
	    launch_versions_agree(&here, &peer, &protocol, err) == -1)
		return -1;
	*ret_result = launch_versions_encode(&here);
	service_tell(service);
	return 0;
}

static int
method_status(void *ctx, const json_t *params, struct rpc_fds *fds,
	      json_t **ret_result, struct err *err)
{
	(void)params;
	(void)fds;
	(void)err;
	*ret_result = status_of(ctx);
	return 0;
}

static int
method_migrate(void *ctx, const json_t *params, struct rpc_fds *fds,
	       json_t **ret_result, struct err *err)
{
	struct service *service = ctx;

	(void)fds;
	if (launcher_migrate(service->launcher, params, err) == -1)
		return -1;
	*ret_result = status_of(ctx);
	return 0;
}

/* Those that take the uid of a migration only. */
static int
with_uid(struct service *service, const json_t *params,
	 int (*fn)(struct launcher *launcher, const char *uid, struct err *err),
	 json_t **ret_result, struct err *err)
{
	const char *uid;

	if (launch_uid_decode(params, &uid, err) == -1 ||
	    fn(service->launcher, uid, err) == -1)
		return -1;
	launcher_touch(service->launcher);
	*ret_result = status_of(service);
	return 0;
}

static int
method_cancel(void *ctx, const json_t *params, struct rpc_fds *fds,
	      json_t **ret_result, struct err *err)
{
	(void)fds;
	return with_uid(ctx, params, launcher_cancel, ret_result, err);
}

static int
method_finalize(void *ctx, const json_t *params, struct rpc_fds *fds,
		json_t **ret_result, struct err *err)
{
	(void)fds;
	return with_uid(ctx, params, launcher_finalize, ret_result, err);
}

static int
method_recover(void *ctx, const json_t *params, struct rpc_fds *fds,
	       json_t **ret_result, struct err *err)
{
	struct service *service = ctx;
	const char *uid;
	bool listening;

	(void)fds;
	if (launch_recover_decode(params, &uid, &listening, err) == -1 ||
	    launcher_recover(service->launcher, uid, listening, err) == -1)
		return -1;
	launcher_touch(service->launcher);
	*ret_result = status_of(service);
	return 0;
}

static int
method_shutdown(void *ctx, const json_t *params, struct rpc_fds *fds,
		json_t **ret_result, struct err *err)
{
	struct service *service = ctx;
	uint64_t grace_s;

	(void)fds;
	if (launch_grace_decode(params, &grace_s, err) == -1)
		return -1;
	launcher_stop(service->launcher, grace_s);
	*ret_result = status_of(ctx);
	return 0;
}

static int
method_kill(void *ctx, const json_t *params, struct rpc_fds *fds,
	    json_t **ret_result, struct err *err)
{
	struct service *service = ctx;

	(void)params;
	(void)fds;
	(void)err;
	launcher_give_up(service->launcher);
	*ret_result = status_of(ctx);
	return 0;
}

static int
method_cleanup(void *ctx, const json_t *params, struct rpc_fds *fds,
	       json_t **ret_result, struct err *err)
{
	struct service *service = ctx;

	(void)params;
	(void)fds;
	if (launcher_cleanup(service->launcher, err) == -1)
		return -1;
	*ret_result = status_of(ctx);
	return 0;
}

static int
method_sync(void *ctx, const json_t *params, struct rpc_pending *pending,
	    struct err *err)
{
	struct service *service = ctx;

	return launcher_sync(service->launcher, params, pending, err);
}

static int
method_prepare(void *ctx, const json_t *params, struct rpc_pending *pending,
	       struct err *err)
{
	struct service *service = ctx;

	return launcher_prepare(service->launcher, params, pending, err);
}

static int
method_pause(void *ctx, const json_t *params, struct rpc_pending *pending,
	     struct err *err)
{
	struct service *service = ctx;

	(void)params;
	return launcher_pause(service->launcher, true, pending, err);
}

static int
method_unpause(void *ctx, const json_t *params, struct rpc_pending *pending,
	       struct err *err)
{
	struct service *service = ctx;

	(void)params;
	return launcher_pause(service->launcher, false, pending, err);
}

static int
method_measure(void *ctx, const json_t *params, struct rpc_pending *pending,
	       struct err *err)
{
	struct service *service = ctx;

	(void)params;
	return launcher_measure(service->launcher, pending, err);
}

static const struct rpc_method methods[] = {
	{ "versions", method_versions }, { "status", method_status },
	{ "migrate", method_migrate },   { "cancel", method_cancel },
	{ "finalize", method_finalize }, { "recover", method_recover },
	{ "shutdown", method_shutdown }, { "kill", method_kill },
	{ "cleanup", method_cleanup },
};

static const struct rpc_late_method late_methods[] = {
	{ "sync", method_sync },       { "prepare", method_prepare },
	{ "pause", method_pause },     { "unpause", method_unpause },
	{ "measure", method_measure },
};
_Static_assert(ARRAY_LEN(methods) + ARRAY_LEN(late_methods) ==
		       LAUNCH_METHOD_COUNT,
	       "each method of the protocol");

static void
tell(void *arg)
{
	struct service *service = arg;
	AUTO(js_unref) json_t *status = status_of(service);

	rpc_server_notify(service->server, LAUNCH_NOTIFY_STATUS, status);
}

void
service_tell(struct service *service)
{
	if (!loop_timer_running(service->tell))
		loop_timer_start(service->tell, TELL_US);
}

bool
service_heard(const struct service *service)
{
	return service->server != NULL &&
	       rpc_server_connections(service->server) > 0;
}

int
service_new(struct loop *loop, const char *path, struct service **ret_service,
	    struct err *err)
{
	struct endpoint endpoint = ENDPOINT_NONE;
	struct service *service;

	if (endpoint_listen_path(path, NULL, &endpoint, err) == -1)
		return -1;
	service = xmalloc0(sizeof(*service));
	service->loop = loop;
	service->fd = endpoint.fd;
	service->tell = loop_timer_new(loop, tell, service);
	*ret_service = service;
	return 0;
}

void
service_serve(struct service *service, struct launcher *launcher)
{
	const uid_t uids[] = { 0, geteuid() };
	const struct rpc_server_config config = {
		.loop = service->loop,
		.service = { .self = { PROGRAM, FERRY_VERSION },
			     .methods = methods,
			     .n_methods = ARRAY_LEN(methods),
			     .ctx = service,
			     .late = late_methods,
			     .n_late = ARRAY_LEN(late_methods) },
		.uids = uids,
		.n_uids = ARRAY_LEN(uids),
	};

	service->launcher = launcher;
	service->server = rpc_server_new(&config, service->fd);
	service->fd = -1;
}

void
service_free(struct service *service)
{
	if (service == NULL)
		return;
	rpc_server_free(service->server);
	loop_timer_free(service->tell);
	close_fd(&service->fd);
	free(service);
}
