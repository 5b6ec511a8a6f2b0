/* SPDX-License-Identifier: Apache-2.0 */
#include "proxy/turns.h"

#include <assert.h>
#include <stdlib.h>

#include "base/loop.h"
#include "base/mem.h"

#define US_PER_MS 1000U

TAILQ_HEAD(turn_list, turn);

struct turns {
	struct turn_list held; /* the oldest first */
	struct turn_list waiting;
	unsigned n_held;
	struct loop_timer *timer; /* runs while somebody waits */
};

static void
grant(struct turns *turns, struct turn *turn)
{
	turn->state = TURN_HELD;
	turn->left = TURNS_BYTES;
	turn->until_ms = loop_now_ms() + TURNS_MS;
	TAILQ_INSERT_TAIL(&turns->held, turn, entry);
	turns->n_held++;
}

/* Hands a turn that has become free to who has waited longest. */
static void
hand_on(struct turns *turns)
{
	struct turn *next = TAILQ_FIRST(&turns->waiting);

	if (next == NULL)
		return;
	TAILQ_REMOVE(&turns->waiting, next, entry);
	grant(turns, next);
	next->granted(next->arg);
}

void
turn_give_back(struct turn *turn)
{
	struct turns *turns = turn->turns;

	if (turn->state == TURN_WAITING)
		TAILQ_REMOVE(&turns->waiting, turn, entry);
	if (turn->state != TURN_HELD) {
		turn->state = TURN_NONE;
		return;
	}
	turn->state = TURN_NONE;
	TAILQ_REMOVE(&turns->held, turn, entry);
	turns->n_held--;
	hand_on(turns);
}

/* Until the oldest turn is over; one that has been for long, at once. */
static void
start_timer(struct turns *turns)
{
	uint64_t until_ms = TAILQ_FIRST(&turns->held)->until_ms;
	uint64_t now_ms = loop_now_ms();

	if (!loop_timer_running(turns->timer))
		loop_timer_start(turns->timer,
				 until_ms > now_ms
					 ? (until_ms - now_ms) * US_PER_MS
					 : 0);
}

/* Takes the turns back that have lasted long enough. Who still has something to
 * read asks for another one, behind those who wait. */
static void
look(void *arg)
{
	struct turns *turns = arg;
	uint64_t now_ms = loop_now_ms();
	struct turn *oldest;

	while (!TAILQ_EMPTY(&turns->waiting)) {
		oldest = TAILQ_FIRST(&turns->held);
		assert(oldest != NULL); /* else nobody would wait */
		if (now_ms < oldest->until_ms)
			break;
		turn_give_back(oldest);
	}
	if (!TAILQ_EMPTY(&turns->waiting))
		start_timer(turns);
}

struct turns *
turns_new(struct loop *loop)
{
	struct turns *turns = xmalloc0(sizeof(*turns));

	TAILQ_INIT(&turns->held);
	TAILQ_INIT(&turns->waiting);
	turns->timer = loop_timer_new(loop, look, turns);
	return turns;
}

void
turns_free(struct turns *turns)
{
	if (turns == NULL)
		return;
	assert(TAILQ_EMPTY(&turns->held) && TAILQ_EMPTY(&turns->waiting));
	loop_timer_free(turns->timer);
	free(turns);
}

void
turn_init(struct turn *turn, struct turns *turns, void (*granted)(void *arg),
	  void *arg)
{
	*turn = (struct turn){ .turns = turns, .granted = granted, .arg = arg };
}

bool
turn_take(struct turn *turn)
{
	struct turns *turns = turn->turns;

	if (turn->state == TURN_NONE && turns->n_held < TURNS_AT_ONCE) {
		grant(turns, turn);
	} else if (turn->state == TURN_NONE) {
		turn->state = TURN_WAITING;
		TAILQ_INSERT_TAIL(&turns->waiting, turn, entry);
		start_timer(turns);
	}
	return turn->state == TURN_HELD;
}

bool
turn_waits(const struct turn *turn)
{
	return turn->state == TURN_WAITING;
}

void
turn_use(struct turn *turn, size_t bytes)
{
	if (turn->state != TURN_HELD)
		return;
	if (bytes < turn->left) {
		turn->left -= bytes;
		return;
	}
	turn->left = TURNS_BYTES;
	if (!TAILQ_EMPTY(&turn->turns->waiting))
		turn_give_back(turn);
}
