/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/admit/classes.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/str.h"
#include "cluster/store/follow.h"
#include "cluster/store/object.h"
#include "cluster/store/store.h"

#define PREEMPT "PreemptLowerPriority"
#define NEVER "Never"

struct classes {
	struct collection *priorities;
	struct collection *storages;
	struct subscription *on_priority;
	struct subscription *on_storage;
	bool priority_known;
	bool storage_known;
	char *priority; /* the default's name, or NULL */
	char *storage;
};

static const struct priority_class system_classes[] = {
	{ "system-cluster-critical", 2000000000, PREEMPT },
	{ "system-node-critical", 2000001000, PREEMPT },
};

static void
priority_changed(const struct event *event, void *arg)
{
	struct classes *classes = arg;

	(void)event;
	classes->priority_known = false;
}

static void
storage_changed(const struct event *event, void *arg)
{
	struct classes *classes = arg;

	(void)event;
	classes->storage_known = false;
}

struct classes *
classes_new(struct store *store)
{
	struct classes *classes = xmalloc0(sizeof(*classes));

	classes->priorities =
		store_collection(store, "scheduling.k8s.io", "priorityclasses");
	classes->storages =
		store_collection(store, "storage.k8s.io", "storageclasses");
	classes->on_priority = follow_changes(store, classes->priorities,
					      priority_changed, classes);
	classes->on_storage = follow_changes(store, classes->storages,
					     storage_changed, classes);
	return classes;
}

void
classes_free(struct classes *classes)
{
	if (classes == NULL)
		return;
	unsubscribe(classes->on_priority);
	unsubscribe(classes->on_storage);
	free(classes->priority);
	free(classes->storage);
	free(classes);
}

/* The best of a collection: better says whether a candidate beats the one
 * found so far, which may be NULL. */
static char *
choose(const struct collection *c,
       bool (*better)(const json_t *candidate, const json_t *best))
{
	AUTO(js_unref) json_t *best = NULL;
	struct object **objects;
	size_t count = store_list(c, "", NULL, 0, &objects);

	for (size_t i = 0; i < count; i++) {
		AUTO(js_unref) json_t *obj = object_json(objects[i]);

		if (!better(obj, best))
			continue;
		js_unref(&best);
		best = TAKE_PTR(obj);
	}
	objects_unref(objects, count);
	return best != NULL ? xstrdup(js_str_at(best, "metadata.name")) : NULL;
}

/* Several defaults happen when two are made at once; the lowest counts. */
static bool
better_priority(const json_t *candidate, const json_t *best)
{
	return js_bool_at(candidate, "globalDefault", false) &&
	       (best == NULL ||
		js_int_at(candidate, "value", 0) < js_int_at(best, "value", 0));
}

static bool
is_default_storage(const json_t *class)
{
	static const char *const marks[] = {
		"storageclass.kubernetes.io/is-default-class",
		"storageclass.beta.kubernetes.io/is-default-class",
	};
	const json_t *annotations = js_obj_at(class, "metadata.annotations");

	for (size_t i = 0; i < ARRAY_LEN(marks); i++) {
		if (str_equal(json_string_value(
				      json_object_get(annotations, marks[i])),
			      "true"))
			return true;
	}
	return false;
}

/* The newest; objects come in order of their names, which decides ties. */
static bool
better_storage(const json_t *candidate, const json_t *best)
{
	const char *when = "metadata.creationTimestamp";

	return is_default_storage(candidate) &&
	       (best == NULL ||
		strcmp(js_str_at(candidate, when), js_str_at(best, when)) > 0);
}

static bool
stored_priority(const struct classes *classes, const char *name,
		struct priority_class *ret_class)
{
	const struct object *object = store_get(classes->priorities, "", name);
	AUTO(js_unref) json_t *obj = NULL;

	if (object == NULL)
		return false;
	obj = object_json(object);
	ret_class->name = object->name;
	ret_class->value = (int32_t)js_int_at(obj, "value", 0);
	ret_class->preemption =
		str_equal(js_str_at(obj, "preemptionPolicy"), NEVER) ? NEVER
								     : PREEMPT;
	return true;
}

bool
classes_priority(struct classes *classes, const char *name,
		 struct priority_class *ret_class)
{
	if (*name == '\0') {
		if (!classes->priority_known) {
			free(classes->priority);
			classes->priority =
				choose(classes->priorities, better_priority);
			classes->priority_known = true;
		}
		if (classes->priority != NULL &&
		    stored_priority(classes, classes->priority, ret_class))
			return true;
		*ret_class = (struct priority_class){ "", 0, PREEMPT };
		return true;
	}
	if (stored_priority(classes, name, ret_class))
		return true;
	for (size_t i = 0; i < ARRAY_LEN(system_classes); i++) {
		if (str_equal(system_classes[i].name, name)) {
			*ret_class = system_classes[i];
			return true;
		}
	}
	return false;
}

const char *
classes_storage(struct classes *classes)
{
	if (!classes->storage_known) {
		free(classes->storage);
		classes->storage = choose(classes->storages, better_storage);
		classes->storage_known = true;
	}
	return classes->storage;
}
