/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/life.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/mem.h"

static const enum launch_cause causes[] = {
	[VIRT_WHY_UNKNOWN] = LAUNCH_CAUSE_OTHER,
	[VIRT_WHY_BOOTED] = LAUNCH_CAUSE_BOOTED,
	[VIRT_WHY_MIGRATED] = LAUNCH_CAUSE_MIGRATED,
	[VIRT_WHY_MIGRATING] = LAUNCH_CAUSE_MIGRATING,
	[VIRT_WHY_RETURNED] = LAUNCH_CAUSE_BOOTED,
	[VIRT_WHY_POST_COPY] = LAUNCH_CAUSE_POST_COPY,
	[VIRT_WHY_POST_COPY_FAILED] = LAUNCH_CAUSE_POST_COPY_FAILED,
	[VIRT_WHY_USER] = LAUNCH_CAUSE_USER,
	[VIRT_WHY_IO_ERROR] = LAUNCH_CAUSE_IO_ERROR,
	[VIRT_WHY_GUEST] = LAUNCH_CAUSE_GUEST,
	[VIRT_WHY_DESTROYED] = LAUNCH_CAUSE_KILLED,
	[VIRT_WHY_CRASHED] = LAUNCH_CAUSE_CRASHED,
	[VIRT_WHY_FAILED] = LAUNCH_CAUSE_START_FAILED,
};
_Static_assert(ARRAY_LEN(causes) == VIRT_WHY_COUNT, "a row per reason");

static const enum launch_state states[] = {
	[VIRT_ABSENT] = LAUNCH_NO_DOMAIN,
	[VIRT_INCOMING] = LAUNCH_STARTING,
	[VIRT_RUNNING] = LAUNCH_RUNNING,
	[VIRT_PAUSED] = LAUNCH_PAUSED,
	[VIRT_SHUTTING_DOWN] = LAUNCH_SHUTTING_DOWN,
	[VIRT_OFF] = LAUNCH_STOPPED,
	[VIRT_CRASHED] = LAUNCH_CRASHED,
};
_Static_assert(ARRAY_LEN(states) == VIRT_STATE_COUNT, "a row per state");

/* How it ended, where libvirt's word alone does not say. */
static void
judge_end(const struct life *life, const struct virt_look *look,
	  struct life_verdict *v)
{
	v->over = true;
	v->state = LAUNCH_STOPPED;
	if (look->state == VIRT_OFF && look->why == VIRT_WHY_MIGRATED) {
		v->cause = LAUNCH_CAUSE_MIGRATED;
	} else if (life->killing) {
		v->cause = LAUNCH_CAUSE_KILLED;
		/* Nobody wanted it to end. */
		v->failed = life->lost;
	} else if (look->state == VIRT_OFF && look->why == VIRT_WHY_GUEST) {
		v->cause = life->stopping ? LAUNCH_CAUSE_REQUEST
					  : LAUNCH_CAUSE_GUEST;
	} else {
		v->failed = true;
		v->cause = look->state == VIRT_CRASHED ? LAUNCH_CAUSE_CRASHED
						       : LAUNCH_CAUSE_QEMU_GONE;
	}
	if (v->failed)
		v->state = LAUNCH_CRASHED;
}

void
life_judge(const struct life *life, const struct virt_look *look,
	   struct life_verdict *ret_verdict)
{
	struct life_verdict v = {
		.state = states[look->state],
		.cause = look->state == VIRT_ABSENT ? LAUNCH_CAUSE_NONE
						    : causes[look->why],
	};

	if (life->started &&
	    (look->state == VIRT_ABSENT || look->state == VIRT_OFF ||
	     look->state == VIRT_CRASHED || life->qemu_gone)) {
		judge_end(life, look, &v);
	} else if (look->state == VIRT_OFF) {
		/* What came in and did not get here leaves nothing. */
		v.state = LAUNCH_NO_DOMAIN;
		v.cause = LAUNCH_CAUSE_NONE;
	} else if (look->state == VIRT_PAUSED &&
		   look->why == VIRT_WHY_MIGRATING && !life->started) {
		v.state = LAUNCH_STARTING;
	}
	*ret_verdict = v;
}

