/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"
#include "cluster/kinds/pattern.h"
#include "cluster/kinds/schema.h"
#include "cluster/kinds/schema_internal.h"
#include "meta/causes.h"

/* Levels of a schema; definitions are referred to, so deeper than JSON. */
#define DEPTH_MAX 96
#define FIELD_MAX 65536

struct pool_entry {
	struct map_node node;
	char key[24];
	struct schema *schema;
};

struct schema_pool {
	struct map map;
};

/* Where in a schema a node stands: what must be there depends on it. */
enum role {
	ROLE_ROOT,
	ROLE_PROPERTY,
	ROLE_ITEM,
	ROLE_JUNCTOR, /* below allOf, anyOf, oneOf, not */
};

struct compiler {
	const struct schema_options *options;
	struct causes *causes;
	struct buf field; /* where the compiler is */
	size_t nodes;
	unsigned depth;
};

static struct schema *compile(struct compiler *c, const json_t *node,
			      enum role role);

struct schema_pool *
schema_pool_new(void)
{
	return xmalloc0(sizeof(struct schema_pool));
}

void
schema_pool_free(struct schema_pool *pool)
{
	struct map_node *node, *next;

	if (pool == NULL)
		return;
	for (node = map_next(&pool->map, NULL); node != NULL; node = next) {
		struct pool_entry *entry =
			MAP_ENTRY(node, struct pool_entry, node);

		next = map_next(&pool->map, node);
		map_remove(&pool->map, node);
		schema_unref(entry->schema);
		free(entry);
	}
	map_done(&pool->map);
	free(pool);
}

static void
pool_key(const json_t *node, char key[24])
{
	(void)snprintf(key, 24, "%p", (const void *)node);
}

static struct schema *
pool_find(const struct compiler *c, const json_t *node)
{
	struct map_node *found;
	char key[24];

	if (c->options->pool == NULL)
		return NULL;
	pool_key(node, key);
	found = map_get(&c->options->pool->map, key);
	if (found == NULL)
		return NULL;
	return schema_ref(MAP_ENTRY(found, struct pool_entry, node)->schema);
}

static void
pool_add(const struct compiler *c, struct schema *schema)
{
	struct pool_entry *entry;

	if (c->options->pool == NULL)
		return;
	entry = xmalloc0(sizeof(*entry));
	pool_key(schema->source, entry->key);
	entry->schema = schema_ref(schema);
	map_put(&c->options->pool->map, &entry->node, entry->key);
}

/* The field of a member of the node the compiler is at; to be freed. */
static char *
field_of(const struct compiler *c, const char *member)
{
	return xasprintf("%s.%s", (const char *)c->field.data, member);
}

static void
complain(struct compiler *c, enum cause_type type, const char *member,
	 const char *message)
{
	AUTO(free_ptr) char *field = field_of(c, member);

	if (type == CAUSE_REQUIRED)
		causes_required(c->causes, field, message);
	else
		causes_forbidden(c->causes, field, message);
}

/* NOLINTBEGIN(misc-no-recursion): at most DEPTH_MAX deep. */

static struct schema *
compile_below(struct compiler *c, const json_t *node, enum role role,
	      const char *fmt, const char *name)
{
	size_t len = c->field.len;
	struct schema *schema;

	(void)buf_append_str(&c->field, ".");
	(void)buf_append_str(&c->field, fmt);
	if (name != NULL)
		(void)buf_printf(&c->field, "[%s]", name);
	schema = compile(c, node, role);
	c->field.len = len;
	c->field.data[len] = '\0';
	return schema;
}

/* What is below a junctor only narrows what stands beside it. */
static enum role
below_role(enum role role, enum role below)
{
	return role == ROLE_JUNCTOR ? ROLE_JUNCTOR : below;
}

