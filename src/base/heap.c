/* SPDX-License-Identifier: Apache-2.0 */
#include "base/heap.h"

#include <stdlib.h>

#include "base/mem.h"

#define FIRST_SIZE 16

static void
put(struct heap *heap, size_t place, struct heap_node *node)
{
	heap->nodes[place] = node;
	node->place = place;
}

/* Moves the node from an empty place towards the root, as far as it belongs. */
static void
sift_up(struct heap *heap, size_t place, struct heap_node *node)
{
	while (place > 1 && heap->nodes[place / 2]->key > node->key) {
		put(heap, place, heap->nodes[place / 2]);
		place /= 2;
	}
	put(heap, place, node);
}

/* The same away from the root. */
static void
sift_down(struct heap *heap, size_t place, struct heap_node *node)
{
	for (;;) {
		size_t child = place * 2;

		if (child < heap->count &&
		    heap->nodes[child + 1]->key < heap->nodes[child]->key)
			child++;
		if (child > heap->count || heap->nodes[child]->key >= node->key)
			break;
		put(heap, place, heap->nodes[child]);
		place = child;
	}
	put(heap, place, node);
}

static void
settle(struct heap *heap, size_t place, struct heap_node *node)
{
	if (place > 1 && heap->nodes[place / 2]->key > node->key)
		sift_up(heap, place, node);
	else
		sift_down(heap, place, node);
}

static void
grow(struct heap *heap)
{
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers */
	const size_t one = sizeof(heap->nodes[0]);

	heap->size = heap->size > 0 ? heap->size * 2 : FIRST_SIZE;
	heap->nodes = xrealloc(heap->nodes, heap->size * one);
}

void
heap_set(struct heap *heap, struct heap_node *node, uint64_t key)
{
	node->key = key;
	if (node->place == 0) {
		if (heap->count + 1 >= heap->size)
			grow(heap);
		node->place = ++heap->count;
	}
	settle(heap, node->place, node);
}

void
heap_remove(struct heap *heap, struct heap_node *node)
{
	size_t place = node->place;
	struct heap_node *last;

	if (place == 0)
		return;
	last = heap->nodes[heap->count--];
	node->place = 0;
	if (last != node)
		settle(heap, place, last);
}

struct heap_node *
heap_first(const struct heap *heap)
{
	return heap->count > 0 ? heap->nodes[1] : NULL;
}

bool
heap_has(const struct heap_node *node)
{
	return node->place != 0;
}

void
heap_done(struct heap *heap)
{
	free(heap->nodes);
	*heap = (struct heap){ 0 };
}
