/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/outcome.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/mem.h"

static const enum launch_reason reasons[] = {
	[VIRT_FAULT_NONE] = LAUNCH_REASON_INTERNAL,
	[VIRT_FAULT_OTHER] = LAUNCH_REASON_INTERNAL,
	[VIRT_FAULT_ABORTED] = LAUNCH_REASON_CANCELED,
	[VIRT_FAULT_CONNECT] = LAUNCH_REASON_CONNECT_FAILED,
	[VIRT_FAULT_LOST] = LAUNCH_REASON_CONNECTION_LOST,
	[VIRT_FAULT_SILENT] = LAUNCH_REASON_CONNECTION_LOST,
	[VIRT_FAULT_REFUSED] = LAUNCH_REASON_TARGET_REFUSED,
	[VIRT_FAULT_DISK] = LAUNCH_REASON_TARGET_DISK,
	[VIRT_FAULT_PEER_QEMU] = LAUNCH_REASON_TARGET_LOST,
	[VIRT_FAULT_POST_COPY_UNSUPPORTED] =
		LAUNCH_REASON_POST_COPY_UNSUPPORTED,
	[VIRT_FAULT_POST_COPY] = LAUNCH_REASON_POST_COPY_FAILED,
	[VIRT_FAULT_GONE] = LAUNCH_REASON_MACHINE_ENDED,
	[VIRT_FAULT_DAEMON] = LAUNCH_REASON_LIBVIRT_LOST,
};
_Static_assert(ARRAY_LEN(reasons) == VIRT_FAULT_COUNT, "a row per fault");

/* What a person is told, before libvirt's own words. */
static const char *const sentences[] = {
	[LAUNCH_REASON_CANCELED] = "The migration was canceled",
	[LAUNCH_REASON_PROGRESS_TIMEOUT] =
		"Aborted: no progress for longer than progressTimeout",
	[LAUNCH_REASON_COMPLETION_TIMEOUT] =
		"Aborted: it took longer than completionTimeoutPerGiB",
	[LAUNCH_REASON_CONNECT_FAILED] = "The target could not be reached",
	[LAUNCH_REASON_CONNECTION_LOST] = "The connection to the target broke",
	[LAUNCH_REASON_TARGET_REFUSED] = "The target cannot take the machine",
	[LAUNCH_REASON_TARGET_DISK] =
		"A disk on the target is missing or differs",
	[LAUNCH_REASON_TARGET_LOST] = "QEMU on the target ended",
	[LAUNCH_REASON_POST_COPY_UNSUPPORTED] =
		"Post-copy is not possible between these nodes",
	[LAUNCH_REASON_POST_COPY_FAILED] =
		"The connection broke in post-copy, the machine is stalled",
	[LAUNCH_REASON_UNCONFIRMED] =
		"The target has not said whether it has the machine",
	[LAUNCH_REASON_MACHINE_ENDED] =
		"The machine ended while it was being migrated",
	[LAUNCH_REASON_LIBVIRT_LOST] =
		"libvirtd on the source ended during the migration",
	[LAUNCH_REASON_INTERNAL] = "The migration failed",
	[LAUNCH_REASON_COUNT] = NULL,
};

static void
set_message(struct launch_record *record, const struct err *err)
{
	const char *sentence = sentences[record->reason];

	if (sentence == NULL)
		sentence = sentences[LAUNCH_REASON_INTERNAL];
	free(record->message);
	record->message = err == NULL || err->text[0] == '\0'
				  ? xstrdup(sentence)
				  : xasprintf("%s: %s", sentence, err->text);
}

static void
finish(struct launch_record *record, bool failed, int64_t now_us)
{
	record->completed = true;
	record->failed = failed;
	record->end_us = now_us;
	record->cut_streams = false;
	if (record->abort == LAUNCH_ABORTING)
		record->abort =
			failed ? LAUNCH_ABORT_SUCCEEDED : LAUNCH_ABORT_FAILED;
	if (failed)
		return;
	record->reason = LAUNCH_REASON_NONE;
	free(record->message);
	record->message = xstrdup("");
	record->progress.percent = 100;
	record->progress.bytes_remaining = 0;
	record->progress.eta_seconds = 0;
}

static bool
went(const struct virt_look *look)
{
	return look->state == VIRT_OFF && look->why == VIRT_WHY_MIGRATED;
}

static bool
stalled(const struct virt_look *look)
{
	return look->state == VIRT_PAUSED &&
	       (look->why == VIRT_WHY_POST_COPY_FAILED ||
		look->why == VIRT_WHY_POST_COPY);
}

