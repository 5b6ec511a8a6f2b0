/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROXY_SERVICE_H
#define PROXY_SERVICE_H

/*
 * service - from a command line to a confined, running proxy, and back.
 *
 * The order of start-up is the point: keys are read and descriptors opened
 * while the process may, then user, capabilities, file system and system calls
 * go, then threads start and the network is listened to.
 */

#include <stdbool.h>
#include <stddef.h>

#include "proxy/control.h"
#include "rpc/endpoint.h"
#include "proxy/proxy.h"
#include "proxy/sandbox.h"
#include "proxy/settings.h"

struct err;
struct rpc_server;
struct scrape;

struct service_config {
	struct settings *settings;
	bool server;             /* there will be target listeners */
	bool source;             /* there will be source listeners */
	const char *const *dirs; /* where unix sockets may be */
	size_t n_dirs;
	const char *control;       /* path of the control socket, or NULL */
	const char *metrics;       /* where /metrics is served, or NULL */
	unsigned drain_timeout_ms; /* SIGTERM waits this long; 0 = not */
};

struct service {
	struct proxy proxy;
	struct sandbox sandbox;
	struct control control;
	struct rpc_server *rpc;
	int scrape_fd; /* until it is served on */
	struct scrape *scrape;
	struct endpoint control_endpoint;
	char *control_name;
	int control_dir_fd;
	struct loop_signal *signals[3];
	struct loop_timer *deadline;
	struct loop_io *opener_io;
	unsigned drain_timeout_ms;
	bool ending;
	bool failed; /* the opener died */
};

/* On failure everything is undone and the process should end. */
int service_start(struct service *service, const struct service_config *config,
		  struct err *err);

/*
 * Serves until a signal, a drain or the opener's death ends it; -1 after the
 * last, which has been logged.
 */
int service_run(struct service *service);
void service_stop(struct service *service);

#endif
