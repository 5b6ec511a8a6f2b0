/* SPDX-License-Identifier: Apache-2.0 */
#include "handler/meter.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "launchrpc/record.h"

#define US_PER_SECOND 1e6
#define MS_PER_SECOND 1e3
/* Namespace, name and node have 253 characters at most. */
#define LABELS_SIZE 1024

#define TIME "ferry_handler_migration_seconds"
#define DOWNTIME "ferry_handler_migration_downtime_seconds"
#define BLACKOUT "ferry_handler_migration_blackout_seconds"
#define MACHINES "ferry_handler_machines"
#define FAILURES "ferry_handler_step_failures_total"

static const char *const role_names[LAUNCH_ROLE_COUNT] = {
	[LAUNCH_SOURCE] = "source",
	[LAUNCH_TARGET] = "target",
};

static const char *const result_names[METER_RESULT_COUNT] = {
	[METER_SUCCEEDED] = "succeeded",
	[METER_FAILED] = "failed",
};

static void
observe_pause(struct prom_histogram *histogram, uint64_t ms)
{
	if (ms != 0) /* is known */
		prom_observe(histogram, &prom_bounds_pauses,
			     (double)ms / MS_PER_SECOND);
}

void
meter_record(struct meter *meter, const struct launch_record *r, char **counted)
{
	enum meter_result result = r->failed ? METER_FAILED : METER_SUCCEEDED;

	if (!r->completed || r->end_us < meter->since_us ||
	    (*counted != NULL && str_equal(*counted, r->uid)))
		return;
	free(*counted);
	*counted = xstrdup(r->uid);
	prom_observe(&meter->times[r->role][result], &prom_bounds_waits,
		     (double)(r->end_us - r->start_us) / US_PER_SECOND);
	if (r->role == LAUNCH_SOURCE && result == METER_SUCCEEDED) {
		observe_pause(&meter->downtimes, r->progress.downtime_ms);
		observe_pause(&meter->blackouts, r->progress.blackout_ms);
	}
}

/* KubeVirt's numbers of a transfer that goes on. */
struct transfer {
	const char *name, *type, *help;
	uint64_t (*value)(const struct launch_progress *p);
};

static uint64_t
bytes_total(const struct launch_progress *p)
{
	return p->bytes_total;
}

static uint64_t
bytes_remaining(const struct launch_progress *p)
{
	return p->bytes_remaining;
}

static uint64_t
bytes_processed(const struct launch_progress *p)
{
	return p->bytes_processed;
}

static uint64_t
dirty_rate(const struct launch_progress *p)
{
	return p->dirty_rate_bytes_per_second;
}

static uint64_t
rate(const struct launch_progress *p)
{
	return p->rate_bytes_per_second;
}

/* The first is a size, and a counter only by KubeVirt's word for it. */
static const struct transfer transfers[] = {
	{ "kubevirt_vmi_migration_data_bytes_total", "counter",
	  "The memory and the disks that are to be moved.", bytes_total },
	{ "kubevirt_vmi_migration_data_remaining_bytes", "gauge",
	  "What of it is still to be sent.", bytes_remaining },
	{ "kubevirt_vmi_migration_data_processed_bytes", "gauge",
	  "What has been sent, what was sent again too.", bytes_processed },
	{ "kubevirt_vmi_migration_dirty_memory_rate_bytes", "gauge",
	  "What the guest changes in a second.", dirty_rate },
	{ "kubevirt_vmi_migration_memory_transfer_rate_bytes", "gauge",
	  "What is sent in a second.", rate },
};

static bool
leaves(const struct meter_machine *machine)
{
	const struct launch_record *r = machine->record;

	return r != NULL && r->role == LAUNCH_SOURCE && !r->completed;
}

static int
write_transfer(const struct transfer *transfer, const char *node,
	       const struct meter_machine *machine, struct buf *buf)
{
	char labels[LABELS_SIZE];

	(void)snprintf(labels, sizeof(labels),
		       "namespace=\"%s\",name=\"%s\",node=\"%s\"", machine->ns,
		       machine->name, node);
	return prom_value(buf, transfer->name, labels,
			  (double)transfer->value(&machine->record->progress));
}

static int
write_transfers(const char *node, const struct meter_machine *machines,
		size_t count, struct buf *buf)
{
	for (size_t i = 0; i < ARRAY_LEN(transfers); i++) {
		const struct transfer *t = &transfers[i];

		if (prom_head(buf, t->name, t->type, t->help) == -1)
			return -1;
		for (size_t j = 0; j < count; j++) {
			if (leaves(&machines[j]) &&
			    write_transfer(t, node, &machines[j], buf) == -1)
				return -1;
		}
	}
	return 0;
}

static int
write_phases(const struct meter_machine *machines, size_t count,
	     struct buf *buf)
{
	size_t sums[VMI_PHASE_COUNT] = { 0 };
	char labels[LABELS_SIZE];

	for (size_t i = 0; i < count; i++)
		sums[machines[i].phase] += machines[i].here;
	if (prom_head(buf, MACHINES, "gauge",
		      "Machines of this node, by phase.") == -1)
		return -1;
	for (enum vmi_phase p = VMI_PENDING; p < VMI_PHASE_COUNT; p++) {
		(void)snprintf(labels, sizeof(labels), "phase=\"%s\"",
			       vmi_phase_name(p));
		if (prom_value(buf, MACHINES, labels, (double)sums[p]) == -1)
			return -1;
	}
	return 0;
}

static int
write_times(const struct meter *meter, struct buf *buf)
{
	char labels[LABELS_SIZE];

	if (prom_head(buf, TIME, "histogram",
		      "How long migrations took on this node, by side and "
		      "result.") == -1)
		return -1;
	for (int role = 0; role < LAUNCH_ROLE_COUNT; role++) {
		for (int result = 0; result < METER_RESULT_COUNT; result++) {
			(void)snprintf(labels, sizeof(labels),
				       "side=\"%s\",result=\"%s\"",
				       role_names[role], result_names[result]);
			if (prom_write_histogram(
				    buf, TIME, labels, &prom_bounds_waits,
				    &meter->times[role][result]) == -1)
				return -1;
		}
	}
	if (prom_head(buf, DOWNTIME, "histogram",
		      "How long guests that left stood still, by the clocks of "
		      "both nodes.") == -1 ||
	    prom_write_histogram(buf, DOWNTIME, "", &prom_bounds_pauses,
				 &meter->downtimes) == -1 ||
	    prom_head(buf, BLACKOUT, "histogram",
		      "The same, whatever the clocks say of each other.") == -1)
		return -1;
	return prom_write_histogram(buf, BLACKOUT, "", &prom_bounds_pauses,
				    &meter->blackouts);
}

static int
write_failures(const struct meter *meter, struct buf *buf)
{
	char labels[LABELS_SIZE];

	if (prom_head(buf, FAILURES, "counter",
		      "Steps that failed and were tried again, by step.") == -1)
		return -1;
	for (enum step s = STEP_NONE + 1; s < STEP_COUNT; s++) {
		(void)snprintf(labels, sizeof(labels), "step=\"%s\"",
			       step_name(s));
		if (prom_value(buf, FAILURES, labels,
			       (double)meter->step_failures[s]) == -1)
			return -1;
	}
	return 0;
}

int
meter_write(const struct meter *meter, const char *node,
	    const struct meter_machine *machines, size_t count, struct buf *buf)
{
	if (write_transfers(node, machines, count, buf) == -1 ||
	    write_phases(machines, count, buf) == -1 ||
	    write_times(meter, buf) == -1)
		return -1;
	return write_failures(meter, buf);
}
