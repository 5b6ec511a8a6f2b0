/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROLLER_MIGRATION_TESTEFFECT_H
#define CONTROLLER_MIGRATION_TESTEFFECT_H

/*
 * testeffect - what facts are like once a decision has been carried out, and
 * nothing else has happened.
 */

#include "controller/migration/decision.h"
#include "controller/migration/testfacts.h"

/* What is written to conditions is kept for the last facts that were used. */
void effect_of(struct testfacts *t, const struct decision *d);

/* Whether it has any. */
bool effect_is_any(const struct decision *d);

#endif
