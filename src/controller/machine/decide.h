/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROLLER_MACHINE_DECIDE_H
#define CONTROLLER_MACHINE_DECIDE_H

/*
 * decide - what is to be done about a machine follows from what is known.
 *
 * Pure: asks nobody, remembers nothing, has no clock. docs/machines.md has it
 * in prose.
 *
 * How a decision is carried out:
 *  1. confirm: read machine and instance from the server, decide again.
 *     Nothing else is in such a decision.
 *  2. One of the actions, if there is one. What comes of it is for the next
 *     decision to report, what it failed with to be in its facts.
 *  3. patch, a merge patch of the machine's status: on condition that the
 *     machine is still of the version that was seen.
 *  4. release: take the machine's finalizer from the instance, whose end is
 *     now written down. refresh: annotations of the instance.
 *  5. Again at again_us at the latest.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/js.h"
#include "controller/machine/facts.h"

#define MACHINE_NEVER INT64_MAX

enum machine_action {
	MACHINE_NOTHING,
	MACHINE_ADD_FINALIZER,
	MACHINE_DROP_FINALIZER, /* nothing more is written then */
	MACHINE_ADOPT,          /* the instance */
	MACHINE_START,          /* create the instance */
	MACHINE_STOP,           /* delete the instance */
	MACHINE_SET_ALWAYS,     /* its own strategy, which was Halted */
	MACHINE_ACTION_COUNT,
};

struct machine_decision {
	const char *rule; /* that decided, for logs and tests */
	bool confirm;
	enum machine_action action;
	bool paused;   /* MACHINE_START: the guest is to be */
	bool fails;    /* what failed before is still wanted */
	json_t *patch; /* owned; NULL: nothing to write */
	bool release;
	/* The instance's annotations: the generation that it is as good as,
	 * 0 for as it is; and the wishes of the template. */
	int64_t refresh_generation;
	bool refresh_wishes;
	int64_t again_us;
};

void machine_decide(const struct machine_facts *facts,
		    struct machine_decision *ret_decision);
void machine_decision_done(struct machine_decision *decision);

const char *machine_action_name(enum machine_action action);

#define MACHINE_STARTED_FORMAT                                     \
	"Started the virtual machine by creating the new virtual " \
	"machine instance %s"
#define MACHINE_START_FAILED_FORMAT \
	"Error creating virtual machine instance: %s"
#define MACHINE_STOPPED_FORMAT                                         \
	"Stopped the virtual machine by deleting the virtual machine " \
	"instance %s"
#define MACHINE_STOP_FAILED_FORMAT \
	"Error deleting virtual machine instance %s: %s"

#endif
