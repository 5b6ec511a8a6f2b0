/* SPDX-License-Identifier: Apache-2.0 */
#include "webhook/discovery.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/str.h"
#include "version.h"
#include "webhook/sub.h"

#define GROUP_PATH "/apis/" SUB_GROUP

static json_t *
group_version(const char *version)
{
	AUTO(free_ptr) char *both = xasprintf(SUB_GROUP "/%s", version);

	return json_pack("{s:s, s:s}", "groupVersion", both, "version",
			 version);
}

static json_t *
group(void)
{
	json_t *versions = json_array();

	for (size_t i = 0; sub_versions[i] != NULL; i++)
		(void)json_array_append_new(versions,
					    group_version(sub_versions[i]));
	return json_pack("{s:s, s:o, s:o}", "name", SUB_GROUP, "versions",
			 versions, "preferredVersion",
			 group_version(sub_versions[0]));
}

static json_t *
group_document(void)
{
	json_t *doc = group();

	(void)json_object_set_new(doc, "kind", json_string("APIGroup"));
	(void)json_object_set_new(doc, "apiVersion", json_string("v1"));
	return doc;
}

static json_t *
groups_document(void)
{
	return json_pack("{s:s, s:s, s:[o]}", "kind", "APIGroupList",
			 "apiVersion", "v1", "groups", group());
}

static json_t *
resource_of(const struct sub_route *route)
{
	AUTO(free_ptr)
	char *name = xasprintf("%s/%s", route->resource, route->name);

	return json_pack("{s:s, s:s, s:b, s:s, s:[s]}", "name", name,
			 "singularName", "", "namespaced", true, "kind",
			 route->kind, "verbs", "update");
}

static json_t *
resources_document(const char *version)
{
	AUTO(free_ptr) char *both = xasprintf(SUB_GROUP "/%s", version);
	json_t *list = json_array();

	for (size_t i = 0; i < sub_route_count; i++)
		(void)json_array_append_new(list, resource_of(&sub_routes[i]));
	return json_pack("{s:s, s:s, s:s, s:o}", "kind", "APIResourceList",
			 "apiVersion", "v1", "groupVersion", both, "resources",
			 list);
}

/* For virtctl, which compares it with its own after an error. */
static json_t *
version_document(void)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "gitVersion",
			 "v" FERRY_VERSION, "gitCommit", FERRY_COMMIT,
			 "gitTreeState", "", "buildDate", "", "goVersion", "",
			 "compiler", "", "platform", "linux/amd64");
}

static json_t *
below_version(const char *version, const char *rest)
{
	if (rest[0] == '\0')
		return resources_document(version);
	if (strcmp(rest, "/version") == 0)
		return version_document();
	if (strcmp(rest, "/healthz") == 0)
		return json_pack("{s:s}", "apiserver", "ok");
	return NULL;
}

json_t *
discovery_document(const char *path)
{
	if (strcmp(path, "/apis") == 0 || strcmp(path, "/apis/") == 0)
		return groups_document();
	if (strcmp(path, GROUP_PATH) == 0 || strcmp(path, GROUP_PATH "/") == 0)
		return group_document();
	/* The aggregator asks; custom resources have their own. */
	if (strcmp(path, "/openapi/v2") == 0)
		return json_pack("{s:s, s:{s:s, s:s}, s:{}}", "swagger", "2.0",
				 "info", "title", "ferry-api", "version",
				 FERRY_VERSION, "paths");
	for (size_t i = 0; sub_versions[i] != NULL; i++) {
		AUTO(free_ptr)
		char *prefix = xasprintf(GROUP_PATH "/%s", sub_versions[i]);
		size_t len = strlen(prefix);

		if (str_has_prefix(path, prefix) &&
		    (path[len] == '\0' || path[len] == '/'))
			return below_version(sub_versions[i], path + len);
	}
	return NULL;
}
