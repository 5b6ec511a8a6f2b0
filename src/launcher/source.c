/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/source.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "meta/time.h"
#include "virt/conn.h"
#include "virt/job.h"

#define SAMPLE_MS 250U
#define ABORT_AGAIN_MS 1000U
#define DAEMON_BACK_MS 60000U /* libvirtd is started again meanwhile */
#define DAEMON_LOOK_US 100000U
#define RECOVER_PAUSE_US 1000000U
#define MS_PER_S 1000U
#define NS_PER_MS 1000000L

/* What the threads and the loop share, under the lock. */
struct shared {
	bool over;      /* the mover's call has returned */
	bool abort;     /* asked for */
	bool post_copy; /* runs, as far as is known */
	bool paused;    /* the guest, by the monitor */
	uint64_t abort_ms;
	enum launch_reason abort_reason;
};

struct source {
	struct source_config config;
	struct launch_record record;
	bool running; /* threads are */
	pthread_t mover;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct shared shared;
	uint64_t start_ms;
};

/* From a thread to the loop. */
struct news {
	struct source *source;
	bool has_progress;
	struct launch_progress progress;
	bool post_copy, paused, cut_streams;
	enum launch_reason aborting; /* the monitor has decided to */
	/* the last one only */
	bool last;
	int rc;
	enum virt_fault fault;
	struct virt_look look;
	struct err err;
};

static const enum launch_reason reasons[] = {
	[VIRT_FAULT_NONE] = LAUNCH_REASON_INTERNAL,
	[VIRT_FAULT_OTHER] = LAUNCH_REASON_INTERNAL,
	[VIRT_FAULT_ABORTED] = LAUNCH_REASON_CANCELED,
	[VIRT_FAULT_CONNECT] = LAUNCH_REASON_CONNECT_FAILED,
	[VIRT_FAULT_LOST] = LAUNCH_REASON_CONNECTION_LOST,
	[VIRT_FAULT_REFUSED] = LAUNCH_REASON_TARGET_REFUSED,
	[VIRT_FAULT_DISK] = LAUNCH_REASON_TARGET_DISK,
	[VIRT_FAULT_PEER_QEMU] = LAUNCH_REASON_TARGET_LOST,
	[VIRT_FAULT_POST_COPY_UNSUPPORTED] =
		LAUNCH_REASON_POST_COPY_UNSUPPORTED,
	[VIRT_FAULT_POST_COPY] = LAUNCH_REASON_POST_COPY_FAILED,
	[VIRT_FAULT_GONE] = LAUNCH_REASON_MACHINE_ENDED,
	[VIRT_FAULT_DAEMON] = LAUNCH_REASON_LIBVIRT_LOST,
};
_Static_assert(ARRAY_LEN(reasons) == VIRT_FAULT_COUNT, "a row per fault");

/* What a person is told, before libvirt's own words. */
static const char *const sentences[] = {
	[LAUNCH_REASON_CANCELED] = "The migration was canceled",
	[LAUNCH_REASON_PROGRESS_TIMEOUT] =
		"Aborted: no progress for longer than progressTimeout",
	[LAUNCH_REASON_COMPLETION_TIMEOUT] =
		"Aborted: it took longer than completionTimeoutPerGiB",
	[LAUNCH_REASON_CONNECT_FAILED] = "The target could not be reached",
	[LAUNCH_REASON_CONNECTION_LOST] = "The connection to the target broke",
	[LAUNCH_REASON_TARGET_REFUSED] = "The target cannot take the machine",
	[LAUNCH_REASON_TARGET_DISK] =
		"A disk on the target is missing or differs",
	[LAUNCH_REASON_TARGET_LOST] = "QEMU on the target ended",
	[LAUNCH_REASON_POST_COPY_UNSUPPORTED] =
		"Post-copy is not possible between these nodes",
	[LAUNCH_REASON_POST_COPY_FAILED] =
		"The connection broke in post-copy, the machine is stalled",
	[LAUNCH_REASON_MACHINE_ENDED] =
		"The machine ended while it was being migrated",
	[LAUNCH_REASON_LIBVIRT_LOST] =
		"libvirtd on the source ended during the migration",
	[LAUNCH_REASON_INTERNAL] = "The migration failed",
	[LAUNCH_REASON_COUNT] = NULL,
};

