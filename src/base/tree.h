/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_TREE_H
#define BASE_TREE_H

/*
 * tree - things in order of a key, found, counted and walked in that order.
 *
 * A node is a member of the thing it orders and stays the caller's. Adding,
 * removing, finding and counting up to a key take logarithmic time, going on to
 * the next takes constant time on average. The tree is balanced by the number
 * of nodes below each, which is what counting needs anyway.
 *
 * Threading: a tree belongs to one thread at a time.
 */

#include <stddef.h>

struct tree_node {
	struct tree_node *parent;
	struct tree_node *child[2]; /* smaller, larger */
	size_t count;               /* of nodes from here down */
};

struct tree {
	struct tree_node *root;
	/*
	 * Below, equal to or above 0 as the key comes before, at or behind the
	 * node. A key that is never equal stands between nodes, which is how
	 * to ask for what is behind another key.
	 */
	int (*compare)(const void *key, const struct tree_node *node);
};

/* The thing of which the node is a member. */
#define TREE_ENTRY(node, type, member) \
	((type *)(void *)((char *)(node)-offsetof(type, member)))

/* Adds a node with this key, or returns the one that has it already; NULL when
 * it was added. */
struct tree_node *tree_insert(struct tree *tree, const void *key,
			      struct tree_node *node);
void tree_remove(struct tree *tree, struct tree_node *node);

/* NULL when there is none. */
struct tree_node *tree_find(const struct tree *tree, const void *key);
/* The first node that is not before key; NULL when all are. */
struct tree_node *tree_from(const struct tree *tree, const void *key);
struct tree_node *tree_first(const struct tree *tree);
/* NULL after the last. */
struct tree_node *tree_next(const struct tree_node *node);

/* How many nodes there are, and how many are before key. */
size_t tree_count(const struct tree *tree);
size_t tree_rank(const struct tree *tree, const void *key);

#endif
