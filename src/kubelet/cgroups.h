/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KUBELET_CGROUPS_H
#define KUBELET_CGROUPS_H

/*
 * cgroups - where containers are held within their resources.
 *
 * With one v2 hierarchy crun does everything. On a host that has v1
 * controllers (beside v2, or alone) crun gets a v2 hierarchy without them, and
 * this puts the container's first process, before it runs, into groups of the
 * same path below each v1 controller that limits something.
 *
 * Works on the node's view of /sys/fs/cgroup: to be opened before
 * runspace_enter().
 *
 * Threading: one thread at a time.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;

/* What a container may use; 0: not limited. */
struct cgroups_limits {
	uint64_t cpu_milli;        /* quota */
	uint64_t cpu_shares;       /* weight, as v1 counts: 2 to 262144 */
	uint64_t memory_bytes;     /* hard limit */
	uint64_t pids;             /* processes and threads */
	const char *const *device; /* lines for devices.allow; NULL: all */
	size_t device_count;
};

/* Held-open hierarchies. */
struct cgroups {
	int v1[4]; /* by enum cgroups_controller; -1: v2 has it, or nobody */
	int v2;    /* -1: there is none */
	bool unified;
};

enum cgroups_controller {
	CGROUPS_CPU,
	CGROUPS_MEMORY,
	CGROUPS_PIDS,
	CGROUPS_DEVICES,
	CGROUPS_CONTROLLER_COUNT,
};

void cgroups_open(struct cgroups *cgroups);
void cgroups_close(struct cgroups *cgroups);

/* Moves pid into groups of this path ("/ferry/pod1/c"), made if missing, with
 * these limits. Does nothing where there is one v2 hierarchy. */
int cgroups_place(const struct cgroups *cgroups, const char *path,
		  const struct cgroups_limits *limits, pid_t pid,
		  struct err *err);

/* How many processes were killed in it for want of memory. */
uint64_t cgroups_oom_kills(const struct cgroups *cgroups, const char *path);

/* Ends all that is in the groups of this path, and below. */
void cgroups_kill(const struct cgroups *cgroups, const char *path);

/* Removes the groups of this path and those below, in all hierarchies. False
 * when some is still in use. */
bool cgroups_remove(const struct cgroups *cgroups, const char *path);

#endif
