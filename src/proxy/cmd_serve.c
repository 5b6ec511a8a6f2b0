/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "base/opts.h"
#include "proxy/command.h"
#include "proxy/service.h"
#include "version.h"

/* KubeVirt's handler gives running migrations about as long. */
#define DRAIN_TIMEOUT_MS 300000

struct serve_options {
	struct settings settings;
	const char *control;
	const char *metrics;
	struct opts_list dirs;
	uint64_t drain_timeout_ms;
};

static int
run(struct serve_options *options)
{
	const struct service_config config = {
		.settings = &options->settings,
		.server = true,
		.source = true,
		.dirs = options->dirs.value,
		.n_dirs = options->dirs.count,
		.control = options->control,
		.metrics = options->metrics,
		.drain_timeout_ms = (unsigned)options->drain_timeout_ms,
	};
	struct service service;
	struct err err;
	int status;

	if (service_start(&service, &config, &err) == -1)
		return command_error(&err, COMMAND_FAILED);
	log_info(NULL, "ferry-proxy %s serves on '%s'", FERRY_VERSION,
		 options->control);
	status = service_run(&service) == -1 ? COMMAND_FAILED : 0;
	service_stop(&service);
	log_info(NULL, "ended");
	return status;
}

int
command_serve(int argc, char **argv)
{
	struct serve_options options = {
		.drain_timeout_ms = DRAIN_TIMEOUT_MS,
	};
	const struct opt own[] = {
		{ "control", "PATH", "control socket to listen on", OPT_STR,
		  &options.control, 0, 0 },
		{ "allow-dir", "DIR",
		  "where unix sockets may be; several times", OPT_LIST,
		  &options.dirs, 0, 0 },
		{ "metrics", "ADDRESS:PORT",
		  "serve /metrics there, by plain HTTP (nowhere)", OPT_STR,
		  &options.metrics, 0, 0 },
		{ "ports", "LO-HI", "TCP ports of target listeners (kernel's)",
		  OPT_STR, &options.settings.ports, 0, 0 },
		{ "drain-timeout", "TIME",
		  "SIGTERM lets migrations finish so long (300s)", OPT_MS,
		  &options.drain_timeout_ms, 0, UINT32_MAX },
	};
	struct opt rows[SETTINGS_ROWS + sizeof(own) / sizeof(own[0])];
	struct opts opts = {
		.program = "ferry-proxy serve",
		.summary = "The daemon a node runs: listeners are started and "
			   "stopped over its control socket.",
		.table = rows,
	};
	struct err err;
	int first, status;

	settings_init(&options.settings);
	memcpy(rows, own, sizeof(own));
	opts.count = sizeof(own) / sizeof(own[0]);
	opts.count += settings_rows(&options.settings, rows + opts.count);
	if (!command_parse(&opts, argc, argv, &first, &status))
		return status;
	if (options.control == NULL) {
		(void)err_set(&err, ERR_INVALID,
			      "--control is missing: where to listen");
		return command_error(&err, COMMAND_USAGE);
	}
	return run(&options);
}
