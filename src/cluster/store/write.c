/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/store/store_internal.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "cluster/store/committer.h"
#include "cluster/store/entry.h"
#include "cluster/store/object.h"

void
write_apply(struct collection *c, struct object *object, bool removed)
{
	struct record *record = xmalloc0(sizeof(*record));
	struct store *store = c->store;
	struct entry *entry;

	entry = entry_find(c, object->namespace_, object->name);
	if (entry == NULL)
		entry = entry_new(c);
	record->object = object;
	record->entry = entry;
	record->removed = removed;
	record->older = entry->newest;
	if (record->older != NULL)
		record->older->newer = record;
	record->old = entry_change(entry, removed ? NULL : object_ref(object),
				   record, &store->by_uid);
	history_push(&store->history, record);
	c->changed_rv = object->rv;
	store->rv = object->rv;
}

static void
free_record(struct record *record)
{
	object_unref(record->object);
	object_unref(record->old);
	free(record);
}

/* Undoes the newest write. */
static void
take_back(struct store *store)
{
	struct record *record = history_pop_newest(&store->history);

	if (record->older != NULL)
		record->older->newer = NULL;
	object_unref(entry_change(record->entry, TAKE_PTR(record->old),
				  record->older, &store->by_uid));
	free_record(record);
}

/* The oldest write becomes part of a state that is only known as a whole. */
static void
forget_oldest(struct store *store)
{
	struct record *record = history_pop_oldest(&store->history);
	struct entry *entry = record->entry;
	uint64_t rv = record->object->rv;

	store->oldest_rv = rv;
	if (record->old != NULL)
		committer_drop(store->committer, record->old->rv, rv);
	if (record->removed)
		committer_drop(store->committer, rv, rv);
	if (record->newer != NULL)
		record->newer->older = NULL;
	else
		(void)entry_change(entry, entry->object, NULL, &store->by_uid);
	free_record(record);
}

void
write_forget(struct store *store, uint64_t rv)
{
	const struct history *h = &store->history;

	while (h->count > 0 && history_get(h, 0)->object->rv <= rv)
		forget_oldest(store);
	if (store->oldest_rv < rv)
		store->oldest_rv = rv;
}

void
write_discard(struct store *store)
{
	while (store->history.count > 0) {
		struct record *record = history_pop_newest(&store->history);
		struct entry *entry = record->entry;

		if (record->older == NULL)
			(void)entry_change(entry, entry->object, NULL,
					   &store->by_uid);
		free_record(record);
	}
}

void
write_trim(struct store *store)
{
	const struct history *h = &store->history;

	while ((h->count > store->history_events ||
		h->bytes > store->history_bytes) &&
	       history_get(h, 0)->object->rv <= store->durable_rv)
		forget_oldest(store);
}

static void
wake(const struct store *store)
{
	static const uint64_t one = 1;

	if (write(store->wake_fd, &one, sizeof(one)) == -1 && errno != EAGAIN)
		abort();
}

/*
 * The committer is started in the next turn of the loop: everything that this
 * turn brings goes into one transaction.
 */
static void
write_object(struct collection *c, struct object *object, bool removed)
{
	struct store *store = c->store;

	assert(object->rv == store->rv + 1 && object->collection == c);
	write_apply(c, object, removed);
	committer_add(store->committer, object, removed);
	if (!store->kicked) {
		store->kicked = true;
		wake(store);
	}
}

void
store_put(struct collection *c, struct object *object)
{
	write_object(c, object, false);
}

void
store_remove(struct collection *c, struct object *tombstone)
{
	assert(store_get(c, tombstone->namespace_, tombstone->name) != NULL);
	write_object(c, tombstone, true);
}

void
store_when_durable(struct store *store,
		   void (*fn)(const struct err *err, void *arg), void *arg)
{
	struct waiters *waiters = &store->waiters;

	if (store->rv == store->durable_rv) {
		fn(NULL, arg);
		return;
	}
	if (waiters->count == waiters->size) {
		waiters->size = waiters->size > 0 ? waiters->size * 2 : 64;
		waiters->items =
			xrealloc(waiters->items,
				 waiters->size * sizeof(*waiters->items));
	}
	waiters->items[waiters->count++] =
		(struct waiter){ .rv = store->rv, .fn = fn, .arg = arg };
}

/* Calls those who wait for something up to rv. They may add others. */
static void
call_waiters(struct store *store, uint64_t rv, const struct err *err)
{
	struct waiters *waiters = &store->waiters;

	while (waiters->first < waiters->count &&
	       waiters->items[waiters->first].rv <= rv) {
		struct waiter waiter = waiters->items[waiters->first++];

		waiter.fn(err, waiter.arg);
	}
	/* What is left is moved to the front when it is not much, so that each
	 * is moved once on average. */
	if (waiters->first * 2 >= waiters->count) {
		size_t left = waiters->count - waiters->first;

		for (size_t i = 0; i < left; i++)
			waiters->items[i] = waiters->items[waiters->first + i];
		waiters->first = 0;
		waiters->count = left;
	}
}

/* The waiters are set aside first: one that is called writes anew, and waits
 * for that. */
static void
fail(struct store *store, const struct err *err)
{
	struct waiters waiters = store->waiters;

	while (store->history.count > 0 &&
	       history_get(&store->history, store->history.count - 1)
			       ->object->rv > store->durable_rv)
		take_back(store);
	store->rv = store->durable_rv;
	committer_reset(store->committer);

	store->waiters = (struct waiters){ 0 };
	for (size_t i = waiters.first; i < waiters.count; i++)
		waiters.items[i].fn(err, waiters.items[i].arg);
	free(waiters.items);
}

/* Does what follows from the committer's report. */
static struct committer_report
settle(struct store *store)
{
	struct committer_report report = committer_poll(store->committer);
	uint64_t before = store->durable_rv;

	store->settling = true;
	if (report.durable_rv > before) {
		store->durable_rv = report.durable_rv;
		watch_deliver(store, before);
		call_waiters(store, report.durable_rv, NULL);
		write_trim(store);
	}
	if (report.failed)
		fail(store, &report.err);
	store->settling = false;
	return report;
}

void
write_on_wake(unsigned ready, void *arg)
{
	struct store *store = arg;
	uint64_t count;

	(void)ready;
	if (read(store->wake_fd, &count, sizeof(count)) == -1 &&
	    errno != EAGAIN)
		abort();
	if (store->kicked) {
		store->kicked = false;
		committer_go(store->committer);
	}
	(void)settle(store);
}

int
store_flush(struct store *store, struct err *err)
{
	uint64_t wanted = store->rv;

	assert(!store->settling);
	while (store->durable_rv < wanted) {
		struct committer_report report;

		committer_go(store->committer);
		committer_wait(store->committer);
		report = settle(store);
		if (report.failed) {
			*err = report.err;
			return -1;
		}
	}
	return 0;
}
