/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_STORE_OBJECT_H
#define CLUSTER_STORE_OBJECT_H

/*
 * object - one state of one stored object.
 *
 * The truth is its text, compact JSON as it goes to clients; beside it stands
 * what is asked for again and again (key, uid, labels), so that finding and
 * selecting objects parses nothing. An object never changes: a write makes a
 * new one. All text ends with a NUL byte.
 *
 * Ownership: counted references. What returns an object says whether it is
 * borrowed or a reference.
 *
 * Threading: references may be taken and dropped in any thread, the rest is
 * constant.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/js.h"

struct collection;
struct label; /* meta/selector.h */

struct object {
	uint32_t refs; /* object_ref() and object_unref() */
	uint32_t label_count;
	bool deleting;       /* has a deletionTimestamp */
	bool has_finalizers; /* at least one */
	bool has_owners;     /* at least one ownerReference */
	uint64_t rv;
	struct collection *collection;
	const struct label *labels; /* in the order of the text */
	const char *namespace_;     /* "" where there is none */
	const char *name;
	const char *uid; /* "" where there is none */
	const char *text;
	size_t len; /* of text */
};

/*
 * Takes text, allocated with malloc(), also on failure; len is without a NUL
 * byte. Returns a reference, or NULL when the text is not an object with a
 * metadata.name; nothing more of it is checked. rv must be the resourceVersion
 * that stands in the text.
 */
struct object *object_new(struct collection *collection, uint64_t rv,
			  char *text, size_t len);
/* The same from a text that stays the caller's. */
struct object *object_copy(struct collection *collection, uint64_t rv,
			   const char *text, size_t len);

/* Returns object, for brevity. */
struct object *object_ref(struct object *object);
/* NULL is fine. */
void object_unref(struct object *object);
/* For AUTO(object_drop): drops the reference a variable owns. */
void object_drop(struct object **object);

/* Drops each reference and frees the array, as store_list() returns it. */
void objects_unref(struct object **objects, size_t count);

/* The value of a label; NULL when there is none of that name. */
const char *object_label(const struct object *object, const char *key);

/* The parsed text: a new reference. */
json_t *object_json(const struct object *object);

/* "namespace/name", or "name" without a namespace; the caller frees it. It is
 * what store_list() takes to go on after this object. */
char *object_key(const struct object *object);

#endif
