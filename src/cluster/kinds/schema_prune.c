/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/err.h"
#include "base/mem.h"
#include "cluster/kinds/schema.h"
#include "cluster/kinds/schema_internal.h"
#include "meta/quantity.h"

static void
unknown_add(struct unknown *unknown, const struct schema_place *place)
{
	if (unknown == NULL || unknown->count == SCHEMA_CAUSES_MAX)
		return;
	unknown->paths =
		xrealloc(unknown->paths, (unknown->count + 1) * sizeof(char *));
	unknown->paths[unknown->count++] = schema_place_text(place);
}

/* NOLINTBEGIN(misc-no-recursion): as deep as the object, JS_MAX_DEPTH. */

static void prune(const struct schema *schema, json_t *value,
		  const struct schema_place *place, struct unknown *unknown);

/* Go's decoder takes null for an empty text there: labels, annotations. */
static bool
is_text_map(const struct schema *schema)
{
	return schema->typed && schema->prop_count == 0 &&
	       schema->additional != NULL &&
	       schema->additional->type == SCHEMA_STRING;
}

/* Whether the member stays. */
static bool
prune_member(const struct schema *schema, json_t *value,
	     const struct schema_place *place, struct unknown *unknown)
{
	const struct schema_prop *prop = schema_prop_find(schema, place->key);
	const struct schema *below = prop ? prop->schema : schema->additional;

	if (below == NULL) {
		if (schema->preserve || schema->any_member)
			return true;
		unknown_add(unknown, place);
		return false;
	}
	if (json_is_null(value))
		return !schema->typed || below->nullable;
	prune(below, value, place, unknown);
	return true;
}

static void
prune(const struct schema *schema, json_t *value,
      const struct schema_place *place, struct unknown *unknown)
{
	struct schema_place below = { .up = place };
	json_t *member;
	void *next;

	if (json_is_array(value) && schema->items != NULL) {
		for (size_t i = 0; i < json_array_size(value); i++) {
			below.index = i;
			prune(schema->items, json_array_get(value, i), &below,
			      unknown);
		}
		return;
	}
	/* What has a wrong type is left for the validation to complain of. */
	if (!json_is_object(value) ||
	    (schema->type != 0 && schema->type != SCHEMA_OBJECT))
		return;
	json_object_foreach_safe(value, next, below.key, member)
	{
		if (json_is_null(member) && is_text_map(schema))
			(void)json_object_set_new(value, below.key,
						  json_string(""));
		else if (!prune_member(schema, member, &below, unknown))
			(void)json_object_del(value, below.key);
	}
}

void
schema_prune(const struct schema *schema, json_t *obj, struct unknown *unknown)
{
	prune(schema, obj, NULL, unknown);
}

/* Quantities of built-in kinds are stored as Kubernetes prints them. */
static json_t *
canonical_quantity(const json_t *value)
{
	char buf[QUANTITY_TEXT_SIZE];
	char *text = NULL;
	struct quantity q;
	struct err err;
	json_t *made = NULL;

	if (json_is_number(value)) {
		text = json_dumps(value,
				  JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
	} else if (json_is_string(value)) {
		text = xstrdup(json_string_value(value));
	}
	if (text != NULL && quantity_parse(text, &q, &err) == 0)
		made = json_string(quantity_text(&q, buf, sizeof(buf)));
	if (made != NULL && json_equal(made, value)) {
		json_decref(made);
		made = NULL;
	}
	free(text);
	return made;
}

static void fill(const struct schema *schema, json_t *value);

static void
fill_member(const struct schema *below, json_t *obj, const char *name)
{
	json_t *value = json_object_get(obj, name), *made;

	if (value == NULL || (json_is_null(value) && !below->nullable)) {
		if (below->fallback == NULL)
			return;
		(void)json_object_set_new(obj, name,
					  json_deep_copy(below->fallback));
		value = json_object_get(obj, name);
	}
	if (below->format == FORMAT_QUANTITY) {
		made = canonical_quantity(value);
		if (made != NULL)
			(void)json_object_set_new(obj, name, made);
	} else {
		fill(below, value);
	}
}

static void
fill(const struct schema *schema, json_t *value)
{
	const char *name;
	json_t *member;
	void *next;

	if (!schema->fills)
		return;
	if (json_is_array(value) && schema->items != NULL) {
		for (size_t i = 0; i < json_array_size(value); i++)
			fill(schema->items, json_array_get(value, i));
		return;
	}
	if (!json_is_object(value))
		return;
	for (size_t i = 0; i < schema->prop_count; i++) {
		if (schema->props[i].schema->fills)
			fill_member(schema->props[i].schema, value,
				    schema->props[i].name);
	}
	if (schema->additional == NULL || !schema->additional->fills)
		return;
	json_object_foreach_safe(value, next, name, member)
	{
		if (schema_prop_find(schema, name) == NULL)
			fill_member(schema->additional, value, name);
	}
}

void
schema_default(const struct schema *schema, json_t *obj)
{
	fill(schema, obj);
}

/* NOLINTEND(misc-no-recursion) */
