/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_KINDS_KIND_H
#define CLUSTER_KINDS_KIND_H

/*
 * kind - one kind of object that the API serves: names, versions, schemas.
 *
 * Built-in kinds and those of CustomResourceDefinitions are the same thing; the
 * registry makes them. A kind never changes: a changed definition makes a new
 * one with the same collection. registry_find() lends it for the time until
 * the loop runs again; whoever keeps it longer takes a reference.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/js.h"

struct collection;
struct jsonpath;
struct kind;
struct schema;

enum verb {
	VERB_GET = 1 << 0,
	VERB_LIST = 1 << 1,
	VERB_WATCH = 1 << 2,
	VERB_CREATE = 1 << 3,
	VERB_UPDATE = 1 << 4,
	VERB_PATCH = 1 << 5,
	VERB_DELETE = 1 << 6,
	VERB_DELETECOLLECTION = 1 << 7,
	VERB_ALL = (1 << 8) - 1,
};

struct column;
/* See cell.h. */
typedef json_t *cell_fn(const struct column *column, const json_t *obj,
			int64_t now_s);

/* A column of the Table form. "Name" is a column like the others. */
struct column {
	char *name;
	char *type;   /* "string", "integer", "number", "boolean", "date" */
	char *format; /* "" if none */
	char *description;
	int priority;
	struct jsonpath *path; /* NULL: only computed */
	/* Of a built-in kind whose cells are not just what is at path. */
	cell_fn *compute;
};

struct subresource {
	char *name; /* "status", "eviction" */
	/* What is sent to it or comes from it, where that is another kind than
	 * its resource's; else NULL. */
	char *group, *version, *kind;
	unsigned verbs;
};

struct kind_version {
	struct kind *kind; /* the one it belongs to */
	char *name;        /* "v1" */
	char *api_version; /* "kubevirt.io/v1", core "v1": as in objects */
	bool served, storage, deprecated;
	char *warning; /* of a deprecated version: the Warning text */
	struct schema *schema;
	json_t *openapi; /* definitions are shared, "$ref" does not occur */
	struct column *columns;
	size_t column_count;
	bool has_status; /* a status subresource */
	/* Of a scale subresource, else NULL: ".spec.replicas", ... */
	char *scale_spec, *scale_status, *scale_selector;
};

struct kind {
	unsigned refs;
	char *group; /* "" for core */
	char *plural, *singular, *kind, *list_kind;
	char **short_names; /* NULL-ended */
	char **categories;  /* NULL-ended */
	bool namespaced;
	bool builtin;
	/* Only the body of requests to a subresource (Eviction, TokenRequest):
	 * no paths, not in discovery. */
	bool body_only;
	/* Generation is counted: changes of all but metadata (and status, where
	 * that is a subresource). */
	bool has_generation;
	/* PUT without resourceVersion replaces whatever is there. */
	bool unconditional_update;
	unsigned verbs;                   /* of enum verb */
	struct subresource *subresources; /* "status" and "scale" included */
	size_t subresource_count;
	struct kind_version *versions; /* in order of preference */
	size_t version_count;
	struct kind_version *storage; /* one of versions */
	/* Where the objects are; NULL for kinds that are not stored. Events of
	 * both groups share one; storage_kind is the one whose form is stored,
	 * the kind itself for all others. */
	struct collection *collection;
	const struct kind *storage_kind;
	char *crd; /* the name of its CustomResourceDefinition, NULL: built in
		    */
	/* What was stored before this resourceVersion may not be as the
	 * definition says, because that is newer. */
	uint64_t since_rv;
	bool terminating; /* the definition is being deleted */
};

struct kind *kind_ref(struct kind *kind);
void kind_unref(struct kind *kind); /* NULL is fine */

/* By name, e.g. "v1"; served or not. NULL if there is none. */
struct kind_version *kind_version_find(const struct kind *kind,
				       const char *name);
/* NULL if there is none of the name. */
const struct subresource *kind_subresource(const struct kind *kind,
					   const struct kind_version *version,
					   const char *name);

/*
 * Turns an object of version from into the form of version to, in place: the
 * storage form into a served one or back. Only apiVersion changes, but Events
 * change their fields' names.
 */
void kind_convert(const struct kind_version *from,
		  const struct kind_version *to, json_t *obj);

/* The order in which versions are preferred: v2, v1, v1beta1, v1alpha1, then
 * others by name. As strcmp(). */
int kind_compare_versions(const char *a, const char *b);

/* "create" and the like; NULL for none or several bits. */
const char *verb_name(enum verb verb);
/* 0 if there is no verb of that name. */
unsigned verb_from_name(const char *name);

#endif
