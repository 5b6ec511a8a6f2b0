/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/kinds/discovery_resource.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/str.h"
#include "cluster/kinds/kind.h"

/* Resources of one version that another server may have. */
#define EXTERNAL_RESOURCES_MAX 2000

static json_t *
names_json(char *const *names)
{
	json_t *list = json_array();

	for (size_t i = 0; names[i] != NULL; i++)
		(void)json_array_append_new(list, json_string(names[i]));
	return list;
}

static json_t *
verbs_json(unsigned verbs)
{
	static const enum verb order[] = {
		VERB_CREATE, VERB_DELETE, VERB_DELETECOLLECTION, VERB_GET,
		VERB_LIST,   VERB_PATCH,  VERB_UPDATE,           VERB_WATCH
	};
	json_t *list = json_array();

	for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++) {
		if (verbs & order[i])
			(void)json_array_append_new(
				list, json_string(verb_name(order[i])));
	}
	return list;
}

static void
add_names(json_t *entry, const struct kind *kind)
{
	if (kind->short_names[0] != NULL)
		(void)json_object_set_new(entry, "shortNames",
					  names_json(kind->short_names));
	if (kind->categories[0] != NULL)
		(void)json_object_set_new(entry, "categories",
					  names_json(kind->categories));
}

/* Whether this version of the kind has the subresource. */
static bool
has(const struct kind_version *version, const struct subresource *sub)
{
	return kind_subresource(version->kind, version, sub->name) != NULL;
}

void
discovery_add_plain(json_t *resources, const struct kind_version *version)
{
	const struct kind *kind = version->kind;
	json_t *entry = json_pack("{s:s, s:s, s:b, s:s, s:o}", "name",
				  kind->plural, "singularName", kind->singular,
				  "namespaced", kind->namespaced, "kind",
				  kind->kind, "verbs", verbs_json(kind->verbs));

	add_names(entry, kind);
	(void)json_array_append_new(resources, entry);
	for (size_t i = 0; i < kind->subresource_count; i++) {
		const struct subresource *sub = &kind->subresources[i];
		AUTO(free_ptr) char *name = NULL;

		if (!has(version, sub))
			continue;
		name = xasprintf("%s/%s", kind->plural, sub->name);
		entry = json_pack("{s:s, s:s, s:b}", "name", name,
				  "singularName", "", "namespaced",
				  kind->namespaced);
		if (sub->kind != NULL && *sub->group != '\0')
			(void)json_object_set_new(entry, "group",
						  json_string(sub->group));
		if (sub->kind != NULL && sub->version != NULL)
			(void)json_object_set_new(entry, "version",
						  json_string(sub->version));
		(void)json_object_set_new(entry, "kind",
					  json_string(sub->kind != NULL
							      ? sub->kind
							      : kind->kind));
		(void)json_object_set_new(entry, "verbs",
					  verbs_json(sub->verbs));
		(void)json_array_append_new(resources, entry);
	}
}

static json_t *
response_kind(const char *group, const char *version, const char *kind)
{
	return json_pack("{s:s, s:s, s:s}", "group", group, "version", version,
			 "kind", kind);
}

json_t *
discovery_aggregated(const struct kind_version *version)
{
	const struct kind *kind = version->kind;
	bool core = *kind->group == '\0';
	json_t *subs = json_array();
	json_t *entry =
		json_pack("{s:s, s:o, s:s, s:s, s:o}", "resource", kind->plural,
			  "responseKind",
			  response_kind(kind->group, core ? "" : version->name,
					kind->kind),
			  "scope", kind->namespaced ? "Namespaced" : "Cluster",
			  "singularResource", kind->singular, "verbs",
			  verbs_json(kind->verbs));

	add_names(entry, kind);
	for (size_t i = 0; i < kind->subresource_count; i++) {
		const struct subresource *sub = &kind->subresources[i];
		json_t *kinds;

		if (!has(version, sub))
			continue;
		if (sub->kind != NULL)
			kinds = response_kind(sub->group,
					      sub->version ? sub->version : "",
					      sub->kind);
		else
			kinds = response_kind(kind->group,
					      core ? "" : version->name,
					      kind->kind);
		(void)json_array_append_new(
			subs, json_pack("{s:s, s:o, s:o}", "subresource",
					sub->name, "responseKind", kinds,
					"verbs", verbs_json(sub->verbs)));
	}
	if (json_array_size(subs) > 0)
		(void)json_object_set(entry, "subresources", subs);
	json_decref(subs);
	return entry;
}

static void
copy_member(json_t *to, const json_t *from, const char *name)
{
	json_t *value = json_object_get(from, name);

	if (json_array_size(value) > 0)
		(void)json_object_set(to, name, value);
}

static json_t *
external_entry(const json_t *from, const char *name_key, const char *name,
	       const char *const gv[2])
{
	const char *group = js_str_at(from, "group");
	const char *version = js_str_at(from, "version");
	json_t *entry =
		json_pack("{s:s, s:o}", name_key, name, "responseKind",
			  response_kind(*group != '\0' ? group : gv[0],
					*version != '\0' ? version : gv[1],
					js_str_at(from, "kind")));

	copy_member(entry, from, "verbs");
	copy_member(entry, from, "shortNames");
	copy_member(entry, from, "categories");
	return entry;
}

static json_t *
find_resource(const json_t *resources, const char *name, size_t len)
{
	json_t *entry;
	size_t i;

	json_array_foreach(resources, i, entry)
	{
		const char *other = js_str_at(entry, "resource");

		if (strncmp(other, name, len) == 0 && other[len] == '\0')
			return entry;
	}
	return NULL;
}

/* A subresource may come without its resource; then there is nothing to do
 * with the resource itself. */
static json_t *
make_resource(json_t *resources, const json_t *from, const char *name,
	      const char *const gv[2])
{
	bool namespaced = js_bool_at(from, "namespaced", false);
	bool whole = str_equal(name, js_str_at(from, "name"));
	json_t *entry = find_resource(resources, name, strlen(name));

	if (entry != NULL)
		return entry;
	entry = external_entry(from, "resource", name, gv);
	(void)json_object_set_new(
		entry, "scope",
		json_string(namespaced ? "Namespaced" : "Cluster"));
	(void)json_object_set_new(
		entry, "singularResource",
		json_string(whole ? js_str_at(from, "singularName") : ""));
	if (!whole)
		(void)json_object_set_new(entry, "verbs", json_array());
	(void)json_array_append_new(resources, entry);
	return entry;
}

json_t *
discovery_from_plain(const json_t *list, const char *const gv[2])
{
	json_t *resources = json_array(), *from;
	size_t i;

	json_array_foreach(js_arr_at(list, "resources"), i, from)
	{
		const char *name = js_str_at(from, "name");
		const char *slash = strchr(name, '/');
		AUTO(free_ptr) char *plural = NULL;
		json_t *entry;

		if (*name == '\0' || i >= EXTERNAL_RESOURCES_MAX)
			continue;
		plural = xstrndup(name, slash != NULL ? (size_t)(slash - name)
						      : strlen(name));
		entry = make_resource(resources, from, plural, gv);
		if (slash == NULL)
			continue;
		if (json_object_get(entry, "subresources") == NULL)
			(void)json_object_set_new(entry, "subresources",
						  json_array());
		(void)json_array_append_new(
			json_object_get(entry, "subresources"),
			external_entry(from, "subresource", slash + 1, gv));
	}
	return resources;
}
