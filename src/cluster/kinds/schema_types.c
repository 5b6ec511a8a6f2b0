/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "cluster/kinds/schema.h"
#include "cluster/kinds/schema_internal.h"
#include "meta/quantity.h"

/* NOLINTBEGIN(misc-no-recursion): as deep as the object, JS_MAX_DEPTH,
 * or a schema. */

/* Go's name of the type that a node decodes into; to be freed. As deep as
 * arrays and maps are nested in a schema, a handful. */
static char *
go_type(const struct schema *schema)
{
	AUTO(free_ptr) char *below = NULL;

	if (schema->int_or_string)
		return xstrdup("intstr.IntOrString");
	switch (schema->type) {
	case SCHEMA_STRING:
		return xstrdup(schema->format == FORMAT_BYTE ? "[]uint8"
							     : "string");
	case SCHEMA_INTEGER:
		return xstrdup(schema->format == FORMAT_INT32 ? "int32"
							      : "int64");
	case SCHEMA_NUMBER:
		return xstrdup("float64");
	case SCHEMA_BOOLEAN:
		return xstrdup("bool");
	case SCHEMA_ARRAY:
		below = go_type(schema->items);
		return xasprintf("[]%s", below);
	case SCHEMA_OBJECT:
		if (schema->additional == NULL)
			return xasprintf("v1.%s", schema->name != NULL
							  ? schema->name
							  : "Object");
		below = go_type(schema->additional);
		return xasprintf("map[string]%s", below);
	}
	return xstrdup("interface {}");
}

/* What encoding/json calls the value. */
static const char *
go_value(const json_t *value)
{
	if (json_is_boolean(value))
		return "bool";
	return json_is_number(value) ? "number" : schema_type_of(value);
}

static char *
describe_type(const struct schema *schema, const char *owner,
	      const json_t *value, const struct schema_place *place)
{
	AUTO(free_ptr) char *names = schema_place_names(place);
	AUTO(free_ptr) char *type = go_type(schema);

	if (*names == '\0')
		return xasprintf("json: cannot unmarshal %s into Go value of "
				 "type v1.%s",
				 go_value(value), owner);
	return xasprintf("json: cannot unmarshal %s into Go struct field "
			 "%s.%s of type %s",
			 go_value(value), owner, names, type);
}

static char *
describe_format(const struct schema *schema, const json_t *value)
{
	const char *s = json_string_value(value);
	struct quantity q;
	struct err err;

	if (schema->format == FORMAT_QUANTITY &&
	    quantity_parse(s, &q, &err) == -1)
		return xstrdup(err.text);
	if (schema->format == FORMAT_DATE_TIME) {
		return xasprintf(
			"parsing time \"\\\"%s\\\"\" as "
			"\"\\\"2006-01-02T15:04:05Z07:00\\\"\": cannot "
			"parse \"%s\" as \"2006\"",
			s, s);
	}
	if (schema->format == FORMAT_BYTE)
		return xstrdup("illegal base64 data at input byte 0");
	if (json_is_number(value))
		return xasprintf("json: cannot unmarshal number into Go value "
				 "of type %s",
				 format_name(schema->format));
	return NULL;
}

static char *
check(const struct schema *schema, const char *owner, const json_t *value,
      const struct schema_place *place)
{
	struct schema_place below = { .up = place };
	char *text = NULL;
	json_t *member;

	if (json_is_null(value))
		return NULL;
	if (!schema_type_fits(schema, value))
		return describe_type(schema, owner, value, place);
	if (!format_matches(schema->format, value))
		return describe_format(schema, value);
	if (json_is_array(value) && schema->items != NULL) {
		for (size_t i = 0; i < json_array_size(value) && text == NULL;
		     i++) {
			below.index = i;
			text = check(schema->items, owner,
				     json_array_get(value, i), &below);
		}
		return text;
	}
	if (!json_is_object(value))
		return NULL;
	if (schema->name != NULL)
		owner = schema->name;
	json_object_foreach((json_t *)(uintptr_t)value, below.key, member)
	{
		const struct schema_prop *prop =
			schema_prop_find(schema, below.key);

		/* A map's keys are not part of the field's name. */
		if (prop != NULL)
			text = check(prop->schema, owner, member, &below);
		else if (schema->additional != NULL)
			text = check(schema->additional, owner, member, place);
		if (text != NULL)
			return text;
	}
	return NULL;
}

char *
schema_check_types(const struct schema *schema, const char *kind,
		   const json_t *obj)
{
	return check(schema, kind, obj, NULL);
}

/* NOLINTEND(misc-no-recursion) */
