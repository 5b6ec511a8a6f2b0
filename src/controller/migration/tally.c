/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/migration/tally.h"

#include <inttypes.h>
#include <stdio.h>

#include "api/names.h"
#include "base/array.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/str.h"
#include "controller/migration/hindsight.h"
#include "controller/migration/internal.h"
#include "kube/client.h"
#include "meta/time.h"

#define US_PER_SECOND 1e6
#define MS_PER_SECOND 1e3
#define LABELS_SIZE 128

static const char *const causes[] = {
	WAITING_CLUSTER_SLOT, WAITING_SOURCE_SLOT,
	WAITING_TARGET_SLOT,  WAITING_BACKOFF,
	WAITING_QUOTA,        WAITING_UTILITY_VOLUMES,
	WAITING_BACKUP,       WAITING_OTHER,
	WAITING_PODS,         WAITING_SOURCE_POD,
	WAITING_MACHINE,      WAITING_SCHEDULING,
	WAITING_POD_START,    WAITING_TARGET_PREPARATION,
	WAITING_SOURCE_START, WAITING_TRANSFER,
	WAITING_ABORT,        "Other",
};
_Static_assert(ARRAY_LEN(causes) == TALLY_CAUSES, "each has a place");

/* Shares: a tenth off, as long again, ten times as long. */
static const struct prom_bounds error_bounds = {
	.count = 8,
	.list = { 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10 },
};

static const char *const results[TALLY_RESULTS] = { "succeeded", "failed" };

void
tally_phase_reached(struct tally *tally, enum migration_phase phase,
		    int64_t age_us)
{
	prom_observe(&tally->phases[phase], &prom_bounds_waits,
		     (double)age_us / US_PER_SECOND);
}

void
tally_phase_left(struct tally *tally, enum migration_phase phase,
		 int64_t after_us)
{
	prom_observe(&tally->phase_times[phase], &prom_bounds_waits,
		     (double)after_us / US_PER_SECOND);
}

static size_t
find_cause(const char *reason)
{
	size_t i = 0;

	while (i < TALLY_CAUSES - 1 && !str_equal(causes[i], reason))
		i++;
	return i;
}

const char *
tally_cause(const char *reason)
{
	return causes[find_cause(reason)];
}

void
tally_waited(struct tally *tally, const char *reason, int64_t us)
{
	prom_observe(&tally->waits[find_cause(reason)], &prom_bounds_waits,
		     (double)us / US_PER_SECOND);
}

static bool
read_time(const json_t *state, const char *name, int64_t *ret_us)
{
	struct err err;

	return time_parse(js_str_at(state, name), ret_us, &err) == 0;
}

/* 0: the nodes do not know, or do not tell. */
static void
observe_pause(struct prom_histogram *histogram, int64_t ms)
{
	if (ms > 0)
		prom_observe(histogram, &prom_bounds_pauses,
			     (double)ms / MS_PER_SECOND);
}

void
tally_result(struct tally *tally, const json_t *status, int64_t age_us)
{
	const json_t *state = js_obj_at(status, "migrationState");
	bool failed = !str_equal(js_str_at(status, "phase"),
				 migration_phase_name(MIGRATION_SUCCEEDED));
	int64_t start_us, end_us;
	double error;

	prom_observe(&tally->totals[failed], &prom_bounds_waits,
		     (double)age_us / US_PER_SECOND);
	if (failed)
		return;
	if (read_time(state, "startTimestamp", &start_us) &&
	    read_time(state, "endTimestamp", &end_us))
		prom_observe(&tally->transfers, &prom_bounds_waits,
			     (double)(end_us - start_us) / US_PER_SECOND);
	observe_pause(&tally->downtimes,
		      js_int_at(state, "progress.downtimeMs", 0));
	observe_pause(&tally->blackouts,
		      js_int_at(state, "progress.blackoutMs", 0));
	if (hindsight_error(state, &error))
		prom_observe(&tally->errors, &error_bounds, error);
}

void
tally_ended(struct tally *tally, unsigned writes)
{
	tally->ended++;
	tally->ended_writes += writes;
	if (writes > tally->most_writes)
		tally->most_writes = writes;
}

/* A family of histograms that differ in one label; those without anything in
 * them are left out. */
struct family {
	const char *name, *help, *label;
	const struct prom_histogram *list;
	size_t count;
	const char *(*value)(size_t i);
};

static const char *
phase_value(size_t i)
{
	return migration_phase_name((enum migration_phase)i);
}

static const char *
cause_value(size_t i)
{
	return causes[i];
}

static const char *
result_value(size_t i)
{
	return results[i];
}

static int
write_family(struct buf *buf, const struct family *f)
{
	char labels[LABELS_SIZE];

	if (prom_head(buf, f->name, "histogram", f->help) == -1)
		return -1;
	for (size_t i = 0; i < f->count; i++) {
		if (f->list[i].count == 0)
			continue;
		(void)snprintf(labels, sizeof(labels), "%s=\"%s\"", f->label,
			       f->value(i));
		if (prom_write_histogram(buf, f->name, labels,
					 &prom_bounds_waits, &f->list[i]) == -1)
			return -1;
	}
	return 0;
}

#define TRANSFER "ferry_migration_transfer_seconds"
#define DOWNTIME "ferry_migration_downtime_seconds"
#define BLACKOUT "ferry_migration_blackout_seconds"
#define ERROR_RATIO "ferry_migration_prediction_error_ratio"

