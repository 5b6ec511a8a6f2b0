/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROLLER_INSTANCE_NODES_H
#define CONTROLLER_INSTANCE_NODES_H

/*
 * nodes - notices nodes whose agent has fallen silent.
 *
 * Such a node gets no more machines until its agent says otherwise, and those
 * that it has are looked at anew. A node that never had an agent is left alone.
 * Threading: only from the loop's thread.
 */

#include <stdbool.h>
#include <stdint.h>

struct node;
struct nodes;
struct world;

/* When the node counts as silent, unless its agent is heard of before; 0 for
 * one that has none. Pure. */
int64_t nodes_silent_us(const struct node *node);

/* silent is called with the name of a node that is. */
struct nodes *nodes_new(struct world *world,
			void (*silent)(const char *node, void *arg), void *arg);
void nodes_free(struct nodes *c); /* NULL is fine */

#endif
