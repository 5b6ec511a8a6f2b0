/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LAUNCHER_MONITOR_H
#define LAUNCHER_MONITOR_H

/*
 * monitor - what is to be done about a migration that goes on.
 *
 * A pure function of what was seen so far: the limits are those of the
 * migration's configuration, the samples come a few times each second.
 *
 * Progress is a remainder smaller than any before. A guest that dirties its
 * memory makes the remainder go up and down without end; the last sample being
 * lower than the one before it means nothing. When memory follows the disks
 * the remainder starts anew.
 *
 * | when | disruption and post-copy allowed | disruption allowed | neither |
 * |---|---|---|---|
 * | no progress for progress_ms | post-copy | pause the guest | abort |
 * | longer than completion_ms | post-copy | pause the guest | abort |
 * | paused, and again as long | - | abort | - |
 * | post-copy runs | nothing, ever: to stop is to lose the guest | | |
 *
 * Threading: any thread, each with its own.
 */

#include <stdbool.h>
#include <stdint.h>

struct monitor_limits {
	uint64_t completion_ms; /* 0: none */
	uint64_t progress_ms;   /* 0: none */
	bool post_copy;
	bool disruption;
};

struct monitor_sample {
	uint64_t elapsed_ms; /* since the migration began */
	uint64_t remaining;  /* bytes */
	bool known;          /* libvirt has numbers already */
	bool memory;         /* memory is being copied, not disks only */
	bool post_copy;      /* it runs */
};

enum monitor_action {
	MONITOR_NOTHING,
	MONITOR_POST_COPY, /* asked for again at each sample until it runs */
	MONITOR_PAUSE,
	MONITOR_ABORT_PROGRESS,
	MONITOR_ABORT_COMPLETION,
	MONITOR_ACTION_COUNT,
};

/* { 0 } before the first sample. */
struct monitor {
	bool seen;
	bool memory;
	bool paused;
	uint64_t paused_ms; /* elapsed then */
	uint64_t best;
	uint64_t best_ms;   /* elapsed when it was seen */
	uint64_t switch_ms; /* elapsed when post-copy was asked for; 0: not */
};

/* A post-copy that does not begin within this is given up. */
#define MONITOR_SWITCH_MS 60000U

/*
 * Whether a guest that stands anyway may be about to be handed over: nothing
 * else shows it. By what is left of its memory, how fast that goes and how long
 * QEMU may stop a guest for the rest (0: its own choice); generous, since these
 * numbers are from a moment before.
 */
bool monitor_is_near_end(uint64_t remaining, uint64_t rate,
			 uint64_t downtime_ms);

enum monitor_action monitor_step(struct monitor *monitor,
				 const struct monitor_limits *limits,
				 const struct monitor_sample *sample);

#endif
