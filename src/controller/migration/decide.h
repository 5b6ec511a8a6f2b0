/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROLLER_MIGRATION_DECIDE_H
#define CONTROLLER_MIGRATION_DECIDE_H

/*
 * decide - what is to be done about a migration follows from what is known.
 *
 * Pure: asks nobody, remembers nothing, has no clock. What was missed, comes
 * twice or comes late changes nothing, since the next decision is made from
 * what is there then. First the ladder of what makes it fail (ladder.h), then
 * the table of phases (steps.h), then what the phase calls for.
 * docs/migration.md has all of it in prose.
 */

#include "controller/migration/decision.h"
#include "controller/migration/facts.h"

void decide(const struct facts *facts, struct decision *ret_decision);

#endif
