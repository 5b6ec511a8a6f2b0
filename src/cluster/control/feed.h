/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_CONTROL_FEED_H
#define CLUSTER_CONTROL_FEED_H

/*
 * feed - keeps the view as the store is, and tells the controllers.
 *
 * Each object is decoded once for each change, for all of them. Listeners are
 * called after the view has changed, in the order in which they came.
 */

#include "base/js.h"
#include "cluster/store/store.h"

struct feed;
struct pod;
struct view;

enum feed_what {
	FEED_NAMESPACE,
	FEED_NODE,
	FEED_CLASS,
	FEED_VOLUME,
	FEED_CLAIM,
	FEED_POD,
	FEED_WHAT_COUNT,
};

struct feed_change {
	enum feed_what what;
	enum event_type type;
	const char *key; /* "namespace/name", or "name" */
	const struct object *object;
	const json_t *json; /* NULL when it was deleted */
	/* Of a pod: as it is (NULL: gone) and was (NULL: new). */
	struct pod *pod;
	const struct pod *old_pod;
};

/* All that is in change is lent for the call. */
typedef void feed_fn(const struct feed_change *change, void *arg);

struct feed *feed_new(struct store *store, struct view *view);
void feed_free(struct feed *feed); /* NULL is fine */

/* Before feed_start(). */
void feed_listen(struct feed *feed, feed_fn *fn, void *arg);

/* Reads what is there, calling the listeners for each object, and follows. */
void feed_start(struct feed *feed);

#endif
