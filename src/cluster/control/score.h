/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_CONTROL_SCORE_H
#define CLUSTER_CONTROL_SCORE_H

/*
 * score - which of the nodes a pod fits on suits it best.
 *
 * Each score is between 0 and 100 and has a weight, as in kube-scheduler: room
 * that is left, balance of cpu and memory, preferred node and pod affinity,
 * taints that are better avoided, soft spreading.
 */

#include <stddef.h>
#include <stdint.h>

struct attempt;
struct node;

/* Fills sums[i] for nodes[i]: more is better. */
void score_nodes(const struct attempt *attempt, struct node *const *nodes,
		 size_t count, int64_t *sums);

#endif
