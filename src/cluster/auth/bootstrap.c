/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/auth/bootstrap.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/embed.h"
#include "base/err.h"
#include "base/jsat.h"
#include "cluster/auth/cover.h"
#include "cluster/auth/rbac.h"
#include "cluster/auth/rolestore.h"
#include "cluster/store/object.h"
#include "cluster/store/store.h"
#include "meta/yaml.h"

#define AUTOUPDATE "rbac.authorization.kubernetes.io/autoupdate"

/* Made by tools/embed of bootstrap/ and deploy/rbac. */
extern const struct embed_file auth_bootstrap_files[];

static const struct {
	const char *kind;
	const char *resource;
} kinds[] = {
	{ "ClusterRole", "clusterroles" },
	{ "Role", "roles" },
	{ "ClusterRoleBinding", "clusterrolebindings" },
	{ "RoleBinding", "rolebindings" },
};

static const char *
resource_of(const char *kind)
{
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		if (strcmp(kinds[i].kind, kind) == 0)
			return kinds[i].resource;
	}
	return NULL;
}

/* Goes through the built-in objects; fn returns true to end it. */
static int
each(bool (*fn)(json_t *obj, void *arg), void *arg, struct err *err)
{
	bool over = false;

	for (const struct embed_file *file = auth_bootstrap_files;
	     file->name && !over; file++) {
		AUTO(yaml_docs_unref)
		struct yaml_docs *docs = yaml_docs_new(file->data, file->len);
		json_t *obj;
		int more;

		while (!over && (more = yaml_docs_next(docs, &obj, err)) != 0) {
			if (more == -1)
				return err_prefix(err, "%s", file->name);
			over = fn(obj, arg);
			json_decref(obj);
		}
	}
	return 0;
}

/* The members of from that are missing in the map at path; whether any was. */
static bool
add_missing(json_t *obj, const char *path, const json_t *from)
{
	bool changed = false;
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)(uintptr_t)from, key, value)
	{
		json_t *map = js_make_obj_at(obj, path);

		if (json_object_get(map, key))
			continue;
		(void)json_object_set(map, key, value);
		changed = true;
	}
	return changed;
}

/* The items of from that are not in the list of that name. */
static bool
add_items(json_t *obj, const char *name, const json_t *from)
{
	json_t *list = js_arr_at(obj, name);
	bool changed = false;
	size_t i, k;
	json_t *item, *other;

	json_array_foreach(from, i, item)
	{
		bool there = false;

		json_array_foreach(list, k, other) there |=
			json_equal(item, other) != 0;
		if (there)
			continue;
		if (!list) {
			list = json_array();
			(void)json_object_set_new(obj, name, list);
		}
		(void)json_array_append(list, item);
		changed = true;
	}
	return changed;
}

/* Rules of the built-in role that those of the stored one do not hold. */
static bool
add_rules(json_t *obj, const json_t *built_in)
{
	const json_t *from = js_arr_at(built_in, "rules");
	json_t *list = js_arr_at(obj, "rules");
	struct rules owned;
	const struct rules *const owners[] = { &owned };
	bool changed = false;
	size_t i;
	json_t *item;

	rules_from_json(&owned, list);
	json_array_foreach(from, i, item)
	{
		AUTO(js_unref) json_t *one = json_array();
		struct rules wanted;
		bool held;

		(void)json_array_append(one, item);
		rules_from_json(&wanted, one);
		held = cover_holds(owners, 1, &wanted, NULL);
		rules_done(&wanted);
		if (held)
			continue;
		if (!list) {
			list = json_array();
			(void)json_object_set_new(obj, "rules", list);
		}
		(void)json_array_append(list, item);
		changed = true;
	}
	rules_done(&owned);
	return changed;
}

static bool
add_aggregation(json_t *obj, const json_t *built_in)
{
	const json_t *from =
		js_arr_at(built_in, "aggregationRule.clusterRoleSelectors");

	if (!from)
		return false;
	return add_items(js_make_obj_at(obj, "aggregationRule"),
			 "clusterRoleSelectors", from);
}

/* Gives the stored object what it lacks; whether that was anything. */
static bool
complete(json_t *obj, const json_t *built_in)
{
	bool changed = add_missing(obj, "metadata.labels",
				   js_obj_at(built_in, "metadata.labels"));

	changed |= add_missing(obj, "metadata.annotations",
			       js_obj_at(built_in, "metadata.annotations"));
	changed |= add_rules(obj, built_in);
	changed |= add_aggregation(obj, built_in);
	changed |= add_items(obj, "subjects", js_arr_at(built_in, "subjects"));
	return changed;
}

static void
mark(json_t *obj)
{
	json_t *labels = js_make_obj_at(obj, "metadata.labels");
	json_t *annotations = js_make_obj_at(obj, "metadata.annotations");

	(void)json_object_set_new(labels, "kubernetes.io/bootstrapping",
				  json_string("rbac-defaults"));
	(void)json_object_set_new(annotations, AUTOUPDATE, json_string("true"));
}

static bool
apply_one(json_t *obj, void *arg)
{
	struct store *store = arg;
	struct collection *c = store_collection(
		store, RBAC_GROUP, resource_of(js_str_at(obj, "kind")));
	const char *ns = js_str_at(obj, "metadata.namespace");
	const char *name = js_str_at(obj, "metadata.name");
	const struct object *stored = store_get(c, ns, name);
	AUTO(js_unref) json_t *now = stored ? object_json(stored) : NULL;
	const json_t *protect;

	mark(obj);
	if (!now) {
		rolestore_put(c, obj);
		return false;
	}
	protect = json_object_get(js_obj_at(now, "metadata.annotations"),
				  AUTOUPDATE);
	if (json_string_length(protect) &&
	    strcmp(json_string_value(protect), "false") == 0)
		return false;
	/* A binding cannot be turned to another role: it is made anew. */
	if (!json_equal(json_object_get(now, "roleRef"),
			json_object_get(obj, "roleRef")) &&
	    json_object_get(obj, "roleRef")) {
		rolestore_remove(c, ns, name);
		rolestore_put(c, obj);
	} else if (complete(now, obj)) {
		rolestore_put(c, now);
	}
	return false;
}

int
bootstrap_apply(struct store *store, struct err *err)
{
	return each(apply_one, store, err);
}

struct wanted {
	const char *kind;
	const char *name;
	json_t *found;
};

static bool
match_one(json_t *obj, void *arg)
{
	struct wanted *wanted = arg;

	if (strcmp(js_str_at(obj, "kind"), wanted->kind) != 0 ||
	    strcmp(js_str_at(obj, "metadata.name"), wanted->name) != 0)
		return false;
	wanted->found = json_incref(obj);
	return true;
}

json_t *
bootstrap_find(const char *kind, const char *name)
{
	struct wanted wanted = { .kind = kind, .name = name };
	struct err err;

	/* The files are part of the program; a test reads all of them. */
	if (each(match_one, &wanted, &err) == -1)
		abort();
	return wanted.found;
}
