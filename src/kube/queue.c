/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/queue.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/heap.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"

/* Where and when a thing is to come. */
struct place {
	uint64_t at_ms; /* QUEUE_NEVER: not at all */
	int priority;
	char *group;
};

struct item {
	struct map_node node;   /* in all */
	struct heap_node due;   /* in delayed, or not */
	struct group *ready_in; /* NULL: not ready */
	TAILQ_ENTRY(item) entry;
	struct place place;
	struct place again; /* while working: where it comes again */
	uint64_t ready_ms;
	bool working;
	unsigned failures;
	char key[];
};

/* The ready things of one group and priority; gone when there are none. */
struct group {
	struct map_node node;
	struct level *level;
	TAILQ_ENTRY(group) entry; /* the one whose turn it is first */
	TAILQ_HEAD(, item) items;
	char name[];
};

/* All groups of a priority; gone when there are none. */
struct level {
	TAILQ_ENTRY(level) entry;
	int priority;
	struct map groups;
	TAILQ_HEAD(, group) turns;
};

/*
 * An item is delayed (its time is to come), ready, being worked on, or it is
 * forgotten.
 */
struct queue {
	struct queue_options options;
	struct map all;
	struct heap delayed;
	TAILQ_HEAD(, level) levels; /* the highest first */
	struct queue_stats stats;
};

static struct item *
item_of(const struct map_node *node)
{
	return MAP_ENTRY(node, struct item, node);
}

struct queue *
queue_new(const struct queue_options *options)
{
	struct queue *q = xmalloc0(sizeof(*q));

	TAILQ_INIT(&q->levels);
	if (options != NULL)
		q->options = *options;
	if (q->options.pause_min_ms == 0)
		q->options.pause_min_ms = QUEUE_PAUSE_MIN_MS;
	if (q->options.pause_max_ms == 0)
		q->options.pause_max_ms = QUEUE_PAUSE_MAX_MS;
	return q;
}

static struct level *
find_or_make_level(struct queue *q, int priority)
{
	struct level *after = TAILQ_FIRST(&q->levels);
	struct level *level;

	while (after != NULL && after->priority > priority)
		after = TAILQ_NEXT(after, entry);
	if (after != NULL && after->priority == priority)
		return after;
	level = xmalloc0(sizeof(*level));
	level->priority = priority;
	TAILQ_INIT(&level->turns);
	if (after != NULL)
		TAILQ_INSERT_BEFORE(after, level, entry);
	else
		TAILQ_INSERT_TAIL(&q->levels, level, entry);
	return level;
}

static void
drop_level(struct queue *q, struct level *level)
{
	TAILQ_REMOVE(&q->levels, level, entry);
	map_done(&level->groups);
	free(level);
}

static struct group *
find_or_make_group(struct level *level, const char *name)
{
	struct map_node *node = map_get(&level->groups, name);
	struct group *group;
	size_t len;

	if (node != NULL)
		return MAP_ENTRY(node, struct group, node);
	len = strlen(name);
	group = xmalloc0(sizeof(*group) + len + 1);
	memcpy(group->name, name, len);
	group->level = level;
	TAILQ_INIT(&group->items);
	map_put(&level->groups, &group->node, group->name);
	TAILQ_INSERT_TAIL(&level->turns, group, entry);
	return group;
}

static void
make_ready(struct queue *q, struct item *item, uint64_t now_ms)
{
	struct level *level = find_or_make_level(q, item->place.priority);

	item->ready_in = find_or_make_group(level, item->place.group);
	item->ready_ms = now_ms;
	TAILQ_INSERT_TAIL(&item->ready_in->items, item, entry);
	q->stats.ready++;
}

static void
make_unready(struct queue *q, struct item *item)
{
	struct group *group = item->ready_in;
	struct level *level = group->level;

	TAILQ_REMOVE(&group->items, item, entry);
	item->ready_in = NULL;
	q->stats.ready--;
	if (!TAILQ_EMPTY(&group->items))
		return;
	TAILQ_REMOVE(&level->turns, group, entry);
	map_remove(&level->groups, &group->node);
	free(group);
	if (TAILQ_EMPTY(&level->turns))
		drop_level(q, level);
}

static void
item_free(struct queue *q, struct item *item)
{
	if (item->ready_in != NULL)
		make_unready(q, item);
	heap_remove(&q->delayed, &item->due);
	map_remove(&q->all, &item->node);
	free(item->place.group);
	free(item->again.group);
	free(item);
}

void
queue_free(struct queue *q)
{
	struct map_node *node;

	if (q == NULL)
		return;
	while ((node = map_next(&q->all, NULL)) != NULL)
		item_free(q, item_of(node));
	map_done(&q->all);
	heap_done(&q->delayed);
	free(q);
}

static struct item *
make_item(struct queue *q, const char *key)
{
	size_t len = strlen(key);
	struct item *item = xmalloc0(sizeof(*item) + len + 1);

	memcpy(item->key, key, len);
	item->again.at_ms = QUEUE_NEVER;
	item->place.at_ms = QUEUE_NEVER;
	map_put(&q->all, &item->node, item->key);
	return item;
}

