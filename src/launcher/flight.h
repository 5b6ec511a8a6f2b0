/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LAUNCHER_FLIGHT_H
#define LAUNCHER_FLIGHT_H

/*
 * flight - a migration under way, as its threads share it.
 *
 *	loop (source.h)	owns it and the record; asks for an abort
 *	mover.h		inside of libvirt's call; says when that is over
 *	overseer.h	looks at the job and acts meanwhile
 *
 * Threads tell the loop what they find, in order; the loop tells them nothing
 * but that an abort is wanted.
 *
 * Threading: flight_init(), flight_begin() and flight_done() from the loop's
 * thread while no other runs; the rest from any.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "launcher/monitor.h"
#include "launcher/outcome.h"
#include "launcher/qmp.h"
#include "launchrpc/record.h"
#include "virt/migrate.h"

struct loop;

struct flight_config {
	struct loop *loop;
	const char *uri; /* of libvirtd here; outlives the flight */
	struct virt_migration migration;
	struct monitor_limits limits;
	uint64_t max_downtime_ms; /* 0: QEMU's own */
	uint64_t abort_grace_ms;  /* before streams have to be cut */
	/* A broken post-copy is taken up by QEMU itself, not by libvirt: its
	 * second monitor is asked, and the target's listens already. */
	bool listening;
};

struct flight_state {
	bool over;      /* libvirt's call has returned */
	bool abort;     /* asked for, and not too late */
	bool switching; /* post-copy is being asked for */
	bool post_copy; /* runs, as far as is known */
	bool paused;    /* the guest, by the overseer */
	/* QEMU's own word on its stream, how often that broke, and why it was
	 * not taken up again when it was last asked to; the loop's to say. */
	enum qmp_stream stream;
	uint64_t breaks;
	bool refused;
	struct err refusal;
	uint64_t abort_ms;
	enum launch_reason abort_reason;
};

/* What a thread has found. */
struct flight_news {
	bool has_progress;
	struct launch_progress progress;
	bool post_copy, paused;
	bool resume; /* the mover's: QEMU is to take its stream up again */
	enum launch_reason aborting; /* the overseer has decided to */
	bool last;                   /* the mover's: there is an outcome */
	struct outcome outcome;
};

/* In the loop's thread. */
typedef void flight_told_fn(void *ctx, const struct flight_news *news);

struct flight {
	struct flight_config config; /* its migration is a copy */
	flight_told_fn *told;
	void *ctx;
	uint64_t start_ms;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct flight_state state; /* under the lock */
	/* The mover's own: it has stopped the guest for a moment, and may not
	 * have come to let it run again. */
	bool halted;
};

void flight_init(struct flight *flight, const struct flight_config *config,
		 flight_told_fn *told, void *ctx);
void flight_done(struct flight *flight);

/* Before the threads start, each time. */
void flight_begin(struct flight *flight);

struct flight_state flight_peek(struct flight *flight);

/* False when it comes too late (post-copy), or has been asked for before. */
bool flight_abort(struct flight *flight, enum launch_reason reason);

/*
 * Around the call that switches to post-copy. False: an abort was asked for,
 * and comes first. One that is asked for during the call waits for what comes
 * of it: once post-copy runs it has come too late.
 */
bool flight_switch(struct flight *flight);
void flight_switched(struct flight *flight, bool done);
void flight_paused(struct flight *flight);
void flight_over(struct flight *flight);

void flight_stream(struct flight *flight, enum qmp_stream stream);
void flight_refused(struct flight *flight, const struct err *err);

/* Until something has changed or the time is over; false once it is over. */
bool flight_wait(struct flight *flight, uint32_t ms);

void flight_tell(struct flight *flight, const struct flight_news *news);

/* libvirt's numbers as a record has them. */
struct virt_progress;
void flight_progress(const struct virt_progress *job,
		     struct launch_progress *to);

#endif
