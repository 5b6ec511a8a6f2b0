/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The garbage collector: deletes what has lost all its owners, and carries out
 * the deletions that ask for more than the object itself.
 *
 *   background  the owner is gone: its dependents have no owner left and go
 *   foreground  the owner waits, with a finalizer: its dependents go first, and
 *               the finalizer when none is left that blocks
 *   orphan      the owner waits, with a finalizer: it is taken out of its
 *               dependents' ownerReferences, then the finalizer goes
 *
 * The queue holds uids. What is to be done about one follows from the store and
 * the graph each time; so it does not matter why it is in the queue.
 */

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/scan.h"
#include "cluster/control/api.h"
#include "cluster/control/context.h"
#include "cluster/control/graph.h"
#include "cluster/control/task.h"
#include "cluster/kinds/kind.h"
#include "cluster/kinds/registry.h"
#include "cluster/store/follow.h"
#include "cluster/store/object.h"
#include "cluster/store/store.h"
#include "kube/worker.h"

#define GC_USER "system:serviceaccount:kube-system:generic-garbage-collector"
#define FOREGROUND "foregroundDeletion"
#define ORPHAN "orphan"
#define PARALLEL 64
/* So many dependents are orphaned at a time. */
#define ORPHAN_PORTION 100

struct gc {
	struct context *context;
	struct store *store;
	struct registry *registry;
	struct api *api;
	struct worker *worker;
	struct graph *graph;
	struct subscription *following;
};

static json_t *
metadata_of(const struct object *obj)
{
	struct span text = { obj->text, obj->len };
	struct span metadata;
	struct err err;

	if (!scan_member(text, "metadata", &metadata))
		return NULL;
	return js_parse(metadata.text, metadata.len, &err);
}

static bool
has_finalizer(const json_t *metadata, const char *name)
{
	size_t i;
	json_t *each;

	json_array_foreach(js_at(metadata, "finalizers"), i, each)
	{
		if (json_is_string(each) &&
		    strcmp(json_string_value(each), name) == 0)
			return true;
	}
	return false;
}

/* The path of requests about the object; NULL if its kind is not served. */
static char *
path_of(const struct gc *gc, const struct object *obj)
{
	const struct kind *kind = registry_by_resource(
		gc->registry, collection_group(obj->collection),
		collection_resource(obj->collection));

	return kind == NULL ? NULL : api_path(kind, obj->namespace_, obj->name);
}

/* Requests. */

/* Only this very state of the object. */
static json_t *
precondition(const struct object *obj)
{
	AUTO(free_ptr)
	char *rv = xasprintf("%llu", (unsigned long long)obj->rv);

	return json_pack("{s:s,s:s}", "uid", obj->uid, "resourceVersion", rv);
}

static void
send_delete(const struct gc *gc, struct task *task, const struct object *obj,
	    const char *policy)
{
	AUTO(free_ptr) char *path = path_of(gc, obj);

	if (path == NULL)
		return;
	task_send(task,
		  &(struct api_call){
			  .method = "DELETE",
			  .path = path,
			  .body = json_pack("{s:s,s:s,s:o,s:s}", "kind",
					    "DeleteOptions", "apiVersion", "v1",
					    "preconditions", precondition(obj),
					    "propagationPolicy", policy),
		  });
}

/* Replaces one member of the metadata; value is taken. */
static void
send_metadata(const struct gc *gc, struct task *task, const struct object *obj,
	      const char *member, json_t *value)
{
	AUTO(free_ptr) char *path = path_of(gc, obj);
	json_t *metadata = precondition(obj);

	(void)json_object_set_new(metadata, member, value);
	if (path == NULL) {
		json_decref(metadata);
		return;
	}
	task_send(task,
		  &(struct api_call){
			  .method = "PATCH",
			  .path = path,
			  .body = json_pack("{s:o}", "metadata", metadata),
			  .content_type = API_MERGE,
		  });
}

static void
remove_finalizer(const struct gc *gc, struct task *task,
		 const struct object *obj, const json_t *metadata,
		 const char *name)
{
	json_t *left = json_array();
	size_t i;
	json_t *each;

	json_array_foreach(js_at(metadata, "finalizers"), i, each)
	{
		if (!json_is_string(each) ||
		    strcmp(json_string_value(each), name) != 0)
			(void)json_array_append(left, each);
	}
	send_metadata(gc, task, obj, "finalizers", left);
}

/* Owners. */

enum owner_state {
	OWNER_SOLID,
	OWNER_ABSENT,
	OWNER_WAITING, /* being deleted, in the foreground */
};

