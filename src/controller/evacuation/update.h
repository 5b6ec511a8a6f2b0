/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROLLER_EVACUATION_UPDATE_H
#define CONTROLLER_EVACUATION_UPDATE_H

/*
 * update - keeps running instances up to date: their launchers, and what was
 * changed about them.
 *
 * Follows plan.h every few seconds while there is something to do. Migrations
 * are made by evacuation.h; evicting, aborting and counting are done here.
 * Threading: only from the loop's thread.
 */

struct evacuations;
struct events;
struct updates;
struct world;

#define UPDATE_PAUSE_MS 5000 /* between two plans */

/* All is borrowed. */
struct updates *updates_new(struct world *world,
			    struct evacuations *evacuations,
			    struct events *events);
void updates_free(struct updates *updates); /* NULL is fine */

#endif
