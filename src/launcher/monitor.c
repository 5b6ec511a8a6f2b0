/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/monitor.h"

#define MS_PER_S 1000U
#define QEMU_DOWNTIME_MS 300U
#define NEAR_MARGIN_MS 1000U            /* for numbers that are not fresh */
#define NEAR_BYTES (UINT64_C(32) << 20) /* where the rate says nothing */

static void
learn(struct monitor *monitor, const struct monitor_sample *sample)
{
	if (!sample->known)
		return;
	if (!monitor->seen || (sample->memory && !monitor->memory) ||
	    sample->remaining < monitor->best) {
		monitor->best = sample->remaining;
		monitor->best_ms = sample->elapsed_ms;
	}
	monitor->seen = true;
	monitor->memory = monitor->memory || sample->memory;
}

static enum monitor_action
disrupt(struct monitor *monitor, const struct monitor_limits *limits,
	const struct monitor_sample *sample, enum monitor_action otherwise)
{
	if (!limits->disruption)
		return otherwise;
	if (limits->post_copy) {
		if (monitor->switch_ms == 0)
			monitor->switch_ms = sample->elapsed_ms;
		else if (sample->elapsed_ms - monitor->switch_ms >
			 MONITOR_SWITCH_MS)
			return otherwise;
		return MONITOR_POST_COPY;
	}
	if (monitor->paused)
		return otherwise;
	monitor->paused = true;
	monitor->paused_ms = sample->elapsed_ms;
	/* A guest that stands still makes progress, or there is none. */
	monitor->best_ms = sample->elapsed_ms;
	return MONITOR_PAUSE;
}

enum monitor_action
monitor_step(struct monitor *monitor, const struct monitor_limits *limits,
	     const struct monitor_sample *sample)
{
	/* A guest that was paused has the same time once more. */
	uint64_t allowed_ms = limits->completion_ms +
			      (monitor->paused ? monitor->paused_ms : 0);

	if (sample->post_copy)
		return MONITOR_NOTHING;
	learn(monitor, sample);
	if (limits->completion_ms > 0 && sample->elapsed_ms > allowed_ms)
		return disrupt(monitor, limits, sample,
			       MONITOR_ABORT_COMPLETION);
	if (limits->progress_ms > 0 &&
	    sample->elapsed_ms - monitor->best_ms > limits->progress_ms)
		return disrupt(monitor, limits, sample, MONITOR_ABORT_PROGRESS);
	return MONITOR_NOTHING;
}

bool
monitor_is_near_end(uint64_t remaining, uint64_t rate, uint64_t downtime_ms)
{
	uint64_t ms = (downtime_ms > 0 ? downtime_ms : QEMU_DOWNTIME_MS) +
		      NEAR_MARGIN_MS;

	return remaining <= NEAR_BYTES || remaining / ms <= rate / MS_PER_S;
}
