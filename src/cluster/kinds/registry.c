/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/kinds/registry.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/embed.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"
#include "cluster/kinds/crd.h"
#include "cluster/kinds/definitions.h"
#include "cluster/kinds/kind.h"
#include "cluster/kinds/kind_load.h"
#include "cluster/kinds/registry_internal.h"
#include "cluster/kinds/schema.h"
#include "meta/causes.h"
#include "meta/yaml.h"

extern const struct embed_file kinds_builtin[];
extern const struct embed_file kinds_crds[];

/* A kind in the registry, under both its names. */
struct entry {
	struct map_node by_plural; /* "group/plural" */
	struct map_node by_kind;   /* "group/Kind" */
	char *plural_key, *kind_key;
	struct kind *kind;
	uint64_t since; /* the generation it came with */
};

struct registry {
	struct definitions *definitions;
	struct schema_pool *pool;
	struct schema *metadata;
	registry_collection_fn *collection;
	void *arg;
	struct map plurals, kinds;
	struct entry **sorted; /* by group, then plural */
	size_t count;
	uint64_t generation;
};

/* Longer names than any that exist do not fit and are not found. */
#define KEY_SIZE 600

static struct entry *
find_entry(const struct map *map, bool plural, const char *group,
	   const char *name)
{
	struct map_node *node;
	char key[KEY_SIZE];

	if (snprintf(key, sizeof(key), "%s/%s", group, name) >=
	    (int)sizeof(key))
		return NULL;
	node = map_get(map, key);
	if (node == NULL)
		return NULL;
	return plural ? MAP_ENTRY(node, struct entry, by_plural)
		      : MAP_ENTRY(node, struct entry, by_kind);
}

