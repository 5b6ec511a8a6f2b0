/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROLLER_MIGRATION_ADOPTION_H
#define CONTROLLER_MIGRATION_ADOPTION_H

/*
 * adoption - finds the migrations that have a slot already.
 *
 * Who takes over the lead asks the server itself for migrations, target pods
 * and machines: the caches may not show yet what the one before him did last,
 * or where a machine is now, and a slot that is given twice cannot be taken
 * back.
 *
 * Threading: only from the loop's thread.
 */

struct adoption;
struct slots;
struct world;

/* done is called once, when all have been found and slots has them, not from
 * within; failures are tried again until it works. The adoption is gone
 * then. */
struct adoption *adoption_start(struct world *world, struct slots *slots,
				void (*done)(void *arg), void *arg);
void adoption_free(struct adoption *adoption); /* NULL is fine */

#endif
