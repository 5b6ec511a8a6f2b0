/* SPDX-License-Identifier: Apache-2.0 */

/*
 * CustomResourceDefinitions: one that is deleted takes its objects along. It
 * got a finalizer when it was deleted, waits until they are gone, and only
 * then goes itself. Then another may have the names that it had.
 */

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/jsat.h"
#include "base/map.h"
#include "base/mem.h"
#include "cluster/control/api.h"
#include "cluster/control/context.h"
#include "cluster/control/purge.h"
#include "cluster/control/task.h"
#include "cluster/kinds/kind.h"
#include "cluster/kinds/registry.h"
#include "cluster/store/follow.h"
#include "cluster/store/object.h"
#include "cluster/store/store.h"
#include "kube/worker.h"
#include "meta/time.h"

#define DEFINITION_USER "system:apiserver"
#define GROUP "apiextensions.k8s.io"
#define RESOURCE "customresourcedefinitions"
#define FINALIZER "customresourcecleanup.apiextensions.k8s.io"
#define PARALLEL 8
#define PORTION 32
/* How often objects that do not go are looked for again. */
#define LOOK_MS 5000U

/* A definition that is being deleted. */
struct ending {
	struct map_node node;
	char *name;  /* "plural.group" */
	char *after; /* how far deleting has come */
};

struct definitions {
	struct store *store;
	struct registry *registry;
	struct api *api;
	struct worker *worker;
	struct subscription *following;
	struct subscription *objects;
	struct map endings;
};

static struct ending *
find(const struct definitions *d, const char *name)
{
	struct map_node *node = map_get(&d->endings, name);

	return node == NULL ? NULL : MAP_ENTRY(node, struct ending, node);
}

static void
forget(struct definitions *d, struct ending *ending)
{
	map_remove(&d->endings, &ending->node);
	free(ending->name);
	free(ending->after);
	free(ending);
}

/* Only on top of what was read. */
static void
patch(struct task *task, const json_t *crd, const char *sub, json_t *body)
{
	AUTO(free_ptr)
	char *path = xasprintf("/apis/" GROUP "/v1/" RESOURCE "/%s%s",
			       task->key, sub);
	json_t *metadata = json_object_get(body, "metadata");

	if (metadata == NULL) {
		metadata = json_object();
		(void)json_object_set_new(body, "metadata", metadata);
	}
	(void)json_object_set(metadata, "resourceVersion",
			      js_at(crd, "metadata.resourceVersion"));
	task_send(task, &(struct api_call){ .method = "PATCH",
					    .path = path,
					    .body = body,
					    .content_type = API_MERGE });
}

static void
remove_finalizer(struct task *task, const json_t *crd)
{
	json_t *list = json_array();
	size_t i;
	json_t *each;

	json_array_foreach(js_at(crd, "metadata.finalizers"), i, each)
	{
		const char *name = json_string_value(each);

		if (name == NULL || strcmp(name, FINALIZER) != 0)
			(void)json_array_append(list, each);
	}
	if (json_array_size(list) ==
	    json_array_size(js_at(crd, "metadata.finalizers")))
		json_decref(list);
	else
		patch(task, crd, "",
		      json_pack("{s:{s:o}}", "metadata", "finalizers", list));
}

/* Says once that its objects are on their way out. */
static void
report(struct task *task, const json_t *crd)
{
	static const char reason[] = "InstanceDeletionInProgress";
	const json_t *old = js_at(crd, "status.conditions");
	json_t *conditions, *terminating;
	char now[TIME_TEXT_SIZE];

	if (strcmp(js_str_at(js_find(old, "type", "Terminating"), "reason"),
		   reason) == 0)
		return;
	conditions = old == NULL ? json_array() : json_deep_copy(old);
	terminating = js_find(conditions, "type", "Terminating");
	if (terminating == NULL) {
		terminating = json_object();
		(void)json_array_append_new(conditions, terminating);
	}
	(void)json_object_update_new(
		terminating,
		json_pack("{s:s,s:s,s:s,s:s,s:s}", "type", "Terminating",
			  "status", "True", "reason", reason, "message",
			  "CustomResource deletion is in progress",
			  "lastTransitionTime", time_now_text(now)));
	patch(task, crd, "/status",
	      json_pack("{s:{s:o}}", "status", "conditions", conditions));
}

