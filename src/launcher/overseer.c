/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/overseer.h"

#include <pthread.h>

#include "base/err.h"
#include "base/log.h"
#include "base/loop.h"
#include "launcher/flight.h"
#include "virt/conn.h"
#include "virt/domain.h"
#include "virt/job.h"

#define SAMPLE_MS 250U
#define ABORT_AGAIN_MS 1000U

struct overseer {
	struct flight *flight;
	struct virt_conn *conn;
	struct monitor monitor;
	uint64_t aborted_ms; /* last asked; 0: never */
	bool downtime_set;
};

static const char *
domain_of(const struct overseer *o)
{
	return o->flight->config.migration.domain;
}

/*
 * The guest has been stopped and the last of it is on its way: a moment later
 * it is over, one way or the other. An abort in between makes QEMU 7.2 run on
 * with disks that it has let go of, which is its end. Of a guest that stood
 * already, by its owner's will or the monitor's, only the numbers tell.
 */
static bool
is_switching(const struct overseer *o, const struct flight_state *state)
{
	struct virt_progress job;
	struct virt_look look;
	struct err err;

	if (virt_domain_look(o->conn, domain_of(o), &look, &err) == -1 ||
	    look.state != VIRT_PAUSED)
		return false;
	/* Also of one that was paused meanwhile, for which it is no harm: its
	 * streams are cut in the end. */
	if (look.why == VIRT_WHY_MIGRATING && !state->paused)
		return true;
	if (virt_job_look(o->conn, domain_of(o), &job, &err) == -1)
		return true;
	return job.active && job.iteration > 0 &&
	       monitor_is_near_end(job.remaining, job.rate,
				   o->flight->config.max_downtime_ms);
}

static void
abort_job(struct overseer *o, const struct flight_state *state)
{
	uint64_t now = loop_now_ms();
	struct err err;

	if ((o->aborted_ms != 0 && now - o->aborted_ms < ABORT_AGAIN_MS) ||
	    is_switching(o, state))
		return;
	o->aborted_ms = now;
	if (virt_job_abort(o->conn, domain_of(o), &err) == -1)
		log_debug(NULL, "%s", err.text);
}

/* For when nobody has answered whether it has begun. */
static bool
is_in_post_copy(const struct overseer *o)
{
	struct virt_look look;
	struct err err;

	return virt_domain_look(o->conn, domain_of(o), &look, &err) == 0 &&
	       (look.why == VIRT_WHY_POST_COPY ||
		look.why == VIRT_WHY_POST_COPY_FAILED);
}

static void
switch_to_post_copy(struct overseer *o, struct flight_news *news)
{
	struct err err;

	if (!flight_switch(o->flight))
		return;
	news->post_copy =
		virt_job_post_copy(o->conn, domain_of(o), &err) == 0 ||
		is_in_post_copy(o);
	if (!news->post_copy)
		log_warning(NULL, "trying again: %s", err.text);
	flight_switched(o->flight, news->post_copy);
}

static void
pause_guest(struct overseer *o, struct flight_news *news)
{
	struct err err;

	if (virt_domain_pause(o->conn, domain_of(o), &err) == -1) {
		log_warning(NULL, "ignoring: %s", err.text);
		return;
	}
	flight_paused(o->flight);
	news->paused = true;
}

static void
act(struct overseer *o, enum monitor_action action, struct flight_news *news)
{
	enum launch_reason reason = LAUNCH_REASON_NONE;

	switch (action) {
	case MONITOR_NOTHING:
	case MONITOR_ACTION_COUNT:
		return;
	case MONITOR_POST_COPY:
		switch_to_post_copy(o, news);
		return;
	case MONITOR_PAUSE:
		pause_guest(o, news);
		return;
	case MONITOR_ABORT_PROGRESS:
		reason = LAUNCH_REASON_PROGRESS_TIMEOUT;
		break;
	case MONITOR_ABORT_COMPLETION:
		reason = LAUNCH_REASON_COMPLETION_TIMEOUT;
		break;
	}
	if (flight_abort(o->flight, reason))
		news->aborting = reason;
}

static void
set_downtime(struct overseer *o)
{
	uint64_t downtime_ms = o->flight->config.max_downtime_ms;
	struct err err;

	if (o->downtime_set || downtime_ms == 0)
		return;
	if (virt_job_max_downtime(o->conn, domain_of(o), downtime_ms, &err) ==
	    -1)
		log_debug(NULL, "trying again: %s", err.text);
	else
		o->downtime_set = true;
}

static void
sample(struct overseer *o, const struct flight_state *state)
{
	struct flight *flight = o->flight;
	struct virt_progress job = { 0 };
	struct flight_news news = { 0 };
	struct monitor_sample s;
	struct err err;

	/* Its failure is a sample that knows nothing. */
	if (virt_job_look(o->conn, domain_of(o), &job, &err) == -1)
		log_debug(NULL, "ignoring: %s", err.text);
	s = (struct monitor_sample){
		.elapsed_ms = loop_now_ms() - flight->start_ms,
		.remaining = job.remaining,
		.known = job.active && job.total > 0,
		.memory = job.iteration > 0,
		.post_copy = state->post_copy,
	};
	if (s.known) {
		set_downtime(o);
		news.has_progress = true;
		flight_progress(&job, &news.progress);
	}
	if (!state->abort)
		act(o, monitor_step(&o->monitor, &flight->config.limits, &s),
		    &news);
	flight_tell(flight, &news);
}

void *
overseer_run(void *flight)
{
	struct overseer o = { .flight = flight };

	(void)pthread_setname_np(pthread_self(), "overseer");
	while (flight_wait(flight, SAMPLE_MS)) {
		struct flight_state state = flight_peek(flight);
		struct err err;

		if (o.conn != NULL && !virt_conn_alive(o.conn))
			virt_conn_done(&o.conn);
		if (o.conn == NULL) {
			if (virt_conn_open(o.flight->config.uri, &o.conn,
					   &err) == -1)
				continue;
			virt_conn_keep_alive(o.conn);
		}
		if (state.abort && !state.post_copy)
			abort_job(&o, &state);
		sample(&o, &state);
	}
	virt_conn_done(&o.conn);
	return NULL;
}
