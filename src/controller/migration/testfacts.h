/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROLLER_MIGRATION_TESTFACTS_H
#define CONTROLLER_MIGRATION_TESTFACTS_H

/*
 * testfacts - facts for tests: a migration of a running machine from node "a"
 * to node "b", of which each test changes what it is about.
 */

#include "controller/migration/facts.h"

#define TESTFACTS_CONDS_MAX 8
#define TESTFACTS_NOW_US INT64_C(1000000000000)

struct testfacts {
	struct facts f;
	struct kubevirt_config config;
	struct vmim vmim;
	struct vmi vmi;
	struct migration_state state; /* not of the machine until handed off */
	struct pod source, target;    /* the target is not there at first */
	struct cond conds[TESTFACTS_CONDS_MAX]; /* of the migration */
	struct vmim others[8];
	const struct vmim *other_list[8];
};

/* A view without anything in it, all texts "". */
void testfacts_vmim(struct vmim *vmim, const char *uid);
void testfacts_vmi(struct vmi *vmi);
void testfacts_pod(struct pod *pod, const char *name);
void testfacts_state(struct migration_state *state);
void testfacts_config(struct kubevirt_config *config);

/* Its nodes have been told of it. */
void testfacts_hand_off(struct testfacts *t);

/* New, accepted by admission, everything confirmed. */
void testfacts_init(struct testfacts *t);
/* In a phase since a second, with what belongs to it. */
void testfacts_in(struct testfacts *t, enum migration_phase phase);
void testfacts_cond(struct testfacts *t, const char *type, const char *reason);
/* Another migration of the machine, made and ended at these seconds. */
struct vmim *testfacts_other(struct testfacts *t, int64_t created_s,
			     enum migration_phase phase, int64_t ended_s);

#endif
