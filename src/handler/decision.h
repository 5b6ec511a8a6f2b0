/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HANDLER_DECISION_H
#define HANDLER_DECISION_H

/*
 * decision - what this node is to do next about one machine.
 *
 * How it is carried out:
 *  1. What the machine's object is to say (wishes) and does not say yet is
 *     written, in one patch; see wish.h. Then it is decided again.
 *  2. Otherwise the step is made. Then it is decided again: with its outcome,
 *     which is seen in the facts, or after a pause if it failed, with an event
 *     SyncFailed.
 *  3. Otherwise nothing is done until a fact changes, or again_us.
 * Events are emitted when 1 or 2 has succeeded.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "handler/wish.h"

#define DECISION_NEVER INT64_MAX
#define DECISION_EVENTS_MAX 3
#define DECISION_TEXT_SIZE 512

enum step {
	STEP_NONE,
	STEP_NETWORK, /* taps and what is behind them */
	STEP_SYNC,    /* launcher: define and start */
	STEP_PREPARE, /* launcher: make room for the machine to come */
	STEP_LISTEN_TARGET,
	STEP_LISTEN_SOURCE,
	STEP_MIGRATE,
	STEP_CANCEL,
	STEP_RECOVER, /* launcher: take a broken post-copy up again */
	STEP_FINALIZE,
	STEP_STOP_SOURCE, /* ferry-proxy: no more; see `finish` */
	STEP_STOP_TARGET,
	STEP_CLEANUP, /* launcher: the machine does not come */
	STEP_BLAME,   /* ferry-proxy: why did it break */
	STEP_SWEEP,   /* sockets that a proxy that was killed has left */
	STEP_PAUSE,
	STEP_UNPAUSE,
	STEP_SHUTDOWN, /* of the guest, within grace_s */
	STEP_KILL,
	STEP_COUNT,
};

const char *step_name(enum step step);

struct decision_event {
	bool warning;
	const char *reason;
	char text[DECISION_TEXT_SIZE];
};

struct decision {
	const char *rule; /* the row that decided, for logs and tests */
	struct wishes wishes;
	enum step step;
	bool finish; /* stop: what flows may go on to its end; else it is cut */
	bool listening; /* recover: QEMU on the target waits for it */
	uint64_t grace_s;
	struct decision_event events[DECISION_EVENTS_MAX];
	size_t event_count;
	int64_t again_us;
};

void decision_done(struct decision *d);

/* For those who decide. */
void decision_emit(struct decision *d, bool warning, const char *reason,
		   const char *fmt, ...) __attribute__((format(printf, 4, 5)));
void decision_again(struct decision *d, int64_t due_us);

#endif