static void
set_message(struct launch_record *record, const struct err *err)
{
	const char *sentence = sentences[record->reason];

	if (sentence == NULL)
		sentence = sentences[LAUNCH_REASON_INTERNAL];
	free(record->message);
	record->message = err == NULL || err->text[0] == '\0'
				  ? xstrdup(sentence)
				  : xasprintf("%s: %s", sentence, err->text);
}

static void
finish(struct launch_record *record, bool failed)
{
	record->completed = true;
	record->failed = failed;
	record->end_us = time_now_us();
	record->cut_streams = false;
	if (record->abort == LAUNCH_ABORTING)
		record->abort =
			failed ? LAUNCH_ABORT_SUCCEEDED : LAUNCH_ABORT_FAILED;
	if (failed)
		return;
	record->reason = LAUNCH_REASON_NONE;
	free(record->message);
	record->message = xstrdup("");
	record->progress.percent = 100;
	record->progress.bytes_remaining = 0;
	record->progress.eta_seconds = 0;
}

static bool
went(const struct virt_look *look)
{
	return look->state == VIRT_OFF && look->why == VIRT_WHY_MIGRATED;
}

static bool
stalled(const struct virt_look *look)
{
	return look->state == VIRT_PAUSED &&
	       (look->why == VIRT_WHY_POST_COPY_FAILED ||
		look->why == VIRT_WHY_POST_COPY);
}

static bool
ended(const struct virt_look *look)
{
	return look->state == VIRT_ABSENT || look->state == VIRT_OFF ||
	       look->state == VIRT_CRASHED;
}

/* The call has returned: what that means is in the domain's state. */
static void
conclude(struct source *source, const struct news *news)
{
	struct launch_record *record = &source->record;

	if (news->rc == 0 || went(&news->look)) {
		finish(record, false);
		return;
	}
	if (stalled(&news->look)) {
		record->mode = LAUNCH_POST_COPY;
		record->reason = LAUNCH_REASON_POST_COPY_FAILED;
		set_message(record, &news->err);
		if (record->end_us == 0)
			record->end_us = time_now_us();
		return;
	}
	if (ended(&news->look))
		record->reason = LAUNCH_REASON_MACHINE_ENDED;
	else if (record->abort == LAUNCH_ABORTING)
		record->reason = source->shared.abort_reason;
	else
		record->reason = reasons[news->fault];
	set_message(record, &news->err);
	finish(record, true);
}

/* In the loop's thread. */
static void
take_news(void *arg)
{
	struct news *news = arg;
	struct source *source = news->source;
	struct launch_record *record = &source->record;

	if (news->has_progress)
		record->progress = news->progress;
	if (news->post_copy)
		record->mode = LAUNCH_POST_COPY;
	if (news->paused)
		record->mode = LAUNCH_MODE_PAUSED;
	if (news->cut_streams)
		record->cut_streams = true;
	if (news->aborting != LAUNCH_REASON_NONE)
		record->abort = LAUNCH_ABORTING;
	if (news->last) {
		(void)pthread_join(source->mover, NULL);
		source->running = false;
		conclude(source, news);
	}
	free(news);
	source->config.changed(source->config.ctx);
}

static struct news *
news_new(struct source *source)
{
	struct news *news = xmalloc0(sizeof(*news));

	news->source = source;
	return news;
}

static void
send(struct news *news)
{
	loop_post(news->source->config.loop, take_news, news);
}

/* The monitor's own: its thread only. */
struct watch {
	struct source *source;
	struct virt_conn *conn;
	struct monitor monitor;
	uint64_t aborted_ms; /* last asked; 0: never */
	bool downtime_set;
	bool cut_told;
};

static void
fill_progress(const struct virt_progress *job, struct launch_progress *to)
{
	uint64_t done =
		job->total > job->remaining ? job->total - job->remaining : 0;

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
	if (job->rate > job->dirty_rate)
		to->eta_seconds =
			job->remaining / (job->rate - job->dirty_rate);
}

static struct shared
peek(struct source *source)
{
	struct shared shared;

	(void)pthread_mutex_lock(&source->lock);
	shared = source->shared;
	(void)pthread_mutex_unlock(&source->lock);
	return shared;
}

