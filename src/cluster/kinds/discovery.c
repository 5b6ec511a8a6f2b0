/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/kinds/discovery.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/str.h"
#include "cluster/kinds/discovery_resource.h"
#include "cluster/kinds/doccache.h"
#include "cluster/kinds/kind.h"
#include "cluster/kinds/registry.h"

#define PLAIN_TYPE "application/json"
#define V2BETA1_TYPE                                           \
	"application/json;g=apidiscovery.k8s.io;v=v2beta1;as=" \
	"APIGroupDiscoveryList"
#define V2_TYPE \
	"application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

#define V2_API "apidiscovery.k8s.io/v2"
#define V2BETA1_API "apidiscovery.k8s.io/v2beta1"

/* Groups that users define come behind the built-in ones. */
#define PRIORITY_CRD 1000
#define PRIORITY_BUILTIN 16000

struct external {
	char *group, *version;
	json_t *resources; /* NULL: does not answer */
	int group_priority, version_priority;
};

struct version {
	char *name;
	int priority;
	json_t *plain;      /* array of APIResource */
	json_t *aggregated; /* array of APIResourceDiscovery */
	bool stale;
};

struct group {
	char *name;
	int priority;
	struct version *versions;
	size_t count;
};

struct discovery {
	const struct registry *registry;
	char *address;
	struct external *externals;
	size_t external_count;
	struct doccache cache;
	uint64_t changes; /* of address and externals */
	/* Made from the registry, of this state. */
	uint64_t state;
	struct group *groups;
	size_t group_count;
	bool grouped;
};

/* ----------------------------------------------------------------- groups */

/* In this order; what is not named comes behind. */
static int
builtin_priority(const char *name)
{
	static const char *const order[] = {
		"",
		"apiregistration.k8s.io",
		"events.k8s.io",
		"authentication.k8s.io",
		"authorization.k8s.io",
		"policy",
		"networking.k8s.io",
		"rbac.authorization.k8s.io",
		"storage.k8s.io",
		"admissionregistration.k8s.io",
		"apiextensions.k8s.io",
		"scheduling.k8s.io",
		"coordination.k8s.io",
	};

	for (size_t i = 0; i < ARRAY_LEN(order); i++) {
		if (str_equal(order[i], name))
			return PRIORITY_BUILTIN + 100 * (int)(20 - i);
	}
	return PRIORITY_BUILTIN;
}

static struct group *
find_group(struct discovery *d, const char *name)
{
	for (size_t i = 0; d->groups != NULL && i < d->group_count; i++) {
		if (str_equal(d->groups[i].name, name))
			return &d->groups[i];
	}
	return NULL;
}

static struct version *
find_version(const struct group *group, const char *name)
{
	for (size_t i = 0; i < group->count; i++) {
		if (str_equal(group->versions[i].name, name))
			return &group->versions[i];
	}
	return NULL;
}

static struct group *
make_group(struct discovery *d, const char *name, int priority)
{
	/* Kinds come in order of their groups: it is the last one or new. */
	struct group *group =
		d->group_count > 0 ? &d->groups[d->group_count - 1] : NULL;

	if (group == NULL || !str_equal(group->name, name))
		group = find_group(d, name);
	if (group != NULL) {
		if (priority > group->priority)
			group->priority = priority;
		return group;
	}
	d->groups =
		xrealloc(d->groups, (d->group_count + 1) * sizeof(*d->groups));
	group = &d->groups[d->group_count++];
	*group = (struct group){ .name = xstrdup(name), .priority = priority };
	return group;
}

static struct version *
make_version(struct group *group, const char *name, int priority)
{
	struct version *version = find_version(group, name);

	if (version != NULL)
		return version;
	group->versions = xrealloc(group->versions,
				   (group->count + 1) * sizeof(*version));
	version = &group->versions[group->count++];
	*version = (struct version){ .name = xstrdup(name),
				     .priority = priority,
				     .plain = json_array(),
				     .aggregated = json_array() };
	return version;
}

