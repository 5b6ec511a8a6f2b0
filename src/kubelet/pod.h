/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KUBELET_POD_H
#define KUBELET_POD_H

/*
 * pod - one pod of this node, brought to where it should be step by step.
 *
 * pod_sync() looks at what there is, asks plan.h for the next step and begins
 * it; when that is done, it syncs again. One step is under way at a time. What
 * a pod is follows from its object and from the disk; in memory there is only
 * what can be found out again.
 *
 * Threading: only from the loop's thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/map.h"
#include "kubelet/container.h"
#include "kubelet/kubelet.h"
#include "kubelet/plan.h"

struct kube_call;
struct network_op;
struct process;

#define POD_CONTAINERS_MAX 64
#define POD_OBJECT_FILE "pod.json"
#define POD_OBJECT_MAX (4UL * 1024 * 1024)

/* A monitor that is a child of this kubelet. */
struct pod_monitor {
	struct pod *pod;
	struct process *process; /* NULL: none, or it has ended */
};

struct pod {
	struct map_node node; /* by uid */
	struct kubelet *kubelet;
	char *uid, *ns, *name;
	char *dir;    /* ROOT/pods/UID */
	char *ns_dir; /* RUN/ns/UID */
	char *cgroup;
	json_t *object;  /* as last seen, with the status last written */
	int64_t kill_us; /* see plan.h; 0: not going */

	json_t *have; /* see podrefs.h */
	json_t *volumes;
	uint64_t prepared_ms;
	json_t *networks; /* see network.h; what is on disk */

	struct container *containers; /* init ones first */
	struct pod_monitor *monitors; /* those that this kubelet started */
	bool *terminated;
	bool *was_running; /* at the last look */
	int *watches;      /* of inotify; -1: none */
	size_t count;

	struct plan plan; /* the step under way, or done last */
	struct process *process;
	int lock_fd; /* of what is being discarded; -1: nothing */
	struct network_op *network_op;
	struct kube_call *call;
	struct loop_timer *timer;
	unsigned failures;
	uint64_t hold_ms; /* no step before, after one that failed */
	char *waiting_reason, *waiting_message, *waiting_container;

	char *sent; /* the last status patch that was written */
	struct kube_call *status_call;
	/* Called when it has gone from node and API; frees it. */
	void (*on_gone)(struct pod *pod, void *arg);
	void *arg;
	bool confirmed; /* the API has it, or had it since the start */
	bool vanished;  /* the API has it no more */
	bool prepared;  /* volumes are there */
	bool busy;      /* a step is under way */
	bool gone;      /* nothing more to do */
};

/* object is borrowed; NULL when it is none that can be run. */
struct pod *pod_new(struct kubelet *kubelet, json_t *object, struct err *err);
/* Forgets what is under way; containers run on. NULL is fine. */
void pod_free(struct pod *pod);

void pod_update(struct pod *pod, json_t *object);
/* The API has no such pod any more. */
void pod_vanish(struct pod *pod);

/* Looks again, soon. */
void pod_wake(struct pod *pod);

/* The parts of it. */

/* Begins the step in pod->plan; ends with pod_step_done(). */
void pod_begin(struct pod *pod);
/* Fetches what is missing, and makes the volumes. */
void pod_prepare(struct pod *pod);
/* The step is over. err is NULL when it succeeded; reason is that of the Event
 * and, where waiting says so, of containers that wait. */
void pod_step_done(struct pod *pod, const struct err *err, const char *reason,
		   const char *waiting);
/* An Event about it. */
void pod_event(struct pod *pod, const char *type, const char *reason,
	       const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* The spec of a container. Borrowed. */
const json_t *pod_container_spec(const struct pod *pod, size_t index);
/* Addresses of the pod's own network; a new reference. */
json_t *pod_ips(const struct pod *pod);
bool pod_is_going(const struct pod *pod);
/* What the plan is made of; good until the pod changes. */
struct plan_in pod_plan_in(const struct pod *pod);
/* Writes the status if it is another. */
void pod_report(struct pod *pod);

#endif
