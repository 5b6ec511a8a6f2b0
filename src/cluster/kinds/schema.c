/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/kinds/schema.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/mem.h"
#include "cluster/kinds/pattern.h"
#include "cluster/kinds/schema_internal.h"

/* Longer paths in messages are cut. */
#define PLACE_TEXT_MAX 65536

struct schema *
schema_ref(struct schema *schema)
{
	schema->refs++;
	return schema;
}

/* NOLINTBEGIN(misc-no-recursion): a schema is at most as deep as its
 * compiler allows, a place as an object, JS_MAX_DEPTH. */

static void
set_done(struct schema_set *set)
{
	for (size_t i = 0; i < set->count; i++)
		schema_unref(set->list[i]);
	free(set->list);
}

static void
rules_free(struct schema_rules *rules)
{
	if (rules == NULL)
		return;
	json_decref(rules->values);
	pattern_free(rules->pattern);
	set_done(&rules->all_of);
	set_done(&rules->any_of);
	set_done(&rules->one_of);
	schema_unref(rules->never);
	free(rules);
}

/* As deep as the schema it was compiled from, which had a limit. */
void
schema_unref(struct schema *schema)
{
	if (schema == NULL || --schema->refs > 0)
		return;
	for (size_t i = 0; i < schema->prop_count; i++)
		schema_unref(schema->props[i].schema);
	free(schema->props);
	schema_unref(schema->own_metadata);
	schema_unref(schema->additional);
	schema_unref(schema->items);
	rules_free(schema->rules);
	json_decref(schema->fallback);
	json_decref(schema->required);
	json_decref(schema->list_keys);
	json_decref(schema->source);
	free(schema);
}

static void
place_write(const struct schema_place *place, bool indexes, struct buf *out)
{
	if (place == NULL)
		return;
	place_write(place->up, indexes, out);
	if (place->key != NULL)
		(void)buf_printf(out, "%s%s", out->len > 0 ? "." : "",
				 place->key);
	else if (indexes)
		(void)buf_printf(out, "[%zu]", place->index);
}

/* NOLINTEND(misc-no-recursion) */

static char *
place_text(const struct schema_place *place, bool indexes)
{
	struct buf out = BUF_INIT(PLACE_TEXT_MAX);

	place_write(place, indexes, &out);
	return out.data != NULL ? (char *)out.data : xstrdup("");
}

char *
schema_place_text(const struct schema_place *place)
{
	return place_text(place, true);
}

char *
schema_place_names(const struct schema_place *place)
{
	return place_text(place, false);
}

const struct schema_prop *
schema_prop_find(const struct schema *schema, const char *name)
{
	size_t low = 0, high = schema->prop_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = strcmp(name, schema->props[middle].name);

		if (order == 0)
			return &schema->props[middle];
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

const char *
schema_type_of(const json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		return "object";
	case JSON_ARRAY:
		return "array";
	case JSON_STRING:
		return "string";
	case JSON_INTEGER:
		return "integer";
	case JSON_REAL:
		return "number";
	case JSON_TRUE:
	case JSON_FALSE:
		return "boolean";
	case JSON_NULL:
	default:
		return "null";
	}
}

const char *
schema_type_name(enum schema_type type)
{
	switch (type) {
	case SCHEMA_OBJECT:
		return "object";
	case SCHEMA_ARRAY:
		return "array";
	case SCHEMA_STRING:
		return "string";
	case SCHEMA_INTEGER:
		return "integer";
	case SCHEMA_NUMBER:
		return "number";
	case SCHEMA_BOOLEAN:
		return "boolean";
	}
	return "";
}

static bool
is_whole(const json_t *value)
{
	if (json_is_integer(value))
		return true;
	return json_is_real(value) &&
	       trunc(json_real_value(value)) == json_real_value(value);
}

bool
schema_type_fits(const struct schema *schema, const json_t *value)
{
	if (schema->int_or_string || schema->format == FORMAT_QUANTITY)
		return json_is_string(value) || is_whole(value) ||
		       (schema->format == FORMAT_QUANTITY &&
			json_is_number(value));
	switch (schema->type) {
	case SCHEMA_OBJECT:
		return json_is_object(value);
	case SCHEMA_ARRAY:
		return json_is_array(value);
	case SCHEMA_STRING:
		return json_is_string(value);
	case SCHEMA_INTEGER:
		return is_whole(value);
	case SCHEMA_NUMBER:
		return json_is_number(value);
	case SCHEMA_BOOLEAN:
		return json_is_boolean(value);
	}
	return true;
}

static int
compare_paths(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void
unknown_sort(struct unknown *unknown)
{
	if (unknown->count > 1)
		qsort(unknown->paths, unknown->count, sizeof(char *),
		      compare_paths);
}

void
unknown_done(struct unknown *unknown)
{
	for (size_t i = 0; i < unknown->count; i++)
		free(unknown->paths[i]);
	free(unknown->paths);
	*unknown = (struct unknown){ 0 };
}
