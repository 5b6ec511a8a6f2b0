/* SPDX-License-Identifier: Apache-2.0 */
#include "base/daemon.h"

#include <signal.h>
#include <stdbool.h>
#include <string.h>

#include "base/log.h"
#include "base/loop.h"

struct daemon {
	const struct daemon_config *config;
	struct loop_timer *deadline;
	bool stopping;
};

static void
stopped(void *arg)
{
	struct daemon *daemon = arg;

	loop_stop(daemon->config->loop);
}

static void
on_signal(int signo, void *arg)
{
	struct daemon *daemon = arg;
	const struct daemon_config *config = daemon->config;

	if (daemon->stopping) {
		loop_stop(config->loop);
		return;
	}
	daemon->stopping = true;
	log_info(NULL, "stopping: %s", strsignal(signo));
	loop_timer_start(daemon->deadline, config->deadline_us);
	config->stop(config->arg, stopped, daemon);
}

void
daemon_run(const struct daemon_config *config)
{
	struct daemon daemon = { .config = config };
	struct loop_signal *term, *intr;

	daemon.deadline = loop_timer_new(config->loop, stopped, &daemon);
	term = loop_signal_new(config->loop, SIGTERM, on_signal, &daemon);
	intr = loop_signal_new(config->loop, SIGINT, on_signal, &daemon);
	if (config->ready != NULL)
		config->ready(config->arg);
	loop_run(config->loop);
	loop_signal_free(term);
	loop_signal_free(intr);
	loop_timer_free(daemon.deadline);
}
