/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/migration/tally.h"

#include <inttypes.h>

#include "base/array.h"
#include "base/buf.h"
#include "controller/migration/internal.h"
#include "kube/client.h"
#include "meta/time.h"

#define HISTOGRAM \
	"kubevirt_vmi_migration_phase_transition_time_from_creation_seconds"

/* Upper bounds in seconds, as KubeVirt has them: half a second to ten
 * minutes. */
static const double bounds[TALLY_BUCKETS] = {
	0.5, 1,  2.5, 5,   7.5, 10,  15,  20,  30,  45,
	60,  90, 120, 150, 180, 240, 300, 450, 600, 1200,
};

void
tally_phase_reached(struct tally *tally, enum migration_phase phase,
		    int64_t age_us)
{
	struct tally_phase *p = &tally->phases[phase];
	double seconds = age_us <= 0 ? 0 : (double)age_us / 1e6;

	p->count++;
	p->sum_s += seconds;
	for (size_t i = 0; i < ARRAY_LEN(bounds); i++) {
		if (seconds <= bounds[i]) {
			p->buckets[i]++;
			return;
		}
	}
}

void
tally_ended(struct tally *tally, unsigned writes)
{
	tally->ended++;
	tally->ended_writes += writes;
	if (writes > tally->most_writes)
		tally->most_writes = writes;
}

static int
write_phase(struct buf *buf, enum migration_phase phase,
	    const struct tally_phase *p)
{
	const char *name = migration_phase_name(phase);
	uint64_t sum = 0;

	for (size_t i = 0; i < ARRAY_LEN(bounds); i++) {
		sum += p->buckets[i];
		if (buf_printf(buf,
			       HISTOGRAM
			       "_bucket{phase=\"%s\",le=\"%g\"} %" PRIu64 "\n",
			       name, bounds[i], sum) == -1)
			return -1;
	}
	return buf_printf(buf,
			  HISTOGRAM "_bucket{phase=\"%s\",le=\"+Inf\"} "
				    "%" PRIu64 "\n" HISTOGRAM
				    "_sum{phase=\"%s\"} %g\n" HISTOGRAM
				    "_count{phase=\"%s\"} %" PRIu64 "\n",
			  name, p->count, name, p->sum_s, name, p->count);
}

static int
write_histogram(struct buf *buf, const struct tally *tally)
{
	if (buf_printf(buf,
		       "# HELP " HISTOGRAM
		       " How long after its creation a migration reached a "
		       "phase.\n# TYPE " HISTOGRAM " histogram\n") == -1)
		return -1;
	for (enum migration_phase p = MIGRATION_PENDING;
	     p < MIGRATION_PHASE_COUNT; p++) {
		if (tally->phases[p].count != 0 &&
		    write_phase(buf, p, &tally->phases[p]) == -1)
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

struct value {
	const char *name, *type, *help;
	double value;
};

static int
write_values(struct buf *buf, const struct value *values, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct value *v = &values[i];

		if (buf_printf(buf, "# HELP %s %s\n# TYPE %s %s\n%s %.17g\n",
			       v->name, v->help, v->name, v->type, v->name,
			       v->value) == -1)
			return -1;
	}
	return 0;
}

int
tally_write(struct buf *buf, void *arg)
{
	const struct migrations *m = arg;
	const struct tally *t = &m->tally;
	const struct kube_client_stats *client =
		kube_client_stats(world_client(m->world));
	const struct value values[] = {
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

	if (write_histogram(buf, t) == -1 ||
	    write_values(buf, values, ARRAY_LEN(values)) == -1 ||
	    buf_printf(buf,
		       "# HELP ferry_migration_reconcile_seconds From being "
		       "due to being done with, of one look at a migration.\n"
		       "# TYPE ferry_migration_reconcile_seconds summary\n") ==
		    -1 ||
	    write_timing(buf, "active", &t->active) == -1)
		return -1;
	return write_timing(buf, "waiting", &t->waiting);
}
