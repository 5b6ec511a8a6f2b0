/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_ADMIT_CLASSES_H
#define CLUSTER_ADMIT_CLASSES_H

/*
 * classes - which PriorityClass and which StorageClass is the default.
 *
 * Found by looking at all of them, when somebody asks for the first time after
 * one of them has changed.
 *
 * Threading: only from the loop's thread.
 */

#include <stdbool.h>
#include <stdint.h>

struct classes;
struct store;

/* PriorityClasses that are always there, stored or not. */
#define CLASSES_SYSTEM_PREFIX "system-"
#define CLASSES_USER_PRIORITY_MAX 1000000000

struct priority_class {
	const char *name; /* "" for the priority of pods without a class */
	int32_t value;
	const char *preemption; /* "PreemptLowerPriority", "Never" */
};

struct classes *classes_new(struct store *store);
void classes_free(struct classes *classes);

/* The texts stay valid until the loop runs again. False if there is none of
 * that name; "" asks for the default, which always is. */
bool classes_priority(struct classes *classes, const char *name,
		      struct priority_class *ret_class);

/* NULL when no StorageClass is the default. */
const char *classes_storage(struct classes *classes);

#endif
