/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LAUNCHER_SOURCE_H
#define LAUNCHER_SOURCE_H

/*
 * source - one migration away from here, and its record.
 *
 * The work is done by two threads (flight.h); what they find comes to the
 * loop's thread, and only that touches the record. What an end means is
 * outcome.h's to say.
 *
 * An abort that has not ended it after the grace of the flight's configuration
 * needs its streams cut, which the record says then; libvirt's call returns by
 * that. It is the loop's clock that says so, since a libvirtd that hangs keeps
 * both threads. Never in post-copy: there is nothing to abort any more.
 *
 * Threading: only from the loop's thread.
 */

#include <stdbool.h>

#include "launcher/flight.h"
#include "launchrpc/record.h"
#include "virt/domain.h"

struct err;
struct source;

#define SOURCE_ABORT_GRACE_MS 10000U

struct source_config {
	const char *uid; /* of the migration; copied */
	struct flight_config flight;
	bool watched; /* QEMU has a monitor that source_stream() comes from */
	/* The thread that does the work; NULL: mover.h's. For tests. */
	void *(*mover)(void *flight);
	/* The record has changed; and once more when it is over. */
	void (*changed)(void *ctx);
	/* QEMU is to take its stream up again; source_refused() if it cannot.
	 */
	void (*resume)(void *ctx);
	void *ctx;
};

struct source *source_start(const struct source_config *config);

/* The threads are done; the record changes by source_follow() only. */
bool source_over(const struct source *source);

/* Only of one that is over. NULL is fine. */
void source_free(struct source *source);

/*
 * Asks for the end; one that is unconfirmed is taken back: the machine is to
 * run here again. ERR_CONFLICT when it is too late: it is over, or the guest
 * runs on the other side. Again changes nothing.
 */
int source_abort(struct source *source, struct err *err);

/* After a post-copy that broke: tries again, by QEMU where the target's listens
 * already, else by libvirt. ERR_CONFLICT when it did not break. */
int source_recover(struct source *source, bool listening, struct err *err);

/* What QEMU says of its own stream, and why it does not take it up again.
 * Returns whether the record has changed. */
bool source_stream(struct source *source, enum qmp_stream stream);
void source_refused(struct source *source, const struct err *err);

/* What was seen of the domain: one that was stalled may have ended well.
 * Returns what has to be done to it now. */
enum outcome_wish source_follow(struct source *source,
				const struct virt_look *look);

/* It was taken back, and runs here again. */
void source_returned(struct source *source);

/* Unconfirmed, and not taken back: the machine must not run here. NULL is
 * fine. */
bool source_holds(const struct source *source);

/* The machine stands here and may be elsewhere: unconfirmed, or in post-copy.
 * Whoever kills it has lost it. NULL is fine. */
bool source_stands(const struct source *source);

const struct launch_record *source_record(const struct source *source);

#endif
