/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/flight.h"

#include <stdlib.h>
#include <time.h>

#include "base/loop.h"
#include "base/mem.h"
#include "virt/job.h"

#define MS_PER_S 1000U
#define NS_PER_MS 1000000L
#define NS_PER_S (NS_PER_MS * MS_PER_S)

/* News on their way to the loop. */
struct letter {
	struct flight *flight;
	struct flight_news news;
};

void
flight_init(struct flight *flight, const struct flight_config *config,
	    flight_told_fn *told, void *ctx)
{
	pthread_condattr_t attr;

	*flight =
		(struct flight){ .config = *config, .told = told, .ctx = ctx };
	virt_migration_copy(&flight->config.migration, &config->migration);
	(void)pthread_mutex_init(&flight->lock, NULL);
	(void)pthread_condattr_init(&attr);
	(void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&flight->changed, &attr);
	(void)pthread_condattr_destroy(&attr);
}

void
flight_done(struct flight *flight)
{
	virt_migration_done(&flight->config.migration);
	(void)pthread_cond_destroy(&flight->changed);
	(void)pthread_mutex_destroy(&flight->lock);
}

void
flight_begin(struct flight *flight)
{
	flight->start_ms = loop_now_ms();
	flight->state = (struct flight_state){
		.post_copy = flight->config.migration.recover,
		.stream = flight->state.stream,
		.breaks = flight->state.breaks,
	};
}

struct flight_state
flight_peek(struct flight *flight)
{
	struct flight_state state;

	(void)pthread_mutex_lock(&flight->lock);
	state = flight->state;
	(void)pthread_mutex_unlock(&flight->lock);
	return state;
}

bool
flight_abort(struct flight *flight, enum launch_reason reason)
{
	bool first;

	(void)pthread_mutex_lock(&flight->lock);
	first = !flight->state.abort && !flight->state.post_copy;
	if (first) {
		flight->state.abort = true;
		flight->state.abort_ms = loop_now_ms();
		flight->state.abort_reason = reason;
		(void)pthread_cond_broadcast(&flight->changed);
	}
	(void)pthread_mutex_unlock(&flight->lock);
	return first;
}

static void
mark(struct flight *flight, bool *what)
{
	(void)pthread_mutex_lock(&flight->lock);
	*what = true;
	(void)pthread_cond_broadcast(&flight->changed);
	(void)pthread_mutex_unlock(&flight->lock);
}

bool
flight_switch(struct flight *flight)
{
	bool may;

	(void)pthread_mutex_lock(&flight->lock);
	may = !flight->state.abort;
	flight->state.switching = may;
	(void)pthread_mutex_unlock(&flight->lock);
	return may;
}

void
flight_switched(struct flight *flight, bool done)
{
	(void)pthread_mutex_lock(&flight->lock);
	flight->state.switching = false;
	if (done) {
		flight->state.post_copy = true;
		flight->state.abort = false;
	}
	(void)pthread_cond_broadcast(&flight->changed);
	(void)pthread_mutex_unlock(&flight->lock);
}

void
flight_paused(struct flight *flight)
{
	mark(flight, &flight->state.paused);
}

void
flight_over(struct flight *flight)
{
	mark(flight, &flight->state.over);
}

void
flight_stream(struct flight *flight, enum qmp_stream stream)
{
	(void)pthread_mutex_lock(&flight->lock);
	flight->state.stream = stream;
	flight->state.breaks += stream == QMP_STREAM_PAUSED;
	(void)pthread_cond_broadcast(&flight->changed);
	(void)pthread_mutex_unlock(&flight->lock);
}

void
flight_refused(struct flight *flight, const struct err *err)
{
	(void)pthread_mutex_lock(&flight->lock);
	flight->state.refused = true;
	flight->state.refusal = *err;
	(void)pthread_cond_broadcast(&flight->changed);
	(void)pthread_mutex_unlock(&flight->lock);
}

bool
flight_wait(struct flight *flight, uint32_t ms)
{
	struct timespec at;
	bool over;

	(void)clock_gettime(CLOCK_MONOTONIC, &at);
	at.tv_sec += ms / MS_PER_S;
	at.tv_nsec += (long)(ms % MS_PER_S) * NS_PER_MS;
	if (at.tv_nsec >= NS_PER_S) {
		at.tv_sec++;
		at.tv_nsec -= NS_PER_S;
	}
	(void)pthread_mutex_lock(&flight->lock);
	if (!flight->state.over)
		(void)pthread_cond_timedwait(&flight->changed, &flight->lock,
					     &at);
	over = flight->state.over;
	(void)pthread_mutex_unlock(&flight->lock);
	return !over;
}

/* In the loop's thread. */
static void
deliver(void *arg)
{
	struct letter *letter = arg;
	struct flight *flight = letter->flight;

	flight->told(flight->ctx, &letter->news);
	free(letter);
}

void
flight_tell(struct flight *flight, const struct flight_news *news)
{
	struct letter *letter = xmalloc0(sizeof(*letter));

	letter->flight = flight;
	letter->news = *news;
	loop_post(flight->config.loop, deliver, letter);
}

void
flight_progress(const struct virt_progress *job, struct launch_progress *to)
{
	uint64_t done =
		job->total > job->remaining ? job->total - job->remaining : 0;
	uint64_t gain;

	*to = (struct launch_progress){
		.percent = job->total > 0 ? (uint32_t)(done * 100 / job->total)
					  : 0,
		.bytes_total = job->total,
		.bytes_processed = job->processed,
		.bytes_remaining = job->remaining,
		.rate_bytes_per_second = job->rate,
		.dirty_rate_bytes_per_second = job->dirty_rate,
		.iteration = job->iteration,
		.expected_downtime_ms = job->downtime_ms,
		.throttle_percent = job->throttle,
	};
	if (job->rate <= job->dirty_rate)
		return;
	/* Rounded up: 0 would say that it is not known. */
	gain = job->rate - job->dirty_rate;
	to->eta_seconds = job->remaining / gain + (job->remaining % gain != 0);
	if (to->eta_seconds == 0)
		to->eta_seconds = 1;
}
