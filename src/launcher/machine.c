/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/machine.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/if_tun.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "launcher/children.h"
#include "launcher/diskmake.h"
#include "launcher/disks.h"
#include "launcher/domainxml.h"
#include "launcher/files.h"
#include "launcher/options.h"
#include "launcher/virtworker.h"
#include "virt/conn.h"
#include "virt/domain.h"

#define CONNECT_PAUSE_US 20000U
#define TUN_FLAGS_MAX 32

static struct disk_dirs
dirs_of(const struct options *options)
{
	return (struct disk_dirs){
		.ephemeral = options->ephemeral_dir,
		.containers = options->container_dir,
		.private = options->private_dir,
		.devices = "/dev",
	};
}

char *
machine_runtime_dir(const struct options *options)
{
	return xasprintf("%s/%s", options->private_dir, options->uid);
}

char *
machine_console(const struct options *options)
{
	return xasprintf("%s/%s/console.log", options->private_dir,
			 options->uid);
}

char *
machine_monitor(const struct options *options)
{
	return xasprintf("%s/%s/" DOMAIN_MONITOR, options->private_dir,
			 options->uid);
}

char *
machine_socket_dir(const struct options *options)
{
	return xasprintf("%s/migrationproxy", options->share_dir);
}

char *
machine_socket(const struct options *options, int channel)
{
	AUTO(free_ptr) char *dir = machine_socket_dir(options);

	if (channel == MACHINE_CHANNEL_CONTROL)
		return xasprintf("%s/%s-source.sock", dir, options->uid);
	return xasprintf("%s/%s-%d-source.sock", dir, options->uid, channel);
}

int
machine_check(const struct options *options, const json_t *vmi, struct err *err)
{
	const struct {
		const char *path, *own;
	} members[] = {
		{ "metadata.name", options->name },
		{ "metadata.namespace", options->ns },
		{ "metadata.uid", options->uid },
	};

	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		const char *said = js_str_at(vmi, members[i].path);

		if (!str_equal(said, members[i].own))
			return err_set(err, ERR_INVALID,
				       "vmi.%s: is '%s', this pod is for '%s'",
				       members[i].path, said, members[i].own);
	}
	return 0;
}

int
machine_make_dirs(const struct options *options, struct err *err)
{
	AUTO(free_ptr) char *runtime = machine_runtime_dir(options);
	AUTO(free_ptr) char *sockets = machine_socket_dir(options);

	if (files_make_dir(runtime, err) == -1 ||
	    files_make_dir(sockets, err) == -1)
		return -1;
	return files_make_dir(options->ephemeral_dir, err);
}

/* libvirtd is started beside: the first that needs it waits. */
static int
connect_libvirt(struct virtworker *worker, struct virt_conn **ret_conn,
		struct err *err)
{
	uint64_t deadline_ms = loop_now_ms() + MACHINE_LIBVIRT_WAIT_MS;

	while (virtworker_conn(worker, ret_conn, err) == -1) {
		if (loop_now_ms() > deadline_ms)
			return -1;
		(void)usleep(CONNECT_PAUSE_US);
	}
	return 0;
}

/* Which taps can be opened more than once. */
static unsigned long long
multi_queue_taps(const struct launch_interfaces *interfaces)
{
	unsigned long long bits = 0;

	for (size_t i = 0; i < interfaces->count && i < 64; i++) {
		AUTO(free_ptr)
		char *path = xasprintf("/sys/class/net/%s/tun_flags",
				       interfaces->items[i].tap);
		AUTO(free_ptr) char *text = NULL;
		struct err err;
		size_t len;

		if (!str_is_name(interfaces->items[i].tap, 15) ||
		    path_read_file(path, TUN_FLAGS_MAX, &text, &len, &err) ==
			    -1)
			continue;
		if (strtoul(text, NULL, 0) & IFF_MULTI_QUEUE)
			bits |= 1ULL << i;
	}
	return bits;
}

/* The plan with its files made. vmi outlives it. */
static int
make_disks(const struct options *options, struct children *children,
	   const json_t *vmi, const struct launch_prepare *prepare,
	   struct disks *ret_disks, struct err *err)
{
	struct disk_dirs dirs = dirs_of(options);

	if (disks_plan(vmi, &dirs, ret_disks, err) == -1)
		return -1;
	for (size_t i = 0; prepare != NULL && i < prepare->disk_count; i++) {
		for (size_t d = 0; d < ret_disks->count; d++) {
			if (str_equal(ret_disks->items[d].volume,
				      prepare->disks[i].name))
				ret_disks->items[d].size =
					prepare->disks[i].size_bytes;
		}
	}
	if (disks_examine(ret_disks, &dirs, err) == 0 &&
	    diskmake_all(children, vmi, ret_disks, &dirs, err) == 0)
		return 0;
	disks_done(ret_disks);
	return -1;
}

int
machine_start(const struct options *options, struct children *children,
	      struct virtworker *worker, const struct launch_sync *sync,
	      struct err *err)
{
	AUTO(free_ptr) char *runtime = machine_runtime_dir(options);
	AUTO(free_ptr) char *console = machine_console(options);
	AUTO(disks_done) struct disks disks = { 0 };
	struct domain_input in = {
		.vmi = sync->vmi,
		.disks = &disks,
		.interfaces = &sync->interfaces,
		.multi_queue = multi_queue_taps(&sync->interfaces),
		.kvm = options->kvm,
		.containers = options->container_dir,
		.runtime = runtime,
		.console = console,
	};
	AUTO(free_ptr) char *xml = NULL;
	struct virt_conn *conn;
	bool paused =
		str_equal(js_str_at(sync->vmi, "spec.startStrategy"), "Paused");

	if (!in.kvm && !options->allow_emulation)
		return err_set(err, ERR_UNAVAILABLE,
			       "KVM does not work on this node, and emulation "
			       "is not allowed (useEmulation)");
	if (make_disks(options, children, sync->vmi, NULL, &disks, err) == -1)
		return -1;
	xml = domainxml_make(&in, err);
	if (xml == NULL || connect_libvirt(worker, &conn, err) == -1)
		return -1;
	log_debug(NULL, "starting %s", xml);
	return virt_domain_start(conn, xml, paused, err);
}

int
machine_prepare(const struct options *options, struct children *children,
		struct virtworker *worker, const struct launch_prepare *prepare,
		struct err *err)
{
	AUTO(disks_done) struct disks disks = { 0 };
	struct virt_conn *conn;

	if (make_disks(options, children, prepare->vmi, prepare, &disks, err) ==
	    -1)
		return -1;
	/* The source's libvirtd connects to it as soon as this is answered. */
	return connect_libvirt(worker, &conn, err);
}
