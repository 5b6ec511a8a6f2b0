/* SPDX-License-Identifier: Apache-2.0 */
#ifndef VIRT_JOB_H
#define VIRT_JOB_H

/*
 * job - the migration that a domain is in: how far it is, and what can be done
 * to it. Use another connection than the one that virt_migrate() blocks.
 *
 * Threading: as conn.h.
 */

#include <stdbool.h>
#include <stdint.h>

struct err;
struct virt_conn;

/* Everything 0 while the target is being set up. */
struct virt_progress {
	bool active; /* there is a job */
	uint64_t elapsed_ms;
	uint64_t total, processed, remaining; /* bytes, memory and disks */
	uint64_t memory_remaining;
	uint64_t rate;       /* bytes per second, memory and disks */
	uint64_t dirty_rate; /* bytes per second */
	uint64_t iteration;
	uint64_t downtime_ms; /* expected; of a completed one as it was */
	/*
	 * Of a completed one, 0 where it is not known: how long the guest
	 * stood still by the clock of the source until that handed it over,
	 * and by the clock of the target from then on. What lies between, the
	 * way of one message, is in neither.
	 */
	uint64_t blackout_ms;
	uint32_t throttle; /* percent */
};

int virt_job_look(struct virt_conn *conn, const char *name,
		  struct virt_progress *ret_progress, struct err *err);
/* The same of the last job that came to an end. */
int virt_job_completed(struct virt_conn *conn, const char *name,
		       struct virt_progress *ret_progress, struct err *err);

/* Asks for the end. 0 does not mean that it has ended, or will. */
int virt_job_abort(struct virt_conn *conn, const char *name, struct err *err);
int virt_job_post_copy(struct virt_conn *conn, const char *name,
		       struct err *err);
int virt_job_max_downtime(struct virt_conn *conn, const char *name,
			  uint64_t downtime_ms, struct err *err);

#endif
