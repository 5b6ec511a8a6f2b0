/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Namespace termination: deletes everything in a namespace that is being
 * deleted, of every kind, then takes the finalizer "kubernetes" from it, which
 * lets it go.
 *
 * Objects are deleted one by one and a portion at a time, so that others are
 * served in between however much there is. What has finalizers, or is a pod on
 * a node, stays for a while: it was told to go and is only counted from then
 * on, whenever something of the namespace disappears.
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
#include "cluster/control/feed.h"
#include "cluster/control/nsstatus.h"
#include "cluster/control/purge.h"
#include "cluster/control/task.h"
#include "cluster/kinds/kind.h"
#include "cluster/kinds/registry.h"
#include "cluster/store/follow.h"
#include "cluster/store/object.h"
#include "kube/worker.h"
#include "meta/time.h"

#define NAMESPACE_USER "system:serviceaccount:kube-system:namespace-controller"
#define FINALIZER "kubernetes"
#define PARALLEL 8
#define PORTION 32
/* How often the rest is looked through, and its state written down. */
#define LOOK_MS 5000U
#define FIRST_LOOK_MS 500U
/* So many objects are asked for their finalizers, for the condition. */
#define FINALIZERS_LOOKED_AT 1000

/* A namespace that is being deleted. */
struct ending {
	struct map_node node;
	char *name;
	/* How far deleting has come: the kind and the object. NULL: it has not
	 * begun, or has come to the end. */
	char *group, *plural, *after;
	bool told;        /* it has come to the end once */
	uint64_t look_ms; /* then: when to go through the rest again */
};

struct namespaces {
	struct store *store;
	struct registry *registry;
	struct api *api;
	struct worker *worker;
	struct subscription *following;
	struct map endings;
};

static struct ending *
find(const struct namespaces *n, const char *name)
{
	struct map_node *node = map_get(&n->endings, name);

	return node == NULL ? NULL : MAP_ENTRY(node, struct ending, node);
}

/* after is taken. */
static void
set_cursor(struct ending *ending, const struct kind *kind, char *after)
{
	free(ending->group);
	free(ending->plural);
	free(ending->after);
	ending->group = kind == NULL ? NULL : xstrdup(kind->group);
	ending->plural = kind == NULL ? NULL : xstrdup(kind->plural);
	ending->after = after;
}

static void
forget(struct namespaces *n, struct ending *ending)
{
	map_remove(&n->endings, &ending->node);
	set_cursor(ending, NULL, NULL);
	free(ending->name);
	free(ending);
}

/* The kinds whose objects are in the namespace. */

struct content {
	const char *name;
	size_t total;
	size_t looked_at;
	json_t *remaining;  /* NULL: not asked for */
	json_t *finalizers; /* the same */
};

static void
bump(json_t *counts, const char *name, size_t by)
{
	json_int_t count = json_integer_value(json_object_get(counts, name));

	(void)json_object_set_new(counts, name,
				  json_integer(count + (json_int_t)by));
}

static void
count_finalizers(struct content *content, const struct kind *kind)
{
	struct object **list;
	size_t count = store_list(kind->collection, content->name, NULL,
				  FINALIZERS_LOOKED_AT - content->looked_at + 1,
				  &list);

	for (size_t i = 0; i < count; i++) {
		AUTO(js_unref) json_t *json = NULL;
		size_t at;
		json_t *each;

		content->looked_at++;
		if (!list[i]->has_finalizers ||
		    content->looked_at > FINALIZERS_LOOKED_AT)
			continue;
		json = object_json(list[i]);
		json_array_foreach(js_at(json, "metadata.finalizers"), at, each)
		{
			if (json_is_string(each))
				bump(content->finalizers,
				     json_string_value(each), 1);
		}
	}
	objects_unref(list, count);
}

/* Whether objects of the kind, and not of another form of it, can be in a
 * namespace. */
static bool
has_content(const struct kind *kind)
{
	return kind->namespaced && kind->collection != NULL &&
	       kind->storage_kind == kind;
}

static bool
visit_kind(struct kind *kind, void *arg)
{
	struct content *content = arg;
	size_t count;

	if (!has_content(kind))
		return true;
	count = store_count(kind->collection, content->name);
	if (count == 0)
		return true;
	content->total += count;
	if (content->remaining != NULL) {
		AUTO(free_ptr)
		char *name = xasprintf("%s.%s", kind->plural, kind->group);

		bump(content->remaining, name, count);
		if (content->looked_at <= FINALIZERS_LOOKED_AT)
			count_finalizers(content, kind);
	}
	return true;
}

static size_t
count_content(struct namespaces *n, const char *name)
{
	struct content content = { .name = name };

	registry_each(n->registry, visit_kind, &content);
	return content.total;
}

struct deletion {
	struct ending *ending;
	struct task *task;
	size_t sent;
};

/* From where the last portion ended; false when this one is complete. */
static bool
delete_kind(struct kind *kind, void *arg)
{
	struct deletion *d = arg;
	struct ending *ending = d->ending;
	char *after = NULL;
	int order = 1;

	if (!has_content(kind))
		return true;
	if (ending->plural != NULL) {
		order = strcmp(kind->group, ending->group);
		if (order == 0)
			order = strcmp(kind->plural, ending->plural);
	}
	if (order < 0)
		return true;
	if (order == 0)
		after = TAKE_PTR(ending->after);
	d->sent += purge_kind(d->task, kind, ending->name, PORTION - d->sent,
			      &after);
	if (d->sent == PORTION)
		set_cursor(ending, kind, TAKE_PTR(after));
	return d->sent < PORTION;
}

