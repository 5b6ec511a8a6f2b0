/* SPDX-License-Identifier: Apache-2.0 */
/* The single steps of decision.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/str.h"
#include "handler/handler.h"
#include "handler/launchlink.h"
#include "handler/machine.h"
#include "handler/netjob.h"
#include "handler/sockets.h"
#include "handler/targetaddress.h"
#include "meta/quantity.h"
#include "meta/time.h"

#define SOCKET_DIR_MODE 0750
#define LIBVIRT_SOCKET "libvirt-sock"

/* Connections for memory, at most: as KubeVirt has it. */
#define PARALLEL_MAX 8
/* Each keeps a thread of QEMU and one of the proxy busy. With more of them than
 * a node has CPUs for, guests stand still two to three times as long. */
#define CPUS_PER_CONNECTION 2

static const json_t *
configuration(const struct machine *m)
{
	return js_obj_at(machine_object(m),
			 "status.migrationState.migrationConfiguration");
}

static void
answered(void *arg, const struct launch_status *status, const struct err *err)
{
	(void)status;
	machine_step_done(arg, err);
}

/* Takes params. */
static void
call(struct machine *m, enum launch_method method, json_t *params)
{
	struct err err;
	int result = -1;

	if (m->link == NULL)
		(void)err_set(&err, ERR_UNAVAILABLE, "there is no launcher");
	else
		result = launchlink_call(m->link, method, params, answered, m,
					 &err);
	json_decref(params);
	if (result == -1)
		machine_step_done(m, &err);
}

static void
call_uid(struct machine *m, enum launch_method method)
{
	call(m, method, launch_uid_encode(machine_vmi(m)->migration->uid));
}

/* What status.interfaces says; a new reference. The address in the pod's
 * network is the pod's, however the guest sees it. */
static json_t *
interfaces_json(const struct machine *m)
{
	const struct pod *pod = machine_pod(m);
	json_t *list = json_array();

	for (size_t i = 0; i < m->network->count; i++) {
		const struct network_interface *in = &m->network->interfaces[i];
		json_t *item =
			json_pack("{s:s, s:s, s:s, s:i}", "name", in->name,
				  "mac", in->mac, "infoSource", "domain",
				  "queueCount", (int)in->queues);

		if (str_equal(in->tap, "tap0") && pod != NULL &&
		    pod->ip[0] != '\0') {
			json_object_set_new(item, "ipAddress",
					    json_string(pod->ip));
			json_object_set_new(item, "ipAddresses",
					    json_pack("[s]", pod->ip));
		}
		json_array_append_new(list, item);
	}
	return list;
}

static void
network_made(void *arg, struct network_result *result, const struct err *err)
{
	struct machine *m = arg;

	m->netjob = NULL;
	if (err != NULL) {
		machine_step_done(m, err);
		return;
	}
	network_result_free(m->network);
	m->network = result;
	m->network_us = time_now_us();
	json_decref(m->interfaces);
	m->interfaces = interfaces_json(m);
	if (result->mended[0] != '\0')
		decision_emit(&m->decision, true, NETWORK_EVENT_MENDED, "%s",
			      result->mended);
	machine_step_done(m, NULL);
}

/* Not in the loop: the pod can have it wait. */
static void
step_network(struct machine *m)
{
	AUTO(close_fd) int cache = -1;
	struct netjob_config config = {
		.loop = handler_options(m->handler)->loop,
		.done = network_made,
		.arg = m,
	};
	struct err err;

	if (launchlink_open_dir(m->link, LAUNCHLINK_PRIVATE, NULL, &cache,
				&err) == -1) {
		machine_step_done(m, &err);
		return;
	}
	config.request = (struct network_request){
		.pod = launchlink_pod(m->link),
		.pod_uid = m->pod_uid,
		.vmi = machine_object(m),
		.cache_fd = cache,
		.tap_uid = launchlink_uid(m->link),
		.tap_gid = launchlink_gid(m->link),
		.dnsmasq = handler_options(m->handler)->dnsmasq,
	};
	m->netjob = netjob_start(&config, &err);
	if (m->netjob == NULL)
		machine_step_done(m, &err);
}

