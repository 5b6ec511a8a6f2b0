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
	uint64_t swept; /* the generation that the cache was cleaned for */
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

/* "kubevirt.io" of "apis/kubevirt.io/v1", "" of "api/v1"; to be freed. NULL
 * for what is no name of a document. ret_version points into name. */
static char *
group_of(const char *name, const char **ret_version)
{
	const char *slash = strrchr(name, '/');

	if (str_has_prefix(name, "api/")) {
		*ret_version = name + strlen("api/");
		return xstrdup("");
	}
	if (!str_has_prefix(name, "apis/") || slash == name + strlen("apis"))
		return NULL;
	*ret_version = slash + 1;
	return xstrndup(name + strlen("apis/"),
			(size_t)(slash - name) - strlen("apis/"));
}

/* Of which state of the registry a document has to be. */
static uint64_t
state_of(const char *name, void *arg)
{
	const struct openapi *openapi = arg;
	const char *version;
	AUTO(free_ptr) char *group = group_of(name, &version);

	return group != NULL ? registry_group_state(openapi->registry, group)
			     : registry_generation(openapi->registry);
}

/* NULL if it has to be made. What is out of date is forgotten. */
static const struct document *
find(struct openapi *openapi, struct docname *name)
{
	uint64_t generation = registry_generation(openapi->registry);

	if (openapi->swept != generation)
		doccache_sweep(&openapi->cache, state_of, openapi);
	openapi->swept = generation;
	name->state = state_of(name->name, openapi);
	return doccache_get(&openapi->cache, name);
}

const struct document *
openapi_v3(struct openapi *openapi, const char *name)
{
	struct docname docname = { .name = name };
	struct making making = { .version = NULL };
	AUTO(free_ptr) char *group = group_of(name, &making.version);
	const struct document *found;

	if (group == NULL ||
	    !registry_has_group(openapi->registry, group, making.version))
		return NULL;
	found = find(openapi, &docname);
	if (found != NULL)
		return found;
	making.group = group;
	make(openapi, &making);
	return doccache_put_json(&openapi->cache, &docname, "application/json",
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
	struct docname name = { .name = INDEX };
	struct index index = { .openapi = openapi };
	const struct document *found;

	found = find(openapi, &name);
	if (found != NULL)
		return found;
	index.paths = json_object();
	registry_each(openapi->registry, add_to_index, &index);
	return doccache_put_json(&openapi->cache, &name,
				 "text/plain; charset=utf-8",
				 json_pack("{s:o}", "paths", index.paths));
}

const struct document *
openapi_v2(struct openapi *openapi, bool protobuf)
{
	struct docname name = { .name = protobuf ? V2_PROTOBUF : V2_JSON };
	struct making making = { .schemas.v2 = true };
	const struct document *found;
	AUTO(js_unref) json_t *swagger = NULL;
	size_t len;
	char *data;

	found = find(openapi, &name);
	if (found != NULL)
		return found;
	make(openapi, &making);
	swagger = json_pack("{s:s, s:{s:s, s:s}, s:o, s:o}", "swagger", "2.0",
			    "info", "title", TITLE, "version", VERSION, "paths",
			    making.paths, "definitions", making.schemas.out);
	if (!protobuf)
		return doccache_put_json(&openapi->cache, &name,
					 "application/json", TAKE_PTR(swagger));
	data = openapi_pb(swagger, &len);
	return doccache_put(&openapi->cache, &name, "application/octet-stream",
			    data, len);
}