/* Where an entry is in the sorted list, or would have to be. */
static size_t
position(const struct registry *r, const struct kind *kind)
{
	size_t low = 0, high = r->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct kind *other = r->sorted[middle]->kind;
		int order = strcmp(other->group, kind->group);

		if (order == 0)
			order = strcmp(other->plural, kind->plural);
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Takes the reference. */
static void
insert(struct registry *r, struct kind *kind)
{
	struct entry *entry = xmalloc0(sizeof(*entry));
	size_t at = position(r, kind);

	entry->kind = kind;
	entry->plural_key = xasprintf("%s/%s", kind->group, kind->plural);
	entry->kind_key = xasprintf("%s/%s", kind->group, kind->kind);
	map_put(&r->plurals, &entry->by_plural, entry->plural_key);
	map_put(&r->kinds, &entry->by_kind, entry->kind_key);
	r->sorted =
		xrealloc(r->sorted, (r->count + 1) * sizeof(struct entry *));
	memmove(&r->sorted[at + 1], &r->sorted[at],
		(r->count - at) * sizeof(struct entry *));
	r->sorted[at] = entry;
	r->count++;
	entry->since = ++r->generation;
}

static void
entry_free(struct registry *r, struct entry *entry)
{
	map_remove(&r->plurals, &entry->by_plural);
	map_remove(&r->kinds, &entry->by_kind);
	kind_unref(entry->kind);
	free(entry->plural_key);
	free(entry->kind_key);
	free(entry);
}

static void
take_out(struct registry *r, struct entry *entry)
{
	size_t at = position(r, entry->kind);

	memmove(&r->sorted[at], &r->sorted[at + 1],
		(r->count - at - 1) * sizeof(struct entry *));
	r->count--;
	r->generation++;
	entry_free(r, entry);
}

static void
give_collection(struct registry *r, struct kind *kind)
{
	if (r->collection != NULL && !kind->body_only &&
	    (kind->verbs & VERB_GET) != 0)
		kind->collection =
			r->collection(r->arg, kind->group, kind->plural);
}

static int
fail_with_causes(const struct causes *causes, const char *name, struct err *err)
{
	AUTO(free_ptr) char *text = causes_text(causes);

	return err_set(err, ERR_INTERNAL, "%s: %s", name, text);
}

static int
add_builtin(struct registry *r, json_t *doc, struct err *err)
{
	AUTO(causes_done) struct causes causes = CAUSES_INIT;
	struct kind_source source = { .definition = doc,
				      .metadata = r->metadata,
				      .pool = r->pool,
				      .builtin = true };
	const char *name = js_str_at(doc, "spec.names.kind");
	struct kind *kind;
	json_t *version;
	size_t i;

	json_array_foreach(js_arr_at(doc, "spec.versions"), i, version)
	{
		if (definitions_resolve(
			    r->definitions,
			    js_obj_at(version, "schema.openAPIV3Schema"),
			    err) == -1)
			return err_prefix(err, "%s", name);
	}
	kind = kind_load(&source, &causes);
	if (kind == NULL)
		return fail_with_causes(&causes, name, err);
	give_collection(r, kind);
	insert(r, kind);
	return 0;
}

static int
add_builtin_file(struct registry *r, const struct embed_file *file,
		 struct err *err)
{
	AUTO(yaml_docs_unref)
	struct yaml_docs *docs = yaml_docs_new(file->data, file->len);
	int more;

	do {
		AUTO(js_unref) json_t *doc = NULL;

		more = yaml_docs_next(docs, &doc, err);
		if (more == 1 && json_is_object(doc) &&
		    add_builtin(r, doc, err) == -1)
			more = -1;
	} while (more == 1);
	return more == -1 ? err_prefix(err, "%s", file->name) : 0;
}

/* Events of the two groups are the same objects. */
static int
join_events(struct registry *r, struct err *err)
{
	struct kind *core = registry_by_kind(r, "", "Event");
	struct kind *other = registry_by_kind(r, "events.k8s.io", "Event");

	if (core == NULL || other == NULL)
		return err_set(err, ERR_INTERNAL, "no Event");
	other->storage_kind = core;
	other->collection = core->collection;
	return 0;
}

static int
load(struct registry *r, struct err *err)
{
	AUTO(causes_done) struct causes causes = CAUSES_INIT;
	struct schema_options options = { .typed = true };

	r->definitions = definitions_new(err);
	if (r->definitions == NULL)
		return -1;
	options.pool = r->pool = schema_pool_new();
	r->metadata =
		schema_compile(definitions_find(r->definitions, "ObjectMeta"),
			       "metadata", &options, &causes);
	if (r->metadata == NULL)
		return fail_with_causes(&causes, "ObjectMeta", err);
	for (const struct embed_file *file = kinds_builtin; file->name != NULL;
	     file++) {
		if (add_builtin_file(r, file, err) == -1)
			return -1;
	}
	return join_events(r, err);
}

struct registry *
registry_new(registry_collection_fn *collection, void *arg, struct err *err)
{
	struct registry *r = xmalloc0(sizeof(*r));

	r->collection = collection;
	r->arg = arg;
	if (load(r, err) == -1) {
		registry_free(r);
		return NULL;
	}
	return r;
}

void
registry_free(struct registry *r)
{
	if (r == NULL)
		return;
	for (size_t i = 0; i < r->count; i++)
		entry_free(r, r->sorted[i]);
	free(r->sorted);
	map_done(&r->plurals);
	map_done(&r->kinds);
	schema_unref(r->metadata);
	schema_pool_free(r->pool);
	definitions_free(r->definitions);
	free(r);
}

struct kind *
registry_by_resource(const struct registry *r, const char *group,
		     const char *plural)
{
	struct entry *entry = find_entry(&r->plurals, true, group, plural);

	return entry != NULL ? entry->kind : NULL;
}

struct kind *
registry_by_kind(const struct registry *r, const char *group, const char *kind)
{
	struct entry *entry = find_entry(&r->kinds, false, group, kind);

	return entry != NULL ? entry->kind : NULL;
}

int
registry_find(const struct registry *r, const char *group, const char *version,
	      const char *plural, struct kind **ret_kind,
	      struct kind_version **ret_version)
{
	struct kind *kind = registry_by_resource(r, group, plural);
	struct kind_version *found;

	if (kind == NULL || kind->body_only)
		return -1;
	found = kind_version_find(kind, version);
	if (found == NULL || !found->served)
		return -1;
	if (ret_kind != NULL)
		*ret_kind = kind;
	if (ret_version != NULL)
		*ret_version = found;
	return 0;
}

/* The first entry of a group, or where it would be. */
static size_t
group_start(const struct registry *r, const char *group)
{
	struct kind first = { .group = (char *)(uintptr_t)group,
			      .plural = (char *)(uintptr_t) "" };

	return position(r, &first);
}

uint64_t
registry_group_state(const struct registry *r, const char *group)
{
	uint64_t state = 0;

	for (size_t i = group_start(r, group);
	     i < r->count && str_equal(r->sorted[i]->kind->group, group); i++)
		state = state * 1099511628211U + r->sorted[i]->since;
	return state;
}

static bool
serves(const struct kind *kind, const char *version)
{
	for (size_t i = 0; i < kind->version_count && !kind->body_only; i++) {
		if (kind->versions[i].served &&
		    (version == NULL ||
		     str_equal(kind->versions[i].name, version)))
			return true;
	}
	return false;
}

bool
registry_has_group(const struct registry *r, const char *group,
		   const char *version)
{
	for (size_t i = group_start(r, group);
	     i < r->count && str_equal(r->sorted[i]->kind->group, group); i++) {
		if (serves(r->sorted[i]->kind, version))
			return true;
	}
	return false;
}

void
registry_each(const struct registry *r,
	      bool (*fn)(struct kind *kind, void *arg), void *arg)
{
	for (size_t i = 0; i < r->count; i++) {
		if (!fn(r->sorted[i]->kind, arg))
			return;
	}
}

uint64_t
registry_generation(const struct registry *r)
{
	return r->generation;
}

struct schema *
registry_metadata_schema(const struct registry *r)
{
	return r->metadata;
}

const struct definitions *
registry_definitions(const struct registry *r)
{
	return r->definitions;
}

/* By the name of its CustomResourceDefinition, "plural.group". */
static struct entry *
find_crd(const struct registry *r, const char *name)
{
	const char *dot = strchr(name, '.');
	AUTO(free_ptr) char *plural = NULL;
	struct entry *entry;

	if (dot == NULL)
		return NULL;
	plural = xstrndup(name, (size_t)(dot - name));
	entry = find_entry(&r->plurals, true, dot + 1, plural);
	return entry != NULL && entry->kind->crd != NULL ? entry : NULL;
}

int
registry_set_crd(struct registry *r, const json_t *crd, struct causes *causes)
{
	const char *name = js_str_at(crd, "metadata.name");
	struct entry *before = find_crd(r, name);
	struct kind_source source = { .definition = crd,
				      .metadata = r->metadata };
	AUTO(free_ptr) char *conflict = crd_name_conflict(r, crd);
	struct kind *kind;

	if (conflict != NULL)
		return 0;
	if (before == NULL && r->count >= REGISTRY_CRDS_MAX) {
		causes_forbidden(causes, "metadata.name",
				 "there are too many definitions");
		return -1;
	}
	kind = kind_load(&source, causes);
	if (kind == NULL)
		return -1;
	if (before != NULL) {
		kind->collection = before->kind->collection;
		take_out(r, before);
	} else {
		give_collection(r, kind);
	}
	insert(r, kind);
	return 0;
}

void
registry_remove_crd(struct registry *r, const char *name)
{
	struct entry *entry = find_crd(r, name);

	if (entry != NULL)
		take_out(r, entry);
}

json_t *
registry_bundled_crd(size_t i)
{
	struct err err;
	json_t *crd;

	for (size_t k = 0; k < i; k++) {
		if (kinds_crds[k].name == NULL)
			return NULL;
	}
	if (kinds_crds[i].name == NULL)
		return NULL;
	crd = yaml_to_json(kinds_crds[i].data, kinds_crds[i].len, &err);
	if (crd == NULL)
		abort();
	return crd;
}
