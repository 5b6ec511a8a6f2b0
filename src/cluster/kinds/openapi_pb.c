/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/kinds/openapi_pb.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/str.h"

/* Far above what REGISTRY_CRDS_MAX definitions of 3 MiB can come to is not
 * needed: beyond this the rest of a document is left out. */
#define DOCUMENT_MAX (256UL << 20)

#define WIRE_VARINT 0
#define WIRE_BYTES 2

/* Field numbers of gnostic's messages, by message. */
enum {
	DOCUMENT_SWAGGER = 1,
	DOCUMENT_INFO = 2,
	DOCUMENT_PATHS = 8,
	DOCUMENT_DEFINITIONS = 9,
	INFO_TITLE = 1,
	INFO_VERSION = 2,
	NAMED_NAME = 1,
	NAMED_VALUE = 2,
	PATHS_PATH = 2,
	PATH_PARAMETERS = 9,
	OPERATION_ID = 5,
	OPERATION_PARAMETERS = 8,
	OPERATION_RESPONSES = 9,
	OPERATION_EXTENSION = 13,
	PARAMETERS_ITEM_PARAMETER = 1,
	PARAMETER_NON_BODY = 2,
	NON_BODY_QUERY = 3,
	NON_BODY_PATH = 4,
	SUB_REQUIRED = 1,
	SUB_IN = 2,
	SUB_NAME = 4,
	QUERY_TYPE = 6,
	PATH_TYPE = 5,
	RESPONSES_CODE = 1,
	RESPONSE_VALUE_RESPONSE = 1,
	RESPONSE_DESCRIPTION = 1,
	RESPONSE_SCHEMA = 2,
	SCHEMA_ITEM_SCHEMA = 1,
	DEFINITIONS_SCHEMA = 1,
	SCHEMA_REF = 1,
	SCHEMA_FORMAT = 2,
	SCHEMA_DESCRIPTION = 4,
	SCHEMA_REQUIRED = 19,
	SCHEMA_ADDITIONAL = 21,
	SCHEMA_TYPE = 22,
	SCHEMA_ITEMS = 23,
	SCHEMA_PROPERTIES = 25,
	SCHEMA_EXTENSION = 31,
	ADDITIONAL_SCHEMA = 1,
	ADDITIONAL_BOOLEAN = 2,
	TYPE_VALUE = 1,
	ITEMS_SCHEMA = 1,
	PROPERTIES_SCHEMA = 1,
	ANY_YAML = 2,
};

static void put_schema(struct buf *out, unsigned field, const json_t *schema);

static void
put_varint(struct buf *out, uint64_t value)
{
	uint8_t bytes[10];
	size_t len = 0;

	do {
		bytes[len] = (uint8_t)((value & 0x7f) | (value > 0x7f) << 7);
		len++;
		value >>= 7;
	} while (value > 0);
	(void)buf_append(out, bytes, len);
}

static void
put_bytes(struct buf *out, unsigned field, const void *data, size_t len)
{
	put_varint(out, field << 3 | WIRE_BYTES);
	put_varint(out, len);
	(void)buf_append(out, data, len);
}

static void
put_text(struct buf *out, unsigned field, const char *text)
{
	if (text != NULL && *text != '\0')
		put_bytes(out, field, text, strlen(text));
}

static void
put_true(struct buf *out, unsigned field, bool value)
{
	if (!value)
		return;
	put_varint(out, field << 3 | WIRE_VARINT);
	put_varint(out, 1);
}

/* A message that was written on its own; inner is emptied for the next. */
static void
put_message(struct buf *out, unsigned field, struct buf *inner)
{
	put_bytes(out, field, inner->len > 0 ? inner->data : (const void *)"",
		  inner->len);
	buf_done(inner);
}

