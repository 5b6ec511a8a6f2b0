/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROLLER_MIGRATION_STEPS_H
#define CONTROLLER_MIGRATION_STEPS_H

/*
 * steps - how a migration that does not fail goes from phase to phase.
 */

#include <stdbool.h>
#include <stddef.h>

#include "controller/migration/decision.h"
#include "controller/migration/facts.h"

struct step {
	const char *name;
	enum migration_phase from, to;
	bool (*when)(const struct facts *facts);
};

/*
 * Takes all steps that can be taken: what is known may be several phases ahead.
 * One that is canceled takes none any more, unless the machine has arrived.
 */
void steps_advance(const struct facts *facts, struct decision *d);

/* What the phase calls for, and what is waited for in it. False: it calls for
 * something that facts need to be confirmed for. */
bool steps_act(const struct facts *facts, struct decision *d);

/* Marks the target pod, once, when the guest runs there. */
void steps_mark_ready(const struct facts *facts, struct decision *d);
/* The condition that it is to be aborted. */
void steps_set_abort(const struct facts *facts, struct decision *d);

/* For tests: all of them, in order. */
const struct step *steps_all(size_t *ret_count);

#endif
