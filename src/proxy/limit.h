/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROXY_LIMIT_H
#define PROXY_LIMIT_H

/*
 * limit - how fast one migration may send, summed over all its streams.
 *
 * A token bucket that the streams of a migration share. It holds at most
 * LIMIT_BURST_MS worth of tokens and starts empty, so that over any stretch
 * the sum stays within the rate plus that much.
 *
 * Threading: any thread; the streams of one migration run in several.
 */

#include <stdbool.h>
#include <stdint.h>

#define LIMIT_BURST_MS 50

struct limit;

/* Bytes per second; 0 is no limit. One reference is the caller's. */
struct limit *limit_new(uint64_t rate);
struct limit *limit_ref(struct limit *limit);
void limit_unref(struct limit *limit); /* NULL is fine */

void limit_set_rate(struct limit *limit, uint64_t rate);
uint64_t limit_rate(const struct limit *limit);

/*
 * Takes up to want tokens and returns how many. When 0, nothing may be sent
 * for *ret_wait_us. What is taken and not used is given back.
 */
uint64_t limit_take(struct limit *limit, uint64_t want, uint64_t *ret_wait_us);
void limit_give_back(struct limit *limit, uint64_t unused);

/* Counts bytes that cannot wait; later ones wait for them. */
void limit_charge(struct limit *limit, uint64_t bytes);

#endif