static bool
set_failure(struct launch_record *record, enum launch_reason reason,
	    const char *message, int64_t now_us)
{
	record->failed = true;
	record->completed = true;
	record->end_us = now_us;
	record->reason = reason;
	free(record->message);
	record->message = xstrdup(message);
	return true;
}

/* It is not here any more: whether it has run counts, since its disks may have
 * gone on. */
static bool
set_end(struct launch_record *record, int64_t now_us)
{
	if (record->domain_ready_us != 0)
		return set_failure(record, LAUNCH_REASON_MACHINE_ENDED,
				   "The machine ended while it was still "
				   "arriving",
				   now_us);
	return set_failure(record, LAUNCH_REASON_NEVER_ARRIVED,
			   "The machine did not arrive: the migration ended "
			   "before it ran here",
			   now_us);
}

/* It is here: it executes, or would if its owner wanted. */
static bool
is_here(const struct virt_look *look)
{
	return look->state == VIRT_RUNNING ||
	       (look->state == VIRT_PAUSED && look->why != VIRT_WHY_MIGRATING &&
		look->why != VIRT_WHY_UNKNOWN);
}

/* By libvirt's word, in post-copy it runs, and the rest of it is on the way. */
static bool
is_in_post_copy(const struct virt_look *look)
{
	return look->why == VIRT_WHY_POST_COPY ||
	       look->why == VIRT_WHY_POST_COPY_FAILED;
}

bool
life_follow_target(struct launch_record *record, const struct virt_look *look,
		   int64_t now_us)
{
	bool broken = launch_record_broken(
		record, look->why == VIRT_WHY_POST_COPY_FAILED);
	bool changed = false;

	if (record->completed)
		return false;
	if (look->state == VIRT_ABSENT || look->state == VIRT_OFF) {
		if (!record->domain_detected)
			return false;
		return set_end(record, now_us);
	}
	if (!record->domain_detected) {
		record->domain_detected = true;
		record->start_us = now_us;
		changed = true;
	}
	if (broken) {
		changed = changed ||
			  record->reason != LAUNCH_REASON_POST_COPY_FAILED;
		record->reason = LAUNCH_REASON_POST_COPY_FAILED;
		record->mode = LAUNCH_POST_COPY;
	} else if (record->reason == LAUNCH_REASON_POST_COPY_FAILED) {
		record->reason = LAUNCH_REASON_NONE;
		changed = true;
	}
	if (look->why == VIRT_WHY_POST_COPY &&
	    record->mode != LAUNCH_POST_COPY) {
		record->mode = LAUNCH_POST_COPY;
		changed = true;
	}
	if (!is_here(look))
		return changed;
	if (record->domain_ready_us == 0) {
		record->domain_ready_us = now_us;
		changed = true;
	}
	/* libvirt says "migrated" when QEMU has it all; or before, when
	 * post-copy broke before it has noticed that there is one. */
	if (!is_in_post_copy(look) && !broken) {
		record->completed = true;
		record->end_us = now_us;
		changed = true;
	}
	return changed;
}

bool
life_ran_target(struct launch_record *record, int64_t now_us)
{
	if (record->domain_ready_us != 0)
		return false;
	if (!record->domain_detected) {
		record->domain_detected = true;
		record->start_us = now_us;
	}
	record->domain_ready_us = now_us;
	if (record->completed && record->failed &&
	    record->reason == LAUNCH_REASON_NEVER_ARRIVED)
		(void)set_end(record, record->end_us);
	return true;
}

bool
life_is_half(const struct launch_record *target)
{
	return target->uid != NULL && !target->completed &&
	       target->reason == LAUNCH_REASON_POST_COPY_FAILED;
}
