/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROLLER_MIGRATION_TESTSPACE_H
#define CONTROLLER_MIGRATION_TESTSPACE_H

/*
 * testspace - all facts that a decision can be made from, each reduced to the
 * few values that can make a difference: a point has one value of each.
 *
 * Times are before, at and after their deadline, by a microsecond.
 */

#include <stdbool.h>
#include <stddef.h>

#include "controller/migration/testfacts.h"

enum fact {
	FACT_PHASE,
	FACT_CONFIRMED,
	FACT_CANCELED,
	FACT_STAMP,
	FACT_HALF, /* of a decentralized migration */
	FACT_PRIORITY,
	FACT_MACHINE,
	FACT_MACHINE_NODE,
	FACT_MIGRATABLE,
	FACT_DISKS,
	FACT_CHANGE, /* of CPUs or memory that has not come about */
	FACT_UTILITY,
	FACT_BACKUP,
	FACT_OTHER,
	FACT_BEGUN,
	FACT_OTHER_BEGUN,
	FACT_BACKOFF,
	FACT_KEPT,
	FACT_STATE,
	FACT_ADDRESS,
	FACT_ABORT,
	FACT_START,
	FACT_READY,
	FACT_LEFT,
	FACT_COMPLETED,
	FACT_FAILED,
	FACT_REASON,
	FACT_MODE,
	FACT_NODE_WAITS,
	FACT_SOURCE,
	FACT_TARGET,
	FACT_POD_TIME,
	FACT_MARKED,
	FACT_LIVE,
	FACT_CREATE_SENT,
	FACT_HANDOFF_SENT,
	FACT_QUOTA,
	FACT_REFUSED,
	FACT_SLOT,
	FACT_INBOUND,
	FACT_CPU,
	FACT_PHASE_TIME,
	FACT_ABORT_COND,
	FACT_WAITING,
	FACT_OLD_CONDS,
	FACT_COPIED,
	FACT_COUNT,
};

struct point {
	unsigned char at[FACT_COUNT];
};

/* Values that are named elsewhere; 0 is the usual one of each fact. */
enum {
	MACHINE_RUNS,
	MACHINE_GONE,
	MACHINE_UNREADABLE,
	MACHINE_DELETED,
	MACHINE_ENDED
};
enum {
	NODE_SOURCE,
	NODE_TARGET,
	NODE_NONE
};
enum {
	UTILITY_NONE,
	UTILITY_BEFORE,
	UTILITY_AT,
	UTILITY_AFTER,
	UTILITY_EVER
};
enum {
	OTHER_NONE,
	OTHER_NEW_OLDER,
	OTHER_NEW_NEWER,
	OTHER_NEW_BEFORE,
	OTHER_NEW_BEHIND,
	OTHER_PENDING,
	OTHER_RUNNING,
	OTHER_FAILED,
	OTHER_SUCCEEDED
};
enum {
	STATE_NONE,
	STATE_OWN,
	STATE_EMPTY,
	STATE_FOREIGN,
	STATE_OTHER,
	STATE_HALF
};
enum {
	LEFT_NOT,
	LEFT_NOW,
	LEFT_AT,
	LEFT_LONG
};
enum {
	SOURCE_THERE,
	SOURCE_NONE,
	SOURCE_DOWN,
	SOURCE_DELETED,
	SOURCE_AWAY,
	SOURCE_ANOTHER
};
enum {
	TARGET_NONE,
	TARGET_MADE,
	TARGET_NO_NODE,
	TARGET_PLACED,
	TARGET_READY,
	TARGET_ON_SOURCE,
	TARGET_DOWN,
	TARGET_DOWN_ON_SOURCE,
	TARGET_DELETED
};
enum {
	TIME_BEFORE,
	TIME_AT,
	TIME_AFTER,
	TIME_UNKNOWN,
	TIME_NO_END
};

const char *space_name(enum fact fact);
unsigned space_size(enum fact fact); /* how many values it has */

/* What goes well in a phase. */
struct point space_base(enum migration_phase phase);
/* False for what cannot be together, see there. */
bool space_is_possible(const struct point *p);
void space_facts(const struct point *p, struct testfacts *t);

/* For whoever reads that a test has failed. */
void space_print(const struct point *p);

#endif
