/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROLLER_MIGRATION_ORPHAN_H
#define CONTROLLER_MIGRATION_ORPHAN_H

/*
 * orphan - target pods whose migration is gone: deleted, unless the machine is
 * in them (gc.h).
 *
 * A migration keeps its finalizer until its pods are gone, so that this is for
 * when somebody else took it away. That it is gone, and where the machine is,
 * is read from the server first.
 *
 * Threading: as world.h.
 */

struct migrations;
struct orphan;
struct pod;

/* The pod's migration is not in the cache: look at it when there is time. */
void orphan_queue(struct migrations *migrations, const struct pod *pod);

/* For the worker: key is the pod's behind MIGRATIONS_POD_KEY. Ends with
 * worker_end(). */
void orphan_start(struct migrations *migrations, const char *key);
/* Without that. */
void orphan_free(struct orphan *orphan);

#endif
