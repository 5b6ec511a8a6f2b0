/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_CONTROL_EVICT_H
#define CLUSTER_CONTROL_EVICT_H

/*
 * evict - how long a pod may stay on a node that has taints with NoExecute.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/js.h"

struct pod;
struct view;

#define EVICT_NEVER INT64_MAX
/* A node that is not ready or not reachable is borne so long by a pod that
 * says nothing about it. */
#define EVICT_DEFAULT_SECONDS 300

/*
 * When the pod is to go, in microseconds since 1970: EVICT_NEVER if it may
 * stay, now_us or earlier if at once. Counted from when the taint was added,
 * or from now_us where it does not say. taints: spec.taints of the node.
 * cut_off: those for nodes that are not ready or not reachable do not count.
 */
int64_t evict_time(const struct pod *pod, const json_t *taints, bool cut_off,
		   int64_t now_us);

/*
 * Whether every node is not ready or not reachable. Then it is the server that
 * is cut off, and nothing is gained by telling pods to go that still run.
 */
bool evict_is_cut_off(const struct view *view);

#endif