/* One without labels. */
struct plain {
	const char *name, *help;
	const struct prom_bounds *bounds;
	const struct prom_histogram *histogram;
};

static int
write_plain(struct buf *buf, const struct plain *plain)
{
	if (prom_head(buf, plain->name, "histogram", plain->help) == -1)
		return -1;
	return prom_write_histogram(buf, plain->name, "", plain->bounds,
				    plain->histogram);
}

int
tally_write_histograms(const struct tally *t, struct buf *buf)
{
	const struct family families[] = {
		{ "kubevirt_vmi_migration_phase_transition_time_from_creation_"
		  "seconds",
		  "How long after its creation a migration reached a phase.",
		  "phase", t->phases, ARRAY_LEN(t->phases), phase_value },
		{ "ferry_migration_phase_seconds",
		  "How long migrations were in a phase.", "phase",
		  t->phase_times, ARRAY_LEN(t->phase_times), phase_value },
		{ "ferry_migration_wait_seconds",
		  "How long migrations waited, by what for.", "cause", t->waits,
		  ARRAY_LEN(t->waits), cause_value },
		{ "ferry_migration_seconds",
		  "From a migration's creation to its end.", "result",
		  t->totals, ARRAY_LEN(t->totals), result_value },
	};
	const struct plain plains[] = {
		{ TRANSFER,
		  "From the first byte sent to the end, of migrations that "
		  "succeeded.",
		  &prom_bounds_waits, &t->transfers },
		{ DOWNTIME,
		  "How long guests stood still, by the clocks of both nodes, "
		  "of migrations that succeeded.",
		  &prom_bounds_pauses, &t->downtimes },
		{ BLACKOUT, "The same, whatever the clocks say of each other.",
		  &prom_bounds_pauses, &t->blackouts },
		{ ERROR_RATIO,
		  "How far off the predicted time of a transfer was, as a "
		  "share of the actual one.",
		  &error_bounds, &t->errors },
	};

	for (size_t i = 0; i < ARRAY_LEN(families); i++) {
		if (write_family(buf, &families[i]) == -1)
			return -1;
	}
	for (size_t i = 0; i < ARRAY_LEN(plains); i++) {
		if (write_plain(buf, &plains[i]) == -1)
			return -1;
	}
	return 0;
}

static int
write_timing(struct buf *buf, const char *rank, const struct timing *timing)
{
	static const double shares[] = { 0.5, 0.9, 0.99, 1 };

	for (size_t i = 0; i < ARRAY_LEN(shares); i++) {
		if (buf_printf(buf,
			       "ferry_migration_reconcile_seconds{rank=\"%s\","
			       "quantile=\"%g\"} %g\n",
			       rank, shares[i],
			       (double)timing_quantile(timing, shares[i]) /
				       1e6) == -1)
			return -1;
	}
	return buf_printf(buf,
			  "ferry_migration_reconcile_seconds_sum{rank=\"%s\"} "
			  "%g\n"
			  "ferry_migration_reconcile_seconds_count{rank=\"%s\"}"
			  " %" PRIu64 "\n",
			  rank, (double)timing->sum_us / 1e6, rank,
			  timing->count);
}

int
tally_write(struct buf *buf, void *arg)
{
	const struct migrations *m = arg;
	const struct tally *t = &m->tally;
	const struct kube_client_stats *client =
		kube_client_stats(world_client(m->world));
	const struct prom_single values[] = {
		{ "ferry_migration_slots_used", "gauge",
		  "Migrations that hold a slot.",
		  (double)slots_used(m->slots) },
		{ "ferry_migration_slots_waiting", "gauge",
		  "Migrations that wait for a slot.",
		  (double)(parking_count(m->outbound) +
			   parking_count(m->inbound)) },
		{ "ferry_migration_writes_total", "counter",
		  "Requests that changed something, Events not counted.",
		  (double)t->writes },
		{ "ferry_migration_confirmations_total", "counter",
		  "How often facts were read from the server before a step.",
		  (double)t->reads },
		{ "ferry_migration_write_conflicts_total", "counter",
		  "Writes that came too late and were decided upon again.",
		  (double)t->conflicts },
		{ "ferry_migration_ended_total", "counter",
		  "Migrations that this process saw to their end.",
		  (double)t->ended },
		{ "ferry_migration_ended_writes_total", "counter",
		  "Requests that changed something, for these.",
		  (double)t->ended_writes },
		{ "ferry_migration_ended_writes_max", "gauge",
		  "The most for one of these.", (double)t->most_writes },
		{ "ferry_controller_requests_total", "counter",
		  "Requests to the API server, Events and Leases too.",
		  (double)client->requests },
		{ "ferry_controller_writes_total", "counter",
		  "Those of them that changed something.",
		  (double)client->writes },
		{ "ferry_controller_events_total", "counter",
		  "Of these, Events about migrations.",
		  (double)events_stats(m->events)->written },
		{ "ferry_controller_failed_requests_total", "counter",
		  "Those of them that failed.", (double)client->failed },
	};

	if (tally_write_histograms(t, buf) == -1 ||
	    prom_write_singles(buf, values, ARRAY_LEN(values)) == -1 ||
	    buf_printf(buf,
		       "# HELP ferry_migration_reconcile_seconds From being "
		       "due to being done with, of one look at a migration.\n"
		       "# TYPE ferry_migration_reconcile_seconds summary\n") ==
		    -1 ||
	    write_timing(buf, "active", &t->active) == -1)
		return -1;
	return write_timing(buf, "waiting", &t->waiting);
}
