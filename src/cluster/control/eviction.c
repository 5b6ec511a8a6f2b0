/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Two ways in which pods lose their node.
 *
 * Taint eviction: a pod on a node with a NoExecute taint is deleted as soon as
 * it does not tolerate that any longer; but not for the sake of silent nodes
 * while all nodes are silent.
 *
 * Orphaned pods: a pod whose node has been gone for ORPHAN_MS is deleted for
 * good, as no kubelet will ever say that it has ended.
 */

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "cluster/control/api.h"
#include "cluster/control/context.h"
#include "cluster/control/evict.h"
#include "cluster/control/feed.h"
#include "cluster/control/recorder.h"
#include "cluster/control/task.h"
#include "cluster/control/view.h"
#include "cluster/store/object.h"
#include "kube/worker.h"
#include "meta/time.h"

#define EVICTION_USER "system:serviceaccount:kube-system:node-controller"
#define PARALLEL 32
#define ORPHAN_MS (40U * 1000)
/* How often a server that is cut off looks whether it still is. */
#define CUT_OFF_MS (10U * 1000)

struct eviction {
	struct context *context;
	struct api *api;
	struct events *recorder;
	struct worker *taints;
	struct worker *orphans;
};

/* Says on the pod why it goes; phase may be NULL. */
static void
mark_disrupted(struct task *task, const struct pod *pod, const char *reason,
	       const char *message, const char *phase)
{
	AUTO(free_ptr)
	char *path = xasprintf("/api/v1/namespaces/%s/pods/%s/status", pod->ns,
			       pod->name);
	char now[TIME_TEXT_SIZE];
	json_t *status = json_pack("{s:[{s:s,s:s,s:s,s:s,s:s}]}", "conditions",
				   "type", "DisruptionTarget", "status", "True",
				   "reason", reason, "message", message,
				   "lastTransitionTime", time_now_text(now));

	if (phase != NULL)
		(void)json_object_set_new(status, "phase", json_string(phase));
	task_send(task,
		  &(struct api_call){
			  .method = "PATCH",
			  .path = path,
			  .body = json_pack("{s:{s:s},s:o}", "metadata", "uid",
					    pod->uid, "status", status),
			  .content_type = API_STRATEGIC,
		  });
}

static void
delete_pod(struct task *task, const struct pod *pod, bool for_good)
{
	AUTO(free_ptr)
	char *path =
		xasprintf("/api/v1/namespaces/%s/pods/%s", pod->ns, pod->name);
	json_t *body =
		json_pack("{s:s,s:s,s:{s:s}}", "kind", "DeleteOptions",
			  "apiVersion", "v1", "preconditions", "uid", pod->uid);

	if (for_good)
		(void)json_object_set_new(body, "gracePeriodSeconds",
					  json_integer(0));
	task_send(task, &(struct api_call){ .method = "DELETE",
					    .path = path,
					    .body = body });
}

/* Taints. */

/* When the pod is to go because of its node's taints. */
static int64_t
time_of(const struct eviction *v, const struct pod *pod, bool cut_off)
{
	const struct node *node = view_node(v->context->view, pod->node_name);

	/* The shape's second part is spec.taints. */
	if (node == NULL || pod->deleting || pod->finished)
		return EVICT_NEVER;
	return evict_time(pod, json_array_get(node->shape, 1), cut_off,
			  time_now_us());
}

static void
plan_pod(struct eviction *v, const struct pod *pod)
{
	int64_t at = time_of(v, pod, false);
	int64_t now = time_now_us();

	if (at != EVICT_NEVER)
		worker_add_after(v->taints, pod->key,
				 at <= now ? 0 : (uint64_t)(at - now) / 1000);
}

