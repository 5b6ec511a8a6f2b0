/* SPDX-License-Identifier: Apache-2.0 */
#include "base/timing.h"

/* Below this each microsecond has its own step. */
#define EXACT 4U

static unsigned
step_of(uint64_t us)
{
	unsigned power;
	unsigned step;

	if (us < EXACT)
		return (unsigned)us;
	power = 63U - (unsigned)__builtin_clzll(us);
	step = 4 * (power - 1) + (unsigned)((us >> (power - 2)) & 3);
	return step < TIMING_STEPS ? step : TIMING_STEPS - 1;
}

/* The longest time that belongs to a step. */
static uint64_t
end_of(unsigned step)
{
	unsigned shift;

	if (step < EXACT)
		return step;
	shift = step / 4 - 1;
	return (((uint64_t)4 + step % 4 + 1) << shift) - 1;
}

void
timing_add(struct timing *timing, uint64_t us)
{
	timing->count++;
	timing->sum_us += us;
	if (us > timing->max_us)
		timing->max_us = us;
	timing->steps[step_of(us)]++;
}

uint64_t
timing_quantile(const struct timing *timing, double share)
{
	double wanted = share * (double)timing->count;
	uint64_t seen = 0;

	for (unsigned i = 0; i < TIMING_STEPS; i++) {
		seen += timing->steps[i];
		if (seen > 0 && (double)seen >= wanted) {
			uint64_t end = end_of(i);

			return i < TIMING_STEPS - 1 && end < timing->max_us
				       ? end
				       : timing->max_us;
		}
	}
	return timing->max_us;
}
