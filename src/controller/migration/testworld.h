/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROLLER_MIGRATION_TESTWORLD_H
#define CONTROLLER_MIGRATION_TESTWORLD_H

/*
 * testworld - a small cluster for model_test.c: what is stored in it, what the
 * controller sees of it, and what comes of decisions that are carried out.
 */

#include <stdio.h>

#include "base/test.h"
#include "controller/migration/decide.h"
#include "controller/migration/testfacts.h"

#define NODES 4
#define VMIS 3
#define VMIMS 20
#define PODS (VMIS + VMIMS)
#define NONE (-1)
#define FOREIGN (-2)

struct mpod {
	bool exists, deleting, down, ready, unschedulable, marked;
	int node, vmi, vmim;
	int64_t created_us;
};

struct mstate {
	int vmim; /* NONE: no state */
	int source_pod, target_pod, source_node, target_node;
	bool abort, address, started, arrived, post_copy, completed, failed;
	bool left; /* the source has given it away */
	/* The guest runs on the target; whether anybody has said so or not. */
	bool moved;
	/* What was left of it at the source is gone, and nobody there says so:
	 * it does not arrive any more. */
	bool cut_off;
	char reason[DECISION_TEXT_SIZE];
};

struct mvmi {
	bool exists, ended;
	int node, pod;
	struct mstate state;
};

struct mcond {
	const char *type, *reason;
	char message[DECISION_TEXT_SIZE];
	int64_t since_us;
};

struct mvmim {
	bool exists, deleting, finalizer, stamped, automatic, copied;
	int vmi;
	enum migration_phase phase;
	int64_t created_us, since_us[MIGRATION_PHASE_COUNT];
	struct mcond conds[TESTFACTS_CONDS_MAX];
	size_t cond_count;
	unsigned version;
};

struct world {
	struct mpod pods[PODS];
	struct mvmi vmis[VMIS];
	struct mvmim vmims[VMIMS];
};

/* What there is, what the controller has seen of it, and what the one has that
 * stands by. */
extern struct world live, cache, standby;
extern int64_t now_us;
extern bool quota_full;
extern bool status_lost; /* it cannot be written */
/* The controller's memory. */
extern struct slots *slots;
extern bool create_sent[VMIMS], handoff_sent[VMIMS];
/* The phase in which it was canceled; MIGRATION_PHASE_COUNT: it was not. */
extern enum migration_phase canceled_in[VMIMS];
extern unsigned run; /* the number that a failure is found again with */

extern const struct slot_limits limits;
extern char node_names[NODES][4], pod_names[PODS][8], vmim_uids[VMIMS][8];

#define CHECK(condition)                                              \
	do {                                                          \
		if (!(condition)) {                                   \
			print_error("run %u: %s\n", run, #condition); \
			fail();                                       \
		}                                                     \
	} while (0)

/* Views of what is stored in a world. */

struct views {
	struct facts f;
	struct kubevirt_config config;
	struct vmim vmims[VMIMS];
	struct cond conds[VMIMS][TESTFACTS_CONDS_MAX];
	const struct vmim *others[VMIMS];
	struct vmi vmi;
	struct migration_state state;
	struct pod source, target;
};

/* Views of a pod and of a state, and of all about migration i. */
void view_pod(struct pod *view, const struct world *w, int i);
void view_state(struct views *v, const struct mstate *s);
void view(struct views *v, const struct world *w, int i, bool confirmed);

/* The test's: whether the next request is lost, as one before a crash. */
bool requests_fail(void);

/* NONE: there is none. */
int target_pod_of(const struct world *w, int vmim);

/* Carries out what was decided about migration i from what was seen. */
void carry_out(int i, const struct decision *d, const struct world *seen);

#endif
