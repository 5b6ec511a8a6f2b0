/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/store/history.h"

#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"
#include "cluster/store/entry.h"
#include "cluster/store/object.h"

#define FIRST_SIZE 64

/* The object that a write put there is needed anyway; what it replaced, and a
 * tombstone, are there for the history alone. */
static size_t
cost(const struct record *record)
{
	size_t bytes = sizeof(*record);

	if (record->old != NULL)
		bytes += sizeof(struct object) + record->old->len;
	if (record->removed)
		bytes += sizeof(struct object) + record->object->len;
	return bytes;
}

static void
grow(struct history *h)
{
	size_t size = h->size > 0 ? h->size * 2 : FIRST_SIZE;
	struct record **items = xcalloc(size, sizeof(struct record *));

	for (size_t i = 0; i < h->count; i++)
		items[i] = history_get(h, i);
	free(h->items);
	h->items = items;
	h->size = size;
	h->first = 0;
}

void
history_push(struct history *h, struct record *record)
{
	if (h->count == h->size)
		grow(h);
	h->items[(h->first + h->count) & (h->size - 1)] = record;
	h->count++;
	h->bytes += cost(record);
}

struct record *
history_get(const struct history *h, size_t n)
{
	assert(n < h->count);
	return h->items[(h->first + n) & (h->size - 1)];
}

size_t
history_find(const struct history *h, uint64_t rv)
{
	size_t low = 0, high = h->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (history_get(h, middle)->object->rv <= rv)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct record *
history_pop_oldest(struct history *h)
{
	struct record *record = history_get(h, 0);

	h->first = (h->first + 1) & (h->size - 1);
	h->count--;
	h->bytes -= cost(record);
	return record;
}

struct record *
history_pop_newest(struct history *h)
{
	struct record *record = history_get(h, h->count - 1);

	h->count--;
	h->bytes -= cost(record);
	return record;
}

void
history_done(struct history *h)
{
	assert(h->count == 0);
	free(h->items);
}
