/* SPDX-License-Identifier: Apache-2.0 */
#include "base/map.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/mem.h"

#define FIRST_SIZE 16

static uint64_t seed[2];

static void
seed_once(void)
{
	/* Up to 256 bytes never come in part, once the kernel has any. */
	if (getrandom(seed, sizeof(seed), 0) != (ssize_t)sizeof(seed))
		abort();
}

static uint64_t
rotl(uint64_t x, unsigned bits)
{
	return x << bits | x >> (64 - bits);
}

static void
sip_round(uint64_t v[4])
{
	v[0] += v[1];
	v[1] = rotl(v[1], 13) ^ v[0];
	v[0] = rotl(v[0], 32);
	v[2] += v[3];
	v[3] = rotl(v[3], 16) ^ v[2];
	v[0] += v[3];
	v[3] = rotl(v[3], 21) ^ v[0];
	v[2] += v[1];
	v[1] = rotl(v[1], 17) ^ v[2];
	v[2] = rotl(v[2], 32);
}

/* SipHash with one round per word and three at the end. */
static uint64_t
hash_text(const char *key)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	size_t len = strlen(key);
	uint64_t last = (uint64_t)len << 56;
	uint64_t v[4];

	(void)pthread_once(&once, seed_once);
	v[0] = seed[0] ^ 0x736f6d6570736575ULL;
	v[1] = seed[1] ^ 0x646f72616e646f6dULL;
	v[2] = seed[0] ^ 0x6c7967656e657261ULL;
	v[3] = seed[1] ^ 0x7465646279746573ULL;
	for (; len >= sizeof(uint64_t); len -= sizeof(uint64_t)) {
		uint64_t word;

		memcpy(&word, key, sizeof(word));
		key += sizeof(word);
		v[3] ^= word;
		sip_round(v);
		v[0] ^= word;
	}
	for (size_t i = 0; i < len; i++)
		last |= (uint64_t)(unsigned char)key[i] << (8 * i);
	v[3] ^= last;
	sip_round(v);
	v[0] ^= last;
	v[2] ^= 0xff;
	for (int i = 0; i < 3; i++)
		sip_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

static struct map_node **
head_of(const struct map *map, uint64_t hash)
{
	return &map->heads[hash & (map->size - 1)];
}

static void
link_node(struct map *map, struct map_node *node)
{
	struct map_node **head = head_of(map, node->hash);

	node->next = *head;
	*head = node;
}

static void
grow(struct map *map)
{
	struct map old = *map;

	map->size = old.size == 0 ? FIRST_SIZE : old.size * 2;
	map->heads = xcalloc(map->size, sizeof(struct map_node *));
	for (size_t i = 0; i < old.size; i++) {
		struct map_node *node = old.heads[i];

		while (node != NULL) {
			struct map_node *next = node->next;

			link_node(map, node);
			node = next;
		}
	}
	free((void *)old.heads);
}

struct map_node *
map_get(const struct map *map, const char *key)
{
	uint64_t hash;
	struct map_node *node;

	if (map->count == 0)
		return NULL;
	hash = hash_text(key);
	node = *head_of(map, hash);
	while (node != NULL &&
	       (node->hash != hash || strcmp(node->key, key) != 0))
		node = node->next;
	return node;
}

void
map_put(struct map *map, struct map_node *node, const char *key)
{
	if (map->count == map->size)
		grow(map);
	node->hash = hash_text(key);
	node->key = key;
	link_node(map, node);
	map->count++;
}

void
map_remove(struct map *map, struct map_node *node)
{
	struct map_node **at;

	if (node->key == NULL)
		return;
	at = head_of(map, node->hash);
	while (*at != node)
		at = &(*at)->next;
	*at = node->next;
	node->next = NULL;
	node->key = NULL;
	map->count--;
}

struct map_node *
map_next(const struct map *map, const struct map_node *node)
{
	size_t at = 0;

	if (map->count == 0)
		return NULL;
	if (node != NULL) {
		if (node->next != NULL)
			return node->next;
		at = (node->hash & (map->size - 1)) + 1;
	}
	for (; at < map->size; at++) {
		if (map->heads[at] != NULL)
			return map->heads[at];
	}
	return NULL;
}

void
map_done(struct map *map)
{
	free((void *)map->heads);
	*map = (struct map){ 0 };
}
