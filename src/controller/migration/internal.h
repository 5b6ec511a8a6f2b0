/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROLLER_MIGRATION_INTERNAL_H
#define CONTROLLER_MIGRATION_INTERNAL_H

/*
 * internal - what the parts of the controller of migrations share. Private to
 * src/controller/migration.
 */

#include <stdint.h>
#include <sys/queue.h>

#include "base/timing.h"
#include "controller/migration/facts.h"
#include "controller/migration/note.h"
#include "controller/migration/parking.h"
#include "controller/migration/slots.h"
#include "controller/migration/tally.h"
#include "controller/world.h"
#include "kube/worker.h"

struct adoption;
struct orphan;
struct run;

/* Looked at side by side: mostly they wait for the server. */
#define MIGRATIONS_PARALLEL 24
/* Requests of those that go on are sent before all others while there are at
 * most so many of them: then they cannot crowd anybody out. */
#define MIGRATIONS_URGENT_MAX 64

/* Keys of pods, besides those of migrations. */
#define MIGRATIONS_POD_KEY '@'

struct migrations {
	struct world *world;
	struct events *events;
	struct worker *worker;     /* NULL until slots have been adopted */
	struct adoption *adoption; /* NULL when that is over */
	struct slots *slots;
	struct parking *outbound; /* wait for a slot of cluster and source */
	struct parking *inbound;  /* wait for one of their target */
	struct notes notes;
	uint64_t quota_changes; /* of all quotas, so far */
	TAILQ_HEAD(, run) runs;
	TAILQ_HEAD(, orphan) orphans;
	struct tally tally;
};

/* To be looked at now; the migration must be in the cache, or nothing is
 * done. */
void migrations_queue(struct migrations *m, const char *key);
void migrations_queue_after(struct migrations *m, const struct facts *facts,
			    const char *key, int64_t delay_us);
/* All migrations of a machine that have not been settled. */
void migrations_queue_machine(struct migrations *m, const char *ns,
			      const char *vmi_name);

struct slot_limits migrations_limits(const struct migrations *m);
/* Gives back what it has, and wakes those who wait for it. */
void migrations_release(struct migrations *m, const char *uid);
/* Slots may be free. */
void migrations_wake(struct migrations *m);

#endif
