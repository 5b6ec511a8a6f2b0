/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KUBELET_NODE_H
#define KUBELET_NODE_H

/*
 * node - this node in the API: its object, and the Lease that says it is alive.
 *
 * The object is made where it is missing, also when somebody deletes it later.
 * Labels and taints of others are left alone. The Lease is renewed four times
 * within its duration, the status when it changes and every NODE_STATUS_MS.
 *
 * Threading: only from the loop's thread.
 */

#include <stdint.h>

struct kubelet;
struct node;

#define NODE_STATUS_MS (60U * 1000)

struct node *node_start(struct kubelet *kubelet, uint16_t port);
void node_free(struct node *node); /* the object stays; NULL is fine */

#endif
