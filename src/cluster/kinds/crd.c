/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/kinds/crd.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/str.h"
#include "cluster/kinds/kind.h"
#include "cluster/kinds/kind_load.h"
#include "cluster/kinds/registry.h"
#include "cluster/kinds/schema.h"
#include "meta/causes.h"
#include "meta/names.h"

#define APPROVAL "api-approved.kubernetes.io"
#define APPROVAL_MISSING                                             \
	"protected groups must have approval annotation \"" APPROVAL \
	"\", see https://github.com/kubernetes/enhancements/pull/1111"

static void
set_missing(json_t *obj, const char *name, const char *value)
{
	if (*js_str_at(obj, name) == '\0')
		(void)json_object_set_new(obj, name, json_string(value));
}

void
crd_default(json_t *crd)
{
	json_t *spec = js_make_obj_at(crd, "spec");
	json_t *names = js_obj_at(spec, "names");
	const char *kind = js_str_at(names, "kind");
	AUTO(free_ptr) char *singular = str_lower(kind);
	AUTO(free_ptr) char *list = xasprintf("%sList", kind);

	if (names != NULL && *kind != '\0') {
		set_missing(names, "singular", singular);
		set_missing(names, "listKind", list);
	}
	set_missing(js_make_obj_at(spec, "conversion"), "strategy", "None");
}

/* ------------------------------------------------------------ validation */

static void
check_names(const json_t *spec, struct causes *causes)
{
	const json_t *names = json_object_get(spec, "names"), *name;
	AUTO(free_ptr) char *kind = str_lower(js_str_at(names, "kind"));
	AUTO(free_ptr) char *list = str_lower(js_str_at(names, "listKind"));
	size_t i;

	name_check_field(NAME_DNS1035_LABEL, js_str_at(names, "plural"),
			 "spec.names.plural", causes);
	if (*js_str_at(names, "singular") != '\0')
		name_check_field(NAME_DNS1035_LABEL,
				 js_str_at(names, "singular"),
				 "spec.names.singular", causes);
	name_check_field(NAME_DNS1035_LABEL, kind, "spec.names.kind", causes);
	if (*list != '\0')
		name_check_field(NAME_DNS1035_LABEL, list,
				 "spec.names.listKind", causes);
	if (str_equal(kind, list))
		causes_invalid_str(causes, "spec.names.listKind",
				   js_str_at(names, "listKind"),
				   "kind and listKind may not be the same");
	json_array_foreach(json_object_get(names, "shortNames"), i, name)
	{
		AUTO(free_ptr)
		char *field = xasprintf("spec.names.shortNames[%zu]", i);

		name_check_field(NAME_DNS1035_LABEL, json_string_value(name),
				 field, causes);
	}
}

static void
check_group(const json_t *crd, struct causes *causes)
{
	const char *group = js_str_at(crd, "spec.group");
	const json_t *notes = js_obj_at(crd, "metadata.annotations");
	AUTO(free_ptr) char *name = NULL;

	name = xasprintf("%s.%s", js_str_at(crd, "spec.names.plural"), group);
	if (!str_equal(name, js_str_at(crd, "metadata.name")))
		causes_invalid_str(causes, "metadata.name",
				   js_str_at(crd, "metadata.name"),
				   "must be spec.names.plural+\".\"+"
				   "spec.group");
	if (*group == '\0') {
		causes_required(causes, "spec.group", "");
		return;
	}
	name_check_field(NAME_DNS1123_SUBDOMAIN, group, "spec.group", causes);
	if (strchr(group, '.') == NULL)
		causes_invalid_str(causes, "spec.group", group,
				   "should be a domain with at least one dot");
	if ((str_has_suffix(group, ".k8s.io") ||
	     str_has_suffix(group, ".kubernetes.io")) &&
	    json_object_get(notes, APPROVAL) == NULL)
		causes_required(causes, "metadata.annotations[" APPROVAL "]",
				APPROVAL_MISSING);
}

static void
check_version(const json_t *version, size_t i, struct causes *causes)
{
	static const char *const types[] = { "boolean", "date",   "integer",
					     "number",  "string", NULL };
	AUTO(free_ptr) char *field = xasprintf("spec.versions[%zu].name", i);
	const json_t *column;
	size_t k, t;

	name_check_field(NAME_DNS1035_LABEL, js_str_at(version, "name"), field,
			 causes);
	json_array_foreach(json_object_get(version, "additionalPrinterColumns"),
			   k, column)
	{
		const char *type = js_str_at(column, "type");
		AUTO(free_ptr) char *where = NULL;

		where = xasprintf("spec.versions[%zu].additionalPrinterColumns"
				  "[%zu].type",
				  i, k);
		for (t = 0; types[t] != NULL && !str_equal(types[t], type); t++)
			;
		if (*type == '\0')
			causes_required(causes, where, "");
		else if (types[t] == NULL)
			causes_not_supported(causes, where, type, types);
	}
}

