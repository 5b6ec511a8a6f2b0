/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Node lifecycle: a node whose Lease (or whose Ready condition) has not been
 * renewed within the grace is Unknown; taints follow the conditions, both ways.
 *
 * What counts is when a renewal was seen here, not the time it carries: clocks
 * of nodes may be wrong, and after a restart every node has its grace.
 */

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/jsat.h"
#include "base/loop.h"
#include "base/map.h"
#include "base/mem.h"
#include "cluster/control/api.h"
#include "cluster/control/context.h"
#include "cluster/control/deadlines.h"
#include "cluster/control/feed.h"
#include "cluster/control/nodehealth.h"
#include "cluster/control/recorder.h"
#include "cluster/control/task.h"
#include "cluster/control/view.h"
#include "cluster/store/follow.h"
#include "cluster/store/object.h"
#include "kube/worker.h"
#include "meta/time.h"

#define NODELIFE_USER "system:serviceaccount:kube-system:node-controller"
#define LEASES "kube-node-lease"
#define PARALLEL 32
/* For a node that has never been heard of. */
#define STARTUP_GRACE_MS (60U * 1000)

struct watched {
	struct map_node node;
	char *name;
	char *beat;  /* lastHeartbeatTime of its Ready condition */
	char *ready; /* its status */
	bool silent; /* its time has run out */
};

struct nodelife {
	struct context *context;
	struct store *store;
	struct map nodes;
	struct deadlines deadlines; /* of nodes that are not silent */
	struct loop_timer *timer;
	struct api *api;
	struct events *recorder;
	struct worker *worker;
	struct subscription *leases;
};

static struct watched *
find(const struct nodelife *l, const char *name)
{
	struct map_node *node = map_get(&l->nodes, name);

	return node == NULL ? NULL : MAP_ENTRY(node, struct watched, node);
}

static void
watched_free(struct watched *w)
{
	free(w->name);
	free(w->beat);
	free(w->ready);
	free(w);
}

static void
plan(struct nodelife *l)
{
	uint64_t next = deadlines_next(&l->deadlines);
	uint64_t now = loop_now_ms();

	if (next == DEADLINES_NEVER)
		loop_timer_stop(l->timer);
	else
		loop_timer_start(l->timer,
				 next <= now ? 0 : (next - now) * 1000);
}

static void
on_time(void *arg)
{
	struct nodelife *l = arg;
	uint64_t now = loop_now_ms();
	char *name;

	while ((name = deadlines_take(&l->deadlines, now)) != NULL) {
		struct watched *w = find(l, name);

		if (w != NULL) {
			w->silent = true;
			worker_add(l->worker, name);
		}
		free(name);
	}
	plan(l);
}

static void
heard(struct nodelife *l, struct watched *w, uint64_t grace_ms)
{
	w->silent = false;
	deadlines_set(&l->deadlines, w->name, loop_now_ms() + grace_ms);
	plan(l);
}

/* Pods cannot be ready where nobody can say so. */
static void
unready_pods(struct nodelife *l, struct task *task, const char *name)
{
	const struct node *node = view_node(l->context->view, name);
	char now[TIME_TEXT_SIZE];

	if (node == NULL)
		return;
	(void)time_now_text(now);
	for (const struct pod *pod = node->pods; pod != NULL;
	     pod = pod->next_on) {
		AUTO(free_ptr) char *path = NULL;

		if (!pod->ready)
			continue;
		path = xasprintf("/api/v1/namespaces/%s/pods/%s/status",
				 pod->ns, pod->name);
		task_send(task, &(struct api_call){
					.method = "PATCH",
					.path = path,
					.body = json_pack(
						"{s:{s:s},s:{s:[{s:s,s:s,s:s}]}"
						"}",
						"metadata", "uid", pod->uid,
						"status", "conditions", "type",
						"Ready", "status", "False",
						"lastTransitionTime", now),
					.content_type = API_STRATEGIC,
				});
	}
}

/* What a part of the node is to have, on top of what was read; taken. */
static void
patch_node(struct task *task, const json_t *node, const char *sub,
	   const char *part, json_t *value)
{
	AUTO(free_ptr)
	char *path = xasprintf("/api/v1/nodes/%s%s", task->key, sub);

	task_send(
		task,
		&(struct api_call){
			.method = "PATCH",
			.path = path,
			.body = json_pack(
				"{s:{s:s},s:o}", "metadata", "resourceVersion",
				js_str_at(node, "metadata.resourceVersion"),
				part, value),
			.content_type =
				*sub == '\0' ? API_MERGE : API_STRATEGIC,
		});
}

static void
write_status(struct task *task, const json_t *node, json_t *conditions)
{
	patch_node(task, node, "/status", "status",
		   json_pack("{s:o}", "conditions", conditions));
}

static void
write_taints(struct task *task, const json_t *node, json_t *taints)
{
	if (json_array_size(taints) == 0) {
		json_decref(taints);
		taints = json_null();
	}
	patch_node(task, node, "", "spec",
		   json_pack("{s:o}", "taints", taints));
}

