/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROLLER_EVACUATION_VISIT_H
#define CONTROLLER_EVACUATION_VISIT_H

/*
 * visit - one look at one instance, from deciding to the last answer; for
 * evacuation.c.
 *
 * It has one request under way at a time, and ends with worker_end().
 */

#include <sys/queue.h>

#include "base/map.h"
#include "controller/evacuation/evacuation.h"
#include "controller/world.h"

struct evacuation_visit;
struct updates;
struct worker;

TAILQ_HEAD(evacuation_visits, evacuation_visit);

/* What all visits share. */
struct evacuations {
	struct world *world;
	struct worker *worker;
	struct events *events;        /* about evacuations */
	struct events *update_events; /* about updates */
	struct updates *updates;
	struct map chosen;
	struct evacuation_visits visits;
};

/* What was chosen for the key, which is forgotten with it. */
enum update evacuations_take_choice(struct evacuations *c, const char *key);

/* Works on the instance of the key, see worker_config.work. */
void evacuation_visit_start(struct evacuations *c, const char *key);
/* Ends without worker_end(), and cancels what is under way. */
void evacuation_visit_cancel(struct evacuation_visit *visit);

#endif
