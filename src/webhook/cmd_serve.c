/* SPDX-License-Identifier: Apache-2.0 */

/* The command `serve`. */

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>

#include "base/array.h"
#include "base/daemon.h"
#include "base/err.h"
#include "base/fdlimit.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/opts.h"
#include "http/listen.h"
#include "kube/config.h"
#include "webhook/api.h"
#include "webhook/command.h"

/* How long requests in flight may take when the server is told to stop. */
#define DRAIN_US (15UL * 1000 * 1000)
#define QPS_MAX 1000000

struct serve_options {
	struct kube_flags kube;
	struct api_options api;
	struct opts_list allowed_names;
	const char *listen;
	const char *log_level, *log_format;
	uint64_t qps, burst;
};

struct service {
	struct api *api;
	uint16_t port;
};

/* For whoever started it with a port of the kernel's choice. */
static void
announce(void *arg)
{
	const struct service *service = arg;

	(void)printf("{\"port\":%" PRIu16 "}\n", service->port);
	(void)fflush(stdout);
	log_info(NULL, "serving at port %" PRIu16, service->port);
}

static void
drain(void *arg, void (*done)(void *done_arg), void *done_arg)
{
	struct service *service = arg;

	api_drain(service->api, done, done_arg);
}

static int
serve(struct serve_options *options, struct err *err)
{
	struct api_options *api = &options->api;
	struct service service;
	struct daemon_config daemon = {
		.ready = announce,
		.stop = drain,
		.arg = &service,
		.deadline_us = DRAIN_US,
	};

	if (kube_config_load(&options->kube, NULL, &api->config, err) == -1)
		return -1;
	if (listen_open(options->listen, NULL, 0, &api->listen_fd,
			&service.port, err) == -1) {
		kube_config_free(api->config);
		return -1;
	}
	(void)signal(SIGPIPE, SIG_IGN);
	fdlimit_raise();
	daemon.loop = api->loop = loop_new();
	service.api = api_start(api, err);
	if (service.api != NULL) {
		daemon_run(&daemon);
		api_free(service.api);
	}
	loop_free(daemon.loop);
	return service.api == NULL ? -1 : 0;
}

static int
check(struct serve_options *options, struct err *err)
{
	struct api_options *api = &options->api;

	if (api->cert_file == NULL || api->key_file == NULL)
		return err_set(err, ERR_INVALID, "--%s is missing",
			       api->cert_file == NULL ? "cert" : "key");
	if (options->allowed_names.count > 0 &&
	    api->requestheader_ca_file == NULL)
		return err_set(err, ERR_INVALID,
			       "--requestheader-allowed-name needs "
			       "--requestheader-client-ca");
	api->allowed_names = &options->allowed_names;
	api->qps = (unsigned)options->qps;
	api->burst = (unsigned)options->burst;
	return log_start("virt-api", options->log_level, options->log_format,
			 err);
}

int
command_serve(int argc, char **argv)
{
	struct serve_options options = {
		.api = { .ns = API_NAMESPACE, .listen_fd = -1 },
		.listen = API_LISTEN,
		.log_level = "info",
		.log_format = "auto",
	};
	const struct opt table[] = {
		{ "listen", "ADDR:PORT",
		  "where to listen (default " API_LISTEN
		  "); port 0 leaves it to the kernel",
		  OPT_STR, &options.listen, 0, 0 },
		{ "cert", "FILE", "certificate; read again when it changes",
		  OPT_STR, &options.api.cert_file, 0, 0 },
		{ "key", "FILE", "its key", OPT_STR, &options.api.key_file, 0,
		  0 },
		{ "requestheader-client-ca", "FILE",
		  "CA of those who may say who somebody is (default: what the "
		  "cluster publishes)",
		  OPT_STR, &options.api.requestheader_ca_file, 0, 0 },
		{ "requestheader-allowed-name", "NAME",
		  "common name of such a certificate, may be given several "
		  "times (default: any)",
		  OPT_LIST, &options.allowed_names, 0, 0 },
		{ "webhook-client-ca", "FILE",
		  "CA of those who may ask for reviews (default: everybody "
		  "may)",
		  OPT_STR, &options.api.webhook_ca_file, 0, 0 },
		{ "kubeconfig", "FILE",
		  "kubeconfig instead of $KUBECONFIG, ~/.kube/config or the "
		  "pod's own",
		  OPT_STR, &options.kube.kubeconfig, 0, 0 },
		{ "context", "NAME", "context of the kubeconfig", OPT_STR,
		  &options.kube.context, 0, 0 },
		{ "namespace", "NAME",
		  "where the KubeVirt object and Ferry's service accounts are "
		  "(default " API_NAMESPACE ")",
		  OPT_STR, &options.api.ns, 0, 0 },
		{ "qps", "N", "requests to the API server in a second", OPT_U64,
		  &options.qps, 1, QPS_MAX },
		{ "burst", "N", "how many at once before that counts", OPT_U64,
		  &options.burst, 1, QPS_MAX },
		{ "log-level", "LEVEL", "debug, info, warning or error",
		  OPT_STR, &options.log_level, 0, 0 },
		{ "log-format", "FORMAT", "auto, json or human", OPT_STR,
		  &options.log_format, 0, 0 },
	};
	const struct opts opts = {
		.program = "ferry-api serve",
		.summary = "Serves admission webhooks and subresources.",
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
