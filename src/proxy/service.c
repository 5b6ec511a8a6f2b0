/* SPDX-License-Identifier: Apache-2.0 */
#include "proxy/service.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/fdlimit.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/path.h"
#include "proxy/creds.h"
#include "proxy/metrics.h"
#include "proxy/opener.h"
#include "proxy/scrape.h"
#include "proxy/worker.h"
#include "rpc/server.h"
#include "version.h"

#define US_PER_MS 1000ULL

static int
start_opener(struct service *service, const struct service_config *config,
	     struct err *err)
{
	const char *files[CREDS_FILES_MAX];
	struct opener_config opener = {
		.dirs = config->dirs,
		.n_dirs = config->n_dirs,
		.files = files,
		.n_files = creds_config_files(&config->settings->creds, files),
		/* Only a controller hands over directories. */
		.foreign_dirs = config->control != NULL,
	};

	return opener_start(&opener, &service->proxy.opener, err);
}

static int
open_control(struct service *service, const char *path, struct err *err)
{
	AUTO(free_ptr) char *dir = NULL;
	const char *name;

	if (path_split(path, &dir, &name, err) == -1)
		return err_prefix(err, "--control");
	/*
	 * To remove it in the end, when files are out of reach. Links are the
	 * operator's own: /var/run is one.
	 */
	service->control_dir_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (service->control_dir_fd == -1)
		return err_errno(err, "--control: cannot open '%s'", dir);
	if (endpoint_listen_path(path, NULL, &service->control_endpoint, err) ==
	    -1)
		return -1;
	service->control_name = xstrdup(name);
	return 0;
}

static int
open_metrics(struct service *service, const char *where, struct err *err)
{
	uint16_t port;

	if (scrape_open(where, &service->scrape_fd, &port, err) == -1)
		return err_prefix(err, "--metrics");
	log_info(NULL, "serving metrics at port %u", port);
	return 0;
}

static int
confine(struct service *service, struct err *err)
{
	if (sandbox_drop_user(&service->sandbox, err) == -1 ||
	    sandbox_drop_capabilities(&service->sandbox, err) == -1 ||
	    sandbox_landlock(&service->sandbox, err) == -1)
		return -1;
	return sandbox_seccomp(&service->sandbox, SANDBOX_MAIN, err);
}

static void
idle(void *arg)
{
	struct service *service = arg;

	loop_stop(service->proxy.loop);
}

static void
end_now(struct service *service, const char *why)
{
	if (service->ending)
		return;
	service->ending = true;
	log_info(NULL, "ending: %s", why);
	proxy_end(&service->proxy);
}

static void
drain_late(void *arg)
{
	end_now(arg, "migrations were still running at the deadline");
}

/* By SIGTERM and by the control socket. */
static void
drain(void *arg)
{
	struct service *service = arg;

	if (service->proxy.draining)
		return;
	log_info(NULL, "draining: %zu listeners are to finish",
		 service->proxy.n_listeners);
	if (service->drain_timeout_ms > 0)
		loop_timer_start(service->deadline,
				 service->drain_timeout_ms * US_PER_MS);
	proxy_drain(&service->proxy);
}

static void
signalled(int signo, void *arg)
{
	struct service *service = arg;

	if (signo == SIGHUP) {
		creds_check(service->proxy.creds);
		return;
	}
	/* A second signal, or one where nobody waits: at once. */
	if (service->drain_timeout_ms == 0 || service->proxy.draining)
		end_now(service, "signal");
	else
		drain(service);
}

static void
opener_died(unsigned ready, void *arg)
{
	struct service *service = arg;

	(void)ready;
	loop_io_want(service->opener_io, 0);
	service->failed = true;
	log_error(NULL, "the opener process has died; running migrations go "
			"on, new ones are refused");
	drain(service);
}

static void
watch_events(struct service *service)
{
	static const int signals[] = { SIGTERM, SIGINT, SIGHUP };
	struct loop *loop = service->proxy.loop;

	for (size_t i = 0; i < ARRAY_LEN(signals); i++)
		service->signals[i] =
			loop_signal_new(loop, signals[i], signalled, service);
	service->deadline = loop_timer_new(loop, drain_late, service);
	service->opener_io =
		loop_io_new(loop, opener_watch_fd(service->proxy.opener),
			    opener_died, service);
	loop_io_want(service->opener_io, LOOP_READ);
	creds_watch(service->proxy.creds, loop);
}

