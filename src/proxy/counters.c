/* SPDX-License-Identifier: Apache-2.0 */
#include "proxy/counters.h"

#include <assert.h>

#include "base/array.h"

#define NS_PER_MS 1000000ULL

static const char *const names[] = {
	[STALL_LOCAL] = "local",
	[STALL_NETWORK] = "network",
	[STALL_LIMIT] = "limit",
};
static_assert(ARRAY_LEN(names) == STALL_COUNT, "a stall has no name");

const char *
stall_name(enum stall stall)
{
	return names[stall];
}

static uint64_t
load(const _Atomic uint64_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

void
counters_add_to(const struct counters *counters, struct counts *sum)
{
	sum->sent_bytes += load(&counters->sent_bytes);
	sum->received_bytes += load(&counters->received_bytes);
	for (int i = 0; i < STALL_COUNT; i++) {
		sum->stalls[i] += load(&counters->stalls[i]);
		sum->stalled_ns[i] += load(&counters->stalled_ns[i]);
	}
}

json_t *
counts_describe(const struct counts *counts)
{
	json_t *stalls = json_object();

	for (int i = 0; i < STALL_COUNT; i++) {
		json_int_t ms = (json_int_t)(counts->stalled_ns[i] / NS_PER_MS);

		json_object_set_new(stalls, names[i],
				    json_pack("{s:I, s:I}", "count",
					      (json_int_t)counts->stalls[i],
					      "ms", ms));
	}
	return json_pack("{s:I, s:I, s:o}", "sentBytes",
			 (json_int_t)counts->sent_bytes, "receivedBytes",
			 (json_int_t)counts->received_bytes, "stalls", stalls);
}
