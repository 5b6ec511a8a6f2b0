/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROLLER_INSTANCE_INSTANCE_H
#define CONTROLLER_INSTANCE_INSTANCE_H

/*
 * instance - the controller of instances (VMIs): makes the pod that an instance
 * runs in, follows it, and tidies up after both.
 *
 * What is done follows from decide.h; here it is found out and carried out. See
 * world.h on when it exists. Threading: only from the loop's thread.
 */

struct instances;
struct world;

struct instances *instances_new(struct world *world);
void instances_free(struct instances *c); /* NULL is fine */

#endif
