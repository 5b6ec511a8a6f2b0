/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/mover.h"

#include <pthread.h>
#include <unistd.h>

#include "base/err.h"
#include "base/log.h"
#include "base/loop.h"
#include "launcher/flight.h"
#include "launcher/libvirtd.h"
#include "launcher/overseer.h"
#include "virt/conn.h"
#include "virt/domain.h"
#include "virt/job.h"

/* libvirtd is started again meanwhile. */
#define DAEMON_BACK_MS (LIBVIRTD_OWED_MS + 60000U)
#define DAEMON_LOOK_US 100000U
#define RECOVER_PAUSE_US 1000000U
/* For QEMU to connect, and to agree with the other on what is left. */
#define TAKE_UP_CONNECT_MS 5000U
#define TAKE_UP_MS 60000U
#define TAKE_UP_LOOK_MS 1000U

/* A connection after the call: libvirtd may be on its way back. */
static struct virt_conn *
reconnect(const struct flight *flight, struct virt_conn *conn)
{
	uint64_t deadline_ms = loop_now_ms() + DAEMON_BACK_MS;
	struct err err;

	if (conn != NULL && virt_conn_alive(conn))
		return conn;
	virt_conn_close(conn);
	conn = NULL;
	while (virt_conn_open(flight->config.uri, &conn, &err) == -1 &&
	       loop_now_ms() < deadline_ms)
		(void)usleep(DAEMON_LOOK_US);
	return conn;
}

/* What became of it; and a guest that was paused on the way runs again. */
static void
look_behind(struct flight *flight, struct virt_conn *conn,
	    struct flight_news *news)
{
	const char *domain = flight->config.migration.domain;
	struct virt_look *look = &news->outcome.look;
	struct virt_progress job;
	struct err err;

	if (virt_domain_look(conn, domain, look, &err) == -1) {
		log_warning(NULL, "%s", err.text);
		return;
	}
	news->outcome.seen = true;
	/* At once: the guest may run in two places now. */
	if (outcome_is_unconfirmed(&news->outcome) &&
	    look->state == VIRT_RUNNING &&
	    virt_domain_pause(conn, domain, &err) == -1)
		log_error(NULL, "%s", err.text);
	if (virt_job_completed(conn, domain, &job, &err) == 0 && job.active) {
		flight_progress(&job, &news->progress);
		news->progress.downtime_ms = job.downtime_ms;
		/* Of the switch to post-copy libvirt has seen half at most. */
		if (!flight_peek(flight).post_copy)
			news->progress.blackout_ms = job.blackout_ms;
		news->has_progress = true;
	}
	if ((flight_peek(flight).paused || flight->halted) &&
	    look->state == VIRT_PAUSED && look->why == VIRT_WHY_USER &&
	    virt_domain_resume(conn, domain, &err) == -1)
		log_error(NULL, "%s", err.text);
}

/*
 * A guest that has come back from an earlier hand-over has that for a reason to
 * run until it has another one. To be stopped for some milliseconds gives it
 * one: then a connection that breaks long before the next hand-over is not
 * taken for one that broke in it, for which the guest would have to stand.
 */
static int
renew_reason(struct flight *flight, struct virt_conn *conn, struct err *err)
{
	const char *domain = flight->config.migration.domain;
	struct virt_look look;

	if (flight->config.migration.recover ||
	    virt_domain_look(conn, domain, &look, err) == -1 ||
	    !outcome_misleads(&look))
		return 0;
	if (virt_domain_pause(conn, domain, err) == -1) {
		log_warning(NULL, "ignoring: %s", err->text);
		return 0;
	}
	flight->halted = true;
	if (virt_domain_resume(conn, domain, err) == -1)
		return -1;
	flight->halted = false;
	return 0;
}

/*
 * Whether the target's libvirtd answers, and has the domain: what leads to it
 * leads to QEMU. QEMU itself must not find out that it does not.
 */
