/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/store/store_internal.h"

#include <stdlib.h>

#include "base/mem.h"
#include "cluster/store/entry.h"
#include "cluster/store/object.h"

struct subscription {
	struct store *store;
	struct subscription **head; /* the list it is in */
	struct subscription *prev;
	struct subscription *next;
	uint64_t seen_rv; /* what is not above was delivered, or not wanted */
	void (*fn)(const struct event *event, void *arg);
	void *arg;
};

static struct event
event_of(const struct record *record)
{
	enum event_type type = EVENT_MODIFIED;

	if (record->removed)
		type = EVENT_DELETED;
	else if (record->old == NULL)
		type = EVENT_ADDED;
	return (struct event){
		.type = type,
		.rv = record->object->rv,
		.object = record->object,
		.old = record->old,
	};
}

/* The cursor is the store's: unsubscribe() moves it on where it must. */
static void
call_list(struct store *store, struct subscription *first,
	  const struct event *event)
{
	store->cursor = first;
	while (store->cursor != NULL) {
		struct subscription *subscription = store->cursor;

		store->cursor = subscription->next;
		if (event->rv > subscription->seen_rv) {
			subscription->seen_rv = event->rv;
			subscription->fn(event, subscription->arg);
		}
	}
}

void
watch_deliver(struct store *store, uint64_t after_rv)
{
	const struct history *h = &store->history;
	size_t end = history_find(h, store->durable_rv);

	/* By number: those who are called may write, so the history grows. */
	for (size_t i = history_find(h, after_rv); i < end; i++) {
		const struct record *record = history_get(h, i);
		struct event event = event_of(record);

		call_list(store, record->entry->collection->subscriptions,
			  &event);
		call_list(store, store->subscriptions, &event);
	}
}

/* What is durable already; nothing leaves the history meanwhile. */
static void
replay(struct store *store, const struct collection *c, uint64_t after_rv,
       const struct subscription *subscription)
{
	const struct history *h = &store->history;
	size_t end = history_find(h, store->durable_rv);

	for (size_t i = history_find(h, after_rv); i < end; i++) {
		const struct record *record = history_get(h, i);
		struct event event = event_of(record);

		if (c == NULL || record->entry->collection == c)
			subscription->fn(&event, subscription->arg);
	}
}

struct subscription *
subscribe(struct store *store, struct collection *c, uint64_t after_rv,
	  void (*fn)(const struct event *event, void *arg), void *arg,
	  bool *ret_too_old)
{
	struct subscription *subscription;

	*ret_too_old = after_rv < store->oldest_rv;
	if (*ret_too_old)
		return NULL;

	subscription = xmalloc0(sizeof(*subscription));
	subscription->store = store;
	subscription->fn = fn;
	subscription->arg = arg;
	subscription->seen_rv =
		after_rv > store->durable_rv ? after_rv : store->durable_rv;
	subscription->head =
		c != NULL ? &c->subscriptions : &store->subscriptions;
	subscription->next = *subscription->head;
	if (subscription->next != NULL)
		subscription->next->prev = subscription;
	*subscription->head = subscription;
	replay(store, c, after_rv, subscription);
	return subscription;
}

void
unsubscribe(struct subscription *subscription)
{
	if (subscription == NULL)
		return;
	if (subscription->store->cursor == subscription)
		subscription->store->cursor = subscription->next;
	if (subscription->prev != NULL)
		subscription->prev->next = subscription->next;
	else
		*subscription->head = subscription->next;
	if (subscription->next != NULL)
		subscription->next->prev = subscription->prev;
	free(subscription);
}