static bool
ended(const struct virt_look *look)
{
	return look->state == VIRT_ABSENT || look->state == VIRT_OFF ||
	       look->state == VIRT_CRASHED;
}

void
outcome_switched(struct launch_record *record)
{
	record->mode = LAUNCH_POST_COPY;
	record->cut_streams = false;
	if (record->abort == LAUNCH_ABORTING)
		record->abort = LAUNCH_ABORT_FAILED;
}

/* Both halves of the guest wait: no end, and when it began to be so. */
static void
stall(struct launch_record *record, const struct err *err, int64_t now_us)
{
	outcome_switched(record);
	record->reason = LAUNCH_REASON_POST_COPY_FAILED;
	set_message(record, err);
	if (record->end_us == 0)
		record->end_us = now_us;
}

/* libvirtd was started again between the hand-over and the answer: it leaves
 * the domain as it is, for others to decide. */
static bool
is_left_standing(const struct virt_look *look)
{
	return look->state == VIRT_PAUSED && look->why == VIRT_WHY_MIGRATING;
}

static bool
runs_again(const struct virt_look *look)
{
	return look->state == VIRT_RUNNING && look->why == VIRT_WHY_RETURNED;
}

bool
outcome_misleads(const struct virt_look *before)
{
	return runs_again(before);
}

bool
outcome_is_unconfirmed(const struct outcome *outcome)
{
	if (outcome->rc == 0)
		return false;
	return !outcome->seen || is_left_standing(&outcome->look) ||
	       (outcome->fault == VIRT_FAULT_SILENT &&
		runs_again(&outcome->look));
}

static bool
is_held(const struct launch_record *record)
{
	return !record->completed &&
	       record->reason == LAUNCH_REASON_UNCONFIRMED;
}

/* An abort that was under way has not been answered: nobody knows. Another one
 * takes it back. */
static void
hold(struct launch_record *record, const struct outcome *outcome,
     int64_t now_us)
{
	record->reason = LAUNCH_REASON_UNCONFIRMED;
	record->abort = LAUNCH_ABORT_NONE;
	record->cut_streams = false;
	record->end_us = now_us;
	set_message(record, &outcome->err);
}

enum outcome_wish
outcome_wish(const struct launch_record *record, const struct virt_look *look)
{
	if (!is_held(record))
		return OUTCOME_NOTHING;
	/* One that runs by libvirt's will is stopped first in either case: only
	 * then is it known who has let it run. */
	if (look->state == VIRT_RUNNING)
		return OUTCOME_PAUSE;
	return look->state == VIRT_PAUSED && record->abort == LAUNCH_ABORTING
		       ? OUTCOME_RESUME
		       : OUTCOME_NOTHING;
}

void
outcome_conclude(struct launch_record *record, const struct outcome *outcome,
		 int64_t now_us)
{
	if (outcome->rc == 0 || went(&outcome->look)) {
		finish(record, false, now_us);
		return;
	}
	if (stalled(&outcome->look)) {
		stall(record, &outcome->err, now_us);
		return;
	}
	if (outcome_is_unconfirmed(outcome)) {
		hold(record, outcome, now_us);
		return;
	}
	if (ended(&outcome->look))
		record->reason = LAUNCH_REASON_MACHINE_ENDED;
	else if (record->abort == LAUNCH_ABORTING)
		record->reason = outcome->abort_reason;
	else
		record->reason = reasons[outcome->fault];
	set_message(record, &outcome->err);
	finish(record, true, now_us);
}

void
outcome_follow(struct launch_record *record, const struct virt_look *look,
	       int64_t now_us)
{
	if (record->completed)
		return;
	if (is_held(record) && stalled(look)) {
		/* It could not be seen before: it is in two halves, and there
		 * is nothing that could be taken back. */
		stall(record, NULL, now_us);
	} else if (went(look)) {
		finish(record, false, now_us);
	} else if (ended(look)) {
		record->reason = LAUNCH_REASON_MACHINE_ENDED;
		set_message(record, NULL);
		finish(record, true, now_us);
	}
}

void
outcome_returned(struct launch_record *record, int64_t now_us)
{
	record->reason = LAUNCH_REASON_CONNECTION_LOST;
	set_message(record, NULL);
	finish(record, true, now_us);
}

void
outcome_unstarted(struct launch_record *record, const struct err *err,
		  int64_t now_us)
{
	record->reason = LAUNCH_REASON_INTERNAL;
	set_message(record, err);
	finish(record, true, now_us);
}
