/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/kinds/kind_load.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/str.h"
#include "cluster/kinds/cell.h"
#include "cluster/kinds/kind.h"
#include "cluster/kinds/schema.h"
#include "meta/causes.h"
#include "meta/jsonpath.h"

/* NULL for a member that is missing or empty. */
static char *
copy_at(const json_t *obj, const char *path)
{
	const char *s = js_str_at(obj, path);

	return *s != '\0' ? xstrdup(s) : NULL;
}

static char **
copy_names(const json_t *list)
{
	char **names = xcalloc(json_array_size(list) + 1, sizeof(*names));
	size_t i, count = 0;
	json_t *name;

	json_array_foreach(list, i, name)
	{
		if (json_is_string(name))
			names[count++] = xstrdup(json_string_value(name));
	}
	return names;
}

static unsigned
load_verbs(const json_t *list, unsigned otherwise)
{
	unsigned verbs = 0;
	json_t *name;
	size_t i;

	if (list == NULL)
		return otherwise;
	json_array_foreach(list, i, name) verbs |=
		verb_from_name(json_string_value(name));
	return verbs;
}

static void
load_names(struct kind *kind, const json_t *spec)
{
	const json_t *names = json_object_get(spec, "names");

	kind->group = xstrdup(js_str_at(spec, "group"));
	kind->kind = xstrdup(js_str_at(names, "kind"));
	kind->plural = xstrdup(js_str_at(names, "plural"));
	kind->singular = copy_at(names, "singular");
	if (kind->singular == NULL)
		kind->singular = str_lower(kind->kind);
	kind->list_kind = copy_at(names, "listKind");
	if (kind->list_kind == NULL)
		kind->list_kind = xasprintf("%sList", kind->kind);
	kind->short_names = copy_names(json_object_get(names, "shortNames"));
	kind->categories = copy_names(json_object_get(names, "categories"));
	kind->namespaced = str_equal(js_str_at(spec, "scope"), "Namespaced");
}

static struct subresource *
add_subresource(struct kind *kind, const char *name, unsigned verbs)
{
	struct subresource *sub;

	for (size_t i = 0; i < kind->subresource_count; i++) {
		if (str_equal(kind->subresources[i].name, name))
			return &kind->subresources[i];
	}
	kind->subresources =
		xrealloc(kind->subresources,
			 (kind->subresource_count + 1) * sizeof(*sub));
	sub = &kind->subresources[kind->subresource_count++];
	*sub = (struct subresource){ .name = xstrdup(name), .verbs = verbs };
	return sub;
}

static void
load_actions(struct kind *kind, const json_t *list)
{
	json_t *action;
	size_t i;

	json_array_foreach(list, i, action)
	{
		struct subresource *sub = add_subresource(
			kind, js_str_at(action, "name"),
			load_verbs(json_object_get(action, "verbs"),
				   VERB_CREATE));

		sub->kind = copy_at(action, "kind");
		sub->version = copy_at(action, "version");
		if (sub->kind != NULL)
			sub->group = xstrdup(js_str_at(action, "group"));
	}
}

static void
load_subresources(struct kind *kind, struct kind_version *version,
		  const json_t *subs)
{
	const json_t *scale = json_object_get(subs, "scale");

	version->has_status = json_is_object(json_object_get(subs, "status"));
	if (version->has_status)
		(void)add_subresource(kind, "status",
				      VERB_GET | VERB_UPDATE | VERB_PATCH);
	if (!json_is_object(scale))
		return;
	version->scale_spec = xstrdup(js_str_at(scale, "specReplicasPath"));
	version->scale_status = xstrdup(js_str_at(scale, "statusReplicasPath"));
	version->scale_selector = copy_at(scale, "labelSelectorPath");
	if (kind_subresource(kind, version, "scale") == NULL) {
		struct subresource *sub = add_subresource(
			kind, "scale", VERB_GET | VERB_UPDATE | VERB_PATCH);

		sub->group = xstrdup("autoscaling");
		sub->version = xstrdup("v1");
		sub->kind = xstrdup("Scale");
	}
}

static struct column *
add_column(struct kind_version *version, const char *name, const char *type)
{
	struct column *column;

	version->columns = xrealloc(version->columns, (version->column_count +
						       1) * sizeof(*column));
	column = &version->columns[version->column_count++];
	*column =
		(struct column){ .name = xstrdup(name), .type = xstrdup(type) };
	return column;
}

static void
add_own_column(struct kind_version *version, const json_t *from,
	       const char *field, struct causes *causes)
{
	struct column *column = add_column(version, js_str_at(from, "name"),
					   js_str_at(from, "type"));
	const char *path = js_str_at(from, "jsonPath");
	AUTO(free_ptr) char *where = NULL;
	struct err err;

	column->format = xstrdup(js_str_at(from, "format"));
	column->description = xstrdup(js_str_at(from, "description"));
	column->priority = (int)js_int_at(from, "priority", 0);
	if (version->kind->builtin && *js_str_at(from, "compute") != '\0') {
		column->compute = cell_find(js_str_at(from, "compute"));
		if (column->compute == NULL)
			causes_required(causes, field, "no such computation");
		if (*path == '\0')
			return;
	}
	column->path = jsonpath_compile(path, &err);
	if (column->path != NULL)
		return;
	where = xasprintf("%s.jsonPath", field);
	causes_invalid_str(causes, where, path, err.text);
}

static void
add_fixed_column(struct kind_version *version, const char *name,
		 const char *type, const char *path)
{
	struct column *column = add_column(version, name, type);
	bool is_name = strcmp(name, "Name") == 0;
	struct err err;

	column->format = xstrdup(is_name ? "name" : "");
	column->description = xstrdup(is_name ? "The object's name, unique in "
						"its namespace."
					      : "How long ago the object was "
						"made.");
	column->path = jsonpath_compile(path, &err);
}

