/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_CONTROL_WATCH_H
#define CLUSTER_CONTROL_WATCH_H

/*
 * watch - all objects of a resource, and then every change of them.
 *
 * Threading: only from the loop's thread.
 */

struct event;
struct store;
struct watch;

typedef void watch_fn(const struct event *event, void *arg);

/*
 * Calls fn with EVENT_ADDED for each object that is there, from inside, then
 * with each change. resource NULL: of all resources, changes only. An object
 * of an event is lent for the call.
 */
struct watch *watch_new(struct store *store, const char *group,
			const char *resource, watch_fn *fn, void *arg);
void watch_free(struct watch *watch); /* NULL is fine */

#endif
