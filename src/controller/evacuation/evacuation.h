/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROLLER_EVACUATION_EVACUATION_H
#define CONTROLLER_EVACUATION_EVACUATION_H

/*
 * evacuation - the controller that makes migrations on its own: of instances
 * that are marked to leave their node, or whose node is to be drained, and of
 * those that update.h has chosen.
 *
 * What is done follows from decide.h; here it is found out and carried out. See
 * world.h on when it exists. Threading: only from the loop's thread.
 */

#include "controller/evacuation/decide.h"

struct evacuations;
struct world;

struct evacuations *evacuations_new(struct world *world);
void evacuations_free(struct evacuations *c); /* NULL is fine */

/* The instance of the key is to be updated, if nothing is in the way now. */
void evacuations_choose(struct evacuations *c, const char *key,
			enum update update);

#endif