static void
load_columns(struct kind_version *version, const json_t *list, bool builtin,
	     const char *field, struct causes *causes)
{
	json_t *from;
	size_t i;

	/* Only a built-in kind may have its name somewhere else. */
	if (!builtin || js_find(list, "name", "Name") == NULL)
		add_fixed_column(version, "Name", "string", ".metadata.name");
	json_array_foreach(list, i, from)
	{
		AUTO(free_ptr) char *where = NULL;

		where = xasprintf("%s.additionalPrinterColumns[%zu]", field, i);
		add_own_column(version, from, where, causes);
	}
	if (json_array_size(list) == 0)
		add_fixed_column(version, "Age", "date",
				 ".metadata.creationTimestamp");
}

static char *
deprecation(const struct kind *kind, const struct kind_version *version,
	    const json_t *from)
{
	char *own = copy_at(from, "deprecationWarning");

	if (!version->deprecated || own != NULL)
		return own;
	return xasprintf("%s %s is deprecated", version->api_version,
			 kind->kind);
}

/* Versions that look alike have one schema. */
static void
share_schema(const struct kind *kind, struct kind_version *version)
{
	for (const struct kind_version *other = kind->versions; other < version;
	     other++) {
		if (other->schema != NULL &&
		    json_equal(other->openapi, version->openapi)) {
			version->openapi = other->openapi;
			version->schema = schema_ref(other->schema);
			break;
		}
	}
	(void)json_incref(version->openapi);
}

static void
load_version(struct kind *kind, struct kind_version *version,
	     const struct kind_source *source, const json_t *from,
	     struct causes *causes)
{
	const json_t *list = js_arr_at(source->definition, "spec.versions");
	size_t index = (size_t)(version - kind->versions);
	struct schema_options options = { .metadata = source->metadata,
					  .pool = source->pool,
					  .typed = source->builtin };
	AUTO(free_ptr) char *field = NULL, *schema = NULL;

	/* With a single version Kubernetes says where v1beta1 had it. */
	field = json_array_size(list) == 1
			? xstrdup("spec")
			: xasprintf("spec.versions[%zu]", index);
	schema =
		xasprintf("%s.%s.openAPIV3Schema", field,
			  json_array_size(list) == 1 ? "validation" : "schema");
	version->kind = kind;
	version->name = xstrdup(js_str_at(from, "name"));
	version->api_version =
		*kind->group == '\0'
			? xstrdup(version->name)
			: xasprintf("%s/%s", kind->group, version->name);
	version->served = js_bool_at(from, "served", false);
	version->storage = js_bool_at(from, "storage", false);
	version->deprecated = js_bool_at(from, "deprecated", false);
	version->warning = deprecation(kind, version, from);
	version->openapi = js_obj_at(from, "schema.openAPIV3Schema");
	if (version->openapi == NULL) {
		causes_required(causes, schema, "schemas are required");
		return;
	}
	share_schema(kind, version);
	if (version->schema == NULL)
		version->schema = schema_compile(version->openapi, schema,
						 &options, causes);
	load_columns(version, json_object_get(from, "additionalPrinterColumns"),
		     kind->builtin, field, causes);
	load_subresources(kind, version, json_object_get(from, "subresources"));
}

static int
compare_versions(const void *a, const void *b)
{
	const struct kind_version *x = a, *y = b;

	return kind_compare_versions(x->name, y->name);
}

static void
load_versions(struct kind *kind, const struct kind_source *source,
	      struct causes *causes)
{
	const json_t *list = js_arr_at(source->definition, "spec.versions");
	json_t *from;
	size_t i;

	kind->versions =
		xcalloc(json_array_size(list) + 1, sizeof(*kind->versions));
	json_array_foreach(list, i, from)
	{
		kind->version_count++;
		load_version(kind, &kind->versions[i], source, from, causes);
	}
	qsort(kind->versions, kind->version_count, sizeof(*kind->versions),
	      compare_versions);
	for (i = 0; i < kind->version_count; i++) {
		if (kind->versions[i].storage)
			kind->storage = &kind->versions[i];
	}
	if (kind->storage == NULL && kind->version_count > 0)
		causes_invalid_str(causes, "spec.versions", "",
				   "must have exactly one version marked as "
				   "storage version");
}

struct kind *
kind_load(const struct kind_source *source, struct causes *causes)
{
	const json_t *spec = json_object_get(source->definition, "spec");
	struct kind *kind = xmalloc0(sizeof(*kind));
	size_t before = causes_count(causes);

	kind->refs = 1;
	kind->builtin = source->builtin;
	kind->storage_kind = kind;
	load_names(kind, spec);
	load_versions(kind, source, causes);
	kind->verbs = VERB_ALL;
	kind->has_generation = true;
	if (source->builtin) {
		load_actions(kind, json_object_get(spec, "actions"));
		kind->verbs =
			load_verbs(json_object_get(spec, "verbs"), VERB_ALL);
		kind->body_only = js_bool_at(spec, "bodyOnly", false);
		kind->has_generation = js_bool_at(spec, "generation", false);
		kind->unconditional_update =
			js_bool_at(spec, "unconditionalUpdate", true);
	} else {
		kind->crd = copy_at(source->definition, "metadata.name");
		kind->since_rv = strtoull(js_str_at(source->definition,
						    "metadata.resourceVersion"),
					  NULL, 10);
		kind->terminating =
			*js_str_at(source->definition,
				   "metadata.deletionTimestamp") != '\0';
	}
	if (causes_count(causes) == before && kind->storage != NULL)
		return kind;
	kind_unref(kind);
	return NULL;
}