/* NamedX{name, value}, whose value has been written. */
static void
put_named(struct buf *out, unsigned field, const char *name, struct buf *value)
{
	struct buf named = BUF_INIT(DOCUMENT_MAX);

	put_text(&named, NAMED_NAME, name);
	put_message(&named, NAMED_VALUE, value);
	put_message(out, field, &named);
}

/* Members that begin with x-, as YAML (which JSON is). */
static void
put_extensions(struct buf *out, unsigned field, const json_t *obj)
{
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)(uintptr_t)obj, name, value)
	{
		struct buf any = BUF_INIT(DOCUMENT_MAX);
		char *text;

		if (!str_has_prefix(name, "x-"))
			continue;
		text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
		put_text(&any, ANY_YAML, text);
		free(text);
		put_named(out, field, name, &any);
	}
}

static void
put_parameter(struct buf *out, unsigned field, const json_t *parameter)
{
	bool query = str_equal(js_str_at(parameter, "in"), "query");
	struct buf sub = BUF_INIT(DOCUMENT_MAX);
	struct buf outer = BUF_INIT(DOCUMENT_MAX);

	put_true(&sub, SUB_REQUIRED, js_bool_at(parameter, "required", false));
	put_text(&sub, SUB_IN, js_str_at(parameter, "in"));
	put_text(&sub, SUB_NAME, js_str_at(parameter, "name"));
	put_text(&sub, query ? QUERY_TYPE : PATH_TYPE,
		 js_str_at(parameter, "type"));
	put_message(&outer, query ? NON_BODY_QUERY : NON_BODY_PATH, &sub);
	put_message(&sub, PARAMETER_NON_BODY, &outer);
	put_message(&outer, PARAMETERS_ITEM_PARAMETER, &sub);
	put_message(out, field, &outer);
}

static void
put_parameters(struct buf *out, unsigned field, const json_t *list)
{
	const json_t *parameter;
	size_t i;

	json_array_foreach(list, i, parameter)
		put_parameter(out, field, parameter);
}

static void
put_responses(struct buf *out, const json_t *responses)
{
	struct buf all = BUF_INIT(DOCUMENT_MAX);
	const char *code;
	json_t *response;

	json_object_foreach((json_t *)(uintptr_t)responses, code, response)
	{
		struct buf inner = BUF_INIT(DOCUMENT_MAX);
		struct buf outer = BUF_INIT(DOCUMENT_MAX);

		put_schema(&inner, SCHEMA_ITEM_SCHEMA,
			   json_object_get(response, "schema"));
		put_text(&outer, RESPONSE_DESCRIPTION,
			 js_str_at(response, "description"));
		put_message(&outer, RESPONSE_SCHEMA, &inner);
		put_message(&inner, RESPONSE_VALUE_RESPONSE, &outer);
		put_named(&all, RESPONSES_CODE, code, &inner);
	}
	put_message(out, OPERATION_RESPONSES, &all);
}

static void
put_operation(struct buf *out, unsigned field, const json_t *operation)
{
	struct buf inner = BUF_INIT(DOCUMENT_MAX);

	put_text(&inner, OPERATION_ID, js_str_at(operation, "operationId"));
	put_parameters(&inner, OPERATION_PARAMETERS,
		       json_object_get(operation, "parameters"));
	put_responses(&inner, json_object_get(operation, "responses"));
	put_extensions(&inner, OPERATION_EXTENSION, operation);
	put_message(out, field, &inner);
}

static void
put_paths(struct buf *out, const json_t *paths)
{
	static const struct {
		const char *method;
		unsigned field;
	} methods[] = { { "get", 2 },
			{ "put", 3 },
			{ "post", 4 },
			{ "delete", 5 },
			{ "patch", 8 } };
	struct buf all = BUF_INIT(DOCUMENT_MAX);
	const char *name;
	json_t *path;

	json_object_foreach((json_t *)(uintptr_t)paths, name, path)
	{
		struct buf item = BUF_INIT(DOCUMENT_MAX);

		for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
			const json_t *operation =
				json_object_get(path, methods[i].method);

			if (operation != NULL)
				put_operation(&item, methods[i].field,
					      operation);
		}
		put_parameters(&item, PATH_PARAMETERS,
			       json_object_get(path, "parameters"));
		put_named(&all, PATHS_PATH, name, &item);
	}
	put_message(out, DOCUMENT_PATHS, &all);
}

