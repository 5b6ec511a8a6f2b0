/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KUBE_OBJ_H
#define KUBE_OBJ_H

/*
 * obj - what every object has: names, labels, annotations, owners,
 * finalizers.
 *
 * Getters return "" for what is missing or of another type, and their texts
 * belong to the object. Setters make what is in the way, and return true when
 * they changed something.
 *
 * Threading: any thread, with JSON of its own.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/js.h"

struct kube_resource;

const char *obj_name(const json_t *object);
const char *obj_ns(const json_t *object);
const char *obj_uid(const json_t *object);
const char *obj_version(const json_t *object);
bool obj_is_deleting(const json_t *object);
/* metadata.creationTimestamp in microseconds since 1970; 0: none. */
int64_t obj_created_us(const json_t *object);

/* NULL when it is not there: a label can be "". */
const char *obj_label(const json_t *object, const char *key);
const char *obj_annotation(const json_t *object, const char *key);
/* NULL removes it. */
bool obj_set_label(json_t *object, const char *key, const char *value);
bool obj_set_annotation(json_t *object, const char *key, const char *value);

bool obj_has_finalizer(const json_t *object, const char *finalizer);
bool obj_add_finalizer(json_t *object, const char *finalizer);
bool obj_remove_finalizer(json_t *object, const char *finalizer);

/* The owner that is its controller; borrowed, NULL when there is none. */
const json_t *obj_controller(const json_t *object);
/* Whether the object of this uid is its controller. */
bool obj_is_controlled_by(const json_t *object, const char *uid);

/* For metadata.ownerReferences, with controller and blockOwnerDeletion true. A
 * new reference. */
json_t *obj_owner_ref(const struct kube_resource *resource, const char *name,
		      const char *uid);

#endif
