/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Namespace termination: deletes everything in a namespace that is being
 * deleted, of every kind, then takes the finalizer "kubernetes" from it, which
 * lets it go.
 *
 * What has finalizers stays for a while. It is not deleted again for each of
 * its neighbours that goes: the content is only counted then, and asked to go
 * once more every PASS_MS, at first more often.
 */

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/loop.h"
#include "base/map.h"
#include "base/mem.h"
#include "cluster/control/api.h"
#include "cluster/control/context.h"
#include "cluster/control/dig.h"
#include "cluster/control/feed.h"
#include "cluster/control/follow.h"
#include "cluster/control/nsstatus.h"
#include "cluster/control/task.h"
#include "cluster/control/worker.h"
#include "cluster/kinds/kind.h"
#include "cluster/kinds/registry.h"
#include "cluster/store/object.h"
#include "meta/time.h"

#define NAMESPACE_USER "system:serviceaccount:kube-system:namespace-controller"
#define FINALIZER "kubernetes"
#define PARALLEL 8
#define PASS_MS 5000U
#define FIRST_PASS_MS 1000U
#define FIRST_PASSES 3
/* So many objects are asked for their finalizers, for the condition. */
#define FINALIZERS_LOOKED_AT 1000

/* A namespace that is being deleted. */
struct ending {
	struct map_node node;
	char *name;
	unsigned passes;    /* how often its content was told to go */
	uint64_t passed_ms; /* the last time */
};

struct namespaces {
	struct store *store;
	struct registry *registry;
	struct api *api;
	struct worker *worker;
	struct follow *follow;
	struct map endings;
};

static struct ending *
find(const struct namespaces *n, const char *name)
{
	struct map_node *node = map_get(&n->endings, name);

	return node == NULL ? NULL : MAP_ENTRY(node, struct ending, node);
}

static void
forget(struct namespaces *n, struct ending *ending)
{
	map_remove(&n->endings, &ending->node);
	free(ending->name);
	free(ending);
}

/* The kinds whose objects are in the namespace. */

struct content {
	const char *name;
	struct task *task; /* NULL: only counting */
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
		json_array_foreach(dig(json, "metadata.finalizers"), at, each)
		{
			if (json_is_string(each))
				bump(content->finalizers,
				     json_string_value(each), 1);
		}
	}
	objects_unref(list, count);
}

static void
delete_kind(struct content *content, const struct kind *kind)
{
	AUTO(free_ptr) char *path = api_path(kind, content->name, NULL);

	task_send(content->task,
		  &(struct api_call){
			  .method = "DELETE",
			  .path = path,
			  .body = json_pack("{s:s,s:s,s:s}", "kind",
					    "DeleteOptions", "apiVersion", "v1",
					    "propagationPolicy", "Background"),
		  });
}

static bool
visit_kind(struct kind *kind, void *arg)
{
	struct content *content = arg;
	size_t count;

	if (!kind->namespaced || kind->collection == NULL ||
	    kind->storage_kind != kind)
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
	if (content->task != NULL)
		delete_kind(content, kind);
	return true;
}

static size_t
count_content(struct namespaces *n, const char *name)
{
	struct content content = { .name = name };

	registry_each(n->registry, visit_kind, &content);
	return content.total;
}

static void
delete_content(struct namespaces *n, struct task *task)
{
	struct content content = { .name = task->key, .task = task };

	registry_each(n->registry, visit_kind, &content);
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
	json_t *finalizers = dig(ns, "spec.finalizers");
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

static void
make_pass(struct namespaces *n, struct ending *ending, struct task *task,
	  const json_t *ns)
{
	uint64_t every =
		ending->passes < FIRST_PASSES ? FIRST_PASS_MS : PASS_MS;
	uint64_t now = loop_now_ms();

	worker_add_after(n->worker, ending->name, every);
	if (ending->passes > 0 && now - ending->passed_ms < every)
		return;
	/* What is there after having been told to go. */
	if (ending->passes++ > 0)
		report(n, task, ns);
	ending->passed_ms = now;
	delete_content(n, task);
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
		make_pass(n, ending, task, ns);
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
	n->follow = follow_new(n->store, NULL, NULL, on_event, n);
	feed_listen(context->feed, on_change, n);
	return n;
}

static void
namespaces_stop(void *state)
{
	struct namespaces *n = state;
	struct map_node *node;

	api_close(n->api);
	follow_free(n->follow);
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
