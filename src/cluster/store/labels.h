/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_STORE_LABELS_H
#define CLUSTER_STORE_LABELS_H

/*
 * labels - the entries of a collection by the labels that their objects have.
 *
 * A group is one key with one value; an entry has a post in the group of each
 * label of the object that is there now. What was there at an older revision
 * is not in here: who asks for that looks at what has changed since as well
 * (list.c).
 *
 * For the files of this directory only.
 */

#include <stddef.h>

#include "base/map.h"

struct entry;
struct label; /* meta/selector.h */
struct label_group;

struct label_post {
	struct label_post *next, *prev; /* of the same group */
	struct label_group *group;
	struct entry *entry;
};

struct label_group {
	struct map_node node; /* in the collection's labels, by text */
	struct label_post *first;
	size_t count;
	char text[]; /* "key=value" */
};

/* NULL when no object has that label now. */
const struct label_group *labels_find(const struct map *labels,
				      const struct label *label);

/*
 * Puts the entry into the groups of the object that it has now, and takes it
 * out of those it was in; with no object, out of all. Costs a comparison when
 * the labels are as they were.
 */
void labels_update(struct map *labels, struct entry *entry);

#endif
