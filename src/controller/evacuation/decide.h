/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROLLER_EVACUATION_DECIDE_H
#define CONTROLLER_EVACUATION_DECIDE_H

/*
 * decide - whether a migration is to be made of an instance, by the system and
 * not by a person: because it has to leave its node, or because its launcher
 * or itself is to be changed.
 *
 * Pure: asks nobody, remembers nothing, has no clock. There is one place for
 * both, so that an instance never has two. docs/machines.md has it in prose.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/config.h"
#include "api/node.h"
#include "api/vmi.h"
#include "api/vmim.h"

/* What is the matter with the instance that a migration would mend. */
enum update {
	UPDATE_NONE,
	UPDATE_LAUNCHER, /* a newer one is to be had */
	UPDATE_CHANGE,   /* of its CPUs, memory, networks or volumes */
};

struct evacuation_facts {
	int64_t now_us;
	/* All was read from the server just now; see confirm below. */
	bool confirmed;
	const struct kubevirt_config *config;
	const struct vmi *vmi;
	const struct node *node; /* that it is on; NULL: gone */
	/* Its migrations, in any order. */
	const struct vmim *const *vmims;
	size_t vmim_count;
	unsigned live_pods;
	/* Its turn has come; see plan.h. */
	enum update update;
};

enum evacuation_kind {
	EVACUATION_NOTHING,
	EVACUATION_LEAVE, /* a migration away from the node */
	EVACUATION_UPDATE,
};

struct evacuation_decision {
	const char *rule; /* that decided, for logs and tests */
	/* Read instance and migrations from the server, decide again. */
	bool confirm;
	enum evacuation_kind create;
	enum migration_priority priority;
	/* What the name of the migration follows from, besides the instance:
	 * the UID of the one before it, "" for the first. */
	const char *seed;
	/* It should move and cannot: an event says so, now and then. */
	bool complain;
	int64_t again_us; /* EVACUATION_NEVER: when something changes */
};

#define EVACUATION_NEVER INT64_MAX
/* How often it is said that an instance cannot move. */
#define EVACUATION_COMPLAIN_S 60
/* How long until an instance of several pods is looked at again. */
#define EVACUATION_PODS_S 5

void evacuation_decide(const struct evacuation_facts *facts,
		       struct evacuation_decision *ret_decision);

/* The instance has to leave its node. */
bool evacuation_is_due(const struct evacuation_facts *facts);

/* What is the matter, whether or not something is done about it. */
enum update update_of(const struct vmi *vmi, const char *launcher_image);

#endif
