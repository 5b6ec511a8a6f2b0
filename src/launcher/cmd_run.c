/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/command.h"
#include "base/err.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/opts.h"
#include "launcher/children.h"
#include "launcher/command.h"
#include "launcher/launcher.h"
#include "launcher/libvirtd.h"
#include "launcher/machine.h"
#include "launcher/options.h"
#include "launcher/probe.h"
#include "launcher/service.h"
#include "virt/conn.h"
#include "virt/events.h"

#define QEMU_TIMEOUT_MS 300000U
#define GRACE_S 45U

/* All that runs. */
struct run {
	struct options options;
	const char *log_level;
	struct loop *loop;
	struct children *children;
	struct libvirtd *libvirtd;
	struct launcher *launcher;
	struct service *service;
	struct loop_signal *term, *interrupt;
	int status;
};

static void
on_changed(void *ctx)
{
	struct run *run = ctx;

	service_tell(run->service);
}

static bool
on_heard(void *ctx)
{
	struct run *run = ctx;

	return service_heard(run->service);
}

static void
on_ended(void *ctx, int status)
{
	struct run *run = ctx;

	run->status = status;
	loop_stop(run->loop);
}

static void
on_term(int signo, void *arg)
{
	struct run *run = arg;

	log_info(NULL, "asked to end by signal %d", signo);
	launcher_stop(run->launcher, run->options.grace_s);
}

static int
parse(struct run *run, int argc, char **argv, int *ret_status)
{
	struct options *o = &run->options;
	const struct opt table[] = {
		{ "name", "NAME", "name of the machine", OPT_STR, &o->name, 0,
		  0 },
		{ "namespace", "NAMESPACE", "its namespace", OPT_STR, &o->ns, 0,
		  0 },
		{ "uid", "UID", "its uid", OPT_STR, &o->uid, 0, 0 },
		{ "kubevirt-share-dir", "DIR",
		  "shared with the handler (/var/run/kubevirt)", OPT_STR,
		  &o->share_dir, 0, 0 },
		{ "ephemeral-disk-dir", "DIR",
		  "where disks are made "
		  "(/var/run/kubevirt-ephemeral-disks)",
		  OPT_STR, &o->ephemeral_dir, 0, 0 },
		{ "container-disk-dir", "DIR",
		  "where images are (/var/run/kubevirt/container-disks)",
		  OPT_STR, &o->container_dir, 0, 0 },
		{ "private-dir", "DIR",
		  "the launcher's own (/var/run/kubevirt-private)", OPT_STR,
		  &o->private_dir, 0, 0 },
		{ "host-dir", "DIR", "what 'probe' wrote (/var/lib/ferry/host)",
		  OPT_STR, &o->host_dir, 0, 0 },
		{ "qemu-timeout", "TIME",
		  "end when no machine has been started by then (300s)", OPT_MS,
		  &o->qemu_timeout_ms, 1, 0 },
		{ "grace-period-seconds", "N",
		  "how long a guest may take to shut down (45)", OPT_U64,
		  &o->grace_s, 0, INT32_MAX },
		{ "run-as-nonroot", NULL, "use libvirt without root", OPT_FLAG,
		  &o->nonroot, 0, 0 },
		{ "allow-emulation", NULL,
		  "run without KVM where there is none", OPT_FLAG,
		  &o->allow_emulation, 0, 0 },
		{ "log-level", "LEVEL", "debug, info, warning or error (info)",
		  OPT_STR, &run->log_level, 0, 0 },
	};
	const struct opts opts = {
		.program = "ferry-launcher",
		.summary = "Runs one virtual machine in its pod.",
		.table = table,
		.count = ARRAY_LEN(table),
	};
	int first;

	return command_parse(&opts, argc, argv, &first, ret_status);
}

static int
check(const struct run *run, enum log_level *ret_level, struct err *err)
{
	const struct options *o = &run->options;

	if (o->name == NULL || o->ns == NULL || o->uid == NULL)
		return err_set(err, ERR_INVALID,
			       "--name, --namespace and --uid are needed");
	if (log_level_from_name(run->log_level, ret_level) == -1)
		return err_set(err, ERR_INVALID, "unknown level '%s'",
			       run->log_level);
	return 0;
}

static int
start(struct run *run, struct err *err)
{
	AUTO(free_ptr)
	char *socket =
		xasprintf("%s/sockets/launcher-sock", run->options.share_dir);
	AUTO(free_ptr)
	char *seed = xasprintf("%s/capabilities", run->options.host_dir);
	const struct libvirtd_config libvirtd = {
		.loop = run->loop,
		.children = run->children,
		.seed_dir = seed,
		.private_dir = run->options.private_dir,
		.nonroot = run->options.nonroot,
	};
	const struct launcher_config launcher = {
		.options = &run->options,
		.loop = run->loop,
		.children = run->children,
		.changed = on_changed,
		.heard = on_heard,
		.ended = on_ended,
		.ctx = run,
	};

	if (virt_events_start(err) == -1 ||
	    machine_make_dirs(&run->options, err) == -1 ||
	    libvirtd_start(&libvirtd, &run->libvirtd, err) == -1 ||
	    service_new(run->loop, socket, &run->service, err) == -1)
		return -1;
	run->launcher = launcher_new(&launcher);
	service_serve(run->service, run->launcher);
	run->term = loop_signal_new(run->loop, SIGTERM, on_term, run);
	run->interrupt = loop_signal_new(run->loop, SIGINT, on_term, run);
	return 0;
}

int
cmd_run(int argc, char **argv)
{
	struct run run = {
		.options = {
			.share_dir = "/var/run/kubevirt",
			.ephemeral_dir = "/var/run/kubevirt-ephemeral-disks",
			.container_dir = "/var/run/kubevirt/container-disks",
			.private_dir = "/var/run/kubevirt-private",
			.host_dir = "/var/lib/ferry/host",
			.qemu_timeout_ms = QEMU_TIMEOUT_MS,
			.grace_s = GRACE_S,
		},
		.log_level = "info",
	};
	enum log_level level;
	struct err err;
	int status;

	if (!parse(&run, argc, argv, &status))
		return status;
	if (check(&run, &level, &err) == -1)
		return command_error(&err, COMMAND_USAGE);
	log_init("ferry-launcher", level, LOG_FORMAT_AUTO);
	/* Before there are threads. A node that is told to emulate is not asked
	 * for what it does not want to be used. */
	run.options.kvm = probe_known_kvm(run.options.host_dir,
					  !run.options.allow_emulation);
	virt_init();
	(void)signal(SIGPIPE, SIG_IGN);
	run.loop = loop_new();
	run.children = children_new(run.loop);
	if (start(&run, &err) == -1) {
		log_error(NULL, "%s", err.text);
		return COMMAND_FAILED;
	}
	loop_run(run.loop);
	libvirtd_stop(run.libvirtd);
	log_info(NULL, "ending with status %d", run.status);
	/* Threads may be inside of libvirt: the process ends with them. */
	_exit(run.status);
}
