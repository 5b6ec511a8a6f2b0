/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROLLER_MIGRATION_TESTLAWS_H
#define CONTROLLER_MIGRATION_TESTLAWS_H

/*
 * testlaws - what holds for every decision, whatever the facts are.
 *
 * They are docs/migration.md's promises, told from the facts alone: nothing of
 * the ladder, of the steps or of what facts.h makes of facts is asked, so that
 * a mistake there is not made here as well.
 */

#include "controller/migration/decision.h"
#include "controller/migration/facts.h"

/* The law that is broken; NULL: none. */
const char *laws_broken(const struct facts *f, const struct decision *d);

#endif