static int
try_way(const struct flight *flight, struct err *err)
{
	const struct virt_migration *migration = &flight->config.migration;
	struct virt_conn *peer = NULL;
	struct virt_look look;
	int rc;

	if (virt_conn_open(migration->control_uri, &peer, err) == -1)
		return -1;
	virt_conn_keep_alive(peer);
	rc = virt_domain_look(peer, migration->domain, &look, err);
	if (rc == 0 && look.id == -1)
		rc = err_set(err, ERR_NOT_FOUND,
			     "the domain is not on the target");
	virt_conn_close(peer);
	return rc;
}

/* How long a stream may stay as it is, without an event; 0: as long as it
 * takes. */
static uint64_t
patience_ms(enum qmp_stream stream)
{
	if (stream == QMP_STREAM_POST_COPY)
		return 0;
	return stream == QMP_STREAM_PAUSED ? TAKE_UP_CONNECT_MS : TAKE_UP_MS;
}

/* Until QEMU has sent the rest, or cannot. */
static int
wait_stream(struct flight *flight, uint64_t breaks, struct err *err)
{
	uint64_t start_ms = loop_now_ms();

	for (;;) {
		struct flight_state state = flight_peek(flight);
		uint64_t limit_ms = patience_ms(state.stream);

		if (state.stream == QMP_STREAM_COMPLETED)
			return 0;
		if (state.refused) {
			*err = state.refusal;
			return -1;
		}
		if (state.stream == QMP_STREAM_NONE ||
		    state.stream == QMP_STREAM_FAILED)
			return err_set(err, ERR_UNAVAILABLE,
				       "QEMU says no more of its stream");
		if (state.breaks != breaks)
			return err_set(err, ERR_UNAVAILABLE,
				       "the stream broke again");
		if (limit_ms > 0 && loop_now_ms() - start_ms > limit_ms)
			return err_set(err, ERR_TIMEOUT,
				       "QEMU does not take its stream up");
		(void)flight_wait(flight, TAKE_UP_LOOK_MS);
	}
}

/* A broken post-copy, by QEMU alone (mend.h). */
static int
take_up(struct flight *flight, struct outcome *outcome)
{
	uint64_t breaks = flight_peek(flight).breaks;

	if (try_way(flight, &outcome->err) == -1) {
		outcome->fault = VIRT_FAULT_CONNECT;
		return -1;
	}
	flight_tell(flight, &(struct flight_news){ .resume = true });
	outcome->fault = VIRT_FAULT_POST_COPY;
	return wait_stream(flight, breaks, &outcome->err);
}

/* The call itself. */
static struct virt_conn *
move(struct flight *flight, struct outcome *outcome)
{
	struct virt_conn *conn = NULL;
	pthread_t overseer;

	if (pthread_create(&overseer, NULL, overseer_run, flight) != 0) {
		(void)err_set(&outcome->err, ERR_LIMIT,
			      "cannot start a thread");
		return NULL;
	}
	if (virt_conn_open(flight->config.uri, &conn, &outcome->err) == -1)
		outcome->fault = VIRT_FAULT_DAEMON;
	else if (renew_reason(flight, conn, &outcome->err) == -1)
		outcome->fault = VIRT_FAULT_OTHER;
	else if (flight->config.listening)
		outcome->rc = take_up(flight, outcome);
	else
		outcome->rc = virt_migrate(conn, &flight->config.migration,
					   &outcome->fault, &outcome->err);
	flight_over(flight);
	(void)pthread_join(overseer, NULL);
	return conn;
}

void *
mover_run(void *arg)
{
	struct flight *flight = arg;
	struct flight_news news = {
		.last = true,
		.outcome = { .rc = -1, .look = { .state = VIRT_PAUSED } },
	};
	struct virt_conn *conn;

	(void)pthread_setname_np(pthread_self(), "mover");
	conn = reconnect(flight, move(flight, &news.outcome));
	if (conn != NULL)
		look_behind(flight, conn, &news);
	virt_conn_close(conn);
	news.outcome.abort_reason = flight_peek(flight).abort_reason;
	/* Whoever recovers tries again and again. */
	if (flight->config.migration.recover && news.outcome.rc == -1)
		(void)usleep(RECOVER_PAUSE_US);
	flight_tell(flight, &news);
	return NULL;
}
