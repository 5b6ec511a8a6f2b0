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
#include "controller/command.h"
#include "controller/controller.h"
#include "kube/config.h"

/* How long giving the lease back may take when it is told to stop. */
#define STOP_US (5UL * 1000 * 1000)

#define LAUNCHER_IMAGE_DEFAULT "ferry/launcher:latest"
#define SECONDS_MAX (24 * 3600)

struct serve_options {
	struct kube_flags kube;
	struct controller_options controller;
	const char *log_level, *log_format;
	uint64_t lease_s, renew_s, retry_s;
	uint64_t qps, burst, in_flight, request_s;
};

/* For whoever started it with a port of the kernel's choice. */
static void
announce(void *arg)
{
	const struct controller *controller = arg;

	(void)printf("{\"port\":%" PRIu16 "}\n", controller_port(controller));
	(void)fflush(stdout);
}

static void
stop(void *arg, void (*done)(void *done_arg), void *done_arg)
{
	controller_stop(arg, done, done_arg);
}

static int
serve(struct serve_options *options, struct err *err)
{
	struct controller_options *controller = &options->controller;
	struct daemon_config daemon = {
		.ready = announce,
		.stop = stop,
		.deadline_us = STOP_US,
	};
	struct controller *c;

	if (kube_config_load(&options->kube, NULL, &controller->config, err) ==
	    -1)
		return -1;
	/* A server that goes away in the middle of a request is an error of
	 * that request. */
	(void)signal(SIGPIPE, SIG_IGN);
	fdlimit_raise();
	daemon.loop = controller->loop = loop_new();
	daemon.arg = c = controller_start(controller, err);
	if (c != NULL) {
		daemon_run(&daemon);
		controller_free(c);
	}
	loop_free(daemon.loop);
	return c == NULL ? -1 : 0;
}

static int
check(struct serve_options *options, struct err *err)
{
	if (options->retry_s >= options->renew_s ||
	    options->renew_s >= options->lease_s)
		return err_set(err, ERR_INVALID,
			       "--leader-retry-seconds must be less than "
			       "--leader-renew-seconds, and that less than "
			       "--leader-lease-seconds");
	options->controller.lease_ms = (unsigned)options->lease_s * 1000;
	options->controller.renew_ms = (unsigned)options->renew_s * 1000;
	options->controller.retry_ms = (unsigned)options->retry_s * 1000;
	options->controller.qps = (unsigned)options->qps;
	options->controller.burst = (unsigned)options->burst;
	options->controller.in_flight = (unsigned)options->in_flight;
	options->controller.timeout_ms = (unsigned)options->request_s * 1000;
	return log_start("virt-controller", options->log_level,
			 options->log_format, err);
}

int
command_serve(int argc, char **argv)
{
	struct serve_options options = {
		.controller = { .ns = CONTROLLER_NAMESPACE,
				.launcher_image = LAUNCHER_IMAGE_DEFAULT,
				.health = { .program = "ferry-controller" } },
		.log_level = "info",
		.log_format = "auto",
		.lease_s = 15,
		.renew_s = 10,
		.retry_s = 2,
	};
	struct controller_options *controller = &options.controller;
	const struct opt table[] = {
		KUBE_FLAGS_OPTS(&options.kube),
		{ "install-namespace", "NAME",
		  "namespace of the Lease and of the KubeVirt object (default "
		  "kubevirt)",
		  OPT_STR, &controller->ns, 0, 0 },
		{ "identity", "ID",
		  "who this is among those that want to lead (default: host "
		  "and a random part)",
		  OPT_STR, &controller->identity, 0, 0 },
		{ "leader-lease-seconds", "N",
		  "others take over after so long (default 15)", OPT_U64,
		  &options.lease_s, 3, SECONDS_MAX },
		{ "leader-renew-seconds", "N",
		  "gives the lead up after so long without renewal (default "
		  "10)",
		  OPT_U64, &options.renew_s, 2, SECONDS_MAX },
		{ "leader-retry-seconds", "N",
		  "time between tries to get or renew it (default 2)", OPT_U64,
		  &options.retry_s, 1, SECONDS_MAX },
		{ "listen", "ADDR:PORT",
		  "serve /healthz, /readyz and /metrics there by HTTPS; port 0 "
		  "leaves it to the kernel (default: do not)",
		  OPT_STR, &controller->health.listen, 0, 0 },
		{ "tls-cert", "FILE",
		  "certificate for --listen (default: one of its own)", OPT_STR,
		  &controller->health.tls_cert, 0, 0 },
		{ "tls-key", "FILE", "its key", OPT_STR,
		  &controller->health.tls_key, 0, 0 },
		{ "launcher-image", "IMAGE", "image of the machines' pods",
		  OPT_STR, &controller->launcher_image, 0, 0 },
		{ "launcher-command", "PATH", "the launcher in that image",
		  OPT_STR, &controller->launcher_command, 0, 0 },
		{ "qps", "N", "requests per second (default 200)", OPT_U64,
		  &options.qps, 1, 1000000 },
		{ "burst", "N", "requests at once (default 400)", OPT_U64,
		  &options.burst, 1, 1000000 },
		{ "in-flight", "N", "requests side by side (default 64)",
		  OPT_U64, &options.in_flight, 1, 4096 },
		{ "request-timeout-seconds", "N",
		  "how long an answer may take (default 30)", OPT_U64,
		  &options.request_s, 1, SECONDS_MAX },
		{ "log-level", "LEVEL", "debug, info, warning or error",
		  OPT_STR, &options.log_level, 0, 0 },
		{ "log-format", "FORMAT", "auto, json or human", OPT_STR,
		  &options.log_format, 0, 0 },
	};
	const struct opts opts = {
		.program = "ferry-controller serve",
		.summary = "Runs the controllers; of several processes one "
			   "leads.",
		.table = table,
		.count = ARRAY_LEN(table),
	};
	int first, status;
	struct err err;

	if (!command_parse(&opts, argc, argv, &first, &status))
		return status;
	if (check(&options, &err) == -1)
		return command_error(&err, COMMAND_USAGE);
	if (serve(&options, &err) == -1)
		return command_error(&err, COMMAND_FAILED);
	return 0;
}
