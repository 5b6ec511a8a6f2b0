/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROLLER_MACHINE_MACHINE_H
#define CONTROLLER_MACHINE_MACHINE_H

/*
 * machine - the controller of machines (VMs): starts and stops their instances
 * as the run strategy and people ask, and says how they are.
 *
 * What is done follows from decide.h; here it is found out and carried out. See
 * world.h on when it exists. Threading: only from the loop's thread.
 */

#include "base/js.h"

struct machines;
struct world;

struct machines *machines_new(struct world *world);
void machines_free(struct machines *c); /* NULL is fine */

/* By which an instance tells which template it was made of; to be freed. */
char *machine_template_digest(const json_t *vm);

#endif
