/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/kinds/openapi_paths.h"

#include <ctype.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/str.h"
#include "cluster/kinds/kind.h"
#include "cluster/kinds/openapi_schema.h"

/* Which parameters an operation takes. */
enum takes {
	TAKES_NOTHING = 0,
	TAKES_WRITE = 1 << 0, /* dryRun, fieldManager, fieldValidation */
	TAKES_LIST = 1 << 1,
	TAKES_DELETE = 1 << 2,
	TAKES_FORCE = 1 << 3,
};

static const struct operation {
	const char *method, *action;
	enum verb verb;
	unsigned takes;
} on_many[] = {
	{ "get", "list", VERB_LIST, TAKES_LIST },
	{ "post", "post", VERB_CREATE, TAKES_WRITE },
	{ "delete", "deletecollection", VERB_DELETECOLLECTION,
	  TAKES_LIST | TAKES_DELETE },
}, on_one[] = {
	{ "get", "get", VERB_GET, TAKES_NOTHING },
	{ "put", "put", VERB_UPDATE, TAKES_WRITE },
	{ "patch", "patch", VERB_PATCH, TAKES_WRITE | TAKES_FORCE },
	{ "delete", "delete", VERB_DELETE, TAKES_DELETE },
	{ "post", "post", VERB_CREATE, TAKES_WRITE },
};

static const struct parameter {
	const char *name, *type;
	unsigned takes;
} parameters[] = {
	{ "dryRun", "string", TAKES_WRITE | TAKES_DELETE },
	{ "fieldManager", "string", TAKES_WRITE },
	{ "fieldValidation", "string", TAKES_WRITE },
	{ "force", "boolean", TAKES_FORCE },
	{ "labelSelector", "string", TAKES_LIST },
	{ "fieldSelector", "string", TAKES_LIST },
	{ "limit", "integer", TAKES_LIST },
	{ "continue", "string", TAKES_LIST },
	{ "resourceVersion", "string", TAKES_LIST },
	{ "resourceVersionMatch", "string", TAKES_LIST },
	{ "timeoutSeconds", "integer", TAKES_LIST },
	{ "watch", "boolean", TAKES_LIST },
	{ "allowWatchBookmarks", "boolean", TAKES_LIST },
	{ "gracePeriodSeconds", "integer", TAKES_DELETE },
	{ "propagationPolicy", "string", TAKES_DELETE },
};

struct path {
	const struct openapi_schemas *schemas;
	const struct kind_version *version;
	json_t *paths;
	const char *group, *of_version, *kind; /* what it is about */
};

static void
add_parameter(json_t *list, bool v2, const char *name, const char *where,
	      const char *type)
{
	json_t *one = json_pack("{s:s, s:s}", "name", name, "in", where);

	if (v2)
		(void)json_object_set_new(one, "type", json_string(type));
	else
		(void)json_object_set_new(one, "schema",
					  json_pack("{s:s}", "type", type));
	if (str_equal(where, "path"))
		(void)json_object_set_new(one, "required", json_true());
	(void)json_array_append_new(list, one);
}

static json_t *
response(const struct path *path, const char *name)
{
	json_t *ref = openapi_ref(path->schemas, name);

	if (path->schemas->v2)
		return json_pack("{s:{s:s, s:o}}", "200", "description", "OK",
				 "schema", ref);
	return json_pack("{s:{s:s, s:{s:{s:o}}}}", "200", "description", "OK",
			 "content", "application/json", "schema", ref);
}

/* "patchKubevirtIoV1NamespacedVirtualMachine" */
static char *
operation_id(const struct path *path, const struct operation *operation,
	     const char *suffix)
{
	const struct kind *kind = path->version->kind;
	char name[512], *to = name, *end = name + sizeof(name) - 1;
	const char *parts[] = { operation->method,
				*kind->group != '\0' ? kind->group : "core",
				path->version->name,
				kind->namespaced ? "Namespaced" : "",
				kind->kind,
				suffix };

	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		bool upper = i > 0;

		for (const char *p = parts[i]; *p != '\0' && to < end; p++) {
			if (!isalnum((unsigned char)*p)) {
				upper = true;
				continue;
			}
			*to++ = (char)(upper ? toupper((unsigned char)*p) : *p);
			upper = false;
		}
	}
	*to = '\0';
	return xstrdup(name);
}

