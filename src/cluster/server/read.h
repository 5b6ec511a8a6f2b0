/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_READ_H
#define CLUSTER_READ_H

/*
 * read - get, list and watch.
 *
 * A get and a list show the state that is on disk and never wait. A long list
 * is written piece by piece, as the client takes it, from references to the
 * objects as they were when it began.
 */

#include <stddef.h>

struct call;
struct object;
struct server;
struct watches;

void get_run(struct call *call);
void list_run(struct call *call);
void watch_run(struct call *call);

/* Answers with these objects as a list would when they are on disk; takes the
 * call, the references and the array. */
void list_reply(struct call *call, struct object **objects, size_t count);

/* All watches of a server, to end them when it stops. */
struct watches *watches_new(void);
/* Ends each cleanly, as if its time were up. */
void watches_end(struct watches *watches);
/* Those of the kind that a CustomResourceDefinition defines, by its name. */
void watches_end_kind(struct watches *watches, const char *crd);
void watches_free(struct watches *watches); /* ends what runs */

struct watch_stats {
	size_t running;
	unsigned long long events;   /* sent to watchers */
	unsigned long long too_slow; /* watchers that were cut off */
};
const struct watch_stats *watches_stats(const struct watches *watches);

#endif
