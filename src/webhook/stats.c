/* SPDX-License-Identifier: Apache-2.0 */
#include "webhook/stats.h"

#include <assert.h>
#include <inttypes.h>

#include "base/array.h"
#include "base/buf.h"
#include "http/server.h"
#include "kube/client.h"

#define US_PER_S 1e6

static const char *const stat_names[] = {
	[STAT_MIGRATION_MUTATE] = "migration-mutate-create",
	[STAT_MIGRATION_CREATE] = "migration-validate-create",
	[STAT_MIGRATION_UPDATE] = "migration-validate-update",
	[STAT_VMI_MUTATE] = "virtualmachineinstances-mutate",
	[STAT_VMI_CREATE] = "virtualmachineinstances-validate-create",
	[STAT_VMI_UPDATE] = "virtualmachineinstances-validate-update",
	[STAT_VM_MUTATE] = "virtualmachines-mutate",
	[STAT_VM_VALIDATE] = "virtualmachines-validate",
	[STAT_POLICY] = "migration-policy-validate",
	[STAT_KUBEVIRT] = "kubevirt-validate",
	[STAT_EVICTION] = "pod-eviction-validate",
	[STAT_PATH_PROBE] = "pathprobes-validate",
	[STAT_NODE] = "nodes-validate",
	[STAT_START] = "start",
	[STAT_STOP] = "stop",
	[STAT_RESTART] = "restart",
	[STAT_MIGRATE] = "migrate",
	[STAT_PAUSE] = "pause",
	[STAT_UNPAUSE] = "unpause",
	[STAT_EVACUATE_CANCEL] = "evacuate-cancel",
	[STAT_OTHER] = "other",
};
static_assert(ARRAY_LEN(stat_names) == STAT_COUNT, "a route has no name");

static const char *const end_names[] = {
	[STAT_OK] = "ok",
	[STAT_REFUSED] = "refused",
	[STAT_FAILED] = "failed",
};
static_assert(ARRAY_LEN(end_names) == STAT_END_COUNT, "an end has no name");

void
stats_count(struct stats *stats, enum stat_route stat, enum stat_end end,
	    uint64_t took_us)
{
	stats->ends[stat][end]++;
	timing_add(&stats->times[stat], took_us);
}

static void
write_head(struct buf *buf, const char *name, const char *type,
	   const char *help)
{
	(void)buf_printf(buf, "# HELP %s %s\n# TYPE %s %s\n", name, help, name,
			 type);
}

static void
write_one(struct buf *buf, const char *name, const char *type, const char *help,
	  uint64_t value)
{
	write_head(buf, name, type, help);
	(void)buf_printf(buf, "%s %" PRIu64 "\n", name, value);
}

static void
write_times(const struct stats *stats, struct buf *buf)
{
	static const double shares[] = { 0.5, 0.9, 0.99 };

	write_head(buf, "ferry_api_request_duration_seconds", "summary",
		   "Time from a whole request to its answer.");
	for (size_t i = 0; i < STAT_COUNT; i++) {
		const struct timing *timing = &stats->times[i];

		if (timing->count == 0)
			continue;
		for (size_t k = 0; k < ARRAY_LEN(shares); k++) {
			(void)buf_printf(
				buf,
				"ferry_api_request_duration_seconds{route="
				"\"%s\",quantile=\"%g\"} %g\n",
				stat_names[i], shares[k],
				(double)timing_quantile(timing, shares[k]) /
					US_PER_S);
		}
		(void)buf_printf(
			buf,
			"ferry_api_request_duration_seconds_sum{route=\"%s\"} "
			"%g\n"
			"ferry_api_request_duration_seconds_count{route="
			"\"%s\"} %" PRIu64 "\n",
			stat_names[i], (double)timing->sum_us / US_PER_S,
			stat_names[i], timing->count);
	}
}

void
stats_write(const struct stats *stats, const struct http_stats *http,
	    const struct kube_client_stats *client, struct buf *buf)
{
	write_head(buf, "ferry_api_requests_total", "counter",
		   "Requests by route and how they ended.");
	for (size_t i = 0; i < STAT_COUNT; i++) {
		for (size_t k = 0; k < STAT_END_COUNT; k++) {
			(void)buf_printf(buf,
					 "ferry_api_requests_total{route=\"%s\""
					 ",result=\"%s\"} %" PRIu64 "\n",
					 stat_names[i], end_names[k],
					 stats->ends[i][k]);
		}
	}
	write_times(stats, buf);
	write_one(buf, "ferry_api_connections", "gauge",
		  "Connections that are open.", http->connections);
	write_one(buf, "ferry_api_tls_failures_total", "counter",
		  "Handshakes that failed.", http->tls_failed);
	write_one(buf, "ferry_api_client_requests_total", "counter",
		  "Requests to the API server.", client->requests);
	write_one(buf, "ferry_api_client_failures_total", "counter",
		  "Requests to the API server that failed.", client->failed);
	write_one(buf, "ferry_api_client_waiting", "gauge",
		  "Requests that wait for the rate or for a place.",
		  client->waiting);
}
