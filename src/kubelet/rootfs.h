/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KUBELET_ROOTFS_H
#define KUBELET_ROOTFS_H

/*
 * rootfs - the file system of a container, and what of volumes it may see.
 *
 * Mounts an overlay on DIR/rootfs: the image below, and what the container
 * writes above, on disk or (for images that are the host itself) in memory.
 * Parts of volumes (subPath) are opened beneath the volume without following
 * symbolic links, since whoever writes there may not be trusted, and are bound
 * to names of our own before crun sees them.
 *
 * Threading: for helpers, after runspace_enter().
 */

#include "base/js.h"

struct err;

/*
 * config is what oci.c wrote, see monitor.h: "lower", "upperMemory" (bytes;
 * 0: on disk), "parts" [{"base","sub","at","file"}], "hidden" (see hide.h).
 */
int rootfs_mount(const char *dir, const json_t *config, struct err *err);

#endif
