/* SPDX-License-Identifier: Apache-2.0 */

/* The command `serve`. */

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>

#include "base/array.h"
#include "base/command.h"
#include "base/daemon.h"
#include "base/err.h"
#include "base/fdlimit.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/opts.h"
#include "handler/command.h"
#include "handler/handler.h"
#include "kube/config.h"

struct serve_options {
	struct kube_flags kube;
	struct handler_options handler;
	const char *log_level, *log_format;
};

/* For whoever started it with a port of the kernel's choice. */
static void
announce(void *arg)
{
	const struct handler *h = arg;

	(void)printf("{\"port\":%" PRIu16 "}\n", handler_port(h));
	(void)fflush(stdout);
	log_info(NULL, "handling the machines of node %s",
		 handler_options(h)->node);
}

/* There is nothing to finish: whatever runs goes on without it. */
static void
stop(void *arg, void (*done)(void *done_arg), void *done_arg)
{
	(void)arg;
	done(done_arg);
}

static int
serve(struct serve_options *options, struct err *err)
{
	struct handler_options *handler = &options->handler;
	struct daemon_config daemon = { .ready = announce, .stop = stop };
	struct handler *h;

	if (kube_config_load(&options->kube, NULL, &handler->config, err) == -1)
		return -1;
	/* A peer that goes away in the middle of a request is an error of that
	 * request. */
	(void)signal(SIGPIPE, SIG_IGN);
	fdlimit_raise();
	daemon.loop = handler->loop = loop_new();
	daemon.arg = h = handler_start(handler, err);
	if (h != NULL) {
		daemon_run(&daemon);
		handler_free(h);
	}
	loop_free(daemon.loop);
	return h == NULL ? -1 : 0;
}

int
command_serve(int argc, char **argv)
{
	struct serve_options options = {
		.handler = { .kubelet_root = "/var/lib/kubelet",
			     .proxy_control = "/run/ferry/proxy.sock",
			     .host_dir = "/var/lib/ferry/host",
			     .ns = "kubevirt",
			     .health = { .program = "ferry-handler" } },
		.log_level = "info",
		.log_format = "auto",
	};
	struct handler_options *handler = &options.handler;
	const struct opt table[] = {
		KUBE_FLAGS_OPTS(&options.kube),
		{ "node-name", "NAME", "the node this runs on", OPT_STR,
		  &handler->node, 0, 0 },
		{ "kubelet-root", "DIR",
		  "the kubelet's directory (default /var/lib/kubelet)", OPT_STR,
		  &handler->kubelet_root, 0, 0 },
		{ "proxy-control", "PATH",
		  "control socket of the node's ferry-proxy (default "
		  "/run/ferry/proxy.sock)",
		  OPT_STR, &handler->proxy_control, 0, 0 },
		{ "host-dir", "DIR",
		  "what 'ferry-launcher probe' wrote (default "
		  "/var/lib/ferry/host)",
		  OPT_STR, &handler->host_dir, 0, 0 },
		{ "address", "ADDR",
		  "where other nodes reach this node's ferry-proxy, if that "
		  "listens on every address",
		  OPT_STR, &handler->address, 0, 0 },
		{ "install-namespace", "NAME",
		  "namespace of the KubeVirt object (default kubevirt)",
		  OPT_STR, &handler->ns, 0, 0 },
		{ "dnsmasq", "PATH", "the DHCP server of machines", OPT_STR,
		  &handler->dnsmasq, 0, 0 },
		{ "listen", "ADDR:PORT",
		  "serve /healthz, /readyz and /metrics there by HTTPS; port 0 "
		  "leaves it to the kernel (default: do not)",
		  OPT_STR, &handler->health.listen, 0, 0 },
		{ "tls-cert", "FILE",
		  "certificate for --listen (default: one of its own)", OPT_STR,
		  &handler->health.tls_cert, 0, 0 },
		{ "tls-key", "FILE", "its key", OPT_STR,
		  &handler->health.tls_key, 0, 0 },
		{ "log-level", "LEVEL", "debug, info, warning or error",
		  OPT_STR, &options.log_level, 0, 0 },
		{ "log-format", "FORMAT", "auto, json or human", OPT_STR,
		  &options.log_format, 0, 0 },
	};
	const struct opts opts = {
		.program = "ferry-handler serve",
		.summary = "Runs the machines of a node, and both ends of "
			   "their migrations.",
		.table = table,
		.count = ARRAY_LEN(table),
	};
	int first, status;
	struct err err;

	if (!command_parse(&opts, argc, argv, &first, &status))
		return status;
	if (handler->node == NULL) {
		(void)err_set(&err, ERR_INVALID, "--node-name is missing");
		return command_error(&err, COMMAND_USAGE);
	}
	if (log_start("virt-handler", options.log_level, options.log_format,
		      &err) == -1)
		return command_error(&err, COMMAND_USAGE);
	if (serve(&options, &err) == -1)
		return command_error(&err, COMMAND_FAILED);
	return 0;
}
