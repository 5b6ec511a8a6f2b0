/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/instance/nodes.h"

#include <stdlib.h>
#include <sys/queue.h>

#include "api/names.h"
#include "base/cleanup.h"
#include "base/js.h"
#include "base/log.h"
#include "base/mem.h"
#include "controller/instance/decide.h"
#include "controller/world.h"
#include "kube/worker.h"
#include "meta/time.h"

#define NODES_COMPONENT "node-controller"
#define NODES_PARALLEL 8

/* A request about a node that is under way. */
struct marking {
	TAILQ_ENTRY(marking) entry;
	struct nodes *c;
	const char *name; /* the worker's, until worker_end() */
	struct kube_call *call;
};

struct nodes {
	struct world *world;
	struct worker *worker;
	struct events *events;
	void (*silent)(const char *node, void *arg);
	void *arg;
	TAILQ_HEAD(, marking) markings;
};

int64_t
nodes_silent_us(const struct node *node)
{
	if (node->heartbeat_us == 0)
		return 0;
	return node->heartbeat_us + INSTANCE_HEARTBEAT_S * TIME_US_PER_SECOND;
}

static void
marked(const struct kube_result *result, void *arg)
{
	struct marking *marking = arg;
	struct nodes *c = marking->c;
	const struct events_ref subject = {
		.api_version = "v1",
		.kind = "Node",
		.ns = "",
		.name = marking->name,
		.uid = marking->name, /* as Kubernetes does */
	};
	bool failed = result->status->code != 0 && !kube_is_not_found(result);

	if (result->status->code == 0) {
		events_emit(c->events, &subject, "Normal",
			    REASON_NODE_UNRESPONSIVE,
			    "virt-handler is not responsive, marking node as "
			    "unresponsive");
	} else {
		log_warning(NULL, "cannot mark node '%s': %s", marking->name,
			    result->status->message);
	}
	TAILQ_REMOVE(&c->markings, marking, entry);
	worker_end(c->worker, marking->name, failed);
	free(marking);
}

static void
mark(struct nodes *c, const char *name)
{
	struct marking *marking = xmalloc0(sizeof(*marking));
	AUTO(js_unref)
	json_t *patch = json_pack("{s:{s:{s:s}}}", "metadata", "labels",
				  LABEL_SCHEDULABLE, "false");
	const struct kube_request request = {
		.verb = KUBE_PATCH_MERGE,
		.resource = &kube_nodes,
		.name = name,
		.body = patch,
		.repeatable = true,
	};

	TAILQ_INSERT_TAIL(&c->markings, marking, entry);
	marking->c = c;
	marking->name = name;
	marking->call =
		kube_send(world_client(c->world), &request, marked, marking);
}

static void
work(const char *name, void *arg)
{
	struct nodes *c = arg;
	const struct node *node = world_get(c->world, WORLD_NODES, "", name);
	int64_t due_us = node == NULL ? 0 : nodes_silent_us(node);
	int64_t left_us = due_us - world_now_us(c->world);

	if (due_us == 0) {
		worker_end(c->worker, name, false);
		return;
	}
	if (left_us > 0) {
		worker_add_after(c->worker, name, (uint64_t)left_us / 1000 + 1);
		worker_end(c->worker, name, false);
		return;
	}
	c->silent(name, c->arg);
	if (node->vm_schedulable)
		mark(c, name);
	else
		worker_end(c->worker, name, false);
}

static void
changed(const struct cache_object *object, void *arg)
{
	struct nodes *c = arg;

	worker_add(c->worker, object->name);
}

/* Most changes are heartbeats, and the next look is planned already. */
static void
updated(const struct cache_object *old, const struct cache_object *object,
	void *arg)
{
	const struct node *before = old->view, *now = object->view;

	if (before == NULL || now == NULL || before->heartbeat_us == 0 ||
	    before->vm_schedulable != now->vm_schedulable ||
	    now->heartbeat_us < before->heartbeat_us)
		changed(object, arg);
}

struct nodes *
nodes_new(struct world *world, void (*silent)(const char *node, void *arg),
	  void *arg)
{
	struct nodes *c = xmalloc0(sizeof(*c));
	const struct worker_config config = {
		.loop = world_loop(world),
		.parallel = NODES_PARALLEL,
		.work = work,
		.arg = c,
	};
	const struct informer_handler handler = {
		.added = changed,
		.updated = updated,
		.arg = c,
	};

	c->world = world;
	c->silent = silent;
	c->arg = arg;
	TAILQ_INIT(&c->markings);
	c->events = events_new_for(world_client(world), NODES_COMPONENT);
	c->worker = worker_new(&config);
	world_subscribe(world, WORLD_NODES, &handler);
	return c;
}

void
nodes_free(struct nodes *c)
{
	struct marking *marking, *after;

	if (c == NULL)
		return;
	world_unsubscribe(c->world, c);
	for (marking = TAILQ_FIRST(&c->markings); marking != NULL;
	     marking = after) {
		after = TAILQ_NEXT(marking, entry);
		kube_cancel(marking->call);
		free(marking);
	}
	worker_free(c->worker);
	events_free(c->events);
	free(c);
}
