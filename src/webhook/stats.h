/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEBHOOK_STATS_H
#define WEBHOOK_STATS_H

/*
 * stats - how many requests of each kind there were, how they ended and how
 * long they took, as Prometheus text.
 *
 * Threading: only from the loop's thread.
 */

#include <stdint.h>

#include "base/timing.h"

struct buf;
struct http_stats;
struct kube_client_stats;

enum stat_route {
	STAT_MIGRATION_MUTATE,
	STAT_MIGRATION_CREATE,
	STAT_MIGRATION_UPDATE,
	STAT_VMI_MUTATE,
	STAT_VMI_CREATE,
	STAT_VMI_UPDATE,
	STAT_VM_MUTATE,
	STAT_VM_VALIDATE,
	STAT_POLICY,
	STAT_KUBEVIRT,
	STAT_EVICTION,
	STAT_PATH_PROBE,
	STAT_NODE,
	STAT_START,
	STAT_STOP,
	STAT_RESTART,
	STAT_MIGRATE,
	STAT_PAUSE,
	STAT_UNPAUSE,
	STAT_EVACUATE_CANCEL,
	STAT_OTHER, /* discovery, health, what leads nowhere */
	STAT_COUNT,
};

enum stat_end {
	STAT_OK,
	STAT_REFUSED, /* with a reason that is the client's */
	STAT_FAILED,  /* 500 and above */
	STAT_END_COUNT,
};

struct stats {
	uint64_t ends[STAT_COUNT][STAT_END_COUNT];
	struct timing times[STAT_COUNT];
};

void stats_count(struct stats *stats, enum stat_route stat, enum stat_end end,
		 uint64_t took_us);

/* Appends the text; cut where the buffer's limit is reached. */
void stats_write(const struct stats *stats, const struct http_stats *http,
		 const struct kube_client_stats *client, struct buf *buf);

#endif