/* NOLINTBEGIN(misc-no-recursion): as deep as a compiled schema. */

static void put_schema_members(struct buf *out, const json_t *schema);

static void
put_named_schemas(struct buf *out, unsigned field, unsigned each,
		  const json_t *schemas)
{
	struct buf all = BUF_INIT(DOCUMENT_MAX);
	const char *name;
	json_t *schema;

	json_object_foreach((json_t *)(uintptr_t)schemas, name, schema)
	{
		struct buf inner = BUF_INIT(DOCUMENT_MAX);

		put_schema_members(&inner, schema);
		put_named(&all, each, name, &inner);
	}
	put_message(out, field, &all);
}

static void
put_schema_members(struct buf *out, const json_t *schema)
{
	const json_t *more = json_object_get(schema, "additionalProperties");
	const json_t *items = json_object_get(schema, "items"), *name;
	const json_t *props = json_object_get(schema, "properties");
	const char *type = js_str_at(schema, "type");
	struct buf inner = BUF_INIT(DOCUMENT_MAX);
	size_t i;

	put_text(out, SCHEMA_REF,
		 json_string_value(json_object_get(schema, "$ref")));
	put_text(out, SCHEMA_FORMAT, js_str_at(schema, "format"));
	put_text(out, SCHEMA_DESCRIPTION, js_str_at(schema, "description"));
	json_array_foreach(json_object_get(schema, "required"), i, name)
		put_text(out, SCHEMA_REQUIRED, json_string_value(name));
	if (json_is_object(more)) {
		put_schema(&inner, ADDITIONAL_SCHEMA, more);
		put_message(out, SCHEMA_ADDITIONAL, &inner);
	} else if (json_is_true(more)) {
		put_true(&inner, ADDITIONAL_BOOLEAN, true);
		put_message(out, SCHEMA_ADDITIONAL, &inner);
	}
	if (*type != '\0') {
		put_text(&inner, TYPE_VALUE, type);
		put_message(out, SCHEMA_TYPE, &inner);
	}
	if (json_is_object(items)) {
		put_schema(&inner, ITEMS_SCHEMA, items);
		put_message(out, SCHEMA_ITEMS, &inner);
	}
	if (json_object_size(props) > 0)
		put_named_schemas(out, SCHEMA_PROPERTIES, PROPERTIES_SCHEMA,
				  props);
	put_extensions(out, SCHEMA_EXTENSION, schema);
}

static void
put_schema(struct buf *out, unsigned field, const json_t *schema)
{
	struct buf inner = BUF_INIT(DOCUMENT_MAX);

	put_schema_members(&inner, schema);
	put_message(out, field, &inner);
}

/* NOLINTEND(misc-no-recursion) */

char *
openapi_pb(const json_t *swagger, size_t *ret_len)
{
	struct buf out = BUF_INIT(DOCUMENT_MAX);
	struct buf info = BUF_INIT(DOCUMENT_MAX);

	put_text(&out, DOCUMENT_SWAGGER, js_str_at(swagger, "swagger"));
	put_text(&info, INFO_TITLE, js_str_at(swagger, "info.title"));
	put_text(&info, INFO_VERSION, js_str_at(swagger, "info.version"));
	put_message(&out, DOCUMENT_INFO, &info);
	put_paths(&out, json_object_get(swagger, "paths"));
	put_named_schemas(&out, DOCUMENT_DEFINITIONS, DEFINITIONS_SCHEMA,
			  json_object_get(swagger, "definitions"));
	*ret_len = out.len;
	return (char *)out.data;
}
