/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROLLER_MIGRATION_TALLY_H
#define CONTROLLER_MIGRATION_TALLY_H

/*
 * tally - what the controller of migrations counts, for /metrics.
 */

#include <stdbool.h>
#include <stdint.h>

#include "api/vmim.h"
#include "base/timing.h"

struct buf;
struct migrations;

#define TALLY_BUCKETS 20

/* How long after its creation a migration reached a phase. */
struct tally_phase {
	uint64_t buckets[TALLY_BUCKETS]; /* not cumulative */
	uint64_t count;
	double sum_s;
};

struct tally {
	struct tally_phase phases[MIGRATION_PHASE_COUNT];
	uint64_t writes;    /* requests, Events not counted */
	uint64_t reads;     /* readings, of three requests each */
	uint64_t conflicts; /* writes that came too late */
	uint64_t ended;
	uint64_t ended_writes;         /* writes for these, over their lives */
	uint64_t most_writes;          /* for one of these */
	struct timing active, waiting; /* from being due to being done with */
};

/* age_us: of the migration. */
void tally_phase_reached(struct tally *tally, enum migration_phase phase,
			 int64_t age_us);
/* One has ended, for which there were so many writes. */
void tally_ended(struct tally *tally, unsigned writes);
/* For world_add_metrics(); arg is the struct migrations. */
int tally_write(struct buf *buf, void *arg);

#endif
