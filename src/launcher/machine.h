/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LAUNCHER_MACHINE_H
#define LAUNCHER_MACHINE_H

/*
 * machine - makes what a machine needs in this pod, and starts it.
 *
 * The part of `sync` and `prepare` that waits: for disks, for libvirtd, for
 * QEMU.
 *
 * Threading: not from the loop's thread.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/js.h"
#include "launchrpc/request.h"

struct children;
struct err;
struct options;
struct virtworker;

#define MACHINE_LIBVIRT_WAIT_MS 60000U

#define MACHINE_CHANNEL_CONTROL 0
#define MACHINE_CHANNEL_MEMORY 49152
#define MACHINE_CHANNEL_DISKS 49153

/* Where a machine's console is written, and sockets of its serial port and
 * screen are; the caller frees. */
char *machine_runtime_dir(const struct options *options);
char *machine_console(const struct options *options);
/* The socket of QEMU's second monitor; the caller frees. */
char *machine_monitor(const struct options *options);
/* Directory of the sockets of migrations, and that of a channel; the same path
 * on both sides. The caller frees. */
char *machine_socket_dir(const struct options *options);
char *machine_socket(const struct options *options, int channel);

/* The vmi must be the launcher's own. */
int machine_check(const struct options *options, const json_t *vmi,
		  struct err *err);

/* Makes directories that are needed in any case. */
int machine_make_dirs(const struct options *options, struct err *err);

/* Defines and starts the domain. */
int machine_start(const struct options *options, struct children *children,
		  struct virtworker *worker, const struct launch_sync *sync,
		  struct err *err);

/* Makes the disks that come in are written to. */
int machine_prepare(const struct options *options, struct children *children,
		    struct virtworker *worker,
		    const struct launch_prepare *prepare, struct err *err);

#endif