static bool
add_kind(struct kind *kind, void *arg)
{
	struct discovery *d = arg;
	struct group *group;

	if (kind->body_only)
		return true;
	group = make_group(d, kind->group,
			   kind->builtin ? builtin_priority(kind->group)
					 : PRIORITY_CRD);
	for (size_t i = 0; i < kind->version_count; i++) {
		const struct kind_version *from = &kind->versions[i];
		struct version *version;

		if (!from->served)
			continue;
		version = make_version(group, from->name, 0);
		discovery_add_plain(version->plain, from);
		(void)json_array_append_new(version->aggregated,
					    discovery_aggregated(from));
	}
	return true;
}

static void
add_external(struct discovery *d, const struct external *external)
{
	struct group *group =
		make_group(d, external->group, external->group_priority);
	struct version *version;

	/* What this server serves itself, it serves. */
	if (find_version(group, external->version) != NULL)
		return;
	version = make_version(group, external->version,
			       external->version_priority);
	version->stale = external->resources == NULL;
	if (version->stale)
		return;
	json_decref(version->plain);
	json_decref(version->aggregated);
	version->plain =
		json_incref(json_object_get(external->resources, "resources"));
	version->aggregated = discovery_from_plain(
		external->resources,
		(const char *[]){ external->group, external->version });
}

static int
compare_groups(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	if (x->priority != y->priority)
		return x->priority > y->priority ? -1 : 1;
	return strcmp(x->name, y->name);
}

static int
compare_versions(const void *a, const void *b)
{
	const struct version *x = a, *y = b;

	if (x->priority != y->priority)
		return x->priority > y->priority ? -1 : 1;
	return kind_compare_versions(x->name, y->name);
}

static void
drop_groups(struct discovery *d)
{
	for (size_t i = 0; i < d->group_count; i++) {
		struct group *group = &d->groups[i];

		for (size_t k = 0; k < group->count; k++) {
			free(group->versions[k].name);
			json_decref(group->versions[k].plain);
			json_decref(group->versions[k].aggregated);
		}
		free(group->versions);
		free(group->name);
	}
	free(d->groups);
	d->groups = NULL;
	d->group_count = 0;
	d->grouped = false;
}

static void
make_groups(struct discovery *d)
{
	if (d->grouped)
		return;
	d->grouped = true;
	registry_each(d->registry, add_kind, d);
	for (size_t i = 0; i < d->external_count; i++)
		add_external(d, &d->externals[i]);
	qsort(d->groups, d->group_count, sizeof(*d->groups), compare_groups);
	for (size_t i = 0; i < d->group_count; i++)
		qsort(d->groups[i].versions, d->groups[i].count,
		      sizeof(struct version), compare_versions);
}

/* -------------------------------------------------------------- documents */

static json_t *
version_json(const struct group *group, const struct version *version)
{
	AUTO(free_ptr)
	char *gv = xasprintf("%s/%s", group->name, version->name);

	return json_pack("{s:s, s:s}", "groupVersion", gv, "version",
			 version->name);
}

/* without kind and apiVersion, as inside of an APIGroupList */
static json_t *
group_json(const struct group *group)
{
	json_t *versions = json_array();

	for (size_t i = 0; i < group->count; i++)
		(void)json_array_append_new(
			versions, version_json(group, &group->versions[i]));
	return json_pack("{s:s, s:o, s:o}", "name", group->name, "versions",
			 versions, "preferredVersion",
			 version_json(group, &group->versions[0]));
}

static json_t *
all_groups_json(const struct discovery *d)
{
	json_t *list = json_array();

	for (size_t i = 0; i < d->group_count; i++) {
		if (*d->groups[i].name != '\0' && d->groups[i].count > 0)
			(void)json_array_append_new(list,
						    group_json(&d->groups[i]));
	}
	return json_pack("{s:s, s:s, s:o}", "kind", "APIGroupList",
			 "apiVersion", "v1", "groups", list);
}

static json_t *
core_versions_json(const struct discovery *d)
{
	return json_pack("{s:s, s:[s], s:[{s:s, s:s}]}", "kind", "APIVersions",
			 "versions", "v1", "serverAddressByClientCIDRs",
			 "clientCIDR", "0.0.0.0/0", "serverAddress",
			 d->address);
}