static void
evict_pod(const char *key, void *arg)
{
	struct eviction *v = arg;
	const struct pod *pod = view_pod(v->context->view, key);
	struct task *task;
	struct events_ref ref;
	int64_t at = pod == NULL ? EVICT_NEVER : time_of(v, pod, false);

	/* Taints come and go: what was planned may be off, or later. */
	if (pod == NULL || at > time_now_us()) {
		if (at != EVICT_NEVER)
			plan_pod(v, pod);
		worker_end(v->taints, key, false);
		return;
	}
	if (evict_is_cut_off(v->context->view) &&
	    time_of(v, pod, true) > time_now_us()) {
		worker_add_after(v->taints, key, CUT_OFF_MS);
		worker_end(v->taints, key, false);
		return;
	}
	task = task_new(v->taints, v->api, key);
	ref = (struct events_ref){ "v1", "Pod", pod->ns, pod->name, pod->uid };
	events_emit(v->recorder, &ref, "Normal", "TaintManagerEviction",
		    "Marking for deletion Pod %s", key);
	mark_disrupted(task, pod, "DeletionByTaintManager",
		       "Taint manager: deleting due to NoExecute taint", NULL);
	delete_pod(task, pod, false);
	task_close(task);
}

/* Orphans. */

static bool
is_orphan(const struct eviction *v, const struct pod *pod)
{
	return *pod->node_name != '\0' &&
	       view_node(v->context->view, pod->node_name) == NULL;
}

static void
bury_pod(const char *key, void *arg)
{
	struct eviction *v = arg;
	const struct pod *pod = view_pod(v->context->view, key);
	struct task *task;

	if (pod == NULL || !is_orphan(v, pod)) {
		worker_end(v->orphans, key, false);
		return;
	}
	task = task_new(v->orphans, v->api, key);
	if (!pod->finished)
		mark_disrupted(task, pod, "DeletionByPodGC",
			       "PodGC: node no longer exists", "Failed");
	delete_pod(task, pod, true);
	task_close(task);
}

/* All pods, also those that have finished and do not count for the node. */
static void
plan_orphans(struct eviction *v, const char *node)
{
	struct map_node *at = NULL;

	while ((at = map_next(&v->context->view->pods, at)) != NULL) {
		const struct pod *pod = MAP_ENTRY(at, struct pod, node);

		if (strcmp(pod->node_name, node) == 0)
			worker_add_after(v->orphans, pod->key, ORPHAN_MS);
	}
}

static void
on_node(struct eviction *v, const struct feed_change *change)
{
	const struct node *node = view_node(v->context->view, change->key);

	if (node == NULL) {
		plan_orphans(v, change->key);
		return;
	}
	if (!node->reshaped)
		return;
	for (const struct pod *pod = node->pods; pod != NULL;
	     pod = pod->next_on)
		plan_pod(v, pod);
}

static void
on_change(const struct feed_change *change, void *arg)
{
	struct eviction *v = arg;

	if (change->what == FEED_NODE) {
		on_node(v, change);
	} else if (change->what == FEED_POD && change->pod != NULL) {
		if (is_orphan(v, change->pod))
			worker_add_after(v->orphans, change->key, ORPHAN_MS);
		else
			plan_pod(v, change->pod);
	}
}

static struct worker *
make_worker(struct eviction *v, void (*work)(const char *key, void *arg))
{
	return worker_new(&(struct worker_config){
		.loop = v->context->config.loop,
		.parallel = PARALLEL,
		.work = work,
		.arg = v,
	});
}

static void *
eviction_start(struct context *context)
{
	struct eviction *v = xmalloc0(sizeof(*v));

	v->context = context;
	v->api = api_new(context->config.server, EVICTION_USER);
	v->recorder = recorder_new(v->context->config.loop, v->api,
				   "taint-controller");
	v->taints = make_worker(v, evict_pod);
	v->orphans = make_worker(v, bury_pod);
	feed_listen(context->feed, on_change, v);
	return v;
}

static void
eviction_stop(void *state)
{
	struct eviction *v = state;

	api_close(v->api);
	worker_free(v->taints);
	worker_free(v->orphans);
	events_free(v->recorder);
	api_free(v->api);
	free(v);
}

const struct controller eviction_controller = {
	.name = "pod-eviction",
	.start = eviction_start,
	.stop = eviction_stop,
};
