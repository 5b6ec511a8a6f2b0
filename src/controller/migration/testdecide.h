/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROLLER_MIGRATION_TESTDECIDE_H
#define CONTROLLER_MIGRATION_TESTDECIDE_H

/*
 * testdecide - facts and what is decided from them, for tests of decisions.
 */

#include "controller/migration/decide.h"
#include "controller/migration/testfacts.h"
#include "meta/time.h"

#define SECOND TIME_US_PER_SECOND

extern struct testfacts t;
extern struct decision d;

void run(void); /* decides */
void cancel(void);
void later(int64_t seconds);

/* Of the decision. NULL when it does not change. */
const struct decision_cond *find_cond(const char *type);
void expect_cond(const char *type, const char *reason);
void expect_event(size_t i, bool on_vmi, const char *reason, const char *text);

#endif