static void
check_versions(const json_t *spec, struct causes *causes)
{
	const json_t *list = json_object_get(spec, "versions"), *version;
	size_t i, storage = 0;

	if (json_array_size(list) > CRD_VERSIONS_MAX) {
		causes_too_many(causes, "spec.versions", json_array_size(list),
				CRD_VERSIONS_MAX);
		return;
	}
	json_array_foreach(list, i, version)
	{
		storage += js_bool_at(version, "storage", false);
		check_version(version, i, causes);
		for (size_t k = 0; k < i; k++) {
			if (str_equal(
				    js_str_at(version, "name"),
				    js_str_at(json_array_get(list, k), "name")))
				causes_invalid_str(causes, "spec.versions",
						   js_str_at(version, "name"),
						   "must contain unique "
						   "version names");
		}
	}
	if (storage != 1)
		causes_invalid(causes, "spec.versions", list,
			       "must have exactly one version marked as "
			       "storage version");
	if (str_equal(js_str_at(spec, "conversion.strategy"), "Webhook") &&
	    json_array_size(list) > 1)
		causes_forbidden(causes, "spec.conversion.strategy",
				 "conversion webhooks are not supported by "
				 "this server");
	if (js_bool_at(spec, "preserveUnknownFields", false))
		causes_invalid(causes, "spec.preserveUnknownFields",
			       json_object_get(spec, "preserveUnknownFields"),
			       "must be false");
}

static void
check_fixed(const json_t *crd, const json_t *old, struct causes *causes)
{
	static const char *const fixed[] = { "spec.group", "spec.scope",
					     "spec.names.plural",
					     "spec.names.kind" };

	for (size_t i = 0; old != NULL && i < ARRAY_LEN(fixed); i++) {
		if (!str_equal(js_str_at(crd, fixed[i]),
			       js_str_at(old, fixed[i])))
			causes_invalid_str(causes, fixed[i],
					   js_str_at(crd, fixed[i]),
					   "field is immutable");
	}
}

/* Objects may still be stored in a version that was once the storage's. */
static void
check_stored(const json_t *crd, const json_t *old, struct causes *causes)
{
	const json_t *list = js_arr_at(old, "status.storedVersions"), *name;
	size_t i;

	json_array_foreach(list, i, name)
	{
		AUTO(free_ptr) char *field = NULL;

		if (js_find(js_arr_at(crd, "spec.versions"), "name",
			    json_string_value(name)) != NULL)
			continue;
		field = xasprintf("status.storedVersions[%zu]", i);
		causes_invalid(causes, field, name,
			       "must appear in spec.versions");
	}
}

void
crd_validate(const json_t *crd, const json_t *old, struct causes *causes)
{
	const json_t *spec = json_object_get(crd, "spec");

	check_group(crd, causes);
	check_names(spec, causes);
	check_versions(spec, causes);
	check_fixed(crd, old, causes);
	if (old != NULL)
		check_stored(crd, old, causes);
}

/* ------------------------------------------------------------- conflicts */

struct names {
	const char *group, *crd;
	const json_t *names;
	char *conflict;
};

static bool
among(char *const *list, const char *name)
{
	for (size_t i = 0; list[i] != NULL; i++) {
		if (str_equal(list[i], name))
			return true;
	}
	return false;
}

/* Whether a resource of the kind answers to the name. */
static bool
answers_to(const struct kind *kind, const char *name)
{
	return *name != '\0' && (str_equal(kind->plural, name) ||
				 str_equal(kind->singular, name) ||
				 among(kind->short_names, name));
}

static const char *
find_taken(const struct kind *kind, const json_t *names)
{
	static const char *const kinds[] = { "kind", "listKind" };
	static const char *const resources[] = { "plural", "singular" };
	json_t *name;
	size_t i;

	for (i = 0; i < ARRAY_LEN(kinds); i++) {
		const char *own = js_str_at(names, kinds[i]);

		if (str_equal(own, kind->kind) ||
		    str_equal(own, kind->list_kind))
			return own;
	}
	for (i = 0; i < ARRAY_LEN(resources); i++) {
		if (answers_to(kind, js_str_at(names, resources[i])))
			return js_str_at(names, resources[i]);
	}
	json_array_foreach(json_object_get(names, "shortNames"), i, name)
	{
		if (json_is_string(name) &&
		    answers_to(kind, json_string_value(name)))
			return json_string_value(name);
	}
	return NULL;
}

