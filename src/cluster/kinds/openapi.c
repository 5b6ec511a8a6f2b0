/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/kinds/openapi.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/js.h"
#include "base/mem.h"
#include "base/str.h"
#include "cluster/kinds/doccache.h"
#include "cluster/kinds/kind.h"
#include "cluster/kinds/openapi_paths.h"
#include "cluster/kinds/openapi_pb.h"
#include "cluster/kinds/openapi_schema.h"
#include "cluster/kinds/registry.h"
#include "cluster/kinds/registry_internal.h"

#define TITLE "Kubernetes"
#define VERSION "unversioned"
#define INDEX ""     /* the name of the index in the cache; no document's */
#define V2_JSON "/2" /* no group's name has a slash in it */
#define V2_PROTOBUF "/2p"

struct openapi {
	const struct registry *registry;
	struct doccache cache;
};

struct openapi *
openapi_new(const struct registry *registry)
{
	struct openapi *openapi = xmalloc0(sizeof(*openapi));

	openapi->registry = registry;
	return openapi;
}

void
openapi_free(struct openapi *openapi)
{
	if (openapi == NULL)
		return;
	doccache_done(&openapi->cache);
	free(openapi);
}

/* What goes into a document: one version of one group, or all (NULL). */
struct making {
	struct openapi_schemas schemas;
	json_t *paths;
	const char *group, *version;
	size_t kinds;
};

static bool
add_kind(struct kind *kind, void *arg)
{
	struct making *making = arg;

	if (making->group != NULL && !str_equal(kind->group, making->group))
		return true;
	for (size_t i = 0; i < kind->version_count; i++) {
		const struct kind_version *version = &kind->versions[i];

		if (!version->served ||
		    (making->version != NULL &&
		     !str_equal(version->name, making->version)))
			continue;
		openapi_add_kind(&making->schemas, version);
		openapi_add_paths(making->paths, &making->schemas, version);
		making->kinds += !kind->body_only;
	}
	return true;
}

static void
make(struct openapi *openapi, struct making *making)
{
	making->schemas.definitions = registry_definitions(openapi->registry);
	making->schemas.out = json_object();
	making->paths = json_object();
	registry_each(openapi->registry, add_kind, making);
}

const struct document *
openapi_v3(struct openapi *openapi, const char *name)
{
	struct making making = { .version = NULL };
	AUTO(free_ptr) char *group = NULL;
	const struct document *found;
	const char *slash;

	doccache_sync(&openapi->cache, registry_generation(openapi->registry));
	if (str_has_prefix(name, "apis/")) {
		slash = strrchr(name, '/');
		if (slash == name + strlen("apis"))
			return NULL;
		group = xstrndup(name + strlen("apis/"),
				 (size_t)(slash - name) - strlen("apis/"));
	} else if (str_has_prefix(name, "api/")) {
		slash = name + strlen("api");
		group = xstrdup("");
	} else {
		return NULL;
	}
	found = doccache_get(&openapi->cache, name);
	if (found != NULL)
		return found;
	if (!registry_has_group(openapi->registry, group, slash + 1))
		return NULL;
	making.group = group;
	making.version = slash + 1;
	make(openapi, &making);
	return doccache_put_json(&openapi->cache, name, "application/json",
				 json_pack("{s:s, s:{s:s, s:s}, s:o, s:{s:o}}",
					   "openapi", "3.0.0", "info", "title",
					   TITLE, "version", VERSION, "paths",
					   making.paths, "components",
					   "schemas", making.schemas.out));
}

struct index {
	struct openapi *openapi;
	json_t *paths;
};

static bool
add_to_index(struct kind *kind, void *arg)
{
	struct index *index = arg;

	for (size_t i = 0; i < kind->version_count && !kind->body_only; i++) {
		AUTO(free_ptr) char *name = NULL, *url = NULL;
		const struct document *document;

		if (!kind->versions[i].served)
			continue;
		name = *kind->group == '\0'
			       ? xasprintf("api/%s", kind->versions[i].name)
			       : xasprintf("apis/%s/%s", kind->group,
					   kind->versions[i].name);
		if (json_object_get(index->paths, name) != NULL)
			continue;
		document = openapi_v3(index->openapi, name);
		if (document == NULL)
			continue;
		url = xasprintf("/openapi/v3/%s?hash=%s", name, document->hash);
		(void)json_object_set_new(
			index->paths, name,
			json_pack("{s:s}", "serverRelativeURL", url));
	}
	return true;
}

const struct document *
openapi_v3_index(struct openapi *openapi)
{
	struct index index = { .openapi = openapi };
	const struct document *found;

	doccache_sync(&openapi->cache, registry_generation(openapi->registry));
	found = doccache_get(&openapi->cache, INDEX);
	if (found != NULL)
		return found;
	index.paths = json_object();
	registry_each(openapi->registry, add_to_index, &index);
	return doccache_put_json(&openapi->cache, INDEX,
				 "text/plain; charset=utf-8",
				 json_pack("{s:o}", "paths", index.paths));
}

const struct document *
openapi_v2(struct openapi *openapi, bool protobuf)
{
	const char *name = protobuf ? V2_PROTOBUF : V2_JSON;
	struct making making = { .schemas.v2 = true };
	const struct document *found;
	AUTO(js_unref) json_t *swagger = NULL;
	size_t len;
	char *data;

	doccache_sync(&openapi->cache, registry_generation(openapi->registry));
	found = doccache_get(&openapi->cache, name);
	if (found != NULL)
		return found;
	make(openapi, &making);
	swagger = json_pack("{s:s, s:{s:s, s:s}, s:o, s:o}", "swagger", "2.0",
			    "info", "title", TITLE, "version", VERSION, "paths",
			    making.paths, "definitions", making.schemas.out);
	if (!protobuf)
		return doccache_put_json(&openapi->cache, name,
					 "application/json", TAKE_PTR(swagger));
	data = openapi_pb(swagger, &len);
	return doccache_put(&openapi->cache, name, "application/octet-stream",
			    data, len);
}
