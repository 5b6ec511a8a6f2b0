/* SPDX-License-Identifier: Apache-2.0 */
#ifndef VIRT_MIGRATE_H
#define VIRT_MIGRATE_H

/*
 * migrate - sends a running domain to another libvirtd, through unix sockets.
 *
 * libvirtd here connects to the control socket, QEMU here to the others; QEMU
 * there listens on the same paths. The definition stays here, switched off, so
 * that what became of the domain can be read afterwards.
 *
 * Threading: blocks until the migration is over, however long that takes; see
 * job.h for what others may do meanwhile.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct virt_conn;

struct virt_migration {
	const char *domain;
	const char *control_uri;  /* qemu+unix:///system?socket=... */
	const char *memory_uri;   /* unix:///... */
	const char *disks_uri;    /* NULL: no disks are copied */
	const char *const *disks; /* targets ("vda") of those to copy */
	size_t disk_count;
	uint64_t bandwidth_mib; /* per second; 0: no limit */
	unsigned parallel;      /* connections; 0: no */
	bool post_copy;         /* can be switched to it */
	bool auto_converge;
	bool paused;  /* stays so on the other side */
	bool recover; /* a post-copy that broke */
};

/* A copy with all its texts and lists; *to is overwritten, and its own. */
void virt_migration_copy(struct virt_migration *to,
			 const struct virt_migration *from);
void virt_migration_done(struct virt_migration *migration);

/* What kind of failure it was, from libvirt's codes and texts. */
enum virt_fault {
	VIRT_FAULT_NONE,
	VIRT_FAULT_OTHER,
	VIRT_FAULT_ABORTED,
	VIRT_FAULT_CONNECT,   /* the other side could not be reached */
	VIRT_FAULT_LOST,      /* a connection broke */
	VIRT_FAULT_SILENT,    /* the other libvirtd did not answer any more */
	VIRT_FAULT_REFUSED,   /* the other side cannot take it */
	VIRT_FAULT_DISK,      /* because of a disk */
	VIRT_FAULT_PEER_QEMU, /* QEMU on the other side ended */
	VIRT_FAULT_POST_COPY_UNSUPPORTED,
	VIRT_FAULT_POST_COPY, /* broke in post-copy */
	VIRT_FAULT_GONE,      /* the domain is not there any more */
	VIRT_FAULT_DAEMON,    /* libvirtd on this side ended */
	VIRT_FAULT_COUNT,
};

/*
 * 0 means that libvirt believes it has handed the domain over. It has been seen
 * to say so of a domain that was lost on both sides: success is a domain that
 * is seen to run on the other side. *ret_fault is set in either case.
 */
int virt_migrate(struct virt_conn *conn, const struct virt_migration *migration,
		 enum virt_fault *ret_fault, struct err *err);

/* The classification, for tests: libvirt's code and text. */
enum virt_fault virt_fault_from(int code, const char *text);

#endif