static int
compare_props(const void *a, const void *b)
{
	const struct schema_prop *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static bool
get_flag(const json_t *node, const char *name)
{
	return json_is_true(json_object_get(node, name));
}

/* A reference to the member if it is a list of texts, else NULL. */
static json_t *
get_names(const json_t *node, const char *name)
{
	json_t *list = json_object_get(node, name), *value;
	size_t i;

	if (!json_is_array(list) || json_array_size(list) == 0)
		return NULL;
	json_array_foreach(list, i, value)
	{
		if (!json_is_string(value))
			return NULL;
	}
	return json_incref(list);
}

static void
compile_props(struct compiler *c, struct schema *schema, const json_t *node,
	      enum role role)
{
	const json_t *props = json_object_get(node, "properties");
	struct schema_prop *prop;
	const char *name;
	json_t *value;

	schema->props = xcalloc(json_object_size(props) + 3,
				sizeof(struct schema_prop));
	json_object_foreach((json_t *)(uintptr_t)props, name, value)
	{
		prop = &schema->props[schema->prop_count];
		prop->name = name;
		prop->schema =
			compile_below(c, value, below_role(role, ROLE_PROPERTY),
				      "properties", name);
		if (prop->schema == NULL)
			continue;
		schema->prop_count++;
		schema->fills |= prop->schema->fills;
	}
	qsort(schema->props, schema->prop_count, sizeof(*schema->props),
	      compare_props);
}

static void
compile_additional(struct compiler *c, struct schema *schema,
		   const json_t *node, enum role role)
{
	const json_t *more = json_object_get(node, "additionalProperties");

	if (more == NULL)
		return;
	if (json_object_size(json_object_get(node, "properties")) > 0 &&
	    !c->options->typed) {
		complain(c, CAUSE_FORBIDDEN, "additionalProperties",
			 "additionalProperties and properties are mutual "
			 "exclusive");
	} else if (json_is_true(more)) {
		schema->any_member = true;
	} else if (json_is_object(more)) {
		schema->additional =
			compile_below(c, more, below_role(role, ROLE_PROPERTY),
				      "additionalProperties", NULL);
		if (schema->additional != NULL)
			schema->fills |= schema->additional->fills;
	} else {
		complain(c, CAUSE_FORBIDDEN, "additionalProperties",
			 "must not be used");
	}
}

static void
compile_items(struct compiler *c, struct schema *schema, const json_t *node,
	      enum role role)
{
	const json_t *items = json_object_get(node, "items");
	const char *list = json_string_value(
		json_object_get(node, "x-kubernetes-list-type"));

	if (json_is_object(items)) {
		schema->items = compile_below(
			c, items, below_role(role, ROLE_ITEM), "items", NULL);
		if (schema->items != NULL)
			schema->fills |= schema->items->fills;
	} else if (json_is_array(items)) {
		complain(c, CAUSE_FORBIDDEN, "items",
			 "items must be a schema object and not an array");
	} else if (schema->type == SCHEMA_ARRAY && role != ROLE_JUNCTOR) {
		complain(c, CAUSE_REQUIRED, "items", "must be specified");
	}
	/* Of built-in kinds they only matter to server-side apply. */
	if (c->options->typed)
		return;
	if (str_equal(list, "set"))
		schema->list = SCHEMA_LIST_SET;
	if (!str_equal(list, "map"))
		return;
	schema->list = SCHEMA_LIST_MAP;
	schema->list_keys = get_names(node, "x-kubernetes-list-map-keys");
	if (schema->list_keys == NULL)
		complain(c, CAUSE_REQUIRED, "x-kubernetes-list-map-keys",
			 "must not be empty if x-kubernetes-list-type is map");
}

static enum schema_type
type_from_name(const char *name)
{
	for (unsigned type = SCHEMA_OBJECT; type <= SCHEMA_BOOLEAN;
	     type <<= 1) {
		if (str_equal(schema_type_name(type), name))
			return type;
	}
	return 0;
}

static void
compile_type(struct compiler *c, struct schema *schema, const json_t *node,
	     enum role role)
{
	static const char *const supported[] = { "array",  "boolean", "integer",
						 "number", "object",  "string",
						 NULL };
	static const char *const missing[] = {
		[ROLE_ROOT] = "must not be empty at the root",
		[ROLE_PROPERTY] = "must not be empty for specified object "
				  "fields",
		[ROLE_ITEM] = "must not be empty for specified array items",
		[ROLE_JUNCTOR] = NULL,
	};
	const char *name = json_string_value(json_object_get(node, "type"));
	AUTO(free_ptr) char *field = field_of(c, "type");

	schema->int_or_string = get_flag(node, "x-kubernetes-int-or-string");
	schema->preserve =
		get_flag(node, "x-kubernetes-preserve-unknown-fields");
	schema->embedded = get_flag(node, "x-kubernetes-embedded-resource");
	schema->nullable = get_flag(node, "nullable");
	if (name != NULL && *name != '\0') {
		schema->type = type_from_name(name);
		if (schema->type == 0)
			causes_not_supported(c->causes, field, name, supported);
		else if (role == ROLE_ROOT && schema->type != SCHEMA_OBJECT)
			causes_invalid_str(c->causes, field, name,
					   "must be object at the root");
	} else if (missing[role] != NULL && !schema->int_or_string &&
		   !schema->preserve) {
		causes_required(c->causes, field, missing[role]);
	}
	schema->format = format_from_name(
		json_string_value(json_object_get(node, "format")));
	if (schema->format == FORMAT_QUANTITY && !c->options->typed)
		schema->format = FORMAT_ANY;
}

static int64_t
get_limit(const json_t *node, const char *name)
{
	const json_t *value = json_object_get(node, name);

	return json_is_number(value) ? (int64_t)json_number_value(value) : -1;
}

static double
get_number(const json_t *node, const char *name)
{
	const json_t *value = json_object_get(node, name);

	return json_is_number(value) ? json_number_value(value) : NAN;
}

static void
compile_pattern(struct compiler *c, struct schema_rules *rules,
		const json_t *node)
{
	AUTO(free_ptr) char *field = NULL, *message = NULL;
	const char *text = json_string_value(json_object_get(node, "pattern"));
	struct err err;

	if (text == NULL)
		return;
	rules->pattern = pattern_compile(text, &err);
	if (rules->pattern != NULL)
		return;
	field = field_of(c, "pattern");
	message = xasprintf("must be a valid regular expression, but isn't: %s",
			    err.text);
	causes_invalid_str(c->causes, field, text, message);
}

static void
compile_set(struct compiler *c, struct schema_set *set, const json_t *node,
	    const char *name)
{
	const json_t *list = json_object_get(node, name);
	size_t count = json_array_size(list);

	if (count == 0)
		return;
	set->list = xcalloc(count, sizeof(struct schema *));
	for (size_t i = 0; i < count; i++) {
		struct schema *schema;
		char index[24];

		(void)snprintf(index, sizeof(index), "%zu", i);
		schema = compile_below(c, json_array_get(list, i), ROLE_JUNCTOR,
				       name, index);
		if (schema != NULL)
			set->list[set->count++] = schema;
	}
}

static bool
has_rules(const json_t *node)
{
	static const char *const names[] = {
		"enum",          "pattern",   "minimum",       "maximum",
		"multipleOf",    "minLength", "maxLength",     "minItems",
		"maxItems",      "allOf",     "minProperties", "anyOf",
		"maxProperties", "oneOf",     "not",
	};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (json_object_get(node, names[i]) != NULL)
			return true;
	}
	return false;
}