static void
work(const char *name, void *arg)
{
	struct nodelife *l = arg;
	const struct watched *w = find(l, name);
	const struct object *obj =
		store_get(store_collection(l->store, "", "nodes"), "", name);
	AUTO(js_unref) json_t *node = NULL;
	json_t *conditions = NULL;
	json_t *taints;
	struct task *task;
	char now[TIME_TEXT_SIZE];

	if (w == NULL || obj == NULL) {
		worker_end(l->worker, name, false);
		return;
	}
	node = object_json(obj);
	task = task_new(l->worker, l->api, name);
	(void)time_now_text(now);
	if (w->silent)
		conditions = nodehealth_silent(node, now);
	if (conditions != NULL) {
		/* The taints follow, with the event of this. */
		write_status(task, node, conditions);
	} else {
		taints = nodehealth_taints(node, now);
		if (taints != NULL)
			write_taints(task, node, taints);
		if (strcmp(nodehealth_ready(node), "True") != 0)
			unready_pods(l, task, name);
	}
	task_close(task);
}

static void
note_ready(struct nodelife *l, struct watched *w, const json_t *node)
{
	const char *ready = nodehealth_ready(node);
	struct events_ref ref = { "v1", "Node", "", w->name,
				  js_str_at(node, "metadata.uid") };

	if (strcmp(w->ready, "True") == 0 && strcmp(ready, "True") != 0)
		events_emit(l->recorder, &ref, "Normal", "NodeNotReady",
			    "Node %s status is now: NodeNotReady", w->name);
	free(w->ready);
	w->ready = xstrdup(ready);
}

static void
on_node(struct nodelife *l, const struct feed_change *change)
{
	struct watched *w = find(l, change->key);
	const char *beat =
		js_str_at(js_find(js_at(change->json, "status.conditions"),
				  "type", "Ready"),
			  "lastHeartbeatTime");

	if (w == NULL) {
		w = xmalloc0(sizeof(*w));
		w->name = xstrdup(change->key);
		w->beat = xstrdup(beat);
		w->ready = xstrdup("");
		map_put(&l->nodes, &w->node, w->name);
		heard(l, w,
		      *beat == '\0' ? STARTUP_GRACE_MS
				    : l->context->config.node_grace_ms);
	} else if (strcmp(w->beat, beat) != 0) {
		free(w->beat);
		w->beat = xstrdup(beat);
		/* When the condition was made up here it has no newer time. */
		if (strcmp(nodehealth_ready(change->json), "Unknown") != 0)
			heard(l, w, l->context->config.node_grace_ms);
	}
	note_ready(l, w, change->json);
	worker_add(l->worker, change->key);
}

static void
on_change(const struct feed_change *change, void *arg)
{
	struct nodelife *l = arg;
	struct watched *w;

	if (change->what != FEED_NODE)
		return;
	if (change->type != EVENT_DELETED) {
		on_node(l, change);
		return;
	}
	w = find(l, change->key);
	if (w == NULL)
		return;
	deadlines_remove(&l->deadlines, change->key);
	map_remove(&l->nodes, &w->node);
	watched_free(w);
}

static void
on_lease(const struct event *event, void *arg)
{
	struct nodelife *l = arg;
	struct watched *w;

	if (event->type == EVENT_DELETED ||
	    strcmp(event->object->namespace_, LEASES) != 0)
		return;
	w = find(l, event->object->name);
	if (w != NULL)
		heard(l, w, l->context->config.node_grace_ms);
}

static void *
nodelife_start(struct context *context)
{
	struct nodelife *l = xmalloc0(sizeof(*l));

	l->context = context;
	l->store = context->config.store;
	l->timer = loop_timer_new(context->config.loop, on_time, l);
	l->api = api_new(context->config.server, NODELIFE_USER);
	l->recorder =
		recorder_new(context->config.loop, l->api, "node-controller");
	l->worker = worker_new(&(struct worker_config){
		.loop = context->config.loop,
		.parallel = PARALLEL,
		.work = work,
		.arg = l,
	});
	l->leases =
		follow(l->store, "coordination.k8s.io", "leases", on_lease, l);
	feed_listen(context->feed, on_change, l);
	return l;
}

static void
nodelife_stop(void *state)
{
	struct nodelife *l = state;
	struct map_node *node = map_next(&l->nodes, NULL);

	api_close(l->api);
	unsubscribe(l->leases);
	worker_free(l->worker);
	events_free(l->recorder);
	api_free(l->api);
	loop_timer_free(l->timer);
	deadlines_done(&l->deadlines);
	while (node != NULL) {
		struct map_node *next = map_next(&l->nodes, node);

		watched_free(MAP_ENTRY(node, struct watched, node));
		node = next;
	}
	map_done(&l->nodes);
	free(l);
}

const struct controller nodelife_controller = {
	.name = "node-lifecycle",
	.start = nodelife_start,
	.stop = nodelife_stop,
};
