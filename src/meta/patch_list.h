/* SPDX-License-Identifier: Apache-2.0 */
#ifndef META_PATCH_LIST_H
#define META_PATCH_LIST_H

/*
 * patch_list - the lists of a strategic merge: which items meet, and in which
 * order they end up. For patch_strategic.c only.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/js.h"

struct status;

#define PATCH_DIRECTIVE "$patch"
#define PATCH_RETAIN_KEYS "$retainKeys"
#define PATCH_SET_ORDER "$setElementOrder"
#define PATCH_DELETE_FROM "$deleteFromPrimitiveList"

/* An object that waits to be merged; to and patch are borrowed. */
struct patch_pair {
	json_t *to;
	const json_t *patch;
	const json_t *schema;
};

struct patch_work {
	struct patch_pair *list;
	size_t len, size;
};

void patch_push(struct patch_work *work, json_t *to, const json_t *patch,
		const json_t *schema);

/* A copy of what a patch adds, without nulls and directives. */
json_t *patch_plain(const json_t *patch);

int patch_unknown_directive(const json_t *directive, const json_t *where,
			    struct status *st);

struct patch_list {
	json_t *original;    /* an array; NULL: there is none yet */
	const json_t *patch; /* an array; NULL: only its order changes */
	const json_t *order; /* of $setElementOrder; NULL: that of patch */
	const json_t *item_schema;
	const char *key; /* the merge key, "" for scalars */
	bool merge;      /* false: patch replaces original */
};

/* Makes the merged list the member name of to; items that are to be merged
 * themselves go to work. */
int patch_merge_list(struct patch_work *work, const struct patch_list *list,
		     json_t *to, const char *name, struct status *st);

/* Removes from list the scalars that are equal to one of unwanted; -1 when that
 * has others than scalars. */
int patch_delete_items(json_t *list, const json_t *unwanted);

#endif