/* Borrows the texts of the network's result. */
static struct launch_interfaces
launch_interfaces(const struct machine *m)
{
	struct launch_interfaces list = { 0 };

	list.count = m->network->count;
	list.items = xcalloc(list.count + 1, sizeof(*list.items));
	for (size_t i = 0; i < list.count; i++) {
		struct network_interface *in = &m->network->interfaces[i];

		list.items[i] = (struct launch_interface){
			.name = xstrdup(in->name),
			.tap = xstrdup(in->tap),
			.mac = xstrdup(in->mac),
			.model = xstrdup(""),
			.mtu = in->mtu,
		};
	}
	return list;
}

static void
step_sync(struct machine *m)
{
	struct launch_sync sync = {
		.vmi = (json_t *)(uintptr_t)machine_object(m),
		.interfaces = launch_interfaces(m),
	};
	json_t *params = launch_sync_encode(&sync);

	launch_interfaces_done(&sync.interfaces);
	call(m, LAUNCH_SYNC, params);
}

static void
step_prepare(struct machine *m)
{
	struct launch_prepare prepare = {
		.vmi = (json_t *)(uintptr_t)machine_object(m),
		.migration_uid = machine_vmi(m)->migration->uid,
		.interfaces = launch_interfaces(m),
	};
	json_t *params = launch_prepare_encode(&prepare);

	launch_interfaces_done(&prepare.interfaces);
	call(m, LAUNCH_PREPARE, params);
}

/* Parallel connections and post-copy together lose the machine with the QEMU
 * of these years, and threads for them must not eat up the guest's CPUs. */
static uint32_t
parallel(const struct machine *m)
{
	const struct vmi *vmi = machine_vmi(m);
	long cpus;

	if (vmi->cpu_limited || vmi->dedicated_cpus ||
	    js_bool_at(configuration(m), "allowPostCopy", false))
		return 0;
	cpus = sysconf(_SC_NPROCESSORS_ONLN);
	if (cpus < 2 * CPUS_PER_CONNECTION)
		return 0;
	return cpus < PARALLEL_MAX * CPUS_PER_CONNECTION
		       ? (uint32_t)cpus / CPUS_PER_CONNECTION
		       : PARALLEL_MAX;
}

static void
step_migrate(struct machine *m)
{
	struct launch_migrate migrate = {
		.vmi = (json_t *)(uintptr_t)machine_object(m),
		.migration_uid = machine_vmi(m)->migration->uid,
		.configuration = (json_t *)(uintptr_t)configuration(m),
		.block = machine_vmi(m)->block_migration,
		.parallel = parallel(m),
	};

	call(m, LAUNCH_MIGRATE, launch_migrate_encode(&migrate));
}

static void
step_cancel(struct machine *m)
{
	call_uid(m, LAUNCH_CANCEL);
}

static void
finalized(void *arg, const struct launch_status *status, const struct err *err)
{
	struct machine *m = arg;

	(void)status;
	if (err == NULL) {
		free(m->finalized);
		m->finalized = xstrdup(m->step_uid);
	}
	machine_step_done(m, err);
}

static void
step_finalize(struct machine *m)
{
	AUTO(js_unref)
	json_t *params = launch_uid_encode(machine_vmi(m)->migration->uid);
	struct err err;

	if (launchlink_call(m->link, LAUNCH_FINALIZE, params, finalized, m,
			    &err) == -1)
		machine_step_done(m, &err);
}

/* The directory of the sockets, the launcher's; made where it is missing. */
static int
open_sockets(const struct machine *m, int *ret_fd, struct err *err)
{
	AUTO(close_fd) int public = -1;

	if (launchlink_open_dir(m->link, LAUNCHLINK_PUBLIC, NULL, &public,
				err) == -1)
		return -1;
	if (mkdirat(public, SOCKETS_DIR, SOCKET_DIR_MODE) == 0) {
		if (fchownat(public, SOCKETS_DIR, launchlink_uid(m->link),
			     launchlink_gid(m->link),
			     AT_SYMLINK_NOFOLLOW) == -1)
			return err_errno(err, "cannot give away '%s'",
					 SOCKETS_DIR);
	} else if (errno != EEXIST) {
		return err_errno(err, "cannot make '%s'", SOCKETS_DIR);
	}
	return launchlink_open_dir(m->link, LAUNCHLINK_PUBLIC, SOCKETS_DIR,
				   ret_fd, err);
}

