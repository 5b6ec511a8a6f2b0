/* SPDX-License-Identifier: Apache-2.0 */
#include "proxy/limit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/loop.h"
#include "base/mem.h"

#define NS_PER_S 1000000000ULL

/* Less than this is not worth a system call; a slower limit hands out less. */
#define QUANTUM (16U * 1024)

struct limit {
	_Atomic unsigned refs;
	_Atomic uint64_t rate; /* bytes per second, 0 = none */
	pthread_mutex_t lock;  /* protects the two below */
	int64_t tokens;        /* negative after limit_charge() */
	uint64_t filled_ns;    /* up to when tokens have been counted */
};

struct limit *
limit_new(uint64_t rate)
{
	struct limit *limit = xmalloc0(sizeof(*limit));

	atomic_init(&limit->refs, 1);
	atomic_init(&limit->rate, rate);
	(void)pthread_mutex_init(&limit->lock, NULL);
	limit->filled_ns = loop_now_ns();
	return limit;
}

struct limit *
limit_ref(struct limit *limit)
{
	(void)atomic_fetch_add(&limit->refs, 1);
	return limit;
}

void
limit_unref(struct limit *limit)
{
	if (limit == NULL || atomic_fetch_sub(&limit->refs, 1) != 1)
		return;
	(void)pthread_mutex_destroy(&limit->lock);
	free(limit);
}

void
limit_set_rate(struct limit *limit, uint64_t rate)
{
	(void)pthread_mutex_lock(&limit->lock);
	atomic_store(&limit->rate, rate);
	limit->tokens = 0;
	limit->filled_ns = loop_now_ns();
	(void)pthread_mutex_unlock(&limit->lock);
}

uint64_t
limit_rate(const struct limit *limit)
{
	return atomic_load_explicit(&limit->rate, memory_order_relaxed);
}

static int64_t
burst(uint64_t rate)
{
	uint64_t bytes = rate / 1000 * LIMIT_BURST_MS;

	return bytes > 1024 ? (int64_t)bytes : 1024;
}

/* Adds what has come in since the last call. Caller holds the lock. */
static void
fill(struct limit *limit, uint64_t rate)
{
	uint64_t now = loop_now_ns();
	uint64_t passed = now - limit->filled_ns;
	int64_t most = burst(rate);

	if (passed >= NS_PER_S) {
		/* Long idle: enough to be full, even after a big charge. */
		uint64_t seconds = passed / NS_PER_S;

		limit->tokens +=
			seconds > 3600 ? most : (int64_t)(seconds * rate);
		limit->filled_ns = now;
	} else {
		uint64_t gained =
			(uint64_t)((__uint128_t)passed * rate / NS_PER_S);

		/* Move on only by what was counted: nothing is rounded off. */
		limit->tokens += (int64_t)gained;
		limit->filled_ns +=
			(uint64_t)((__uint128_t)gained * NS_PER_S / rate);
	}
	if (limit->tokens > most)
		limit->tokens = most;
}

uint64_t
limit_take(struct limit *limit, uint64_t want, uint64_t *ret_wait_us)
{
	uint64_t rate = limit_rate(limit);
	uint64_t taken = 0;
	int64_t least;

	if (rate == 0)
		return want;

	least = burst(rate) < QUANTUM ? burst(rate) : QUANTUM;
	if ((uint64_t)least > want)
		least = (int64_t)want;

	(void)pthread_mutex_lock(&limit->lock);
	fill(limit, rate);
	if (limit->tokens >= least) {
		taken = (uint64_t)limit->tokens < want ? (uint64_t)limit->tokens
						       : want;
		limit->tokens -= (int64_t)taken;
	} else {
		uint64_t missing = (uint64_t)(least - limit->tokens);

		*ret_wait_us = missing * 1000000 / rate + 1;
	}
	(void)pthread_mutex_unlock(&limit->lock);
	return taken;
}

void
limit_give_back(struct limit *limit, uint64_t unused)
{
	if (limit_rate(limit) == 0 || unused == 0)
		return;
	(void)pthread_mutex_lock(&limit->lock);
	limit->tokens += (int64_t)unused;
	(void)pthread_mutex_unlock(&limit->lock);
}

void
limit_charge(struct limit *limit, uint64_t bytes)
{
	if (limit_rate(limit) == 0)
		return;
	(void)pthread_mutex_lock(&limit->lock);
	limit->tokens -= (int64_t)bytes;
	(void)pthread_mutex_unlock(&limit->lock);
}
