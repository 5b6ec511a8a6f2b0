/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BENCH_LOAD_H
#define BENCH_LOAD_H

/*
 * load - the near end of the load generator: the kinds of load there are.
 *
 * Each starts its sink (see sink.h), measures, and prints what it measured as
 * one line of JSON on stdout; load_idle() prints two. To be called once per
 * process, from the main thread: the sink's threads stay.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire.h"

#define LOAD_MESSAGE_MAX 4096
/* Longer than any relay may need to get going and to drain. */
#define LOAD_GRACE_SECONDS 60

struct load {
	struct address connect;
	int listen_fd;
	const char *cpu_path;
	unsigned streams; /* streams, or concurrent clients */
	bool reads;       /* throughput: the sink copies what it takes */
	unsigned count;   /* idle: connections to open */
	size_t message;   /* roundtrip: bytes there and back */
	uint64_t time_ns; /* how long to go on */
};

/* Bulk streams in blocks, until every byte is acknowledged. */
void load_throughput(const struct load *load);

/* The same in pieces of random size, and every byte is compared. */
void load_verify(const struct load *load);

/* A message there and back, over one connection. */
void load_roundtrip(const struct load *load);

/* Connect, a byte there and back, close; `streams` of them at a time. */
void load_connections(const struct load *load);

/*
 * Opens `count` connections, says so, and holds them until stdin ends; then
 * tries each of them and says how many still work.
 */
void load_idle(const struct load *load);

#endif
