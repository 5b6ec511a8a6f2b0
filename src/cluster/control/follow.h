/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_CONTROL_FOLLOW_H
#define CLUSTER_CONTROL_FOLLOW_H

/*
 * follow - all objects of a resource, and then every change of them.
 *
 * Threading: only from the loop's thread.
 */

struct event;
struct store;
struct follow;

typedef void follow_fn(const struct event *event, void *arg);

/*
 * Calls fn with EVENT_ADDED for each object that is there, from inside, then
 * with each change. resource NULL: of all resources, changes only. An object
 * of an event is lent for the call.
 */
struct follow *follow_new(struct store *store, const char *group,
			  const char *resource, follow_fn *fn, void *arg);
void follow_free(struct follow *follow); /* NULL is fine */

#endif
