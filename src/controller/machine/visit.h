/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROLLER_MACHINE_VISIT_H
#define CONTROLLER_MACHINE_VISIT_H

/*
 * visit - one look at one machine, from deciding to the last answer; for
 * machine.c.
 *
 * It has one request under way at a time, and ends with worker_end().
 */

#include <sys/queue.h>

#include "controller/machine/decide.h"
#include "controller/world.h"

struct machine_visit;
struct memos;
struct worker;

TAILQ_HEAD(machine_visits, machine_visit);

/* What all visits share. */
struct machines {
	struct world *world;
	struct worker *worker;
	struct events *events;
	struct memos *memos;
	struct machine_visits visits;
};

/* Works on the machine of the key, see worker_config.work. */
void machine_visit_start(struct machines *c, const char *key);
/* Ends without worker_end(), and cancels what is under way. */
void machine_visit_cancel(struct machine_visit *visit);

#endif
