/* SPDX-License-Identifier: Apache-2.0 */
#include "handler/decision.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

static const char *const step_names[] = {
	[STEP_NONE] = "none",
	[STEP_NETWORK] = "network",
	[STEP_SYNC] = "sync",
	[STEP_PREPARE] = "prepare",
	[STEP_LISTEN_TARGET] = "listen-target",
	[STEP_LISTEN_SOURCE] = "listen-source",
	[STEP_MIGRATE] = "migrate",
	[STEP_CANCEL] = "cancel",
	[STEP_RECOVER] = "recover",
	[STEP_FINALIZE] = "finalize",
	[STEP_STOP_SOURCE] = "stop-source",
	[STEP_STOP_TARGET] = "stop-target",
	[STEP_CLEANUP] = "cleanup",
	[STEP_BLAME] = "blame",
	[STEP_SWEEP] = "sweep",
	[STEP_PAUSE] = "pause",
	[STEP_UNPAUSE] = "unpause",
	[STEP_SHUTDOWN] = "shutdown",
	[STEP_KILL] = "kill",
};
_Static_assert(sizeof(step_names) / sizeof(step_names[0]) == STEP_COUNT,
	       "a name for each step");

const char *
step_name(enum step step)
{
	return step < STEP_COUNT ? step_names[step] : "?";
}

void
decision_done(struct decision *d)
{
	wishes_done(&d->wishes);
}

void
decision_emit(struct decision *d, bool warning, const char *reason,
	      const char *fmt, ...)
{
	struct decision_event *event;
	va_list args;

	assert(d->event_count < DECISION_EVENTS_MAX);
	event = &d->events[d->event_count++];
	event->warning = warning;
	event->reason = reason;
	va_start(args, fmt);
	/* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): it is. */
	(void)vsnprintf(event->text, sizeof(event->text), fmt, args);
	va_end(args);
}

void
decision_again(struct decision *d, int64_t due_us)
{
	if (due_us < d->again_us)
		d->again_us = due_us;
}
