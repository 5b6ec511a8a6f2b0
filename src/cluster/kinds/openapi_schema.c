/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/kinds/openapi_schema.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/str.h"
#include "cluster/kinds/definitions.h"
#include "cluster/kinds/kind.h"

static json_t *export(struct openapi_schemas *schemas, const json_t *node);

json_t *
openapi_ref(const struct openapi_schemas *schemas, const char *name)
{
	AUTO(free_ptr)
	char *where = xasprintf(
		"%s%s",
		schemas->v2 ? "#/definitions/" : "#/components/schemas/", name);

	return json_pack("{s:s}", "$ref", where);
}

/* Go's packages of the built-in kinds. */
static char *
builtin_package(const char *group)
{
	const char *dot = strchr(group, '.');

	if (*group == '\0')
		return xstrdup("io.k8s.api.core");
	if (str_equal(group, "apiextensions.k8s.io"))
		return xstrdup("io.k8s.apiextensions-apiserver.pkg.apis."
			       "apiextensions");
	if (str_equal(group, "apiregistration.k8s.io"))
		return xstrdup("io.k8s.kube-aggregator.pkg.apis."
			       "apiregistration");
	return xasprintf("io.k8s.api.%.*s",
			 (int)(dot != NULL ? dot - group : (long)strlen(group)),
			 group);
}

/* "io.kubevirt" of "kubevirt.io". */
static char *
reversed(const char *group)
{
	size_t end = strlen(group), len = end;
	char *out = xmalloc0(len + 1), *to = out;

	while (end > 0) {
		size_t start = end;

		while (start > 0 && group[start - 1] != '.')
			start--;
		memcpy(to, group + start, end - start);
		to += end - start;
		if (start > 0)
			*to++ = '.';
		end = start > 0 ? start - 1 : 0;
	}
	return out;
}

char *
openapi_name(const struct kind_version *version, const char *suffix)
{
	const struct kind *kind = version->kind;
	AUTO(free_ptr)
	char *package = kind->builtin ? builtin_package(kind->group)
				      : reversed(kind->group);

	return xasprintf("%s.%s.%s%s", package, version->name, kind->kind,
			 suffix);
}

/* Members that say the same in both versions, or are known to kubectl. */
static void
copy_plain(const struct openapi_schemas *schemas, json_t *to,
	   const json_t *from)
{
	static const char *const both[] = {
		"type",
		"format",
		"description",
		"required",
		"x-kubernetes-patch-strategy",
		"x-kubernetes-patch-merge-key",
		"x-kubernetes-list-type",
		"x-kubernetes-list-map-keys",
		"x-kubernetes-map-type",
		"x-kubernetes-preserve-unknown-fields",
		"x-kubernetes-embedded-resource",
		"x-kubernetes-int-or-string",
	};
	static const char *const v3[] = {
		"default",
		"enum",
		"pattern",
		"minimum",
		"maximum",
		"exclusiveMinimum",
		"exclusiveMaximum",
		"multipleOf",
		"minLength",
		"maxLength",
		"minItems",
		"maxItems",
		"minProperties",
		"maxProperties",
		"nullable",
		"allOf",
		"anyOf",
		"oneOf",
		"not",
		"x-kubernetes-validations",
		"externalDocs",
		"example",
	};
	json_t *value;

	for (size_t i = 0; i < ARRAY_LEN(both); i++) {
		value = json_object_get(from, both[i]);
		if (value != NULL)
			(void)json_object_set(to, both[i], value);
	}
	for (size_t i = 0; i < ARRAY_LEN(v3) && !schemas->v2; i++) {
		value = json_object_get(from, v3[i]);
		if (value != NULL)
			(void)json_object_set(to, v3[i], value);
	}
}

static bool
is_set(const json_t *node, const char *name)
{
	return json_is_true(json_object_get(node, name));
}

/* What version 2 cannot express is left without a type: anything goes. */
static bool
is_open(const struct openapi_schemas *schemas, const json_t *node)
{
	return schemas->v2 &&
	       (is_set(node, "x-kubernetes-preserve-unknown-fields") ||
		is_set(node, "nullable"));
}

/* Number or text has a name of its own in built-in kinds. */
static void
mark_special(json_t *out, const json_t *from)
{
	const char *format = json_string_value(json_object_get(from, "format"));

	if (str_equal(format, "quantity"))
		(void)json_object_del(out, "format");
	if (is_set(from, "x-kubernetes-int-or-string") &&
	    json_object_get(from, "anyOf") == NULL) {
		(void)json_object_del(out, "x-kubernetes-int-or-string");
		(void)json_object_set_new(out, "type", json_string("string"));
		(void)json_object_set_new(out, "format",
					  json_string("int-or-string"));
	}
}

