/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROLLER_MIGRATION_TALLY_H
#define CONTROLLER_MIGRATION_TALLY_H

/*
 * tally - what the controller of migrations counts, for /metrics.
 */

#include <stdbool.h>
#include <stdint.h>

#include "api/vmim.h"
#include "base/js.h"
#include "base/prom.h"
#include "base/timing.h"

struct buf;
struct migrations;

/* What a migration waited for; the reasons of ferry.io/Waiting (WAITING_*), in
 * the order of tally.c. The last is for those that are not known. */
#define TALLY_CAUSES 18
#define TALLY_RESULTS 2 /* succeeded, failed */

struct tally {
	/* How long after its creation a migration reached a phase. */
	struct prom_histogram phases[MIGRATION_PHASE_COUNT];
	/* How long it was in one. */
	struct prom_histogram phase_times[MIGRATION_PHASE_COUNT];
	struct prom_histogram waits[TALLY_CAUSES];
	struct prom_histogram totals[TALLY_RESULTS];
	struct prom_histogram transfers; /* of those that succeeded */
	struct prom_histogram downtimes; /* the same */
	struct prom_histogram blackouts; /* the same */
	struct prom_histogram errors;    /* of predictions, shares */
	uint64_t writes;                 /* requests, Events not counted */
	uint64_t reads;                  /* readings, of three requests each */
	uint64_t conflicts;              /* writes that came too late */
	uint64_t ended;
	uint64_t ended_writes;         /* writes for these, over their lives */
	uint64_t most_writes;          /* for one of these */
	struct timing active, waiting; /* from being due to being done with */
};

/* age_us: of the migration. */
void tally_phase_reached(struct tally *tally, enum migration_phase phase,
			 int64_t age_us);
/* It is in another one now. */
void tally_phase_left(struct tally *tally, enum migration_phase phase,
		      int64_t after_us);
/* A reason of ferry.io/Waiting as it stands in labels: only words of a table.
 */
const char *tally_cause(const char *reason);
/* It no longer waits for this, after so long. */
void tally_waited(struct tally *tally, const char *reason, int64_t us);
/* One is over, with the status that was written last; age_us: of the
 * migration. */
void tally_result(struct tally *tally, const json_t *status, int64_t age_us);
/* One has ended, for which there were so many writes. */
void tally_ended(struct tally *tally, unsigned writes);
/* The histograms; -1 when buf is full. */
int tally_write_histograms(const struct tally *tally, struct buf *buf);
/* For world_add_metrics(); arg is the struct migrations. */
int tally_write(struct buf *buf, void *arg);

#endif
