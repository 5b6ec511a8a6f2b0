/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_POD_H
#define API_POD_H

/*
 * pod - a pod of a machine, or any other.
 *
 * Threading: as objmeta.h.
 */

#include <stdbool.h>
#include <stdint.h>

#include "api/conds.h"
#include "api/objmeta.h"

enum pod_phase {
	POD_UNSET,
	POD_PENDING,
	POD_RUNNING,
	POD_SUCCEEDED,
	POD_FAILED,
	POD_UNKNOWN,
	POD_PHASE_COUNT,
};

struct pod {
	struct objmeta meta;
	/* labels and annotations */
	bool launcher;       /* kubevirt.io=virt-launcher */
	bool hotplug;        /* kubevirt.io=hotplug-disk */
	bool evicting;       /* marked for the descheduler */
	bool unix_transport; /* migrates by unix sockets */
	/* status */
	bool unschedulable; /* PodScheduled=False for this reason */
	/* Every container is ready; "compute" and "istio-proxy" need only run.
	 * False for a pod that is being deleted or has no statuses yet. */
	bool ready;
	bool compute_running;
	enum pod_phase phase;
	char *vmi_uid;        /* created-by, "" for none */
	char *vmi_name;       /* annotation domain */
	char *migration_uid;  /* of the migration it is the target of */
	char *migration_name; /* that one's name */
	char *target_ready;   /* annotation migration-target-ready-timestamp */
	char *wishes;         /* see text_wishes() */
	uint64_t memory_overhead_bytes; /* 0: not said */
	/* spec and status */
	char *node; /* "" until scheduled */
	char *compute_image;
	char *ip;
	char *reason, *message; /* of the phase */
	char *qos_class;
	struct conds conds; /* PodScheduled and Ready only */
	/* Why a container waits ("ErrImagePull"); "" for none that does. */
	char *waiting_reason, *waiting_message;
	int64_t ended_us; /* when the last container ended; 0: unknown */
	char *ended_text; /* why the first that failed did; "": not said */
};

struct pod *pod_decode(const json_t *object, struct err *err);
void pod_free(struct pod *pod);
void pod_unref(struct pod **pointer);

const char *pod_phase_name(enum pod_phase phase);

/* Its containers have ended for good. */
static inline bool
pod_is_down(const struct pod *pod)
{
	return pod->phase == POD_SUCCEEDED || pod->phase == POD_FAILED;
}

#endif