/* The earlier time, the higher priority, the later group. */
static void
merge(struct place *place, const struct place *other)
{
	bool fresh = place->at_ms == QUEUE_NEVER;

	if (other->at_ms < place->at_ms)
		place->at_ms = other->at_ms;
	if (fresh || other->priority > place->priority)
		place->priority = other->priority;
	if (place->group != NULL && str_equal(place->group, other->group))
		return;
	free(place->group);
	place->group = xstrdup(other->group);
}

/* Puts an item that is nowhere where its place says. */
static void
settle(struct queue *q, struct item *item, uint64_t now_ms)
{
	if (item->place.at_ms <= now_ms)
		make_ready(q, item, now_ms);
	else
		heap_set(&q->delayed, &item->due, item->place.at_ms);
}

/* Of a ready item, without losing its turn when nothing is new. */
static void
move_ready(struct queue *q, struct item *item)
{
	uint64_t ready_ms = item->ready_ms;

	if (item->ready_in->level->priority == item->place.priority &&
	    str_equal(item->ready_in->name, item->place.group))
		return;
	make_unready(q, item);
	make_ready(q, item, ready_ms);
}

void
queue_put(struct queue *q, const struct queue_add *add, uint64_t now_ms)
{
	struct map_node *node = map_get(&q->all, add->key);
	struct item *item =
		node != NULL ? item_of(node) : make_item(q, add->key);
	struct place place = {
		.at_ms = now_ms + add->delay_ms,
		.priority = add->priority,
		/* merge() copies it. */
		.group = (char *)(uintptr_t)(add->group != NULL ? add->group
								: ""),
	};

	q->stats.added++;
	if (item->working) {
		q->stats.merged += item->again.at_ms != QUEUE_NEVER;
		merge(&item->again, &place);
		return;
	}
	q->stats.merged += node != NULL;
	merge(&item->place, &place);
	if (item->ready_in != NULL) {
		move_ready(q, item);
		return;
	}
	heap_remove(&q->delayed, &item->due);
	settle(q, item, now_ms);
}

static void
wake_due(struct queue *q, uint64_t now_ms)
{
	struct heap_node *due;

	while ((due = heap_first(&q->delayed)) != NULL && due->key <= now_ms) {
		heap_remove(&q->delayed, due);
		make_ready(q, MAP_ENTRY(due, struct item, due), due->key);
	}
}

const char *
queue_take(struct queue *q, uint64_t now_ms)
{
	struct level *level;
	struct group *group;
	struct item *item;

	wake_due(q, now_ms);
	level = TAILQ_FIRST(&q->levels);
	if (level == NULL)
		return NULL;
	group = TAILQ_FIRST(&level->turns);
	item = TAILQ_FIRST(&group->items);
	/* The next turn is that of another group. */
	TAILQ_REMOVE(&level->turns, group, entry);
	TAILQ_INSERT_TAIL(&level->turns, group, entry);
	make_unready(q, item);
	item->working = true;
	q->stats.working++;
	q->stats.taken++;
	timing_add(&q->stats.waited, now_ms > item->ready_ms
					     ? (now_ms - item->ready_ms) * 1000
					     : 0);
	return item->key;
}

static uint64_t
pause_of(const struct queue *q, unsigned failures)
{
	uint64_t pause = q->options.pause_min_ms;

	while (--failures > 0 && pause < q->options.pause_max_ms)
		pause *= 2;
	return pause < q->options.pause_max_ms ? pause
					       : q->options.pause_max_ms;
}

void
queue_end(struct queue *q, const char *key, bool failed, uint64_t now_ms)
{
	struct map_node *node = map_get(&q->all, key);
	struct item *item;

	if (node == NULL || !item_of(node)->working)
		return;
	item = item_of(node);
	item->working = false;
	q->stats.working--;
	q->stats.failed += failed;
	item->failures = failed ? item->failures + 1 : 0;
	if (!failed && item->again.at_ms == QUEUE_NEVER) {
		item_free(q, item);
		return;
	}
	if (!failed)
		item->place.at_ms = QUEUE_NEVER;
	if (item->again.at_ms != QUEUE_NEVER)
		merge(&item->place, &item->again);
	item->again.at_ms = QUEUE_NEVER;
	/* Also when it was added meanwhile: what fails is not tried faster
	 * because its object keeps changing. */
	if (failed)
		item->place.at_ms = now_ms + pause_of(q, item->failures);
	settle(q, item, now_ms);
}

unsigned
queue_failures(const struct queue *q, const char *key)
{
	const struct map_node *node = map_get(&q->all, key);

	return node != NULL ? item_of(node)->failures : 0;
}

uint64_t
queue_due(const struct queue *q)
{
	const struct heap_node *due = heap_first(&q->delayed);

	if (!TAILQ_EMPTY(&q->levels))
		return 0;
	return due == NULL ? QUEUE_NEVER : due->key;
}

size_t
queue_waiting(const struct queue *q)
{
	return q->stats.ready + q->delayed.count;
}

size_t
queue_working(const struct queue *q)
{
	return q->stats.working;
}

const struct queue_stats *
queue_stats(struct queue *q)
{
	q->stats.delayed = q->delayed.count;
	return &q->stats;
}
