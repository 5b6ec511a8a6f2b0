/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_OBJMETA_H
#define API_OBJMETA_H

/*
 * objmeta - what each view has of the metadata of its object.
 *
 * A view is decoded once and does not change. Its texts are its own and never
 * NULL: what is missing is "". Times are microseconds since 1970, 0 where there
 * is none. Views stay small, since there are thousands of them: what only one
 * place needs, and rarely, is read again from the API when it does.
 *
 * Decoding fails for what has no name (nor generateName, as before admission,
 * when the name is ""), and for members that matter and have no
 * meaning; everything else is left to the schema, and what is of another type
 * counts as missing. In all views x_decode() returns NULL when it fails,
 * x_free() takes NULL, and x_unref() is for AUTO().
 *
 * Threading: a view belongs to one thread at a time.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/js.h"

struct err;

struct objmeta {
	char *ns;
	char *name;
	char *uid;
	char *version; /* metadata.resourceVersion */
	int64_t generation;
	int64_t created_us;
	int64_t deleted_us; /* metadata.deletionTimestamp */
	char *owner_uid;    /* of the controller in ownerReferences */
};

int objmeta_decode(const json_t *object, struct objmeta *ret_meta,
		   struct err *err);
void objmeta_done(struct objmeta *meta);

static inline bool
objmeta_is_deleting(const struct objmeta *meta)
{
	return meta->deleted_us != 0;
}

#endif
