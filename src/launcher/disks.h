/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LAUNCHER_DISKS_H
#define LAUNCHER_DISKS_H

/*
 * disks - which disks a machine has, where each is, and what kind of file.
 *
 * The plan follows from the machine's spec and from where things are in the pod
 * (docs/rendering.md, "Directories and disks"). What only the files themselves
 * can tell (a block device or a file, the format of an image) is filled in by
 * disks_examine(), so that the rest can be looked at without any.
 *
 * | volume | file | format |
 * |---|---|---|
 * | containerDisk | EPHEMERAL/disk-data/VOLUME/disk.qcow2 | qcow2 over the
 * image | | emptyDisk | EPHEMERAL/empty-disks/VOLUME.qcow2 | qcow2 | |
 * cloudInitNoCloud | EPHEMERAL/cloud-init/VOLUME/noCloud.iso | raw | |
 * persistentVolumeClaim, dataVolume | PRIVATE/vmi-disks/VOLUME/disk.img, or
 *   /dev/VOLUME | raw |
 * | hostDisk | PRIVATE/vmi-disks/VOLUME/NAME | raw |
 *
 * Threading: any thread, each with its own plan.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/js.h"

struct err;

#define DISKS_MAX 128

enum disk_kind {
	DISK_CONTAINER,
	DISK_EMPTY,
	DISK_CLOUD_INIT,
	DISK_CLAIM,
	DISK_HOST,
	DISK_KIND_COUNT,
};

enum disk_bus {
	BUS_VIRTIO,
	BUS_SATA,
	BUS_SCSI,
	BUS_USB,
	BUS_COUNT,
};

struct disk {
	char *volume;
	enum disk_kind kind;
	enum disk_bus bus;
	bool cdrom;
	bool read_only;
	/* Both nodes reach the same: it is never copied. */
	bool shared;
	char *target;       /* "vda" */
	char *path;         /* of the file or device */
	const char *format; /* "raw", "qcow2" */
	uint64_t size;      /* bytes to make it with; 0: not said */
	bool no_direct;     /* its file system has no O_DIRECT; diskmake.h */
	/* From disks_examine(). */
	bool block;
	char *backing; /* the image of a containerDisk; NULL for none */
	const char *backing_format;
	/* Borrowed from the machine. */
	const json_t *spec;   /* of spec.domain.devices.disks */
	const json_t *source; /* of spec.volumes, its member: emptyDisk, ... */
};

struct disk_dirs {
	const char *ephemeral;  /* /var/run/kubevirt-ephemeral-disks */
	const char *containers; /* /var/run/kubevirt/container-disks */
	const char *private;    /* /var/run/kubevirt-private */
	const char *devices;    /* /dev */
};

struct disks {
	struct disk *items;
	size_t count;
};

/* vmi is borrowed, and outlives the plan. Errors name the member. */
int disks_plan(const json_t *vmi, const struct disk_dirs *dirs,
	       struct disks *ret_disks, struct err *err);
void disks_done(struct disks *disks);

/* Looks at files and devices that must be there: images, claims. */
int disks_examine(struct disks *disks, const struct disk_dirs *dirs,
		  struct err *err);

/* Whether a migration that copies disks copies this one. What is made by the
 * launcher and cannot be written is made on the other side as well. */
bool disk_is_copied(const struct disk *disk);

#endif
