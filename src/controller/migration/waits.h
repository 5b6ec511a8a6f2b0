/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROLLER_MIGRATION_WAITS_H
#define CONTROLLER_MIGRATION_WAITS_H

/*
 * waits - what a migration waits for before it takes its next step.
 */

#include <stdbool.h>

#include "controller/migration/decision.h"
#include "controller/migration/facts.h"

/* Why no target pod is made now: says so in the decision. False: nothing. */
bool waits_before_pod(const struct facts *facts, struct decision *d);
/* The same before the machine is handed to the nodes. */
bool waits_before_handoff(const struct facts *facts, struct decision *d);

/* Sets ferry.io/Waiting; true when it is news. */
bool waits_set(const struct facts *facts, struct decision *d,
	       const char *reason, const char *message);

#endif
