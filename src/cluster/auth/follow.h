/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_AUTH_FOLLOW_H
#define CLUSTER_AUTH_FOLLOW_H

/*
 * follow - a collection from its present state onwards.
 *
 * Whoever keeps an index sees each object that is there as EVENT_ADDED before
 * follow() returns, and then every change once it is durable.
 */

struct event;
struct store;
struct subscription;

/* End it with unsubscribe(). */
struct subscription *follow(struct store *store, const char *group,
			    const char *resource,
			    void (*fn)(const struct event *event, void *arg),
			    void *arg);

#endif
