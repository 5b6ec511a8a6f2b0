/* SPDX-License-Identifier: Apache-2.0 */

/* The command `serve`. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/daemon.h"
#include "base/err.h"
#include "base/fdlimit.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/opts.h"
#include "cluster/cluster.h"
#include "cluster/command.h"
#include "cluster/home.h"
#include "http/listen.h"

/* How long requests in flight may take when the server is told to stop. */
#define DRAIN_US (10UL * 1000 * 1000)

struct serve_options {
	const char *dir;
	const char *listen;
	const char *token_file;
	const char *log_level;
	const char *log_format;
	uint64_t node_grace_ms;
	uint64_t event_ttl_ms;
	uint64_t history_events;
};

struct service {
	struct cluster *cluster;
	struct home home;
};

static void
announce(void *arg)
{
	const struct service *service = arg;
	const struct home *home = &service->home;
	bool brackets = strchr(home->address, ':') != NULL;

	(void)printf("{\"url\":\"https://%s%s%s:%" PRIu64
		     "\",\"kubeconfig\":\"%s/admin.kubeconfig\"}\n",
		     brackets ? "[" : "", home->address, brackets ? "]" : "",
		     home->port, home->dir);
	(void)fflush(stdout);
	log_info(NULL, "serving at %s port %" PRIu64, home->address,
		 home->port);
}

static void
drain(void *arg, void (*done)(void *done_arg), void *done_arg)
{
	struct service *service = arg;

	cluster_drain(service->cluster, done, done_arg);
}

/* Each watch is a connection: 1024, the usual limit, are soon used up. */
static void
raise_limits(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) == -1)
		return;
	files.rlim_cur = files.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &files) == -1)
		log_warning(NULL,
			    "cannot raise the number of open files, ignoring: "
			    "%m");
}

static int
serve(const struct serve_options *options, struct err *err)
{
	struct service service;
	struct home *home = &service.home;
	struct cluster_config config = {
		.token_file = options->token_file,
		.node_grace_ms = options->node_grace_ms,
		.event_ttl_ms = options->event_ttl_ms,
		.history_events = options->history_events,
	};
	struct daemon_config daemon = {
		.ready = announce,
		.stop = drain,
		.arg = &service,
		.deadline_us = DRAIN_US,
	};
	uint16_t port;
	int r = -1;

	fdlimit_raise();
	if (home_open(options->dir, home, err) == -1)
		return -1;
	if (listen_open(options->listen, home->address, (uint16_t)home->port,
			&config.listen_fd, &port, err) == -1) {
		home_done(home);
		return -1;
	}
	home->port = port;
	raise_limits();
	daemon.loop = config.loop = loop_new();
	config.home = home;
	service.cluster = cluster_start(&config, err);
	if (service.cluster != NULL && home_record_server(home, err) == 0) {
		daemon_run(&daemon);
		r = 0;
	}
	cluster_free(service.cluster);
	loop_free(daemon.loop);
	home_done(home);
	return r;
}

int
command_serve(int argc, char **argv)
{
	struct serve_options options = { .log_level = "info",
					 .log_format = "auto" };
	const struct opt table[] = {
		{ "dir", "DIR", "the directory that init made", OPT_STR,
		  &options.dir, 0, 0 },
		{ "listen", "ADDR:PORT",
		  "where to listen (default: the address and port of init); "
		  "port 0 leaves it to the kernel",
		  OPT_STR, &options.listen, 0, 0 },
		{ "token-file", "FILE",
		  "bearer tokens: lines of token,user,uid,\"group1,group2\"",
		  OPT_STR, &options.token_file, 0, 0 },
		{ "node-grace", "TIME",
		  "a node silent for so long is not ready (default 40s)",
		  OPT_MS, &options.node_grace_ms, 0, 0 },
		{ "event-ttl", "TIME", "how long events are kept (default 1h)",
		  OPT_MS, &options.event_ttl_ms, 0, 0 },
		{ "history", "N",
		  "changes kept for watches that come back (default 50000)",
		  OPT_U64, &options.history_events, 1, 10000000 },
		{ "log-level", "LEVEL", "debug, info, warning or error",
		  OPT_STR, &options.log_level, 0, 0 },
		{ "log-format", "FORMAT", "auto, json or human", OPT_STR,
		  &options.log_format, 0, 0 },
	};
	const struct opts opts = {
		.program = "ferry-cluster serve",
		.summary = "Serves the Kubernetes API from a directory.",
		.table = table,
		.count = ARRAY_LEN(table),
	};
	int first, status;
	struct err err;

	if (!command_parse(&opts, argc, argv, &first, &status))
		return status;
	if (options.dir == NULL) {
		(void)err_set(&err, ERR_INVALID, "--dir is missing");
		return command_error(&err, COMMAND_USAGE);
	}
	if (log_start("ferry-cluster", options.log_level, options.log_format,
		      &err) == -1)
		return command_error(&err, COMMAND_USAGE);
	if (serve(&options, &err) == -1)
		return command_error(&err, COMMAND_FAILED);
	return 0;
}
