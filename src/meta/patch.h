/* SPDX-License-Identifier: Apache-2.0 */
#ifndef META_PATCH_H
#define META_PATCH_H

/*
 * patch - the three ways to change a part of an object.
 *
 * All leave target and patch as they were and return a new value, NULL with st
 * filled when the patch does not apply. The result shares no container with
 * target or patch, so it may be changed. None makes a value nested deeper than
 * JS_MAX_DEPTH from values that are not, nor a large one from small ones.
 *
 * Threading: any thread, with values of its own.
 */

#include "base/js.h"

struct status;

#define PATCH_MAX_OPS 10000 /* of a JSON patch, as in Kubernetes */
/* What the copies of a JSON patch may add: values, and bytes of text. */
#define PATCH_MAX_COPIED 100000
#define PATCH_MAX_COPIED_BYTES (3 * 1024 * 1024)

/* RFC 6902; all operations or none. */
json_t *patch_json(const json_t *target, const json_t *ops, struct status *st);

/* RFC 7386, but for members of objects in lists: those that are null are
 * dropped there too, as Kubernetes does. */
json_t *patch_merge(const json_t *target, const json_t *patch,
		    struct status *st);

/*
 * Kubernetes' strategic merge: as a merge patch, but a list whose schema says
 * x-kubernetes-patch-strategy: merge is merged by x-kubernetes-patch-merge-key
 * (or, for scalars, as a set), and the directives $patch, $retainKeys,
 * $setElementOrder/LIST and $deleteFromPrimitiveList/LIST are followed.
 *
 * schema is the OpenAPI node of the whole object, with everything in place (no
 * $ref). Where it says nothing about a member, as in a map, lists are replaced.
 */
json_t *patch_strategic(const json_t *target, const json_t *patch,
			const json_t *schema, struct status *st);

#endif
