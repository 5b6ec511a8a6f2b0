/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_CONTROL_NODEHEALTH_H
#define CLUSTER_CONTROL_NODEHEALTH_H

/*
 * nodehealth - what a node's conditions become when it falls silent, and the
 * taints that follow from its conditions. Works on the JSON of a Node; all that
 * is returned is new. now is an RFC 3339 text.
 */

#include <stdbool.h>

#include "base/js.h"

/*
 * The conditions to be written when nobody has been heard of the node for too
 * long: each of those a kubelet posts becomes Unknown. NULL if they all are.
 */
json_t *nodehealth_silent(const json_t *node, const char *now);

/*
 * The node's taints as they should be: those for conditions and for
 * spec.unschedulable come and go, others stay. NULL if they are so already.
 */
json_t *nodehealth_taints(const json_t *node, const char *now);

/* The status of the condition Ready: "True", "False", "Unknown", or "". */
const char *nodehealth_ready(const json_t *node);

#endif
