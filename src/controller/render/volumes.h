/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROLLER_RENDER_VOLUMES_H
#define CONTROLLER_RENDER_VOLUMES_H

/*
 * volumes - the disks of a machine, and the directories that its pod shares
 * with the node.
 *
 * Where the launcher finds what is said here and in docs/rendering.md.
 * Threading: as render.h.
 */

#include "base/js.h"

struct err;
struct render_env;

/* Directories that every launcher pod has. */
#define VOLUMES_PRIVATE_DIR "/var/run/kubevirt-private"
#define VOLUMES_SHARE_DIR "/var/run/kubevirt"
#define VOLUMES_SOCKETS_DIR VOLUMES_SHARE_DIR "/sockets"
#define VOLUMES_EPHEMERAL_DIR "/var/run/kubevirt-ephemeral-disks"
#define VOLUMES_LIBVIRT_DIR "/var/run/libvirt"
#define VOLUMES_HUGEPAGES_DIR "/dev/hugepages"
/* Below these, a directory per volume. */
#define VOLUMES_DISKS_DIR VOLUMES_PRIVATE_DIR "/vmi-disks"
#define VOLUMES_SECRETS_DIR VOLUMES_PRIVATE_DIR "/secret"
#define VOLUMES_IMAGES_DIR VOLUMES_SHARE_DIR "/container-disks"

/* The volume with the kernel and initrd, and its directory. */
#define VOLUMES_KERNEL_BOOT "kernel-boot-volume"
#define VOLUMES_KERNEL_DIR VOLUMES_IMAGES_DIR "/" VOLUMES_KERNEL_BOOT

/* Arrays, owned. Mounts stand before those below them. */
struct volumes {
	json_t *volumes;
	json_t *mounts;
	json_t *devices;
	json_t *pull_secrets;
};

void volumes_done(struct volumes *volumes);

/*
 * references says which image a volume gets instead of the one in its spec, by
 * the volume's name; NULL: none. After failure *ret_volumes is still to be
 * released.
 */
int volumes_render(const json_t *vmi, const struct render_env *env,
		   const json_t *references, struct volumes *ret_volumes,
		   struct err *err);

/*
 * The images that the volumes of a running pod were made from, by digest:
 * {"VOLUME": "NAME@sha256:..."}. A new reference; NULL with ERR_CONFLICT when a
 * digest is not known.
 */
json_t *volumes_references(const json_t *vmi, const json_t *pod,
			   struct err *err);

#endif