static bool
look_for_conflict(struct kind *kind, void *arg)
{
	struct names *own = arg;
	const char *taken;

	if (!str_equal(kind->group, own->group) ||
	    (kind->crd != NULL && str_equal(kind->crd, own->crd)))
		return true;
	taken = find_taken(kind, own->names);
	if (taken != NULL)
		own->conflict = xasprintf("\"%s\" is already in use", taken);
	return taken == NULL;
}

char *
crd_name_conflict(const struct registry *registry, const json_t *crd)
{
	struct names own = { .group = js_str_at(crd, "spec.group"),
			     .crd = js_str_at(crd, "metadata.name"),
			     .names = js_obj_at(crd, "spec.names") };

	registry_each(registry, look_for_conflict, &own);
	return own.conflict;
}

/* ---------------------------------------------------------------- status */

static void
set_condition(json_t *conditions, const json_t *old, const char *const want[4],
	      const char *now)
{
	const json_t *before = js_find(old, "type", want[0]);
	const char *since = now;

	if (before != NULL && str_equal(js_str_at(before, "status"), want[1]) &&
	    *js_str_at(before, "lastTransitionTime") != '\0')
		since = js_str_at(before, "lastTransitionTime");
	(void)json_array_append_new(
		conditions,
		json_pack("{s:s, s:s, s:s, s:s, s:s}", "type", want[0],
			  "status", want[1], "lastTransitionTime", since,
			  "reason", want[2], "message", want[3]));
}

static json_t *
stored_versions(const json_t *crd, const json_t *old)
{
	json_t *list = json_copy(js_arr_at(old, "status.storedVersions"));
	json_t *version, *name;
	size_t i, k;

	if (list == NULL)
		list = json_array();
	json_array_foreach(js_arr_at(crd, "spec.versions"), i, version)
	{
		if (!js_bool_at(version, "storage", false))
			continue;
		json_array_foreach(list, k, name)
		{
			if (json_equal(name, json_object_get(version, "name")))
				return list;
		}
		(void)json_array_append(list, json_object_get(version, "name"));
	}
	return list;
}

void
crd_set_status(json_t *crd, const json_t *old, const char *conflict,
	       const char *now)
{
	const json_t *before = js_arr_at(old, "status.conditions");
	json_t *status = json_object(), *conditions = json_array();

	if (conflict == NULL) {
		set_condition(conditions, before,
			      (const char *[]){ "NamesAccepted", "True",
						"NoConflicts",
						"no conflicts found" },
			      now);
		set_condition(conditions, before,
			      (const char *[]){ "Established", "True",
						"InitialNamesAccepted",
						"the initial names have been "
						"accepted" },
			      now);
		(void)json_object_set_new(
			status, "acceptedNames",
			json_deep_copy(js_obj_at(crd, "spec.names")));
	} else {
		set_condition(conditions, before,
			      (const char *[]){ "NamesAccepted", "False",
						"Conflict", conflict },
			      now);
		set_condition(conditions, before,
			      (const char *[]){ "Established", "False",
						"NotAccepted",
						"not all names are accepted" },
			      now);
		(void)json_object_set_new(
			status, "acceptedNames",
			json_pack("{s:s, s:s}", "kind", "", "plural", ""));
	}
	/* Of one that is being deleted: nothing here changes that. */
	if (js_find(before, "type", "Terminating") != NULL)
		(void)json_array_append_new(
			conditions,
			json_deep_copy(js_find(before, "type", "Terminating")));
	(void)json_object_set_new(status, "conditions", conditions);
	(void)json_object_set_new(status, "storedVersions",
				  stored_versions(crd, old));
	(void)json_object_set_new(crd, "status", status);
}

int
registry_prepare_crd(const struct registry *registry, json_t *crd,
		     const json_t *old, const char *now, struct causes *causes)
{
	struct kind_source source = {
		.definition = crd,
		.metadata = registry_metadata_schema(registry),
	};
	AUTO(free_ptr) char *conflict = NULL;
	size_t before = causes_count(causes);

	crd_default(crd);
	crd_validate(crd, old, causes);
	if (causes_count(causes) > before)
		return -1;
	kind_unref(kind_load(&source, causes));
	if (causes_count(causes) > before)
		return -1;
	conflict = crd_name_conflict(registry, crd);
	crd_set_status(crd, old, conflict, now);
	return 0;
}
