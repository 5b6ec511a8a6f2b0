/* SPDX-License-Identifier: Apache-2.0 */
#include "base/tree.h"

#include <stdbool.h>

/*
 * A subtree may weigh up to BALANCE times its sibling; above that one rotation
 * is enough unless the inner grandchild weighs HEAVY times the outer one. Of
 * the small numbers this is the pair for which every insertion and removal
 * ends balanced.
 */
#define BALANCE 3
#define HEAVY 2

/* One more than the nodes, so that an empty subtree weighs something. */
static size_t
weight(const struct tree_node *node)
{
	return (node != NULL ? node->count : 0) + 1;
}

static void
recount(struct tree_node *node)
{
	node->count = weight(node->child[0]) + weight(node->child[1]) - 1;
}

/* Puts node, which may be NULL, where old is below parent. */
static void
replace(struct tree *tree, struct tree_node *parent,
	const struct tree_node *old, struct tree_node *node)
{
	if (parent == NULL)
		tree->root = node;
	else
		parent->child[parent->child[1] == old] = node;
	if (node != NULL)
		node->parent = parent;
}

static void
set_child(struct tree_node *node, int side, struct tree_node *child)
{
	node->child[side] = child;
	if (child != NULL)
		child->parent = node;
}

/* Lifts the child of that side above node; returns it. */
static struct tree_node *
rotate(struct tree *tree, struct tree_node *node, int side)
{
	struct tree_node *up = node->child[side];

	replace(tree, node->parent, node, up);
	set_child(node, side, up->child[!side]);
	set_child(up, !side, node);
	recount(node);
	recount(up);
	return up;
}

/* Returns what stands in node's place afterwards. */
static struct tree_node *
balance(struct tree *tree, struct tree_node *node)
{
	size_t left = weight(node->child[0]), right = weight(node->child[1]);
	const struct tree_node *heavy;
	int side;

	if (left <= BALANCE * right && right <= BALANCE * left)
		return node;

	side = right > left;
	heavy = node->child[side];
	if (weight(heavy->child[!side]) >= HEAVY * weight(heavy->child[side]))
		(void)rotate(tree, node->child[side], !side);
	return rotate(tree, node, side);
}

/* After a change below node: counts and balance up to the root. */
static void
repair(struct tree *tree, struct tree_node *node)
{
	while (node != NULL) {
		recount(node);
		node = balance(tree, node)->parent;
	}
}

struct tree_node *
tree_insert(struct tree *tree, const void *key, struct tree_node *node)
{
	struct tree_node **place = &tree->root;
	struct tree_node *parent = NULL;

	while (*place != NULL) {
		int order = tree->compare(key, *place);

		if (order == 0)
			return *place;
		parent = *place;
		place = &parent->child[order > 0];
	}
	*node = (struct tree_node){ .parent = parent, .count = 1 };
	*place = node;
	repair(tree, parent);
	return NULL;
}

void
tree_remove(struct tree *tree, struct tree_node *node)
{
	struct tree_node *changed = node->parent;
	struct tree_node *next;

	if (node->child[0] == NULL || node->child[1] == NULL) {
		replace(tree, node->parent, node,
			node->child[node->child[0] == NULL]);
		repair(tree, changed);
		return;
	}

	/* The next one has no smaller child and takes the node's place. */
	next = tree_next(node);
	changed = next->parent != node ? next->parent : next;
	if (changed != next) {
		replace(tree, next->parent, next, next->child[1]);
		set_child(next, 1, node->child[1]);
	}
	set_child(next, 0, node->child[0]);
	replace(tree, node->parent, node, next);
	repair(tree, changed);
}

struct tree_node *
tree_find(const struct tree *tree, const void *key)
{
	struct tree_node *node = tree->root;

	while (node != NULL) {
		int order = tree->compare(key, node);

		if (order == 0)
			return node;
		node = node->child[order > 0];
	}
	return NULL;
}

struct tree_node *
tree_from(const struct tree *tree, const void *key)
{
	struct tree_node *node = tree->root, *found = NULL;

	while (node != NULL) {
		bool before = tree->compare(key, node) > 0;

		if (!before)
			found = node;
		node = node->child[before];
	}
	return found;
}

static struct tree_node *
leftmost(struct tree_node *node)
{
	while (node != NULL && node->child[0] != NULL)
		node = node->child[0];
	return node;
}

struct tree_node *
tree_first(const struct tree *tree)
{
	return leftmost(tree->root);
}

struct tree_node *
tree_next(const struct tree_node *node)
{
	if (node->child[1] != NULL)
		return leftmost(node->child[1]);
	while (node->parent != NULL && node->parent->child[1] == node)
		node = node->parent;
	return node->parent;
}

size_t
tree_count(const struct tree *tree)
{
	return weight(tree->root) - 1;
}

size_t
tree_rank(const struct tree *tree, const void *key)
{
	const struct tree_node *node = tree->root;
	size_t rank = 0;

	while (node != NULL) {
		bool before = tree->compare(key, node) > 0;

		if (before)
			rank += weight(node->child[0]);
		node = node->child[before];
	}
	return rank;
}
