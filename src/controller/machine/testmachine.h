/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROLLER_MACHINE_TESTMACHINE_H
#define CONTROLLER_MACHINE_TESTMACHINE_H

/*
 * testmachine - facts out of short texts, for the unit tests of this
 * directory. Members are written with ' for " and a comma behind each.
 */

#include "controller/machine/facts.h"

#define TEST_NOW_US (INT64_C(1000) * 1000000)

struct testmachine {
	struct vm *vm;
	struct vmi *vmi;
	struct machine_facts facts;
};

/* What a test says of the machine and its instance; NULL for nothing. */
struct testmachine_case {
	const char *strategy; /* "Always" */
	const char *metadata; /* of the machine */
	const char *status;   /* of the machine */
	const char *phase;    /* of its instance; NULL: it has none */
	const char *vmi_metadata;
	const char *vmi_status;
};

/* Confirmed, the machine with its finalizer and of generation 1, its instance
 * with both of its own. */
void testmachine_open(struct testmachine *t,
		      const struct testmachine_case *with);
void testmachine_close(struct testmachine *t);

#endif
