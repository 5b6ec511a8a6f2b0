/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/jsat.h"
#include "base/str.h"
#include "cluster/admit/admission.h"
#include "cluster/admit/hook.h"
#include "cluster/kinds/kind.h"
#include "cluster/store/object.h"
#include "cluster/store/store.h"
#include "meta/selector.h"
#include "meta/status.h"

static const char *const op_names[] = {
	[ADMISSION_CREATE] = "CREATE",
	[ADMISSION_UPDATE] = "UPDATE",
	[ADMISSION_DELETE] = "DELETE",
	[ADMISSION_CONNECT] = "CONNECT",
};
_Static_assert(sizeof(op_names) / sizeof(op_names[0]) == ADMISSION_OP_COUNT,
	       "one name for each operation");

const char *
hook_op_name(int op)
{
	return op_names[op];
}

/* Whether a list of a rule has the value, or "*" for all. */
static bool
lists(const json_t *rule, const char *name, const char *value)
{
	const json_t *item;
	size_t i;

	json_array_foreach(js_arr_at(rule, name), i, item)
	{
		const char *s = json_string_value(item);

		if (str_equal(s, "*") || str_equal(s, value))
			return true;
	}
	return false;
}

/* A pattern is RESOURCE or RESOURCE/SUBRESOURCE, each of which may be "*". */
static bool
names_resource(const char *pattern, const char *resource,
	       const char *subresource)
{
	const char *slash = strchr(pattern, '/');
	size_t len =
		slash != NULL ? (size_t)(slash - pattern) : strlen(pattern);
	bool any = len == 1 && *pattern == '*';

	if (!any &&
	    (strlen(resource) != len || strncmp(pattern, resource, len) != 0))
		return false;
	if (slash == NULL)
		return *subresource == '\0';
	return str_equal(slash + 1, "*") || str_equal(slash + 1, subresource);
}

static bool
lists_resource(const json_t *rule, const struct admission_request *req)
{
	const json_t *item;
	size_t i;

	json_array_foreach(js_arr_at(rule, "resources"), i, item)
	{
		if (json_is_string(item) &&
		    names_resource(json_string_value(item), req->kind->plural,
				   req->subresource))
			return true;
	}
	return false;
}

static bool
in_scope(const json_t *rule, const struct admission_request *req)
{
	const char *scope = js_str_at(rule, "scope");

	/* A namespace is not in one, whatever its request says. */
	if (str_equal(scope, "Namespaced"))
		return req->kind->namespaced;
	if (str_equal(scope, "Cluster"))
		return !req->kind->namespaced;
	return true;
}

static bool
rule_matches(const json_t *rule, const struct admission_request *req,
	     const char *version)
{
	return lists(rule, "operations", op_names[req->op]) &&
	       lists(rule, "apiGroups", req->kind->group) &&
	       lists(rule, "apiVersions", version) &&
	       lists_resource(rule, req) && in_scope(rule, req);
}

static bool
any_rule_matches(const struct hook *hook, const struct admission_request *req,
		 const char *version)
{
	const json_t *rule;
	size_t i;

	json_array_foreach(hook->rules, i, rule)
	{
		if (rule_matches(rule, req, version))
			return true;
	}
	return false;
}

static const struct kind_version *
find_version(const struct hook *hook, const struct admission_request *req)
{
	if (any_rule_matches(hook, req, req->version->name))
		return req->version;
	if (hook->exact)
		return NULL;
	for (size_t i = 0; i < req->kind->version_count; i++) {
		const struct kind_version *version = &req->kind->versions[i];

		if (version->served &&
		    any_rule_matches(hook, req, version->name))
			return version;
	}
	return NULL;
}

static bool
is_namespaces(const struct kind *kind)
{
	return *kind->group == '\0' && str_equal(kind->plural, "namespaces");
}

static int
namespace_matches(const struct hook *hook, struct store *store,
		  const struct admission_request *req, struct status *st)
{
	static const struct gr gr = { .group = "", .resource = "namespaces" };
	const char *name = req->namespace_;
	const struct object *ns;

	if (hook->namespaces == NULL || selector_is_empty(hook->namespaces))
		return 1;
	if (is_namespaces(req->kind)) {
		if (req->object != NULL)
			return selector_matches(
				hook->namespaces,
				js_obj_at(req->object, "metadata.labels"));
		name = req->name;
	} else if (!req->kind->namespaced) {
		return 1;
	}
	ns = store_get(store_collection(store, "", "namespaces"), "", name);
	if (ns == NULL)
		return status_not_found(st, &gr, name);
	return selector_matches_labels(hook->namespaces, ns->labels,
				       ns->label_count);
}

static bool
object_matches(const struct hook *hook, const json_t *obj)
{
	return obj != NULL &&
	       selector_matches(hook->objects,
				js_obj_at(obj, "metadata.labels"));
}

int
hook_matches(const struct hook *hook, struct store *store,
	     const struct admission_request *req,
	     const struct kind_version **ret_version, struct status *st)
{
	int result;

	*ret_version = find_version(hook, req);
	if (*ret_version == NULL)
		return 0;
	if (hook->broken)
		return status_internal(st,
				       "webhook \"%s\" has a selector that "
				       "cannot be read",
				       hook->name);
	result = namespace_matches(hook, store, req, st);
	if (result != 1)
		return result;
	return hook->objects == NULL || selector_is_empty(hook->objects) ||
	       object_matches(hook, req->object) ||
	       object_matches(hook, req->old);
}