static enum owner_state
owner_state(const struct gc *gc, const struct object *obj, const json_t *ref)
{
	const char *version = js_str_at(ref, "apiVersion");
	const char *slash = strchr(version, '/');
	AUTO(free_ptr)
	char *group = slash == NULL
			      ? xstrdup("")
			      : xstrndup(version, (size_t)(slash - version));
	const struct kind *kind =
		registry_by_kind(gc->registry, group, js_str_at(ref, "kind"));
	const struct object *owner;
	AUTO(js_unref) json_t *metadata = NULL;

	/* Nothing is deleted for the sake of what cannot be looked up: a kind
	 * that is not served, or one with a namespace where there is none. */
	if (kind == NULL || kind->collection == NULL ||
	    (kind->namespaced && *obj->namespace_ == '\0'))
		return OWNER_SOLID;
	owner = store_get(kind->collection,
			  kind->namespaced ? obj->namespace_ : "",
			  js_str_at(ref, "name"));
	if (owner == NULL || strcmp(owner->uid, js_str_at(ref, "uid")) != 0)
		return OWNER_ABSENT;
	if (!owner->deleting || !owner->has_finalizers)
		return OWNER_SOLID;
	metadata = metadata_of(owner);
	return has_finalizer(metadata, FOREGROUND) ? OWNER_WAITING
						   : OWNER_SOLID;
}

struct owners {
	size_t count[OWNER_WAITING + 1];
	json_t *solid; /* the references to those */
};

static void
look_at_owners(const struct gc *gc, const struct object *obj,
	       const json_t *metadata, struct owners *ret_owners)
{
	size_t i;
	json_t *ref;

	*ret_owners = (struct owners){ .solid = json_array() };
	json_array_foreach(js_at(metadata, "ownerReferences"), i, ref)
	{
		enum owner_state state = owner_state(gc, obj, ref);

		ret_owners->count[state]++;
		if (state == OWNER_SOLID)
			(void)json_array_append(ret_owners->solid, ref);
	}
}

static void
judge(const struct gc *gc, struct task *task, const struct object *obj,
      const json_t *metadata)
{
	struct owners owners;
	size_t lost;
	bool blocked;

	look_at_owners(gc, obj, metadata, &owners);
	lost = owners.count[OWNER_ABSENT] + owners.count[OWNER_WAITING];
	blocked = owners.count[OWNER_WAITING] > 0 &&
		  graph_has_dependents(gc->graph, obj->uid);
	if (lost > 0 && owners.count[OWNER_SOLID] > 0)
		send_metadata(gc, task, obj, "ownerReferences",
			      json_incref(owners.solid));
	else if (lost > 0)
		send_delete(gc, task, obj,
			    blocked ? "Foreground" : "Background");
	json_decref(owners.solid);
}

/* Deletions that wait. */

struct foreground {
	struct gc *gc;
	size_t blocking;
};

static bool
visit_foreground(const char *uid, bool blocks, void *arg)
{
	struct foreground *f = arg;
	const struct object *obj = store_by_uid(f->gc->store, uid);

	if (obj == NULL)
		return true;
	if (blocks)
		f->blocking++;
	if (!obj->deleting)
		worker_add(f->gc->worker, uid);
	return true;
}

static void
finish_foreground(struct gc *gc, struct task *task, const struct object *obj,
		  const json_t *metadata)
{
	struct foreground f = { .gc = gc };

	graph_dependents(gc->graph, obj->uid, visit_foreground, &f);
	if (f.blocking == 0)
		remove_finalizer(gc, task, obj, metadata, FOREGROUND);
}

struct orphaning {
	const struct gc *gc;
	struct task *task;
};

static bool
visit_orphan(const char *uid, bool blocks, void *arg)
{
	const struct orphaning *o = arg;
	const struct object *obj = store_by_uid(o->gc->store, uid);
	AUTO(js_unref) json_t *metadata = obj == NULL ? NULL : metadata_of(obj);
	json_t *left;
	size_t i;
	json_t *ref;

	(void)blocks;
	if (obj == NULL)
		return true;
	left = json_array();
	json_array_foreach(js_at(metadata, "ownerReferences"), i, ref)
	{
		if (strcmp(js_str_at(ref, "uid"), o->task->key) != 0)
			(void)json_array_append(left, ref);
	}
	send_metadata(o->gc, o->task, obj, "ownerReferences", left);
	return o->task->pending <= ORPHAN_PORTION;
}

static void
finish_orphan(const struct gc *gc, struct task *task, const struct object *obj,
	      const json_t *metadata)
{
	struct orphaning o = { .gc = gc, .task = task };

	graph_dependents(gc->graph, obj->uid, visit_orphan, &o);
	/* One is for the task itself: those that were sent go first. */
	if (task->pending > 1)
		task->again = true;
	else
		remove_finalizer(gc, task, obj, metadata, ORPHAN);
}

