/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_SELECTION_H
#define CLUSTER_SELECTION_H

/*
 * selection - which objects of a collection a list or watch is about.
 *
 * Labels are matched without parsing an object. Of the fields, name and
 * namespace too; others (spec.nodeName of a pod) are read off the text. Which
 * fields there are is a table by kind, as in Kubernetes.
 */

#include <stdbool.h>

#include "base/js.h"

struct collection;
struct kind;
struct label; /* meta/selector.h */
struct object;
struct selection;
struct status;

/* "" selects everything. kind must outlive it. NULL with st on failure. */
struct selection *selection_new(const struct kind *kind,
				const char *label_selector,
				const char *field_selector, struct status *st);
void selection_free(struct selection *selection); /* NULL is fine */

/* Whether it leaves nothing out. */
bool selection_is_all(const struct selection *selection);

bool selection_matches(const struct selection *selection,
		       const struct object *object);

/*
 * A label that everything selected has, of which there is little in the
 * collection as compared to all that is there; false when there is none. Then
 * it pays to list those that have it (store_list_at()). Borrowed.
 */
bool selection_rare_label(const struct selection *selection,
			  const struct collection *collection,
			  struct label *ret_label);

/* The one name it asks for, NULL when it asks for none: then a get will do. */
const char *selection_name(const struct selection *selection);

#endif