static json_t *
aggregated_group_json(const struct group *group)
{
	json_t *item = json_object(), *versions = json_array();
	json_t *metadata = json_pack("{s:n}", "creationTimestamp");

	if (*group->name != '\0')
		(void)json_object_set_new(metadata, "name",
					  json_string(group->name));
	for (size_t i = 0; i < group->count; i++) {
		const struct version *version = &group->versions[i];

		(void)json_array_append_new(
			versions,
			json_pack("{s:s, s:O, s:s}", "version", version->name,
				  "resources", version->aggregated, "freshness",
				  version->stale ? "Stale" : "Current"));
	}
	(void)json_object_set_new(item, "metadata", metadata);
	(void)json_object_set_new(item, "versions", versions);
	return item;
}

static json_t *
aggregated_json(const struct discovery *d, bool core, const char *api_version)
{
	json_t *items = json_array();

	for (size_t i = 0; i < d->group_count; i++) {
		if ((*d->groups[i].name == '\0') == core &&
		    d->groups[i].count > 0)
			(void)json_array_append_new(
				items, aggregated_group_json(&d->groups[i]));
	}
	return json_pack("{s:s, s:s, s:{}, s:o}", "kind",
			 "APIGroupDiscoveryList", "apiVersion", api_version,
			 "metadata", "items", items);
}

/* "G" or "G/V" below /apis/, or "V" below /api/ with the group "". */
static json_t *
below_json(struct discovery *d, const char *group_name, const char *rest)
{
	AUTO(free_ptr) char *gv = NULL;
	const struct version *version;
	const struct group *group = find_group(d, group_name);
	json_t *shown;

	if (group == NULL || group->count == 0)
		return NULL;
	if (rest == NULL) {
		shown = group_json(group);
		(void)json_object_set_new(shown, "kind",
					  json_string("APIGroup"));
		(void)json_object_set_new(shown, "apiVersion",
					  json_string("v1"));
		return shown;
	}
	version = find_version(group, rest);
	if (version == NULL || version->stale)
		return NULL;
	gv = *group_name == '\0' ? xstrdup(rest)
				 : xasprintf("%s/%s", group_name, rest);
	return json_pack("{s:s, s:s, s:s, s:O}", "kind", "APIResourceList",
			 "apiVersion", "v1", "groupVersion", gv, "resources",
			 version->plain);
}

static json_t *
document_json(struct discovery *d, const char *path, enum discovery_form form)
{
	bool core = str_equal(path, "/api");
	AUTO(free_ptr) char *group = NULL;
	const char *slash;

	if (core || str_equal(path, "/apis")) {
		if (form == DISCOVERY_V2)
			return aggregated_json(d, core, V2_API);
		if (form == DISCOVERY_V2BETA1)
			return aggregated_json(d, core, V2BETA1_API);
		return core ? core_versions_json(d) : all_groups_json(d);
	}
	if (str_has_prefix(path, "/api/"))
		return below_json(d, "", path + strlen("/api/"));
	if (!str_has_prefix(path, "/apis/"))
		return NULL;
	path += strlen("/apis/");
	slash = strchr(path, '/');
	group = slash != NULL ? xstrndup(path, (size_t)(slash - path))
			      : xstrdup(path);
	if (*group == '\0')
		return NULL;
	return below_json(d, group, slash != NULL ? slash + 1 : NULL);
}

const struct document *
discovery_document(struct discovery *d, const char *path,
		   enum discovery_form form)
{
	static const char *const types[] = {
		[DISCOVERY_PLAIN] = PLAIN_TYPE,
		[DISCOVERY_V2BETA1] = V2BETA1_TYPE,
		[DISCOVERY_V2] = V2_TYPE,
	};
	bool top = str_equal(path, "/api") || str_equal(path, "/apis");
	AUTO(free_ptr) char *text = NULL;
	const struct document *found;
	struct docname name;
	json_t *value;

