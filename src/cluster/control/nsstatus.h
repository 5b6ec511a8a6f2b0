/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_CONTROL_NSSTATUS_H
#define CLUSTER_CONTROL_NSSTATUS_H

/*
 * nsstatus - the conditions of a namespace that is being deleted, in the words
 * of kube-controller-manager.
 */

#include "base/js.h"

/*
 * remaining: {"pods.": 2, "widgets.example.com": 1}, resource and group;
 * finalizers: {"example.com/x": 1}. Both in how many objects; NULL: none.
 * Returns the conditions for its status as of now, an RFC 3339 text.
 */
json_t *nsstatus_conditions(const json_t *remaining, const json_t *finalizers,
			    const char *now);

/* Whether the namespace has all these conditions already, times aside. */
bool nsstatus_is_current(const json_t *ns, const json_t *conditions);

#endif
