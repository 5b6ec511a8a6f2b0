/* SPDX-License-Identifier: Apache-2.0 */
#include "base/bucket.h"

#define NS_PER_S 1e9
#define US_PER_S 1e6

void
bucket_init(struct bucket *b, double per_second, double burst, uint64_t now_ns)
{
	*b = (struct bucket){
		.per_second = per_second,
		.burst = burst,
		.tokens = burst,
		.at_ns = now_ns,
	};
}

static void
fill(struct bucket *b, uint64_t now_ns)
{
	if (now_ns <= b->at_ns)
		return;
	b->tokens += (double)(now_ns - b->at_ns) * b->per_second / NS_PER_S;
	b->at_ns = now_ns;
	if (b->tokens > b->burst)
		b->tokens = b->burst;
}

uint64_t
bucket_wait_us(struct bucket *b, uint64_t now_ns)
{
	fill(b, now_ns);
	if (b->tokens >= 1)
		return 0;
	return (uint64_t)((1 - b->tokens) * US_PER_S / b->per_second) + 1;
}

void
bucket_charge(struct bucket *b, double count, uint64_t now_ns)
{
	fill(b, now_ns);
	b->tokens -= count;
}

bool
bucket_take(struct bucket *b, uint64_t now_ns, uint64_t *ret_wait_us)
{
	*ret_wait_us = bucket_wait_us(b, now_ns);
	if (*ret_wait_us > 0)
		return false;
	b->tokens -= 1;
	return true;
}
