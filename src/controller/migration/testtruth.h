/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROLLER_MIGRATION_TESTTRUTH_H
#define CONTROLLER_MIGRATION_TESTTRUTH_H

/*
 * testtruth - what facts mean, told from what docs/migration.md says and not
 * from facts.c, so that a mistake there is not made here as well.
 */

#include <stdbool.h>
#include <stdint.h>

#include "controller/migration/facts.h"

/* Of the migration. */
bool truth_is_final(enum migration_phase phase);
bool truth_is_canceled(const struct facts *f);
bool truth_has_cond(const struct facts *f, const char *type);
/* Another one of the machine goes on, or was there first. */
bool truth_has_first(const struct facts *f);
/* Made by the system, and one before it has failed a moment ago. */
bool truth_is_held_back(const struct facts *f);

/* Of the machine; where it is there, for the last three. */
bool truth_machine_lives(const struct facts *f);
/* It runs, in a pod that does. */
bool truth_machine_may_move(const struct facts *f);
/* It is known not to move. */
bool truth_is_immovable(const struct facts *f);
/* Its CPUs or its memory are not yet as they are to be. */
bool truth_changes_to_come(const struct facts *f);

/* Of the machine's migration state: that of this migration, or NULL. */
const struct migration_state *truth_own(const struct facts *f);
/* The nodes have been asked, or may have been. */
bool truth_is_with_nodes(const struct facts *f);
bool truth_has_switched(const struct facts *f);
bool truth_has_arrived(const struct facts *f);

/* Of pods; NULL is not up. */
bool truth_is_up(const struct pod *pod);
bool truth_is_at(const struct pod *pod, const char *node);
/* The guest may run in it, or nobody can tell. */
bool truth_may_be_in_target(const struct facts *f);
bool truth_may_be_in_source(const struct facts *f);

/* When what it waits for has taken too long; INT64_MAX: never. */
int64_t truth_phase_due_us(const struct facts *f);
int64_t truth_pod_due_us(const struct facts *f);
int64_t truth_utility_due_us(const struct facts *f);
bool truth_is_transfer_late(const struct facts *f);

#endif
