/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROXY_COUNTERS_H
#define PROXY_COUNTERS_H

/*
 * counters - what a stream has carried and what it waited for.
 *
 * One writer (the worker that runs the stream), any number of readers, hence
 * relaxed atomics: a reader may see bytes before the stall that went with
 * them, never a torn number.
 */

#include <stdatomic.h>
#include <stdint.h>

#include "base/js.h"

enum stall {
	STALL_LOCAL,   /* the program on this node did not read */
	STALL_NETWORK, /* the network or the peer did not take more */
	STALL_LIMIT,   /* the migration's bandwidth limit */
	STALL_COUNT,
};

struct counters {
	_Atomic uint64_t sent_bytes;     /* local to network */
	_Atomic uint64_t received_bytes; /* network to local */
	_Atomic uint64_t stalls[STALL_COUNT];
	_Atomic uint64_t stalled_ns[STALL_COUNT];
};

/* The same as plain numbers, to be summed and printed. */
struct counts {
	uint64_t sent_bytes;
	uint64_t received_bytes;
	uint64_t stalls[STALL_COUNT];
	uint64_t stalled_ns[STALL_COUNT];
};

const char *stall_name(enum stall stall);

static inline void
counter_add(_Atomic uint64_t *counter, uint64_t n)
{
	/* One writer: no locked instruction is needed. */
	atomic_store_explicit(
		counter,
		atomic_load_explicit(counter, memory_order_relaxed) + n,
		memory_order_relaxed);
}

/* Adds what the counters say now to *sum. */
void counters_add_to(const struct counters *counters, struct counts *sum);

/* {"sentBytes","receivedBytes","stalls":{CAUSE:{"count","ms"}}}, new. */
json_t *counts_describe(const struct counts *counts);

#endif
