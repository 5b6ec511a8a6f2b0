/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_TIMING_H
#define BASE_TIMING_H

/*
 * timing - how long things took: count, sum, longest, and a distribution.
 *
 * Four steps for each doubling, so that a quantile is at most a quarter off.
 * Threading: a timing belongs to one thread at a time. { 0 } is an empty one.
 */

#include <stdint.h>

#define TIMING_STEPS 128

struct timing {
	uint64_t count;
	uint64_t sum_us;
	uint64_t max_us;
	uint32_t steps[TIMING_STEPS];
};

void timing_add(struct timing *timing, uint64_t us);

/* The time that a share (0 to 1) of them did not exceed, rounded up to the end
 * of its step and never above max_us; 0 when there are none. */
uint64_t timing_quantile(const struct timing *timing, double share);

#endif
