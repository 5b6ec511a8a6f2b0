/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROLLER_MIGRATION_LADDER_H
#define CONTROLLER_MIGRATION_LADDER_H

/*
 * ladder - all that makes a migration fail, in the order in which it counts.
 */

#include <stdbool.h>
#include <stddef.h>

#include "controller/migration/facts.h"

/* Reasons of the condition ferry.io/Failure. */
#define FAILURE_MACHINE_UNREADABLE "MachineUnreadable"
#define FAILURE_MACHINE_GONE "MachineGone"
#define FAILURE_MACHINE_ENDED "MachineEnded"
#define FAILURE_UNSUPPORTED "DecentralizedUnsupported"
#define FAILURE_CANCELED "Canceled"
#define FAILURE_TARGET_POD_ENDED "TargetPodEnded"
#define FAILURE_TARGET_POD_REMOVED "TargetPodRemoved"
#define FAILURE_STATE_CLEARED "StateCleared"
#define FAILURE_STATE_TAKEN "StateTaken"
#define FAILURE_NODE "ReportedByNode"
#define FAILURE_RIVAL "AnotherMigration"
#define FAILURE_NOT_MIGRATABLE "NotMigratable"
#define FAILURE_UTILITY_TIMEOUT "UtilityVolumesTimeout"
#define FAILURE_UNSCHEDULABLE_TIMEOUT "UnschedulableTimeout"
#define FAILURE_SAME_NODE "TargetOnSourceNode"
#define FAILURE_PENDING_TIMEOUT "PendingPodTimeout"
#define FAILURE_SCHEDULED_TIMEOUT "ScheduledTimeout"
#define FAILURE_PREPARING_TIMEOUT "PreparingTargetTimeout"
#define FAILURE_READY_TIMEOUT "TargetReadyTimeout"
#define FAILURE_RUNNING_TIMEOUT "RunningTimeout"

#define LADDER_TARGET_DOWN "Target pod is down"

struct rung {
	const char *name;
	bool (*when)(const struct facts *facts);
	const char *code; /* for programs */
	const char *text; /* of the event */
	/* What the machine's migration state is told, where it is still of
	 * this migration. */
	const char *told;
	/* It may look like this only because a cache is behind. */
	bool confirm;
};

/* The first that holds; NULL: none. Not for migrations that have ended. */
const struct rung *ladder_find(const struct facts *facts);
/* The code, where what happened before says more than the rung. */
const char *ladder_code(const struct rung *rung, const struct facts *facts);

/* For tests: all of them, in order. */
const struct rung *ladder_all(size_t *ret_count);

/* What somebody else said about it, which belongs to the text; "" if nobody
 * did. Of the facts. */
const char *ladder_detail(const struct rung *rung, const struct facts *facts);

#endif