static void
serve_control(struct service *service, uid_t starter)
{
	const uid_t uids[] = { 0, starter, service->sandbox.uid };

	service->control = (struct control){
		.proxy = &service->proxy,
		.sandbox = &service->sandbox,
		.drain = drain,
		.drain_arg = service,
	};
	service->rpc = rpc_server_new(
		&(struct rpc_server_config){
			.loop = service->proxy.loop,
			.service = {
				.self = { .program = "ferry-proxy",
					  .version = FERRY_VERSION },
				.methods = control_methods,
				.n_methods = control_n_methods,
				.ctx = &service->control,
			},
			.uids = uids,
			.n_uids = ARRAY_LEN(uids),
		},
		TAKE_FD(service->control_endpoint.fd));
}

static int
write_metrics(void *arg, struct buf *buf)
{
	return metrics_write(arg, buf);
}

static void
serve_metrics(struct service *service)
{
	service->scrape = scrape_new(
		&(struct scrape_config){
			.loop = service->proxy.loop,
			.write = write_metrics,
			.arg = &service->proxy,
			.text_max = METRICS_MAX,
		},
		TAKE_FD(service->scrape_fd));
}

static int
prepare(struct service *service, const struct service_config *config,
	struct err *err)
{
	struct settings *settings = config->settings;
	struct proxy_options options;

	if (settings_apply(settings, config->server, config->source, &options,
			   err) == -1 ||
	    sandbox_check_user(settings->user, &service->sandbox, err) == -1)
		return -1;
	/* Every stream takes two descriptors, and a pipe's two while busy. */
	fdlimit_raise();
	if (start_opener(service, config, err) == -1 ||
	    creds_load(&settings->creds, service->proxy.opener,
		       &service->proxy.creds, err) == -1)
		return -1;
	if (config->control &&
	    open_control(service, config->control, err) == -1)
		return -1;
	if (config->metrics &&
	    open_metrics(service, config->metrics, err) == -1)
		return -1;
	service->proxy.options = options;
	return confine(service, err);
}

int
service_start(struct service *service, const struct service_config *config,
	      struct err *err)
{
	uid_t starter = geteuid();

	*service = (struct service){
		.control_endpoint = ENDPOINT_NONE,
		.control_dir_fd = -1,
		.scrape_fd = -1,
		.drain_timeout_ms = config->drain_timeout_ms,
	};
	proxy_init(&service->proxy, NULL);
	service->proxy.idle = idle;
	service->proxy.idle_arg = service;
	(void)signal(SIGPIPE, SIG_IGN);
	if (prepare(service, config, err) == -1) {
		service_stop(service);
		return -1;
	}
	service->proxy.loop = loop_new();
	service->proxy.workers =
		workers_start((unsigned)config->settings->threads);
	watch_events(service);
	if (config->control)
		serve_control(service, starter);
	if (config->metrics)
		serve_metrics(service);
	return 0;
}

int
service_run(struct service *service)
{
	loop_run(service->proxy.loop);
	return service->failed ? -1 : 0;
}

void
service_stop(struct service *service)
{
	struct proxy *proxy = &service->proxy;
	struct err err;

	/* While we still listen on it: nobody else can have taken the name. */
	if (service->control_name && proxy->opener &&
	    opener_unlink(proxy->opener, service->control_dir_fd,
			  service->control_name, &service->control_endpoint,
			  &err) == -1)
		log_debug(NULL, "control socket stays: %s", err.text);
	rpc_server_free(service->rpc);
	scrape_free(service->scrape);
	close_fd(&service->scrape_fd);
	free(service->control_name);
	close_fd(&service->control_dir_fd);
	close_fd(&service->control_endpoint.fd);
	workers_stop(proxy->workers);
	if (proxy->loop) {
		for (size_t i = 0; i < ARRAY_LEN(service->signals); i++)
			loop_signal_free(service->signals[i]);
		loop_timer_free(service->deadline);
		loop_io_free(service->opener_io);
	}
	creds_free(proxy->creds);
	opener_free(proxy->opener);
	loop_free(proxy->loop);
}
