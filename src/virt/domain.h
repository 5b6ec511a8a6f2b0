/* SPDX-License-Identifier: Apache-2.0 */
#ifndef VIRT_DOMAIN_H
#define VIRT_DOMAIN_H

/*
 * domain - one domain of a libvirtd, by its name.
 *
 * Threading: as conn.h. Every call reads libvirt's state anew; none is kept.
 */

#include <stdbool.h>
#include <stdint.h>

struct err;
struct virt_conn;

enum virt_state {
	VIRT_ABSENT,   /* not known to libvirt */
	VIRT_INCOMING, /* a migration is coming in, or it is being started */
	VIRT_RUNNING,
	VIRT_PAUSED,
	VIRT_SHUTTING_DOWN, /* powered off, QEMU is there still */
	VIRT_OFF,           /* known, not active */
	VIRT_CRASHED,
	VIRT_STATE_COUNT,
};

enum virt_why {
	VIRT_WHY_UNKNOWN,
	VIRT_WHY_BOOTED,
	VIRT_WHY_MIGRATED, /* came (running, paused), or went (off) */
	VIRT_WHY_MIGRATING,
	VIRT_WHY_RETURNED, /* had been stopped to go, and libvirt has let it run
			      on here */
	VIRT_WHY_POST_COPY,
	VIRT_WHY_POST_COPY_FAILED,
	VIRT_WHY_USER,
	VIRT_WHY_IO_ERROR,
	VIRT_WHY_GUEST,     /* shut down */
	VIRT_WHY_DESTROYED, /* by a call */
	VIRT_WHY_CRASHED,   /* guest or QEMU */
	VIRT_WHY_FAILED,    /* to start, or to come in */
	VIRT_WHY_COUNT,
};

struct virt_look {
	enum virt_state state;
	enum virt_why why;
	int id; /* -1 when it is not active */
};

/* ABSENT is not an error. */
int virt_domain_look(struct virt_conn *conn, const char *name,
		     struct virt_look *ret_look, struct err *err);

/* Defines the domain and starts it, paused if so; on failure it is not there.
 * Of one that is there already ERR_EXISTS. */
int virt_domain_start(struct virt_conn *conn, const char *xml, bool paused,
		      struct err *err);

int virt_domain_pause(struct virt_conn *conn, const char *name,
		      struct err *err);
int virt_domain_resume(struct virt_conn *conn, const char *name,
		       struct err *err);
/* Presses the power button; returns at once. */
int virt_domain_press(struct virt_conn *conn, const char *name,
		      struct err *err);
/* Kills it; when this returns it has ended. One that is off is fine. */
int virt_domain_destroy(struct virt_conn *conn, const char *name,
			struct err *err);

/* Which disks have failed, as "vda: no space, vdb: unspecified"; "" for none.
 * The caller frees. */
char *virt_domain_disk_errors(struct virt_conn *conn, const char *name);

const char *virt_state_name(enum virt_state state);
const char *virt_why_name(enum virt_why why);

#endif
