/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/plan.h"

#define US_PER_MS 1000
/* Who ran for so long starts anew without a pause. */
#define FORGIVEN_US (INT64_C(10) * 60 * 1000 * 1000)

const char *
plan_step_name(enum plan_step step)
{
	static const char *const names[] = {
		[PLAN_WAIT] = "wait",
		[PLAN_PREPARE] = "prepare volumes",
		[PLAN_SANDBOX] = "make sandbox",
		[PLAN_START] = "start container",
		[PLAN_TERM] = "terminate container",
		[PLAN_KILL] = "kill container",
		[PLAN_BURY] = "bury container",
		[PLAN_DISCARD] = "discard container",
		[PLAN_NET_DOWN] = "take network down",
		[PLAN_REMOVE] = "remove pod",
		[PLAN_FORGET] = "forget pod",
	};

	return names[step];
}

static bool
is_alive(const struct container *c)
{
	return c->phase == CONTAINER_RUNNING || c->phase == CONTAINER_STARTING;
}

bool
plan_restarts(const struct plan_in *in, const struct container *c)
{
	bool failed = c->now.exit_code != 0;

	/* An init container that has done its work is not needed again. */
	if (c->init)
		return failed && in->policy != PLAN_NEVER;
	return in->policy == PLAN_ALWAYS ||
	       (in->policy == PLAN_ON_FAILURE && failed);
}

/* Whether an init container ended badly for good. */
static bool
init_failed(const struct plan_in *in)
{
	for (size_t i = 0; i < in->count; i++) {
		const struct container *c = &in->containers[i];

		if (c->init && c->phase == CONTAINER_EXITED &&
		    c->now.exit_code != 0 && !plan_restarts(in, c))
			return true;
	}
	return false;
}

enum plan_phase
plan_phase(const struct plan_in *in)
{
	bool started = false, over = true, failed = false;

	if (init_failed(in))
		return PLAN_FAILED;
	for (size_t i = 0; i < in->count; i++) {
		const struct container *c = &in->containers[i];
		bool ended = c->phase == CONTAINER_EXITED;

		if (c->init) {
			if (!ended || c->now.exit_code != 0)
				over = false;
			continue;
		}
		if (c->phase == CONTAINER_RUNNING || ended ||
		    c->phase == CONTAINER_LOST || c->attempt > 0)
			started = true;
		if (!ended || (plan_restarts(in, c) && !in->going))
			over = false;
		if (ended && c->now.exit_code != 0)
			failed = true;
	}
	if (over)
		return failed ? PLAN_FAILED : PLAN_SUCCEEDED;
	return started ? PLAN_RUNNING : PLAN_PENDING;
}

uint64_t
plan_pause_ms(const struct plan_in *in, const struct container *c)
{
	uint64_t pause = in->backoff_ms;

	if (c->attempt == 0 ||
	    c->now.finished_us - c->now.started_us > FORGIVEN_US)
		return 0;
	for (unsigned i = 1; i < c->attempt && pause < in->backoff_max_ms; i++)
		pause *= 2;
	return pause < in->backoff_max_ms ? pause : in->backoff_max_ms;
}

static uint64_t
left_ms(int64_t now_us, int64_t until_us)
{
	return until_us <= now_us
		       ? 0
		       : (uint64_t)(until_us - now_us) / US_PER_MS + 1;
}

static struct plan
step(enum plan_step what, size_t index)
{
	return (struct plan){ .step = what, .index = index };
}

static void
wait_no_longer(struct plan *plan, uint64_t ms)
{
	if (plan->wait_ms == 0 || ms < plan->wait_ms)
		plan->wait_ms = ms;
}

/* Whatever a killed monitor left is dealt with first. */
static bool
tidy(const struct plan_in *in, struct plan *ret)
{
	for (size_t i = 0; i < in->count; i++) {
		if (in->containers[i].phase == CONTAINER_LOST) {
			*ret = step(PLAN_BURY, i);
			return true;
		}
		if (in->containers[i].phase == CONTAINER_STALE) {
			*ret = step(PLAN_DISCARD, i);
			return true;
		}
	}
	return false;
}

static struct plan
go_down(const struct plan_in *in)
{
	struct plan plan = { .step = PLAN_WAIT };
	bool alive = false;

	for (size_t i = 0; i < in->count; i++) {
		const struct container *c = &in->containers[i];

		if (!is_alive(c))
			continue;
		alive = true;
		if (c->phase != CONTAINER_RUNNING)
			continue;
		if (in->kill_us <= in->now_us)
			return step(PLAN_KILL, i);
		if (!in->terminated[i])
			return step(PLAN_TERM, i);
	}
	if (alive) {
		wait_no_longer(&plan, left_ms(in->now_us, in->kill_us));
		return plan;
	}
	if (in->network)
		return step(PLAN_NET_DOWN, 0);
	return step(in->removed ? PLAN_FORGET : PLAN_REMOVE, 0);
}

/* What a start needs first. */
static struct plan
start(const struct plan_in *in, size_t index)
{
	if (!in->prepared)
		return step(PLAN_PREPARE, 0);
	if (!in->sandbox)
		return step(PLAN_SANDBOX, 0);
	return step(PLAN_START, index);
}

/* Whether it is the container's turn; if it is to wait, plan says how long. */
static bool
may_start(const struct plan_in *in, const struct container *c,
	  struct plan *plan)
{
	uint64_t left;

	if (c->phase == CONTAINER_NONE)
		return true;
	if (c->phase != CONTAINER_EXITED || !plan_restarts(in, c))
		return false;
	left = left_ms(in->now_us,
		       c->now.finished_us +
			       (int64_t)plan_pause_ms(in, c) * US_PER_MS);
	if (left > 0)
		wait_no_longer(plan, left);
	return left == 0;
}

static struct plan
go_up(const struct plan_in *in)
{
	struct plan plan = { .step = PLAN_WAIT };

	for (size_t i = 0; i < in->count; i++) {
		const struct container *c = &in->containers[i];

		if (may_start(in, c, &plan))
			return start(in, i);
		/* Init containers run one after the other. */
		if (c->init &&
		    (c->phase != CONTAINER_EXITED || c->now.exit_code != 0))
			return plan;
	}
	return plan;
}

struct plan
plan_next(const struct plan_in *in)
{
	enum plan_phase phase = plan_phase(in);
	struct plan plan;

	if (tidy(in, &plan))
		return plan;
	if (in->going)
		return go_down(in);
	if (phase == PLAN_SUCCEEDED || phase == PLAN_FAILED) {
		if (in->network)
			return step(PLAN_NET_DOWN, 0);
		return (struct plan){ .step = PLAN_WAIT };
	}
	return go_up(in);
}
