/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROLLER_MIGRATION_RUN_H
#define CONTROLLER_MIGRATION_RUN_H

/*
 * run - one look at one migration: decides and carries out, again and again
 * until there is nothing to do now.
 *
 *	turn:  facts, decision
 *	  needs confirmed facts, or the namespace -> reads, next turn
 *	  requests of its actions, one after the other
 *	    pod made, machine handed off -> next turn, which knows of it
 *	  request of its status, its finalizer, its deletion
 *	  something was written -> next turn
 *	finish: slots, when to look again
 *
 * What a decision points to can go away as soon as control is back in the
 * loop. So all requests of a turn are made before the first is sent, and what
 * comes back goes into the note, which the next turn looks at.
 *
 * Threading: as world.h.
 */

struct migrations;
struct run;

/* Ends with worker_end() for the key, inside or later. */
void run_start(struct migrations *migrations, const char *key);
/* Without that; cancels what is under way. */
void run_free(struct run *run);

#endif
