/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_AUTH_NODELABELS_H
#define CLUSTER_AUTH_NODELABELS_H

/*
 * nodelabels - which labels a node may give itself.
 *
 * Those of Kubernetes' own namespaces decide where privileged pods go, so a
 * node has only a list of them that describe it; labels below
 * node-restriction.kubernetes.io are never its own. All others are free.
 */

#include <stdbool.h>

#include "base/js.h"

bool nodelabels_allowed(const char *key);

/*
 * The labels that differ and may not, sorted and with ", " between them; the
 * caller frees it. NULL when there are none. Each of the two may be NULL.
 */
char *nodelabels_forbidden(const json_t *now, const json_t *before);

#endif
