/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/control/queue.h"

#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/map.h"
#include "base/mem.h"

struct item {
	struct map_node node; /* in all */
	struct heap_node due; /* in waiting, or not */
	/* In ready, while it is due. */
	struct item *next;
	bool ready;
	bool working;
	uint64_t again_at; /* while working: when it comes again, or never */
	unsigned failures;
	char key[];
};

/*
 * An item is in waiting (its time is to come), in ready (in the order in which
 * they became due), being worked on, or it is forgotten.
 */
struct queue {
	struct map all;
	struct heap waiting;
	struct item *first, **last;
	size_t ready;
	size_t working;
};

static struct item *
item_of(const struct map_node *node)
{
	return MAP_ENTRY(node, struct item, node);
}

struct queue *
queue_new(void)
{
	struct queue *queue = xmalloc0(sizeof(*queue));

	queue->last = &queue->first;
	return queue;
}

void
queue_free(struct queue *queue)
{
	struct map_node *node;

	if (queue == NULL)
		return;
	node = map_next(&queue->all, NULL);
	while (node != NULL) {
		struct map_node *next = map_next(&queue->all, node);

		free(item_of(node));
		node = next;
	}
	map_done(&queue->all);
	heap_done(&queue->waiting);
	free(queue);
}

static struct item *
find_or_make(struct queue *queue, const char *key)
{
	struct map_node *node = map_get(&queue->all, key);
	struct item *item;
	size_t len;

	if (node != NULL)
		return item_of(node);
	len = strlen(key);
	item = xmalloc0(sizeof(*item) + len + 1);
	memcpy(item->key, key, len);
	item->again_at = QUEUE_NEVER;
	map_put(&queue->all, &item->node, item->key);
	return item;
}

static void
make_ready(struct queue *queue, struct item *item)
{
	heap_remove(&queue->waiting, &item->due);
	item->ready = true;
	item->next = NULL;
	*queue->last = item;
	queue->last = &item->next;
	queue->ready++;
}

static void
wait_until(struct queue *queue, struct item *item, uint64_t at_ms)
{
	if (at_ms == 0)
		make_ready(queue, item);
	else
		heap_set(&queue->waiting, &item->due, at_ms);
}

void
queue_add(struct queue *queue, const char *key, uint64_t at_ms)
{
	struct item *item = find_or_make(queue, key);

	if (item->working) {
		if (at_ms < item->again_at)
			item->again_at = at_ms;
		return;
	}
	if (item->ready || (heap_has(&item->due) && item->due.key <= at_ms))
		return;
	wait_until(queue, item, at_ms);
}

const char *
queue_take(struct queue *queue, uint64_t now_ms)
{
	struct heap_node *due;
	struct item *item;

	while ((due = heap_first(&queue->waiting)) != NULL &&
	       due->key <= now_ms)
		make_ready(queue, MAP_ENTRY(due, struct item, due));
	item = queue->first;
	if (item == NULL)
		return NULL;
	queue->first = item->next;
	if (queue->first == NULL)
		queue->last = &queue->first;
	queue->ready--;
	item->ready = false;
	item->working = true;
	queue->working++;
	return item->key;
}

static uint64_t
pause_of(unsigned failures)
{
	uint64_t pause = QUEUE_PAUSE_MIN_MS;

	while (--failures > 0 && pause < QUEUE_PAUSE_MAX_MS)
		pause *= 2;
	return pause < QUEUE_PAUSE_MAX_MS ? pause : QUEUE_PAUSE_MAX_MS;
}

void
queue_end(struct queue *queue, const char *key, bool failed, uint64_t now_ms)
{
	struct map_node *node = map_get(&queue->all, key);
	struct item *item;
	uint64_t at;

	if (node == NULL || !item_of(node)->working)
		return;
	item = item_of(node);
	item->working = false;
	queue->working--;
	at = item->again_at;
	item->again_at = QUEUE_NEVER;
	if (failed) {
		/* Also when it was added meanwhile: what fails is not tried
		 * faster because its object keeps changing. */
		item->failures++;
		at = now_ms + pause_of(item->failures);
	} else {
		item->failures = 0;
	}
	if (at != QUEUE_NEVER) {
		wait_until(queue, item, at);
		return;
	}
	map_remove(&queue->all, &item->node);
	free(item);
}

uint64_t
queue_due(const struct queue *queue)
{
	const struct heap_node *due = heap_first(&queue->waiting);

	if (queue->first != NULL)
		return 0;
	return due == NULL ? QUEUE_NEVER : due->key;
}

size_t
queue_waiting(const struct queue *queue)
{
	return queue->ready + queue->waiting.count;
}

size_t
queue_working(const struct queue *queue)
{
	return queue->working;
}
