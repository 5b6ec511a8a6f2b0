/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_OBJMETA_H
#define CLUSTER_OBJMETA_H

/*
 * objmeta - the metadata every object has, and who may set what in it.
 *
 * uid, creationTimestamp, generation, deletionTimestamp and resourceVersion
 * belong to the server: whatever a client sends there is replaced, or held
 * against what is stored.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/js.h"

struct call;
struct causes;
struct kind;
struct status;

/* "metadata", made when it is missing. Borrowed. */
json_t *objmeta_get(json_t *object);
/* A member of metadata as text, "" when missing. Borrowed. */
const char *objmeta_str(const json_t *object, const char *member);
bool objmeta_deleting(const json_t *object);
/* The number of finalizers. */
size_t objmeta_finalizers(const json_t *object);

/*
 * A 400 when a member of metadata has the wrong type: what the real server
 * says when it cannot decode the object.
 */
int objmeta_check_types(const json_t *object, const char *kind,
			struct status *st);

/*
 * For an object about to be created: name (generated if asked for), namespace,
 * uid, creationTimestamp, generation. kind tells whether it is namespaced and
 * counts generations.
 */
int objmeta_init(json_t *object, const struct kind *kind, const char *ns,
		 struct status *st);

/*
 * The same after a webhook has replaced given: puts back what is the server's.
 * -1 with st when it is to go to another namespace.
 */
int objmeta_settle(json_t *object, const json_t *given, struct status *st);

/*
 * For an object about to replace old: keeps what is the server's. What a client
 * may not change is put into causes.
 */
void objmeta_carry_over(json_t *object, const json_t *old,
			struct causes *causes);

/* Names, labels, annotations, owners, finalizers: as Kubernetes checks them. */
void objmeta_validate(const json_t *object, const struct kind *kind,
		      struct causes *causes);

/* +1, if the object counts generations. */
void objmeta_bump_generation(json_t *object);

void objmeta_set_rv(json_t *object, uint64_t rv);

/* Marks it as being deleted at now + grace_s. */
void objmeta_set_deleting(json_t *object, int64_t grace_s);

/* Finalizers by name; whether something changed. */
bool objmeta_add_finalizer(json_t *object, const char *name);
bool objmeta_remove_finalizer(json_t *object, const char *name);

#endif