	/* Both only grow: their sum is another with each change. */
	name.state = registry_generation(d->registry) + d->changes;
	if (d->state != name.state) {
		drop_groups(d);
		doccache_done(&d->cache);
	}
	d->state = name.state;
	if (!top)
		form = DISCOVERY_PLAIN;
	text = xasprintf("%d%s", (int)form, path);
	name.name = text;
	found = doccache_get(&d->cache, &name);
	if (found != NULL)
		return found;
	make_groups(d);
	value = document_json(d, path, form);
	if (value == NULL)
		return NULL;
	return doccache_put_json(&d->cache, &name, types[form], value);
}

/* Whether one of the parameters behind a media type is this one. */
static bool
has_parameter(const char *type, size_t len, const char *parameter)
{
	size_t want = strlen(parameter);

	for (size_t i = 0; i + want <= len; i++) {
		char before = i > 0 ? type[i - 1] : ';';
		char after = i + want < len ? type[i + want] : ';';

		if ((before == ';' || before == ' ') &&
		    (after == ';' || after == ' ') &&
		    strncmp(type + i, parameter, want) == 0)
			return true;
	}
	return false;
}

enum discovery_form
discovery_form(const char *accept)
{
	while (accept != NULL && *accept != '\0') {
		size_t len = strcspn(accept, ",");

		while (len > 0 && *accept == ' ') {
			accept++;
			len--;
		}
		if (has_parameter(accept, len, "as=APIGroupDiscoveryList") &&
		    has_parameter(accept, len, "g=apidiscovery.k8s.io")) {
			if (has_parameter(accept, len, "v=v2"))
				return DISCOVERY_V2;
			if (has_parameter(accept, len, "v=v2beta1"))
				return DISCOVERY_V2BETA1;
		} else if (!has_parameter(accept, len,
					  "as=APIGroupDiscoveryList")) {
			return DISCOVERY_PLAIN;
		}
		accept += len + (accept[len] == ',');
	}
	return DISCOVERY_PLAIN;
}

/* ------------------------------------------------------------------- life */

struct discovery *
discovery_new(const struct registry *registry, const char *address)
{
	struct discovery *d = xmalloc0(sizeof(*d));

	d->registry = registry;
	d->address = xstrdup(address);
	return d;
}

static void
external_done(struct external *external)
{
	free(external->group);
	free(external->version);
	json_decref(external->resources);
}

void
discovery_free(struct discovery *d)
{
	if (d == NULL)
		return;
	for (size_t i = 0; i < d->external_count; i++)
		external_done(&d->externals[i]);
	free(d->externals);
	drop_groups(d);
	doccache_done(&d->cache);
	free(d->address);
	free(d);
}

void
discovery_set_address(struct discovery *d, const char *address)
{
	free(d->address);
	d->address = xstrdup(address);
	d->changes++;
}

static struct external *
find_external(struct discovery *d, const char *group, const char *version)
{
	for (size_t i = 0; i < d->external_count; i++) {
		if (str_equal(d->externals[i].group, group) &&
		    str_equal(d->externals[i].version, version))
			return &d->externals[i];
	}
	return NULL;
}

void
discovery_set_external(struct discovery *d,
		       const struct discovery_external *external)
{
	struct external *own =
		find_external(d, external->group, external->version);

	if (own == NULL) {
		d->externals =
			xrealloc(d->externals, (d->external_count + 1) *
						       sizeof(*d->externals));
		own = &d->externals[d->external_count++];
	} else {
		external_done(own);
	}
	*own = (struct external){
		.group = xstrdup(external->group),
		.version = xstrdup(external->version),
		.group_priority = external->group_priority,
		.version_priority = external->version_priority,
	};
	if (json_is_array(json_object_get(external->resources, "resources")))
		own->resources = json_deep_copy(external->resources);
	d->changes++;
}

void
discovery_remove_external(struct discovery *d, const char *group,
			  const char *version)
{
	struct external *external = find_external(d, group, version);

	if (external == NULL)
		return;
	external_done(external);
	*external = d->externals[--d->external_count];
	d->changes++;
}
