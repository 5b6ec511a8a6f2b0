/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_KINDS_REGISTRY_H
#define CLUSTER_KINDS_REGISTRY_H

/*
 * registry - the kinds that the API serves, built in and defined by users.
 *
 * The built-in ones are there from the start. For the others the server calls
 * registry_prepare_crd() before it stores a CustomResourceDefinition and
 * registry_set_crd() once it is stored (and at the start, for each that is in
 * the store); registry_remove_crd() when it is gone.
 *
 * Threading: the main loop's thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/js.h"

struct causes;
struct collection;
struct err;
struct kind;
struct kind_version;
struct registry;
struct schema;

#define REGISTRY_CRDS_MAX 2000
#define CRD_VERSIONS_MAX 16

/* Where the objects of a resource are kept (store_collection()). */
typedef struct collection *registry_collection_fn(void *arg, const char *group,
						  const char *resource);

/*
 * With the built-in kinds. collection is asked once for each kind; NULL: kinds
 * get none (tests). NULL with an error when the embedded files are wrong,
 * which is a bug.
 */
struct registry *registry_new(registry_collection_fn *collection, void *arg,
			      struct err *err);
void registry_free(struct registry *registry);

/*
 * The kind and version served as /apis/GROUP/VERSION/PLURAL, core with the
 * group "". 0, or -1 if there is none. Lent, see kind.h. ret_... may be NULL.
 */
int registry_find(const struct registry *registry, const char *group,
		  const char *version, const char *plural,
		  struct kind **ret_kind, struct kind_version **ret_version);
/* By kind ("Pod"), those that are only bodies included; NULL if none. */
struct kind *registry_by_kind(const struct registry *registry,
			      const char *group, const char *kind);
/* By plural name; NULL if none. */
struct kind *registry_by_resource(const struct registry *registry,
				  const char *group, const char *plural);
/* Whether anything is served in the group; version may be NULL. */
bool registry_has_group(const struct registry *registry, const char *group,
			const char *version);

/* All, ordered by group and plural name; false from fn ends it. */
void registry_each(const struct registry *registry,
		   bool (*fn)(struct kind *kind, void *arg), void *arg);

/* Changes whenever a kind appears, changes or disappears. */
uint64_t registry_generation(const struct registry *registry);

/* The schema of metadata, alike for all kinds. Lent. */
struct schema *registry_metadata_schema(const struct registry *registry);

/*
 * Before a CustomResourceDefinition is created or updated, in place: fills in
 * the defaults (singular, listKind, ...) and status (acceptedNames,
 * storedVersions, the conditions NamesAccepted and Established as of now, an
 * RFC 3339 text), and adds causes for what is wrong. old is NULL for a new one.
 * 0, or -1 if there are causes.
 */
int registry_prepare_crd(const struct registry *registry, json_t *crd,
			 const json_t *old, const char *now,
			 struct causes *causes);

/*
 * Serves what a prepared definition defines, replacing what one of the same
 * name defined before. A definition whose names are taken by another is not
 * served; that is no failure. -1 with causes if it is wrong, nothing changed.
 */
int registry_set_crd(struct registry *registry, const json_t *crd,
		     struct causes *causes);
void registry_remove_crd(struct registry *registry, const char *name);

/*
 * The definitions that come with the program (deploy/crds), to be created in
 * the store where they are missing: a new reference, NULL past the last.
 */
json_t *registry_bundled_crd(size_t i);

#endif
