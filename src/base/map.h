/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_MAP_H
#define BASE_MAP_H

/*
 * map - things by a text, found in constant time.
 *
 * A node is a member of the thing it names and stays the caller's, as does
 * the key, which must not change or go away while its node is in the map. A
 * key is in the map once. Hashing is seeded once per process from the kernel,
 * so that a peer cannot choose keys that collide.
 *
 * Threading: a map belongs to one thread at a time.
 */

#include <stddef.h>
#include <stdint.h>

struct map_node {
	struct map_node *next; /* the map's own */
	uint64_t hash;
	const char *key; /* NULL outside a map */
};

/* { 0 } is an empty map. */
struct map {
	struct map_node **heads;
	size_t size; /* of heads: 0 or a power of two */
	size_t count;
};

/* The thing of which the node is a member. */
#define MAP_ENTRY(node, type, member) \
	((type *)(void *)((char *)(node)-offsetof(type, member)))

/* NULL when the key is not there. */
struct map_node *map_get(const struct map *map, const char *key);

/* The key must not be in the map, nor the node in any. */
void map_put(struct map *map, struct map_node *node, const char *key);

/* Does nothing when the node is in no map. */
void map_remove(struct map *map, struct map_node *node);

/*
 * All nodes, in no order: the first for NULL, NULL after the last. The node
 * returned may be removed once the one after it has been asked for; nothing
 * may be put in meanwhile.
 */
struct map_node *map_next(const struct map *map, const struct map_node *node);

/* Frees the map's memory; the nodes in it are forgotten, not freed. */
void map_done(struct map *map);

#endif