/* Asks for an abort on behalf of the monitor; false when it was before. */
static bool
ask_abort(struct source *source, enum launch_reason reason)
{
	bool first;

	(void)pthread_mutex_lock(&source->lock);
	first = !source->shared.abort && !source->shared.post_copy;
	if (first) {
		source->shared.abort = true;
		source->shared.abort_ms = loop_now_ms();
		source->shared.abort_reason = reason;
	}
	(void)pthread_mutex_unlock(&source->lock);
	return first;
}

static void
abort_job(struct watch *w, const struct shared *shared)
{
	struct source *source = w->source;
	uint64_t now = loop_now_ms();
	uint64_t grace_ms = source->config.abort_grace_ms > 0
				    ? source->config.abort_grace_ms
				    : SOURCE_ABORT_GRACE_MS;
	struct news *news;
	struct err err;

	if (w->aborted_ms == 0 || now - w->aborted_ms >= ABORT_AGAIN_MS) {
		w->aborted_ms = now;
		if (virt_job_abort(w->conn, source->config.domain, &err) == -1)
			log_debug(NULL, "%s", err.text);
	}
	if (now - shared->abort_ms < grace_ms || w->cut_told)
		return;
	w->cut_told = true;
	log_warning(NULL, "the migration does not end: its streams have to be "
			  "cut");
	news = news_new(source);
	news->cut_streams = true;
	send(news);
}

static void
switch_to_post_copy(struct watch *w, struct news *news)
{
	struct source *source = w->source;
	struct err err;

	if (virt_job_post_copy(w->conn, source->config.domain, &err) == -1) {
		log_warning(NULL, "trying again: %s", err.text);
		return;
	}
	(void)pthread_mutex_lock(&source->lock);
	source->shared.post_copy = true;
	(void)pthread_mutex_unlock(&source->lock);
	news->post_copy = true;
}

static void
pause_guest(struct watch *w, struct news *news)
{
	struct source *source = w->source;
	struct err err;

	if (virt_domain_pause(w->conn, source->config.domain, &err) == -1) {
		log_warning(NULL, "ignoring: %s", err.text);
		return;
	}
	(void)pthread_mutex_lock(&source->lock);
	source->shared.paused = true;
	(void)pthread_mutex_unlock(&source->lock);
	news->paused = true;
}

static void
act(struct watch *w, enum monitor_action action, struct news *news)
{
	enum launch_reason reason = LAUNCH_REASON_NONE;

	switch (action) {
	case MONITOR_NOTHING:
	case MONITOR_ACTION_COUNT:
		return;
	case MONITOR_POST_COPY:
		switch_to_post_copy(w, news);
		return;
	case MONITOR_PAUSE:
		pause_guest(w, news);
		return;
	case MONITOR_ABORT_PROGRESS:
		reason = LAUNCH_REASON_PROGRESS_TIMEOUT;
		break;
	case MONITOR_ABORT_COMPLETION:
		reason = LAUNCH_REASON_COMPLETION_TIMEOUT;
		break;
	}
	if (ask_abort(w->source, reason))
		news->aborting = reason;
}

static void
set_downtime(struct watch *w)
{
	const struct source_config *config = &w->source->config;
	struct err err;

	if (w->downtime_set || config->max_downtime_ms == 0)
		return;
	if (virt_job_max_downtime(w->conn, config->domain,
				  config->max_downtime_ms, &err) == -1)
		log_debug(NULL, "trying again: %s", err.text);
	else
		w->downtime_set = true;
}

static void
sample(struct watch *w, const struct shared *shared)
{
	struct source *source = w->source;
	struct virt_progress job = { 0 };
	struct monitor_sample s;
	struct news *news;
	struct err err;

	/* Its failure is a sample that knows nothing. */
	if (virt_job_look(w->conn, source->config.domain, &job, &err) == -1)
		log_debug(NULL, "ignoring: %s", err.text);
	s = (struct monitor_sample){
		.elapsed_ms = loop_now_ms() - source->start_ms,
		.remaining = job.remaining,
		.known = job.active && job.total > 0,
		.memory = job.iteration > 0,
		.post_copy = shared->post_copy,
	};
	news = news_new(source);
	if (s.known) {
		set_downtime(w);
		news->has_progress = true;
		fill_progress(&job, &news->progress);
	}
	if (!shared->abort)
		act(w, monitor_step(&w->monitor, &source->config.limits, &s),
		    news);
	send(news);
}

