/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KUBE_INFORMER_H
#define KUBE_INFORMER_H

/*
 * informer - the objects of one kind as the API server has them, and what
 * changes about them.
 *
 * Lists, then watches from the version of the list. A watch that ends is taken
 * up again from the last version that was seen (bookmarks count); when the
 * server does not have the history any more (410) the objects are listed
 * again, and what differs is told, what is gone included. So each handler sees
 * every object's way from added over updated to deleted; states in between may
 * be skipped, none is told twice, none is told after a later one. An object
 * that was replaced by another of the same name is deleted, then added.
 *
 * Failures are tried again for ever, with pauses from INFORMER_PAUSE_MIN_MS
 * doubling to INFORMER_PAUSE_MAX_MS, of which up to half is left to chance.
 *
 * Threading: only from the loop's thread. Handlers are called from the loop;
 * they may do anything but free the informer.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kube/cache.h"
#include "kube/client.h"

struct informer;

#define INFORMER_PAUSE_MIN_MS 100
#define INFORMER_PAUSE_MAX_MS 30000
#define INFORMER_WATCH_MIN_S 300 /* a watch lasts this to twice as long */
#define INFORMER_HANDLERS_MAX 16

/* All texts are copied. */
struct informer_config {
	struct kube_client *client;
	struct kube_resource resource;
	const char *ns; /* NULL: all */
	const char *label_selector;
	const char *field_selector;
	struct cache_config cache;
	unsigned page; /* objects in a page of the list; 0: the default */
};

/* Any may be NULL. Objects are good during the call, the new one until its
 * next change. */
struct informer_handler {
	void (*added)(const struct cache_object *object, void *arg);
	void (*updated)(const struct cache_object *old,
			const struct cache_object *object, void *arg);
	/* As it was last seen. */
	void (*deleted)(const struct cache_object *object, void *arg);
	/* The first list is complete: all that was there has been added. */
	void (*synced)(void *arg);
	/* A list or a watch has failed, and why, in a sentence; it will be
	 * tried again. */
	void (*failed)(const char *why, void *arg);
	void *arg;
};

struct informer *informer_new(const struct informer_config *config);
/* Stops. Objects go away without being deleted. Not from within a handler.
 * NULL is fine. */
void informer_free(struct informer *informer);

/* Who comes late is told of what is there, before this returns. */
void informer_add_handler(struct informer *informer,
			  const struct informer_handler *handler);

void informer_start(struct informer *informer);
/* For good: no handler is called any more, and the cache stays as it is. From
 * anywhere. */
void informer_stop(struct informer *informer);

/* True from the first complete list on. */
bool informer_has_synced(const struct informer *informer);

const struct cache *informer_cache(const struct informer *informer);

struct informer_stats {
	uint64_t lists;   /* that were begun */
	uint64_t watches; /* that were begun */
	uint64_t events;  /* of watches, without bookmarks */
	uint64_t failures;
	bool connected;         /* now: a watch is open, or being opened */
	char last_failure[256]; /* "" when there was none */
};

const struct informer_stats *informer_stats(const struct informer *informer);

#endif
