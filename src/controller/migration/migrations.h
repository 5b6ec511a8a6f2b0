/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROLLER_MIGRATION_MIGRATIONS_H
#define CONTROLLER_MIGRATION_MIGRATIONS_H

/*
 * migrations - the controller of migrations: gathers facts about each, has
 * them decided upon (decide.h), and carries the decisions out.
 *
 * Before anything is decided the migrations that have a slot are found on the
 * server itself (adoption.h). Then each migration is looked at when something
 * about it changes, or at the time its last decision named. Those that go on
 * come before those that wait; what waits for a slot is not looked at until
 * there is one (parking.h).
 *
 * Threading: as world.h.
 */

struct migrations;
struct world;

struct migrations *migrations_new(struct world *world);
void migrations_free(struct migrations *migrations); /* NULL is fine */

#endif
