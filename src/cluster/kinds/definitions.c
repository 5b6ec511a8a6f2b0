/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/kinds/definitions.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/embed.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"
#include "meta/yaml.h"

extern const struct embed_file kinds_types[];

enum state {
	STATE_RAW,
	STATE_RESOLVING,
	STATE_RESOLVED,
};

struct definition {
	struct map_node by_name;
	char *name;
	char *full_name;
	json_t *schema;
	enum state state;
};

/* A node that is a definition or a copy of one. */
struct place {
	struct map_node by_pointer;
	char key[24];
	const struct definition *definition;
	json_t *node;
};

struct definitions {
	struct map names;
	struct map places;
};

static int resolve(struct definitions *d, json_t *node, struct err *err);

static void
pointer_key(const json_t *node, char key[24])
{
	(void)snprintf(key, 24, "%p", (const void *)node);
}

static void
add_place(struct definitions *d, const struct definition *definition,
	  json_t *node)
{
	struct place *place = xmalloc0(sizeof(*place));

	place->definition = definition;
	place->node = json_incref(node);
	pointer_key(node, place->key);
	map_put(&d->places, &place->by_pointer, place->key);
}

static int
add_file(struct definitions *d, const struct embed_file *file, struct err *err)
{
	AUTO(js_unref)
	json_t *doc = yaml_to_json(file->data, file->len, err);
	const char *name;
	json_t *schema;

	if (doc == NULL)
		return err_prefix(err, "%s", file->name);
	json_object_foreach(json_object_get(doc, "definitions"), name, schema)
	{
		struct definition *definition;

		if (map_get(&d->names, name) != NULL)
			return err_set(err, ERR_INTERNAL,
				       "%s: %s is there twice", file->name,
				       name);
		definition = xmalloc0(sizeof(*definition));
		definition->name = xstrdup(name);
		definition->full_name =
			xasprintf("%s.%s", js_str_at(doc, "package"), name);
		definition->schema = json_incref(schema);
		(void)json_object_set_new(schema, "title", json_string(name));
		map_put(&d->names, &definition->by_name, definition->name);
		add_place(d, definition, schema);
	}
	return 0;
}

static struct definition *
find(const struct definitions *d, const char *name)
{
	struct map_node *node = map_get(&d->names, name);

	return node != NULL ? MAP_ENTRY(node, struct definition, by_name)
			    : NULL;
}

/* NOLINTBEGIN(misc-no-recursion): as deep as our own files; circles
 * are refused. */

/* What a reference stands for, a new reference; NULL on failure. */
static json_t *
follow(struct definitions *d, json_t *node, struct err *err)
{
	const char *name = json_string_value(json_object_get(node, "$ref"));
	struct definition *definition = name != NULL ? find(d, name) : NULL;
	json_t *copy;

	if (definition == NULL || definition->state == STATE_RESOLVING) {
		(void)err_set(err, ERR_INTERNAL,
			      "the type '%s' does not exist or contains itself",
			      name != NULL ? name : "");
		return NULL;
	}
	if (definition->state == STATE_RAW) {
		definition->state = STATE_RESOLVING;
		if (resolve(d, definition->schema, err) == -1)
			return NULL;
		definition->state = STATE_RESOLVED;
	}
	if (json_object_size(node) == 1)
		return json_incref(definition->schema);
	copy = json_copy(definition->schema);
	(void)json_object_update(copy, node);
	(void)json_object_del(copy, "$ref");
	add_place(d, definition, copy);
	return copy;
}

/* Where schemas are below a node: its members' names do not mean keywords. */
static int
resolve_member(struct definitions *d, json_t *owner, const char *name,
	       struct err *err)
{
	json_t *node = json_object_get(owner, name), *found;

	if (!json_is_object(node))
		return 0;
	if (json_object_get(node, "$ref") == NULL)
		return resolve(d, node, err);
	found = follow(d, node, err);
	if (found == NULL)
		return err_prefix(err, "%s", name);
	return json_object_set_new(owner, name, found);
}

static int
resolve(struct definitions *d, json_t *node, struct err *err)
{
	json_t *properties = json_object_get(node, "properties"), *value;
	const char *name;
	void *next;

	json_object_foreach_safe(properties, next, name, value)
	{
		if (resolve_member(d, properties, name, err) == -1)
			return -1;
	}
	if (resolve_member(d, node, "items", err) == -1)
		return -1;
	return resolve_member(d, node, "additionalProperties", err);
}

/* NOLINTEND(misc-no-recursion) */

int
definitions_resolve(struct definitions *d, json_t *node, struct err *err)
{
	return resolve(d, node, err);
}

struct definitions *
definitions_new(struct err *err)
{
	struct definitions *d = xmalloc0(sizeof(*d));
	struct map_node *node;

	for (const struct embed_file *file = kinds_types; file->name != NULL;
	     file++) {
		if (add_file(d, file, err) == -1) {
			definitions_free(d);
			return NULL;
		}
	}
	for (node = map_next(&d->names, NULL); node != NULL;
	     node = map_next(&d->names, node)) {
		AUTO(js_unref)
		json_t *by_name = json_pack("{s:s}", "$ref", node->key);
		AUTO(js_unref) json_t *found = follow(d, by_name, err);

		if (found == NULL) {
			definitions_free(d);
			return NULL;
		}
	}
	return d;
}

void
definitions_free(struct definitions *d)
{
	struct map_node *node, *next;

	if (d == NULL)
		return;
	for (node = map_next(&d->places, NULL); node != NULL; node = next) {
		struct place *place = MAP_ENTRY(node, struct place, by_pointer);

		next = map_next(&d->places, node);
		map_remove(&d->places, node);
		json_decref(place->node);
		free(place);
	}
	for (node = map_next(&d->names, NULL); node != NULL; node = next) {
		struct definition *definition =
			MAP_ENTRY(node, struct definition, by_name);

		next = map_next(&d->names, node);
		map_remove(&d->names, node);
		json_decref(definition->schema);
		free(definition->name);
		free(definition->full_name);
		free(definition);
	}
	map_done(&d->places);
	map_done(&d->names);
	free(d);
}

json_t *
definitions_find(const struct definitions *d, const char *name)
{
	struct definition *definition = find(d, name);

	return definition != NULL ? definition->schema : NULL;
}

const char *
definitions_name(const struct definitions *d, const json_t *node, bool *ret_own)
{
	struct map_node *found;
	struct place *place;
	char key[24];

	pointer_key(node, key);
	found = map_get(&d->places, key);
	if (found == NULL)
		return NULL;
	place = MAP_ENTRY(found, struct place, by_pointer);
	*ret_own = place->definition->schema != node;
	return place->definition->full_name;
}