/* What both sides are told. A new reference. */
static json_t *
common_params(const struct machine *m, const char *peer)
{
	const json_t *config = configuration(m);
	json_t *params = json_pack("{s:s, s:s, s:i}", "key", m->uid, "peer",
				   peer, "dirFd", 0);
	const char *bandwidth = js_str_at(config, "bandwidthPerMigration");
	struct quantity q;
	struct err err;

	if (js_bool_at(config, "disableTLS", false))
		json_object_set_new(params, "plain", json_true());
	if (bandwidth[0] != '\0' && quantity_parse(bandwidth, &q, &err) == 0 &&
	    quantity_sign(&q) > 0)
		json_object_set_new(params, "bandwidth",
				    json_integer(quantity_value(&q)));
	return params;
}

static void
remember_listener(struct machine *m, enum proxy_side side, const char *uid)
{
	free(m->listens_for[side]);
	m->listens_for[side] = xstrdup(uid);
}

static int
keep_target(struct machine *m, const json_t *result, struct err *err)
{
	json_t *where = target_address(
		result, handler_options(m->handler)->address, err);

	if (where == NULL)
		return -1;
	json_decref(m->target_result);
	m->target_result = where;
	return 0;
}

static void
target_listens(void *arg, const json_t *result, const struct err *failure)
{
	struct machine *m = arg;
	struct err err;

	if (failure == NULL && js_obj_at(result, "ports") != NULL &&
	    keep_target(m, result, &err) == -1)
		failure = &err;
	if (failure == NULL)
		remember_listener(m, PROXY_TARGET, m->step_uid);
	machine_step_done(m, failure);
}

static void
step_listen_target(struct machine *m)
{
	const struct vmi *vmi = machine_vmi(m);
	AUTO(close_fd) int sockets = -1;
	AUTO(close_fd) int libvirt = -1;
	AUTO(js_unref)
	json_t *params = common_params(m, vmi->migration->source_node);
	struct err err;

	json_object_set_new(params, "controlSocket",
			    json_string(LIBVIRT_SOCKET));
	json_object_set_new(params, "controlDirFd", json_integer(1));
	if (vmi->block_migration)
		json_object_set_new(params, "block", json_true());
	if (open_sockets(m, &sockets, &err) == -1 ||
	    launchlink_open_dir(m->link, LAUNCHLINK_LIBVIRT, NULL, &libvirt,
				&err) == -1 ||
	    proxyctl_start(handler_proxy(m->handler),
			   &(struct proxyctl_start){
				   .side = PROXY_TARGET,
				   .params = params,
				   .fds = (int[]){ sockets, libvirt },
				   .fd_count = 2,
			   },
			   target_listens, m, &err) == -1)
		machine_step_done(m, &err);
}

static void
source_listens(void *arg, const json_t *result, const struct err *failure)
{
	struct machine *m = arg;

	(void)result;
	if (failure == NULL)
		remember_listener(m, PROXY_SOURCE, m->step_uid);
	if (failure == NULL && m->decision.step == STEP_RECOVER)
		call(m, LAUNCH_RECOVER,
		     launch_recover_encode(m->step_uid, m->decision.listening));
	else
		machine_step_done(m, failure);
}

/* To take a broken post-copy up again the way is made first: a proxy that was
 * restarted has none any more, or the target listens elsewhere. One that is
 * there stays as it is. */
static void
step_listen_source(struct machine *m)
{
	const struct vmi *vmi = machine_vmi(m);
	const json_t *state =
		js_obj_at(machine_object(m), "status.migrationState");
	AUTO(close_fd) int sockets = -1;
	AUTO(js_unref)
	json_t *params = common_params(m, vmi->migration->target_node);
	struct err err;

	json_object_set_new(params, "address",
			    json_string(vmi->migration->target_address));
	json_object_set_new(params, "ports",
			    json_deep_copy(js_obj_at(
				    state, "targetDirectMigrationNodePorts")));
	json_object_set_new(params, "owner",
			    json_pack("{s:I, s:I}", "uid",
				      (json_int_t)launchlink_uid(m->link),
				      "gid",
				      (json_int_t)launchlink_gid(m->link)));
	if (open_sockets(m, &sockets, &err) == -1 ||
	    proxyctl_start(handler_proxy(m->handler),
			   &(struct proxyctl_start){
				   .side = PROXY_SOURCE,
				   .params = params,
				   .fds = &sockets,
				   .fd_count = 1,
			   },
			   source_listens, m, &err) == -1)
		machine_step_done(m, &err);
}

static enum proxy_side
stopped_side(const struct machine *m)
{
	return m->decision.step == STEP_STOP_SOURCE ? PROXY_SOURCE
						    : PROXY_TARGET;
}

static void stop_listener(struct machine *m);

