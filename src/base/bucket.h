/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_BUCKET_H
#define BASE_BUCKET_H

/*
 * bucket - so many of something per second, and a burst besides.
 *
 * Full at first. What is taken beyond it is a debt that has to be made up for
 * before the next may be taken; so things that are counted by their size go
 * through whole, however large, and the rate holds all the same.
 *
 * Knows no clock: the caller says what time it is, in nanoseconds that never
 * go back. Threading: one thread at a time.
 */

#include <stdbool.h>
#include <stdint.h>

struct bucket {
	double per_second; /* > 0 */
	double burst;      /* >= 1 */
	double tokens;     /* below 0: a debt */
	uint64_t at_ns;    /* when there were as many */
};

void bucket_init(struct bucket *bucket, double per_second, double burst,
		 uint64_t now_ns);

/* How long until there is one; 0: now. */
uint64_t bucket_wait_us(struct bucket *bucket, uint64_t now_ns);

/* Takes that many, there or not. */
void bucket_charge(struct bucket *bucket, double count, uint64_t now_ns);

/* Takes one if there is one; otherwise says how long until then. */
bool bucket_take(struct bucket *bucket, uint64_t now_ns, uint64_t *ret_wait_us);

#endif
