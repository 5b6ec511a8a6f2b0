/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LAUNCHER_OUTCOME_H
#define LAUNCHER_OUTCOME_H

/*
 * outcome - what became of a migration away from here, in its record.
 *
 * Pure functions of what libvirt's call said and of what was seen of the domain
 * behind it. The domain's state counts for more than the call: libvirt has been
 * seen to fail a migration that QEMU brought to its end.
 *
 * Threading: only from the thread that owns the record.
 */

#include "base/err.h"
#include "launchrpc/record.h"
#include "virt/domain.h"
#include "virt/migrate.h"

/* The call has returned. */
struct outcome {
	int rc; /* libvirt's; 0 does not mean that it has arrived */
	enum virt_fault fault;
	struct err err;        /* libvirt's words when rc is -1 */
	bool seen;             /* the domain was, behind the call */
	struct virt_look look; /* then: its state */
	/* Why an abort was asked for; codes of libvirt do not tell one from a
	 * broken pipe. Counts only when the record says that one is wanted. */
	enum launch_reason abort_reason;
};

/*
 * Whether the target may run the machine although the call has failed: its
 * libvirtd was told to let it run, and the answer was lost. libvirt then lets
 * it run on here, too. What has been handed over completely and has not been
 * heard of again must stand until somebody who knows has spoken.
 */
bool outcome_is_unconfirmed(const struct outcome *outcome);

/* Whether this would be taken for a guest that libvirt has let run on after a
 * hand-over, and is one of an earlier migration: libvirt's reason stays until
 * the next one. To be known before it begins. */
bool outcome_misleads(const struct virt_look *before);

/* The record's end; or that there is none yet: post-copy broke and it is
 * stalled, or it is unconfirmed. */
void outcome_conclude(struct launch_record *record,
		      const struct outcome *outcome, int64_t now_us);

/* Post-copy runs: an abort that was asked for comes too late, and nothing is to
 * be cut for it. */
void outcome_switched(struct launch_record *record);

/* What has to be done to a domain whose migration is unconfirmed. */
enum outcome_wish {
	OUTCOME_NOTHING,
	OUTCOME_PAUSE,  /* it runs, and must not */
	OUTCOME_RESUME, /* it was taken back, and does not run yet */
};

enum outcome_wish outcome_wish(const struct launch_record *record,
			       const struct virt_look *look);

/* One that was taken back runs here again. */
void outcome_returned(struct launch_record *record, int64_t now_us);

/* The domain as it was seen later: one that was stalled may have ended. */
void outcome_follow(struct launch_record *record, const struct virt_look *look,
		    int64_t now_us);

/* It could not even be begun. */
void outcome_unstarted(struct launch_record *record, const struct err *err,
		       int64_t now_us);

#endif