static void
stopped(void *arg, const json_t *result, const struct err *err)
{
	struct machine *m = arg;

	(void)result;
	/* A ferry-proxy of an earlier version can only cut. */
	if (err != NULL && err->kind == ERR_INVALID && m->decision.finish) {
		m->decision.finish = false;
		stop_listener(m);
		return;
	}
	if (err == NULL)
		remember_listener(m, stopped_side(m), "");
	machine_step_done(m, err);
}

static void
stop_listener(struct machine *m)
{
	const struct proxyctl_end end = {
		.side = stopped_side(m),
		.key = m->uid,
		.finish = m->decision.finish,
	};
	struct err err;

	if (proxyctl_stop(handler_proxy(m->handler), &end, stopped, m, &err) ==
	    -1)
		machine_step_done(m, &err);
}

static void
step_cleanup(struct machine *m)
{
	call(m, LAUNCH_CLEANUP, NULL);
}

/* Without an answer there is no more to tell than libvirt has said. */
static void
blamed(void *arg, const json_t *result, const struct err *err)
{
	struct machine *m = arg;
	const struct vmi *vmi = machine_vmi(m);

	(void)err;
	json_decref(m->blame);
	m->blame = result == NULL ? NULL : json_deep_copy(result);
	if (vmi != NULL && vmi->migration != NULL) {
		free(m->blame_uid);
		m->blame_uid = xstrdup(vmi->migration->uid);
	}
	machine_step_done(m, NULL);
}

static void
step_blame(struct machine *m)
{
	struct err err;

	if (proxyctl_blame(handler_proxy(m->handler), PROXY_SOURCE, m->uid,
			   blamed, m, &err) == -1)
		blamed(m, NULL, &err);
}

static int
sweep(struct machine *m, struct err *err)
{
	static const char *const channels[] = { "", "-49152", "-49153" };
	AUTO(close_fd) int sockets = -1;

	if (open_sockets(m, &sockets, err) == -1)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(channels); i++) {
		AUTO(free_ptr)
		char *name = xasprintf("%s%s-source.sock", m->uid, channels[i]);

		if (unlinkat(sockets, name, 0) == -1 && errno != ENOENT)
			return err_errno(err, "cannot remove '%s'", name);
	}
	free(m->swept);
	m->swept = xstrdup(machine_vmi(m)->migration->uid);
	return 0;
}

static void
step_sweep(struct machine *m)
{
	struct err err;

	machine_step_done(m, sweep(m, &err) == -1 ? &err : NULL);
}

static void
step_pause(struct machine *m)
{
	call(m, LAUNCH_PAUSE, NULL);
}

static void
step_unpause(struct machine *m)
{
	call(m, LAUNCH_UNPAUSE, NULL);
}

static void
step_shutdown(struct machine *m)
{
	m->shutdown_us = time_now_us();
	call(m, LAUNCH_SHUTDOWN, launch_grace_encode(m->decision.grace_s));
}

static void
step_kill(struct machine *m)
{
	call(m, LAUNCH_KILL, NULL);
}

void
machine_step(struct machine *m)
{
	static void (*const steps[STEP_COUNT])(struct machine * m) = {
		[STEP_NETWORK] = step_network,
		[STEP_SYNC] = step_sync,
		[STEP_PREPARE] = step_prepare,
		[STEP_LISTEN_TARGET] = step_listen_target,
		[STEP_LISTEN_SOURCE] = step_listen_source,
		[STEP_MIGRATE] = step_migrate,
		[STEP_CANCEL] = step_cancel,
		[STEP_RECOVER] = step_listen_source,
		[STEP_FINALIZE] = step_finalize,
		[STEP_STOP_SOURCE] = stop_listener,
		[STEP_STOP_TARGET] = stop_listener,
		[STEP_CLEANUP] = step_cleanup,
		[STEP_BLAME] = step_blame,
		[STEP_SWEEP] = step_sweep,
		[STEP_PAUSE] = step_pause,
		[STEP_UNPAUSE] = step_unpause,
		[STEP_SHUTDOWN] = step_shutdown,
		[STEP_KILL] = step_kill,
	};
	const struct vmi *vmi = machine_vmi(m);

	/* By its answer the object may be of the next one already. */
	free(m->step_uid);
	m->step_uid = xstrdup(vmi != NULL && vmi->migration != NULL
				      ? vmi->migration->uid
				      : "");
	steps[m->decision.step](m);
}