static void
work(const char *uid, void *arg)
{
	struct gc *gc = arg;
	struct object *obj = store_by_uid(gc->store, uid);
	AUTO(js_unref) json_t *metadata = NULL;
	struct task *task;

	if (obj == NULL) {
		worker_end(gc->worker, uid, false);
		return;
	}
	task = task_new(gc->worker, gc->api, uid);
	/* Lives through the requests, which may replace it in the store. */
	(void)object_ref(obj);
	metadata = metadata_of(obj);
	if (!obj->deleting)
		judge(gc, task, obj, metadata);
	else if (has_finalizer(metadata, ORPHAN))
		finish_orphan(gc, task, obj, metadata);
	else if (has_finalizer(metadata, FOREGROUND))
		finish_foreground(gc, task, obj, metadata);
	object_unref(obj);
	task_close(task);
}

/* Events. */

static bool
enqueue(const char *uid, bool blocks, void *arg)
{
	struct gc *gc = arg;

	(void)blocks;
	worker_add(gc->worker, uid);
	return true;
}

/* An owner that waits for its dependents may have waited for this one. */
static bool
enqueue_waiting(const char *uid, bool blocks, void *arg)
{
	struct gc *gc = arg;
	const struct object *owner = store_by_uid(gc->store, uid);

	(void)blocks;
	if (owner != NULL && owner->deleting && owner->has_finalizers)
		worker_add(gc->worker, uid);
	return true;
}

static void
on_gone(struct gc *gc, const struct object *obj)
{
	graph_owners(gc->graph, obj->uid, enqueue_waiting, gc);
	graph_remove(gc->graph, obj->uid);
	graph_dependents(gc->graph, obj->uid, enqueue, gc);
}

static struct span
owners_text(const struct object *obj)
{
	struct span text = { obj->text, obj->len };
	struct span metadata;
	struct span owners;

	if (scan_member(text, "metadata", &metadata) &&
	    scan_member(metadata, "ownerReferences", &owners))
		return owners;
	return (struct span){ "", 0 };
}

/* Most changes are about something else, and cost no parsing. */
static bool
has_same_owners(const struct object *obj, const struct object *old)
{
	struct span a = owners_text(obj);
	struct span b = owners_text(old);

	return a.len == b.len && memcmp(a.text, b.text, a.len) == 0;
}

static void
on_there(struct gc *gc, const struct object *obj, const struct object *old)
{
	AUTO(js_unref) json_t *metadata = NULL;
	const json_t *refs;
	bool news;

	if (!obj->has_owners && !(obj->deleting && obj->has_finalizers) &&
	    (old == NULL || !old->has_owners))
		return;
	if (old != NULL && !obj->deleting && has_same_owners(obj, old))
		return;
	metadata = metadata_of(obj);
	refs = js_at(metadata, "ownerReferences");
	/* Who is no dependent any more may be what an owner waited for. */
	if (old != NULL && old->has_owners)
		graph_owners(gc->graph, obj->uid, enqueue_waiting, gc);
	news = graph_set(gc->graph, obj->uid, refs);
	if (obj->deleting) {
		if (has_finalizer(metadata, FOREGROUND) ||
		    has_finalizer(metadata, ORPHAN))
			worker_add(gc->worker, obj->uid);
		return;
	}
	if (news && json_array_size(refs) > 0) {
		struct owners owners;

		look_at_owners(gc, obj, metadata, &owners);
		json_decref(owners.solid);
		if (owners.count[OWNER_ABSENT] + owners.count[OWNER_WAITING] >
		    0)
			worker_add(gc->worker, obj->uid);
	}
}

static void
on_event(const struct event *event, void *arg)
{
	struct gc *gc = arg;

	if (event->type == EVENT_DELETED)
		on_gone(gc, event->object);
	else
		on_there(gc, event->object, event->old);
}

static bool
read_kind(struct kind *kind, void *arg)
{
	struct gc *gc = arg;
	struct object **list;
	size_t count;

	if (kind->collection == NULL || kind->storage_kind != kind)
		return true;
	count = store_list(kind->collection, NULL, NULL, 0, &list);
	for (size_t i = 0; i < count; i++)
		on_there(gc, list[i], NULL);
	objects_unref(list, count);
	return true;
}

static void *
gc_start(struct context *context)
{
	struct gc *gc = xmalloc0(sizeof(*gc));

	gc->context = context;
	gc->store = context->config.store;
	gc->registry = context->config.registry;
	gc->graph = graph_new();
	gc->api = api_new(context->config.server, GC_USER);
	gc->worker = worker_new(&(struct worker_config){
		.loop = context->config.loop,
		.parallel = PARALLEL,
		.work = work,
		.arg = gc,
	});
	/* What is not yet durable comes twice, which does no harm. */
	registry_each(gc->registry, read_kind, gc);
	gc->following = follow_changes(gc->store, NULL, on_event, gc);
	return gc;
}

static void
gc_stop(void *state)
{
	struct gc *gc = state;

	api_close(gc->api);
	unsubscribe(gc->following);
	worker_free(gc->worker);
	api_free(gc->api);
	graph_free(gc->graph);
	free(gc);
}

const struct controller gc_controller = {
	.name = "garbage-collector",
	.start = gc_start,
	.stop = gc_stop,
};
