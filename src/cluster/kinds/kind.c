/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/kinds/kind.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/str.h"
#include "cluster/kinds/eventform.h"
#include "cluster/kinds/schema.h"
#include "meta/jsonpath.h"

static const char *const verb_names[] = {
	"get",    "list",  "watch",  "create",
	"update", "patch", "delete", "deletecollection",
};
static_assert(VERB_ALL == (1 << ARRAY_LEN(verb_names)) - 1, "one name each");

struct kind *
kind_ref(struct kind *kind)
{
	kind->refs++;
	return kind;
}

static void
columns_free(struct column *columns, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free(columns[i].name);
		free(columns[i].type);
		free(columns[i].format);
		free(columns[i].description);
		jsonpath_free(columns[i].path);
	}
	free(columns);
}

static void
version_done(struct kind_version *version)
{
	free(version->name);
	free(version->api_version);
	free(version->warning);
	schema_unref(version->schema);
	json_decref(version->openapi);
	columns_free(version->columns, version->column_count);
	free(version->scale_spec);
	free(version->scale_status);
	free(version->scale_selector);
}

static void
names_free(char **names)
{
	for (size_t i = 0; names != NULL && names[i] != NULL; i++)
		free(names[i]);
	free(names);
}

static void
kind_free(struct kind *kind)
{
	for (size_t i = 0; i < kind->version_count; i++)
		version_done(&kind->versions[i]);
	free(kind->versions);
	for (size_t i = 0; i < kind->subresource_count; i++) {
		free(kind->subresources[i].name);
		free(kind->subresources[i].group);
		free(kind->subresources[i].version);
		free(kind->subresources[i].kind);
	}
	free(kind->subresources);
	names_free(kind->short_names);
	names_free(kind->categories);
	free(kind->group);
	free(kind->plural);
	free(kind->singular);
	free(kind->kind);
	free(kind->list_kind);
	free(kind->crd);
	free(kind);
}

void
kind_unref(struct kind *kind)
{
	if (kind != NULL && --kind->refs == 0)
		kind_free(kind);
}

struct kind_version *
kind_version_find(const struct kind *kind, const char *name)
{
	for (size_t i = 0; i < kind->version_count; i++) {
		if (str_equal(kind->versions[i].name, name))
			return &kind->versions[i];
	}
	return NULL;
}

const struct subresource *
kind_subresource(const struct kind *kind, const struct kind_version *version,
		 const char *name)
{
	if (!kind->builtin && str_equal(name, "status") && !version->has_status)
		return NULL;
	if (!kind->builtin && str_equal(name, "scale") &&
	    version->scale_spec == NULL)
		return NULL;
	for (size_t i = 0; i < kind->subresource_count; i++) {
		if (str_equal(kind->subresources[i].name, name))
			return &kind->subresources[i];
	}
	return NULL;
}

void
kind_convert(const struct kind_version *from, const struct kind_version *to,
	     json_t *obj)
{
	if (from == to)
		return;
	if (from->kind != to->kind) {
		if (*to->kind->group != '\0')
			eventform_to_new(obj);
		else
			eventform_to_core(obj);
	}
	(void)json_object_set_new(obj, "apiVersion",
				  json_string(to->api_version));
}

/* "v1beta2" to 1, beta (0 alpha, 1 beta, 2 neither), 2; -1: not of the form. */
static int
parse_version(const char *name, int parts[3])
{
	static const char *const stages[] = { "alpha", "beta" };
	char *end;

	if (*name != 'v' || !isdigit((unsigned char)name[1]))
		return -1;
	parts[0] = (int)strtol(name + 1, &end, 10);
	parts[1] = 2;
	parts[2] = 0;
	for (int i = 0; i < (int)ARRAY_LEN(stages); i++) {
		size_t len = strlen(stages[i]);

		if (strncmp(end, stages[i], len) == 0) {
			parts[1] = i;
			parts[2] = (int)strtol(end + len, &end, 10);
			break;
		}
	}
	return *end == '\0' ? 0 : -1;
}

int
kind_compare_versions(const char *a, const char *b)
{
	static const int order[] = { 1, 0, 2 };
	int p[3], q[3];
	int is_a = parse_version(a, p), is_b = parse_version(b, q);

	if (is_a != is_b)
		return is_a == 0 ? -1 : 1;
	for (size_t i = 0; is_a == 0 && i < ARRAY_LEN(order); i++) {
		if (p[order[i]] != q[order[i]])
			return p[order[i]] > q[order[i]] ? -1 : 1;
	}
	return strcmp(a, b);
}

const char *
verb_name(enum verb verb)
{
	for (size_t i = 0; i < ARRAY_LEN(verb_names); i++) {
		if (verb == 1U << i)
			return verb_names[i];
	}
	return NULL;
}

unsigned
verb_from_name(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(verb_names); i++) {
		if (str_equal(verb_names[i], name))
			return 1U << i;
	}
	return 0;
}