static json_t *
operation_json(const struct path *path, const struct operation *operation,
	       const char *suffix, const char *answer)
{
	AUTO(free_ptr) char *id = operation_id(path, operation, suffix);
	json_t *list = json_array(), *out;
	bool v2 = path->schemas->v2;

	for (size_t i = 0; i < ARRAY_LEN(parameters); i++) {
		if (parameters[i].takes & operation->takes)
			add_parameter(list, v2, parameters[i].name, "query",
				      parameters[i].type);
	}
	out = json_pack("{s:s, s:s, s:o, s:o, s:{s:s, s:s, s:s}}",
			"operationId", id, "x-kubernetes-action",
			operation->action, "parameters", list, "responses",
			response(path, answer),
			"x-kubernetes-group-version-kind", "group", path->group,
			"kind", path->kind, "version", path->of_version);
	return out;
}

static json_t *
path_parameters(const struct path *path, bool named)
{
	json_t *list = json_array();

	if (named)
		add_parameter(list, path->schemas->v2, "name", "path",
			      "string");
	if (path->version->kind->namespaced)
		add_parameter(list, path->schemas->v2, "namespace", "path",
			      "string");
	return list;
}

/* "/apis/G/V/namespaces/{namespace}/PLURAL" and suffix. */
static char *
path_text(const struct kind_version *version, bool namespaced,
	  const char *suffix)
{
	const struct kind *kind = version->kind;

	return xasprintf("%s%s/%s/%s%s%s",
			 *kind->group != '\0' ? "/apis/" : "/api", kind->group,
			 version->name,
			 namespaced ? "namespaces/{namespace}/" : "",
			 kind->plural, suffix);
}

static void
put_item(const struct path *path, const char *text, json_t *item, bool named)
{
	json_t *list = path_parameters(path, named);

	if (json_object_size(item) == 0) {
		json_decref(list);
		json_decref(item);
		return;
	}
	if (json_array_size(list) > 0)
		(void)json_object_set(item, "parameters", list);
	json_decref(list);
	(void)json_object_set_new(path->paths, text, item);
}

static void
add_many(const struct path *path, const char *one, const char *list)
{
	const struct kind *kind = path->version->kind;
	AUTO(free_ptr)
	char *text = path_text(path->version, kind->namespaced, "");
	AUTO(free_ptr) char *all = NULL;
	json_t *item = json_object();

	for (size_t i = 0; i < ARRAY_LEN(on_many); i++) {
		const struct operation *operation = &on_many[i];

		if ((kind->verbs & operation->verb) == 0)
			continue;
		(void)json_object_set_new(
			item, operation->method,
			operation_json(path, operation, "Collection",
				       operation->verb == VERB_LIST ? list
								    : one));
	}
	put_item(path, text, item, false);
	if (!kind->namespaced || (kind->verbs & VERB_LIST) == 0)
		return;
	all = path_text(path->version, false, "");
	(void)json_object_set_new(
		path->paths, all,
		json_pack("{s:o}", "get",
			  operation_json(path, &on_many[0], "ForAllNamespaces",
					 list)));
}

static void
add_one(const struct path *path, const char *suffix, unsigned verbs,
	const char *answer)
{
	AUTO(free_ptr)
	char *text = path_text(path->version, path->version->kind->namespaced,
			       suffix);
	json_t *item = json_object();

	for (size_t i = 0; i < ARRAY_LEN(on_one); i++) {
		if ((verbs & on_one[i].verb) == 0)
			continue;
		(void)json_object_set_new(
			item, on_one[i].method,
			operation_json(path, &on_one[i],
				       suffix + strlen("/{name}"), answer));
	}
	put_item(path, text, item, true);
}

static void
add_subresource(struct path path, const struct subresource *sub,
		const char *answer)
{
	AUTO(free_ptr) char *suffix = xasprintf("/{name}/%s", sub->name);

	if (sub->kind != NULL) {
		path.group = sub->group;
		path.kind = sub->kind;
		path.of_version = sub->version != NULL ? sub->version
						       : path.version->name;
	}
	add_one(&path, suffix, sub->verbs, answer);
}

void
openapi_add_paths(json_t *paths, const struct openapi_schemas *schemas,
		  const struct kind_version *version)
{
	const struct kind *kind = version->kind;
	AUTO(free_ptr) char *one = openapi_name(version, "");
	AUTO(free_ptr) char *list = openapi_name(version, "List");
	struct path path = { .schemas = schemas,
			     .version = version,
			     .paths = paths,
			     .group = kind->group,
			     .of_version = version->name,
			     .kind = kind->kind };

	if (kind->body_only)
		return;
	add_many(&path, one, list);
	add_one(&path, "/{name}", kind->verbs & ~(unsigned)VERB_CREATE, one);
	for (size_t i = 0; i < kind->subresource_count; i++) {
		if (kind_subresource(kind, version,
				     kind->subresources[i].name) != NULL)
			add_subresource(path, &kind->subresources[i], one);
	}
}
