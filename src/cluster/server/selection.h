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

struct kind;
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

/* The one name it asks for, NULL when it asks for none: then a get will do. */
const char *selection_name(const struct selection *selection);

#endif