static void
compile_rules(struct compiler *c, struct schema *schema, const json_t *node)
{
	const json_t *values = json_object_get(node, "enum");
	const json_t *never = json_object_get(node, "not");
	struct schema_rules *rules;

	if (!has_rules(node))
		return;
	rules = schema->rules = xmalloc0(sizeof(*rules));
	if (json_is_array(values))
		rules->values = json_incref((json_t *)(uintptr_t)values);
	compile_pattern(c, rules, node);
	rules->minimum = get_number(node, "minimum");
	rules->maximum = get_number(node, "maximum");
	rules->multiple_of = get_number(node, "multipleOf");
	rules->exclusive_minimum = get_flag(node, "exclusiveMinimum");
	rules->exclusive_maximum = get_flag(node, "exclusiveMaximum");
	rules->min_length = get_limit(node, "minLength");
	rules->max_length = get_limit(node, "maxLength");
	rules->min_items = get_limit(node, "minItems");
	rules->max_items = get_limit(node, "maxItems");
	rules->min_properties = get_limit(node, "minProperties");
	rules->max_properties = get_limit(node, "maxProperties");
	compile_set(c, &rules->all_of, node, "allOf");
	compile_set(c, &rules->any_of, node, "anyOf");
	compile_set(c, &rules->one_of, node, "oneOf");
	if (json_is_object(never))
		rules->never =
			compile_below(c, never, ROLE_JUNCTOR, "not", NULL);
}

static void
forbid_unsupported(struct compiler *c, const json_t *node)
{
	static const char *const names[] = { "$ref", "definitions",
					     "dependencies",
					     "patternProperties",
					     "additionalItems" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		AUTO(free_ptr) char *text = NULL;

		if (json_object_get(node, names[i]) == NULL)
			continue;
		text = xasprintf("%s is not supported", names[i]);
		complain(c, CAUSE_FORBIDDEN, names[i], text);
	}
	if (get_flag(node, "uniqueItems"))
		complain(c, CAUSE_FORBIDDEN, "uniqueItems",
			 "uniqueItems cannot be set to true since the runtime "
			 "complexity becomes quadratic");
}

static void
set_prop(struct schema *schema, const char *name, struct schema *below)
{
	const struct schema_prop *found = schema_prop_find(schema, name);
	struct schema_prop *prop;

	if (found != NULL) {
		prop = &schema->props[found - schema->props];
		schema_unref(prop->schema);
	} else {
		prop = &schema->props[schema->prop_count++];
	}
	*prop = (struct schema_prop){ name, below };
	qsort(schema->props, schema->prop_count, sizeof(*prop), compare_props);
}