/* False once the call has returned. */
static bool
wait_for_next(struct source *source)
{
	struct timespec at;
	bool over;

	(void)clock_gettime(CLOCK_MONOTONIC, &at);
	at.tv_nsec += SAMPLE_MS * NS_PER_MS;
	if (at.tv_nsec >= NS_PER_MS * MS_PER_S) {
		at.tv_sec++;
		at.tv_nsec -= NS_PER_MS * MS_PER_S;
	}
	(void)pthread_mutex_lock(&source->lock);
	if (!source->shared.over)
		(void)pthread_cond_timedwait(&source->changed, &source->lock,
					     &at);
	over = source->shared.over;
	(void)pthread_mutex_unlock(&source->lock);
	return !over;
}

static void *
monitor_run(void *arg)
{
	struct watch w = { .source = arg };

	(void)pthread_setname_np(pthread_self(), "monitor");
	while (wait_for_next(w.source)) {
		struct shared shared = peek(w.source);
		struct err err;

		if (w.conn != NULL && !virt_conn_alive(w.conn))
			virt_conn_done(&w.conn);
		if (w.conn == NULL &&
		    virt_conn_open(w.source->config.uri, &w.conn, &err) == -1)
			continue;
		if (shared.abort)
			abort_job(&w, &shared);
		sample(&w, &shared);
	}
	virt_conn_done(&w.conn);
	return NULL;
}

/* A connection after the call: libvirtd may be on its way back. */
static struct virt_conn *
reconnect(struct source *source, struct virt_conn *conn)
{
	uint64_t deadline_ms = loop_now_ms() + DAEMON_BACK_MS;
	struct err err;

	if (conn != NULL && virt_conn_alive(conn))
		return conn;
	virt_conn_close(conn);
	conn = NULL;
	while (virt_conn_open(source->config.uri, &conn, &err) == -1 &&
	       loop_now_ms() < deadline_ms)
		(void)usleep(DAEMON_LOOK_US);
	return conn;
}

/* What became of it; and a guest that was paused on the way runs again. */
static void
look_behind(struct source *source, struct virt_conn *conn, struct news *news)
{
	const char *domain = source->config.domain;
	struct virt_progress job;
	struct err err;

	news->look = (struct virt_look){ .state = VIRT_PAUSED };
	if (virt_domain_look(conn, domain, &news->look, &err) == -1) {
		log_warning(NULL, "%s", err.text);
		return;
	}
	if (virt_job_completed(conn, domain, &job, &err) == 0 && job.active) {
		fill_progress(&job, &news->progress);
		news->progress.downtime_ms = job.downtime_ms;
		news->has_progress = true;
	}
	if (peek(source).paused && news->look.state == VIRT_PAUSED &&
	    news->look.why == VIRT_WHY_USER) {
		if (virt_domain_resume(conn, domain, &err) == -1)
			log_error(NULL, "%s", err.text);
	}
}

static void *
mover_run(void *arg)
{
	struct source *source = arg;
	struct news *news = news_new(source);
	struct virt_conn *conn = NULL;
	pthread_t monitor;
	bool monitored;

	(void)pthread_setname_np(pthread_self(), "mover");
	monitored = pthread_create(&monitor, NULL, monitor_run, source) == 0;
	news->rc = -1;
	news->last = true;
	if (!monitored)
		(void)err_set(&news->err, ERR_LIMIT, "cannot start a thread");
	else if (virt_conn_open(source->config.uri, &conn, &news->err) == -1)
		news->fault = VIRT_FAULT_DAEMON;
	else
		news->rc = virt_migrate(conn, &source->config.migration,
					&news->fault, &news->err);
	(void)pthread_mutex_lock(&source->lock);
	source->shared.over = true;
	(void)pthread_cond_broadcast(&source->changed);
	(void)pthread_mutex_unlock(&source->lock);
	if (monitored)
		(void)pthread_join(monitor, NULL);
	conn = reconnect(source, conn);
	if (conn != NULL)
		look_behind(source, conn, news);
	virt_conn_close(conn);
	/* Whoever recovers tries again and again. */
	if (source->config.migration.recover && news->rc == -1)
		(void)usleep(RECOVER_PAUSE_US);
	send(news);
	return NULL;
}

