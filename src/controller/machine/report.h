/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROLLER_MACHINE_REPORT_H
#define CONTROLLER_MACHINE_REPORT_H

/*
 * report - what a machine is to say about itself, as a patch against what it
 * says: all of status, of which only requests are added by others.
 *
 * Threading: as facts.h. Pure.
 */

#include "base/js.h"
#include "controller/machine/facts.h"

struct machine_report {
	/* A request to start is added behind those that are left. */
	bool request_start;
	/* What could not be done and still should; reason NULL: nothing. */
	const char *trouble, *trouble_text;
};

/* A merge patch, a new reference; NULL when it says all that already. */
json_t *machine_report(const struct machine_facts *facts,
		       const struct machine_report *report);

/* What a person reads: "Running", "Stopped", ... */
const char *machine_printable(const struct machine_facts *facts);

/* How long to wait after so many failed starts in a row, in seconds. */
#define MACHINE_BACKOFF_MAX_S 300
int64_t machine_backoff_s(uint32_t failures, uint32_t random);

#endif