static void
report(struct namespaces *n, struct task *task, const json_t *ns)
{
	AUTO(js_unref) json_t *remaining = json_object();
	AUTO(js_unref) json_t *finalizers = json_object();
	AUTO(js_unref) json_t *conditions = NULL;
	AUTO(free_ptr) char *path = NULL;
	struct content content = {
		.name = task->key,
		.remaining = remaining,
		.finalizers = finalizers,
	};
	char now[TIME_TEXT_SIZE];

	registry_each(n->registry, visit_kind, &content);
	conditions =
		nsstatus_conditions(remaining, finalizers, time_now_text(now));
	if (nsstatus_is_current(ns, conditions))
		return;
	path = xasprintf("/api/v1/namespaces/%s/status", task->key);
	task_send(task, &(struct api_call){
				.method = "PATCH",
				.path = path,
				.body = json_pack("{s:{s:O}}", "status",
						  "conditions", conditions),
				.content_type = API_STRATEGIC,
			});
}

static void
finalize(struct task *task, json_t *ns)
{
	AUTO(free_ptr)
	char *path = xasprintf("/api/v1/namespaces/%s/finalize", task->key);
	json_t *finalizers = js_at(ns, "spec.finalizers");
	size_t i = 0;

	if (json_array_size(finalizers) == 0)
		return;
	while (i < json_array_size(finalizers)) {
		const char *name =
			json_string_value(json_array_get(finalizers, i));

		if (name != NULL && strcmp(name, FINALIZER) == 0)
			(void)json_array_remove(finalizers, i);
		else
			i++;
	}
	task_send(task, &(struct api_call){
				.method = "PUT",
				.path = path,
				.body = json_incref(ns),
			});
}

/* Tells the next portion to go, or looks at what has not gone. */
static void
empty(struct namespaces *n, struct ending *ending, struct task *task,
      const json_t *ns)
{
	struct deletion d = { .ending = ending, .task = task };
	uint64_t now = loop_now_ms();

	if (ending->told && now < ending->look_ms) {
		worker_add_after(n->worker, ending->name,
				 ending->look_ms - now);
		return;
	}
	registry_each(n->registry, delete_kind, &d);
	if (d.sent == PORTION) {
		task->again = true;
		return;
	}
	set_cursor(ending, NULL, NULL);
	if (ending->told)
		report(n, task, ns);
	ending->look_ms = now + (ending->told ? LOOK_MS : FIRST_LOOK_MS);
	ending->told = true;
	worker_add_after(n->worker, ending->name, ending->look_ms - now);
}

static void
work(const char *name, void *arg)
{
	struct namespaces *n = arg;
	struct ending *ending = find(n, name);
	const struct object *obj = store_get(
		store_collection(n->store, "", "namespaces"), "", name);
	AUTO(js_unref) json_t *ns = NULL;
	struct task *task;

	if (ending == NULL || obj == NULL || !obj->deleting) {
		worker_end(n->worker, name, false);
		return;
	}
	ns = object_json(obj);
	task = task_new(n->worker, n->api, name);
	if (count_content(n, name) == 0)
		finalize(task, ns);
	else
		empty(n, ending, task, ns);
	task_close(task);
}

static void
on_change(const struct feed_change *change, void *arg)
{
	struct namespaces *n = arg;
	struct ending *ending;

	if (change->what != FEED_NAMESPACE)
		return;
	ending = find(n, change->key);
	if (change->type == EVENT_DELETED) {
		if (ending != NULL)
			forget(n, ending);
		return;
	}
	if (!change->object->deleting)
		return;
	if (ending == NULL) {
		ending = xmalloc0(sizeof(*ending));
		ending->name = xstrdup(change->key);
		map_put(&n->endings, &ending->node, ending->name);
	}
	worker_add(n->worker, change->key);
}

/* Something of its content is gone: perhaps it was the last. */
static void
on_event(const struct event *event, void *arg)
{
	struct namespaces *n = arg;

	if (event->type == EVENT_DELETED && n->endings.count > 0 &&
	    *event->object->namespace_ != '\0' &&
	    find(n, event->object->namespace_) != NULL)
		worker_add(n->worker, event->object->namespace_);
}

static void *
namespaces_start(struct context *context)
{
	struct namespaces *n = xmalloc0(sizeof(*n));

	n->store = context->config.store;
	n->registry = context->config.registry;
	n->api = api_new(context->config.server, NAMESPACE_USER);
	n->worker = worker_new(&(struct worker_config){
		.loop = context->config.loop,
		.parallel = PARALLEL,
		.work = work,
		.arg = n,
	});
	n->following = follow_changes(n->store, NULL, on_event, n);
	feed_listen(context->feed, on_change, n);
	return n;
}

static void
namespaces_stop(void *state)
{
	struct namespaces *n = state;
	struct map_node *node;

	api_close(n->api);
	unsubscribe(n->following);
	worker_free(n->worker);
	api_free(n->api);
	while ((node = map_next(&n->endings, NULL)) != NULL)
		forget(n, MAP_ENTRY(node, struct ending, node));
	map_done(&n->endings);
	free(n);
}

const struct controller namespace_controller = {
	.name = "namespace",
	.start = namespaces_start,
	.stop = namespaces_stop,
};