/* NOLINTBEGIN(misc-no-recursion): as deep as a compiled schema. */

static json_t *
export_inline(struct openapi_schemas *schemas, const json_t *node)
{
	json_t *out = json_object(), *props, *value;
	json_t *items = json_object_get(node, "items");
	json_t *more = json_object_get(node, "additionalProperties");
	const char *name;

	copy_plain(schemas, out, node);
	mark_special(out, node);
	if (is_open(schemas, node)) {
		(void)json_object_del(out, "type");
		(void)json_object_del(out, "required");
		return out;
	}
	if (json_object_size(json_object_get(node, "properties")) > 0) {
		props = json_object();
		json_object_foreach(json_object_get(node, "properties"), name,
				    value)(void)
			json_object_set_new(props, name,
					    export(schemas, value));
		(void)json_object_set_new(out, "properties", props);
	}
	if (json_is_object(items))
		(void)json_object_set_new(out, "items", export(schemas, items));
	if (json_is_object(more))
		(void)json_object_set_new(out, "additionalProperties",
					  export(schemas, more));
	else if (json_is_true(more))
		(void)json_object_set(out, "additionalProperties", more);
	return out;
}

/* A reference with a description of its own: beside it in version 2, around
 * it in version 3, where nothing may stand beside one. */
static json_t *
ref_with_words(struct openapi_schemas *schemas, const json_t *node,
	       const char *name)
{
	json_t *ref = openapi_ref(schemas, name), *out = ref;
	json_t *words = json_object_get(node, "description");
	json_t *otherwise = json_object_get(node, "default");

	if (!schemas->v2)
		out = json_pack("{s:[o]}", "allOf", ref);
	if (words != NULL)
		(void)json_object_set(out, "description", words);
	if (otherwise != NULL && !schemas->v2)
		(void)json_object_set(out, "default", otherwise);
	return out;
}

static json_t *export(struct openapi_schemas *schemas, const json_t *node)
{
	bool own = false;
	const char *name = definitions_name(schemas->definitions, node, &own);

	if (name == NULL || is_open(schemas, node))
		return export_inline(schemas, node);
	if (json_object_get(schemas->out, name) == NULL) {
		/* Taken before its members are: they cannot lead back. */
		(void)json_object_set_new(
			schemas->out, name,
			export_inline(
				schemas,
				definitions_find(schemas->definitions,
						 strrchr(name, '.') + 1)));
	}
	return own ? ref_with_words(schemas, node, name)
		   : openapi_ref(schemas, name);
}

/* NOLINTEND(misc-no-recursion) */

static void
mark_kind(json_t *schema, const struct kind_version *version, const char *kind)
{
	(void)json_object_set_new(schema, "x-kubernetes-group-version-kind",
				  json_pack("[{s:s, s:s, s:s}]", "group",
					    version->kind->group, "kind", kind,
					    "version", version->name));
}

/* A reference to a definition, which gets written down. */
static json_t *
ref_to(struct openapi_schemas *schemas, const char *name)
{
	return export(schemas, definitions_find(schemas->definitions, name));
}

static void
add_list(struct openapi_schemas *schemas, const struct kind_version *version,
	 const char *item)
{
	AUTO(free_ptr) char *name = openapi_name(version, "List");
	json_t *list = json_pack(
		"{s:s, s:s, s:[s], s:{s:{s:s}, s:{s:s}, s:o, s:{s:s, s:o}}}",
		"type", "object", "description", "A list of objects.",
		"required", "items", "properties", "apiVersion", "type",
		"string", "kind", "type", "string", "metadata",
		ref_to(schemas, "ListMeta"), "items", "type", "array", "items",
		openapi_ref(schemas, item));

	mark_kind(list, version, version->kind->list_kind);
	(void)json_object_set_new(schemas->out, name, list);
}

void
openapi_add_kind(struct openapi_schemas *schemas,
		 const struct kind_version *version)
{
	AUTO(free_ptr) char *name = openapi_name(version, "");
	json_t *schema = export_inline(schemas, version->openapi);
	json_t *props = json_object_get(schema, "properties");

	/* Whatever the definition says: these are the same for all. */
	if (!version->kind->builtin && props != NULL) {
		(void)json_object_set_new(props, "metadata",
					  ref_to(schemas, "ObjectMeta"));
		(void)json_object_set_new(props, "apiVersion",
					  json_pack("{s:s}", "type", "string"));
		(void)json_object_set_new(props, "kind",
					  json_pack("{s:s}", "type", "string"));
	}
	mark_kind(schema, version, version->kind->kind);
	(void)json_object_set_new(schemas->out, name, schema);
	if (!version->kind->body_only && (version->kind->verbs & VERB_LIST))
		add_list(schemas, version, name);
}
