/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROXY_TURNS_H
#define PROXY_TURNS_H

/*
 * turns - which of a worker's streams may read in bulk.
 *
 * If all of many busy streams are served in a circle, each has a buffer full of
 * bytes that wait, together they are more than fits a cache, and whatever is
 * copied is copied from and to memory. So a few are served for some megabytes
 * while the others wait, whose bytes stay where they are: with 64 streams a
 * tenth to a fifth less CPU per byte (docs/benchmarks.md).
 *
 * Only who has much to send needs a turn; a stream that says something small
 * never waits for one. A turn ends when it is used up, by bytes or by time, but
 * only if somebody waits for it; who has no use for it gives it back. So nobody
 * waits longer than TURNS_MS for each TURNS_AT_ONCE of those before it.
 *
 * Threading: one worker's thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

struct loop;
struct turns;

#define TURNS_AT_ONCE 3
#define TURNS_BYTES (4U * 1024 * 1024)
#define TURNS_MS 20U

/* One stream's; all of it is turns.c's. */
struct turn {
	struct turns *turns;
	TAILQ_ENTRY(turn) entry;
	enum {
		TURN_NONE,
		TURN_WAITING,
		TURN_HELD
	} state;
	size_t left; /* bytes */
	uint64_t until_ms;
	void (*granted)(void *arg);
	void *arg;
};

struct turns *turns_new(struct loop *loop);
/* Nobody may hold a turn or wait for one. NULL is fine. */
void turns_free(struct turns *turns);

/* granted(arg) is called when a turn has come that was waited for, out of a
 * call for another stream; it must not call anything here. */
void turn_init(struct turn *turn, struct turns *turns,
	       void (*granted)(void *arg), void *arg);

/* Whether the stream has a turn, from now on or already. If not, it waits. */
bool turn_take(struct turn *turn);
bool turn_waits(const struct turn *turn);

/* Counts what was read in this turn; it may be over by that. */
void turn_use(struct turn *turn, size_t bytes);

/* Ends the turn, or the waiting for it. Nothing if there is neither. */
void turn_give_back(struct turn *turn);

#endif