static int
run_threads(struct source *source, struct err *err)
{
	source->start_ms = loop_now_ms();
	source->shared = (struct shared){
		.post_copy = source->config.migration.recover,
	};
	source->running = true;
	if (pthread_create(&source->mover, NULL, mover_run, source) == 0)
		return 0;
	source->running = false;
	return err_set(err, ERR_LIMIT, "cannot start a thread");
}

static void
copy_migration(struct virt_migration *m)
{
	const char **disks = xcalloc(m->disk_count, sizeof(*disks));

	for (size_t i = 0; i < m->disk_count; i++)
		disks[i] = xstrdup(m->disks[i]);
	m->disks = disks;
	m->domain = xstrdup(m->domain);
	m->control_uri = xstrdup(m->control_uri);
	m->memory_uri = xstrdup(m->memory_uri);
	if (m->disks_uri != NULL)
		m->disks_uri = xstrdup(m->disks_uri);
}

static void
free_migration(const struct virt_migration *m)
{
	for (size_t i = 0; i < m->disk_count; i++)
		free((char *)(uintptr_t)m->disks[i]);
	free((void *)(uintptr_t)m->disks);
	free((char *)(uintptr_t)m->domain);
	free((char *)(uintptr_t)m->control_uri);
	free((char *)(uintptr_t)m->memory_uri);
	free((char *)(uintptr_t)m->disks_uri);
}

struct source *
source_start(const struct source_config *config)
{
	struct source *source = xmalloc0(sizeof(*source));
	pthread_condattr_t attr;
	struct err err;

	source->config = *config;
	copy_migration(&source->config.migration);
	source->config.domain = source->config.migration.domain;
	source->record = (struct launch_record){
		.uid = xstrdup(config->uid),
		.message = xstrdup(""),
		.role = LAUNCH_SOURCE,
		.start_us = time_now_us(),
		.mode = LAUNCH_PRE_COPY,
	};
	(void)pthread_mutex_init(&source->lock, NULL);
	(void)pthread_condattr_init(&attr);
	(void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&source->changed, &attr);
	(void)pthread_condattr_destroy(&attr);
	if (run_threads(source, &err) == -1) {
		source->record.reason = LAUNCH_REASON_INTERNAL;
		set_message(&source->record, &err);
		finish(&source->record, true);
	}
	return source;
}

bool
source_over(const struct source *source)
{
	return !source->running;
}

void
source_free(struct source *source)
{
	if (source == NULL)
		return;
	launch_record_done(&source->record);
	free_migration(&source->config.migration);
	(void)pthread_cond_destroy(&source->changed);
	(void)pthread_mutex_destroy(&source->lock);
	free(source);
}

int
source_abort(struct source *source, struct err *err)
{
	struct launch_record *record = &source->record;

	if (record->abort == LAUNCH_ABORTING)
		return 0;
	if (!source->running)
		return err_set(err, ERR_CONFLICT,
			       "the migration is over already");
	if (!ask_abort(source, LAUNCH_REASON_CANCELED) &&
	    peek(source).post_copy) {
		record->abort = LAUNCH_ABORT_FAILED;
		return err_set(err, ERR_CONFLICT,
			       "the machine runs on the target already: to "
			       "stop now would be to lose it");
	}
	record->abort = LAUNCH_ABORTING;
	(void)pthread_cond_broadcast(&source->changed);
	return 0;
}

int
source_recover(struct source *source, struct err *err)
{
	if (source->running)
		return err_set(err, ERR_CONFLICT, "the migration goes on");
	if (source->record.completed ||
	    source->record.reason != LAUNCH_REASON_POST_COPY_FAILED)
		return err_set(err, ERR_CONFLICT,
			       "there is no post-copy that broke");
	source->config.migration.recover = true;
	source->record.reason = LAUNCH_REASON_NONE;
	return run_threads(source, err);
}

void
source_follow(struct source *source, const struct virt_look *look)
{
	struct launch_record *record = &source->record;

	if (source->running || record->completed)
		return;
	if (went(look)) {
		finish(record, false);
	} else if (ended(look)) {
		record->reason = LAUNCH_REASON_MACHINE_ENDED;
		set_message(record, NULL);
		finish(record, true);
	}
}

const struct launch_record *
source_record(const struct source *source)
{
	return &source->record;
}
