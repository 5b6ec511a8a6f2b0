/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BENCH_BLOCK_H
#define BENCH_BLOCK_H

/*
 * block - what a bulk stream consists of: a header, then filler.
 *
 * The stream ends with a block that says so, and the sink answers with the
 * number of bytes it took: not every relay passes a half-close on, so neither
 * the end nor the success of a stream may depend on it.
 *
 * Threading: all functions may be called from any thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BLOCK_SIZE (256U * 1024)

struct block_header {
	uint64_t stream;
	uint64_t sequence;
	uint64_t is_last;
};

/*
 * Makes the whole block of BLOCK_SIZE bytes. The filler follows from stream
 * and sequence alone, so that a sink can tell any other byte.
 */
void block_fill(void *block, const struct block_header *header);

/* Whether these `size` bytes are what block_fill() puts at offset `at`. */
bool block_is_intact(const struct block_header *header, size_t at,
		     const void *data, size_t size);

/*
 * Writes header and shared filler in one call: what a measured stream does.
 * All streams send the same filler, so that 64 of them fit the cache like one.
 */
bool block_write(int fd, const struct block_header *header);

/* The next number of a xorshift generator; *state must not be 0. */
uint64_t random_next(uint64_t *state);

#endif
