/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/migration/parking.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/tree.h"

struct rank;

/* Those of one priority that want a slot of one node. */
struct line {
	TAILQ_ENTRY(line) entry;
	struct map_node in_rank;
	struct rank *rank;
	char *node;
	struct tree places;
};

/* Those of one priority; the first line has its turn. */
struct rank {
	TAILQ_ENTRY(rank) entry;
	int priority;
	TAILQ_HEAD(, line) lines;
	struct map by_node;
};

struct place {
	struct map_node in_places;
	struct tree_node in_line;
	struct line *line;
	char *key, *uid;
	int64_t created_us;
};

struct parking {
	TAILQ_HEAD(, rank) ranks; /* the highest first */
	struct map places;        /* by key */
};

struct parking *
parking_new(void)
{
	struct parking *p = xmalloc0(sizeof(*p));

	TAILQ_INIT(&p->ranks);
	return p;
}

static int
compare_places(const void *key, const struct tree_node *node)
{
	const struct place *a = key;
	const struct place *b = TREE_ENTRY(node, const struct place, in_line);

	if (a->created_us != b->created_us)
		return a->created_us < b->created_us ? -1 : 1;
	return strcmp(a->key, b->key);
}

static struct rank *
rank_get(struct parking *p, int priority)
{
	struct rank *rank, *before = NULL;

	TAILQ_FOREACH(rank, &p->ranks, entry)
	{
		if (rank->priority == priority)
			return rank;
		if (rank->priority < priority)
			break;
		before = rank;
	}
	rank = xmalloc0(sizeof(*rank));
	rank->priority = priority;
	TAILQ_INIT(&rank->lines);
	if (before == NULL)
		TAILQ_INSERT_HEAD(&p->ranks, rank, entry);
	else
		TAILQ_INSERT_AFTER(&p->ranks, before, rank, entry);
	return rank;
}

static struct line *
line_get(struct rank *rank, const char *node)
{
	struct map_node *found = map_get(&rank->by_node, node);
	struct line *line;

	if (found != NULL)
		return MAP_ENTRY(found, struct line, in_rank);
	line = xmalloc0(sizeof(*line));
	line->rank = rank;
	line->node = xstrdup(node);
	line->places.compare = compare_places;
	map_put(&rank->by_node, &line->in_rank, line->node);
	TAILQ_INSERT_TAIL(&rank->lines, line, entry);
	return line;
}

/* What nobody waits in is not kept. */
static void
line_put(struct parking *p, struct line *line)
{
	struct rank *rank = line->rank;

	if (tree_count(&line->places) != 0)
		return;
	map_remove(&rank->by_node, &line->in_rank);
	TAILQ_REMOVE(&rank->lines, line, entry);
	free(line->node);
	free(line);
	if (!TAILQ_EMPTY(&rank->lines))
		return;
	TAILQ_REMOVE(&p->ranks, rank, entry);
	map_done(&rank->by_node);
	free(rank);
}

static struct place *
place_find(const struct parking *p, const char *key)
{
	struct map_node *found = map_get(&p->places, key);

	return found == NULL ? NULL : MAP_ENTRY(found, struct place, in_places);
}

static void
place_free(struct place *place)
{
	free(place->key);
	free(place->uid);
	free(place);
}

static void
place_leave(struct parking *p, struct place *place)
{
	map_remove(&p->places, &place->in_places);
	tree_remove(&place->line->places, &place->in_line);
	line_put(p, place->line);
}

void
parking_put(struct parking *p, const struct parked *parked)
{
	struct place *place = place_find(p, parked->key);

	if (place != NULL && place->line->rank->priority == parked->priority &&
	    strcmp(place->line->node, parked->node) == 0 &&
	    strcmp(place->uid, parked->uid) == 0)
		return;
	parking_drop(p, parked->key);
	place = xmalloc0(sizeof(*place));
	place->key = xstrdup(parked->key);
	place->uid = xstrdup(parked->uid);
	place->created_us = parked->created_us;
	place->line = line_get(rank_get(p, parked->priority), parked->node);
	(void)tree_insert(&place->line->places, place, &place->in_line);
	map_put(&p->places, &place->in_places, place->key);
}

void
parking_drop(struct parking *p, const char *key)
{
	struct place *place = place_find(p, key);

	if (place == NULL)
		return;
	place_leave(p, place);
	place_free(place);
}

/* The first line whose node has a slot; its turn is over then. */
static struct line *
next_line(struct parking *p, const struct parking_taker *taker)
{
	struct rank *rank;
	struct line *line;

	TAILQ_FOREACH(rank, &p->ranks, entry)
	{
		TAILQ_FOREACH(line, &rank->lines, entry)
		{
			if (!taker->has_slot(line->node, taker->arg))
				continue;
			TAILQ_REMOVE(&rank->lines, line, entry);
			TAILQ_INSERT_TAIL(&rank->lines, line, entry);
			return line;
		}
	}
	return NULL;
}

bool
parking_take(struct parking *p, const struct parking_taker *taker)
{
	struct line *line = next_line(p, taker);
	struct place *place;
	char *node;

	if (line == NULL)
		return false;
	place = TREE_ENTRY(tree_first(&line->places), struct place, in_line);
	node = xstrdup(line->node);
	const struct parked parked = {
		.key = place->key,
		.uid = place->uid,
		.node = node,
		.priority = line->rank->priority,
		.created_us = place->created_us,
	};

	place_leave(p, place);
	taker->taken(&parked, taker->arg);
	place_free(place);
	free(node);
	return true;
}

size_t
parking_count(const struct parking *p)
{
	return p->places.count;
}

void
parking_free(struct parking *p)
{
	struct map_node *node;

	if (p == NULL)
		return;
	while ((node = map_next(&p->places, NULL)) != NULL)
		parking_drop(p, MAP_ENTRY(node, struct place, in_places)->key);
	map_done(&p->places);
	free(p);
}
