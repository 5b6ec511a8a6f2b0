/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_HEAP_H
#define BASE_HEAP_H

/*
 * heap - things in order of a number, the smallest first.
 *
 * A node is a member of the thing it orders and stays the caller's; the heap
 * holds pointers to nodes. Adding, removing and moving take logarithmic time,
 * looking at the first takes none. Equal keys come in any order.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct heap_node {
	uint64_t key; /* read it; heap_set() changes it */
	size_t place; /* the heap's own; 0 outside a heap */
};

struct heap {
	struct heap_node **nodes; /* nodes[0] is not used */
	size_t count;
	size_t size;
};

/* Adds the node, or moves it when it is in the heap. */
void heap_set(struct heap *heap, struct heap_node *node, uint64_t key);

/* Does nothing when the node is not in the heap. */
void heap_remove(struct heap *heap, struct heap_node *node);

/* The node with the smallest key; NULL when the heap is empty. */
struct heap_node *heap_first(const struct heap *heap);

bool heap_has(const struct heap_node *node);

/* Frees the heap's memory; the nodes in it are forgotten, not freed. */
void heap_done(struct heap *heap);

#endif