static struct schema *
new_text(bool typed)
{
	struct schema *schema = xmalloc0(sizeof(*schema));

	*schema = (struct schema){ .refs = 1,
				   .type = SCHEMA_STRING,
				   .typed = typed };
	return schema;
}

/* compile_props() left room for the three. A definition may still restrict
 * the names of its objects. */
static void
add_object_props(struct compiler *c, struct schema *schema)
{
	const struct schema_prop *own = schema_prop_find(schema, "metadata");

	if (own != NULL && own->schema->prop_count > 0 && !schema->typed)
		schema->own_metadata = schema_ref(own->schema);
	set_prop(schema, "apiVersion", new_text(schema->typed));
	set_prop(schema, "kind", new_text(schema->typed));
	set_prop(schema, "metadata", schema_ref(c->options->metadata));
}

static struct schema *
new_node(struct compiler *c, const json_t *node)
{
	struct schema *schema = xmalloc0(sizeof(*schema));

	schema->refs = 1;
	schema->source = json_incref((json_t *)(uintptr_t)node);
	schema->typed = c->options->typed;
	schema->required = get_names(node, "required");
	schema->name = json_string_value(json_object_get(node, "title"));
	if (json_object_get(node, "default") != NULL)
		schema->fallback =
			json_incref(json_object_get(node, "default"));
	return schema;
}

static bool
enter(struct compiler *c, const json_t *node)
{
	const char *field = (const char *)c->field.data;

	if (!json_is_object(node)) {
		causes_invalid(c->causes, field, node, "must be an object");
		return false;
	}
	if (c->depth >= DEPTH_MAX || c->nodes >= SCHEMA_NODES_MAX) {
		/* Said once: everything above fails with it. */
		if (c->nodes++ <= SCHEMA_NODES_MAX)
			causes_forbidden(c->causes, field,
					 "the schema is too large or too deep");
		return false;
	}
	c->nodes++;
	return true;
}

/* A default must be what the schema it stands in would take. */
static void
check_default(struct compiler *c, const struct schema *schema)
{
	AUTO(js_unref) json_t *copy = json_deep_copy(schema->fallback);
	AUTO(free_ptr) char *field = field_of(c, "default");
	struct schema_place place = { .key = field };
	struct unknown unknown = { 0 };

	if (json_is_null(copy) && schema->nullable)
		return;
	schema_prune(schema, copy, &unknown);
	schema_default(schema, copy);
	if (unknown.count > 0)
		causes_invalid(c->causes, field, schema->fallback,
			       "must not have fields that the schema does not "
			       "know");
	else
		schema_validate_at(schema, copy, &place, c->causes);
	unknown_done(&unknown);
}

static struct schema *
compile(struct compiler *c, const json_t *node, enum role role)
{
	size_t before = causes_count(c->causes);
	struct schema *schema = pool_find(c, node);

	if (schema != NULL)
		return schema;
	if (!enter(c, node))
		return NULL;
	c->depth++;
	schema = new_node(c, node);
	if (!c->options->typed)
		forbid_unsupported(c, node);
	compile_type(c, schema, node, role);
	compile_props(c, schema, node, role);
	compile_additional(c, schema, node, role);
	compile_items(c, schema, node, role);
	compile_rules(c, schema, node);
	if (c->options->metadata != NULL &&
	    (role == ROLE_ROOT || schema->embedded)) {
		add_object_props(c, schema);
		schema->fills |= c->options->metadata->fills;
	}
	schema->fills |=
		schema->fallback != NULL || schema->format == FORMAT_QUANTITY;
	if (schema->fallback != NULL && causes_count(c->causes) == before)
		check_default(c, schema);
	c->depth--;
	pool_add(c, schema);
	return schema;
}

/* NOLINTEND(misc-no-recursion) */

struct schema *
schema_compile(const json_t *openapi, const char *field,
	       const struct schema_options *options, struct causes *causes)
{
	struct compiler c = {
		.options = options,
		.causes = causes,
		.field = BUF_INIT(FIELD_MAX),
	};
	size_t before = causes_count(causes);
	struct schema *schema;

	(void)buf_append_str(&c.field, field);
	schema = compile(&c, openapi, ROLE_ROOT);
	buf_done(&c.field);
	if (causes_count(causes) > before) {
		schema_unref(schema);
		return NULL;
	}
	return schema;
}