static void
empty(struct definitions *d, struct ending *ending, struct task *task,
      const json_t *crd)
{
	const struct kind *kind =
		registry_by_resource(d->registry, js_str_at(crd, "spec.group"),
				     js_str_at(crd, "spec.names.plural"));

	/* One that is not served (its names are another's) has no objects. */
	if (kind == NULL || kind->crd == NULL ||
	    strcmp(kind->crd, task->key) != 0 ||
	    store_count(kind->collection, NULL) == 0) {
		remove_finalizer(task, crd);
		return;
	}
	report(task, crd);
	if (purge_kind(task, kind, NULL, PORTION, &ending->after) == PORTION)
		task->again = true;
	else
		worker_add_after(d->worker, task->key, LOOK_MS);
}

/* The server judges the names with each write, even one that says nothing. */
static void
judge_again(struct task *task, const json_t *crd)
{
	const json_t *accepted = js_find(js_at(crd, "status.conditions"),
					 "type", "NamesAccepted");

	if (strcmp(js_str_at(accepted, "status"), "False") == 0)
		patch(task, crd, "", json_object());
}

static void
work(const char *name, void *arg)
{
	struct definitions *d = arg;
	struct ending *ending = find(d, name);
	const struct object *obj = store_get(
		store_collection(d->store, GROUP, RESOURCE), "", name);
	AUTO(js_unref) json_t *crd = NULL;
	struct task *task;

	if (obj == NULL) {
		worker_end(d->worker, name, false);
		return;
	}
	crd = object_json(obj);
	task = task_new(d->worker, d->api, name);
	if (!obj->deleting)
		judge_again(task, crd);
	else if (ending != NULL)
		empty(d, ending, task, crd);
	task_close(task);
}

/* The names of one that is gone may be what others of its group wait for. */
static void
look_at_group(struct definitions *d, const char *name)
{
	const char *group = strchr(name, '.');
	struct object **list;
	size_t count = store_list(store_collection(d->store, GROUP, RESOURCE),
				  NULL, NULL, 0, &list);

	for (size_t i = 0; i < count && group != NULL; i++) {
		const char *other = strchr(list[i]->name, '.');

		if (other != NULL && strcmp(other, group) == 0)
			worker_add(d->worker, list[i]->name);
	}
	objects_unref(list, count);
}

static void
on_definition(const struct event *event, void *arg)
{
	struct definitions *d = arg;
	const char *name = event->object->name;
	struct ending *ending = find(d, name);

	if (event->type == EVENT_DELETED) {
		if (ending != NULL)
			forget(d, ending);
		look_at_group(d, name);
		return;
	}
	if (event->object->deleting && ending == NULL) {
		ending = xmalloc0(sizeof(*ending));
		ending->name = xstrdup(name);
		map_put(&d->endings, &ending->node, ending->name);
	}
	if (event->object->deleting)
		worker_add(d->worker, name);
}

/* Perhaps it was the last of its kind. */
static void
on_object(const struct event *event, void *arg)
{
	struct definitions *d = arg;
	AUTO(free_ptr) char *name = NULL;

	if (event->type != EVENT_DELETED || d->endings.count == 0)
		return;
	name = xasprintf("%s.%s",
			 collection_resource(event->object->collection),
			 collection_group(event->object->collection));
	if (find(d, name) != NULL)
		worker_add(d->worker, name);
}

static void *
definitions_start(struct context *context)
{
	struct definitions *d = xmalloc0(sizeof(*d));

	d->store = context->config.store;
	d->registry = context->config.registry;
	d->api = api_new(context->config.server, DEFINITION_USER);
	d->worker = worker_new(&(struct worker_config){
		.loop = context->config.loop,
		.parallel = PARALLEL,
		.work = work,
		.arg = d,
	});
	d->following = follow(d->store, GROUP, RESOURCE, on_definition, d);
	d->objects = follow_changes(d->store, NULL, on_object, d);
	return d;
}

static void
definitions_stop(void *state)
{
	struct definitions *d = state;
	struct map_node *node;

	api_close(d->api);
	unsubscribe(d->following);
	unsubscribe(d->objects);
	worker_free(d->worker);
	api_free(d->api);
	while ((node = map_next(&d->endings, NULL)) != NULL)
		forget(d, MAP_ENTRY(node, struct ending, node));
	map_done(&d->endings);
	free(d);
}

const struct controller definition_controller = {
	.name = "definition",
	.start = definitions_start,
	.stop = definitions_stop,
};
