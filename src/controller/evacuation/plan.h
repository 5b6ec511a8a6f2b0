/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROLLER_EVACUATION_PLAN_H
#define CONTROLLER_EVACUATION_PLAN_H

/*
 * plan - which of the instances that are to be updated are next, and how.
 *
 * As the KubeVirt object's workloadUpdateStrategy says: by migrations, as many
 * as the cluster's limit has room for, or by evicting them in batches. Nothing
 * is done while KubeVirt itself is being changed, or without methods.
 *
 * Pure. Threading: as api/vmi.h.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/config.h"
#include "controller/evacuation/decide.h"

/* An instance that is to be updated, or has a migration for that. */
struct plan_candidate {
	const struct vmi *vmi;
	enum update update;
	bool has_migration; /* that has not ended */
	bool has_update;    /* one for an update */
	bool claimed;       /* is migrating, or has to leave its node */
};

enum plan_verdict {
	PLAN_WAIT, /* nothing can be done, or not now */
	PLAN_MIGRATE,
	PLAN_EVICT,
	PLAN_ABORT, /* what its migration was for is gone */
};

struct plan_facts {
	int64_t now_us;
	const struct kubevirt_config *config;
	const struct plan_candidate *candidates;
	size_t count;
	size_t running;        /* migrations that hold a slot */
	int64_t last_batch_us; /* of evictions; 0: none yet */
};

struct plan {
	bool evicts;     /* a batch begins now */
	size_t outdated; /* that are to be updated */
	bool unfinished; /* there is more to do later */
};

/* Fills in a verdict for each candidate, in their order: who is to have the
 * same chance shuffles them. */
void plan_make(const struct plan_facts *facts, enum plan_verdict *verdicts,
	       struct plan *ret_plan);

#endif
