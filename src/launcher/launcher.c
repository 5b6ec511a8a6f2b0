/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/launcher.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/path.h"
#include "launcher/domainxml.h"
#include "launcher/libvirtd.h"
#include "launcher/mend.h"
#include "launcher/source.h"
#include "launcher/virtworker.h"
#include "meta/time.h"
#include "version.h"
#include "virt/domain.h"
#include "virt/events.h"
#include "virt/job.h"

#define US_PER_MS 1000U
#define MS_PER_S 1000U
#define PID_MAX_TEXT 32
/* For a second at most, libvirt is asked how long the guest stood still. */
#define DOWNTIME_TRIES 50U
#define DOWNTIME_LOOK_US (20U * 1000)

/* One look, made by the looker. */
struct look_job {
	struct launcher *launcher;
	int rc;
	struct virt_look look;
	char libvirt[VIRT_VERSION_SIZE], qemu[VIRT_VERSION_SIZE];
	char *disk_error;
	bool qemu_gone;
	bool arriving; /* a machine, as far as is known */
	/* How long its guest stood still; 0: not known. */
	uint64_t downtime_ms, blackout_ms;
};

static void
post_look(void *arg)
{
	launcher_look(arg);
}

/* In libvirt's thread. */
static void
on_event(void *ctx)
{
	struct launcher *launcher = ctx;

	loop_post(launcher->loop, post_look, launcher);
}

/* Whoever has come was let run here, if only for a moment. Returns whether that
 * is news of one that is gone; of any other the look that follows tells. */
static bool
take_run(struct launcher *launcher)
{
	bool ran = launcher->ran;

	launcher->ran = false;
	if (!ran || launcher->target.uid == NULL ||
	    !life_ran_target(&launcher->target, time_now_us()))
		return false;
	launcher->life.started = true;
	return launcher->target.completed;
}

/* A look that is on its way may be from before: one that finds nothing would be
 * taken for the end of what has just begun. */
static void
note_run(void *arg)
{
	struct launcher *launcher = arg;

	launcher->ran = true;
	if (!launcher->looking && take_run(launcher))
		launcher_touch(launcher);
}

/* In libvirt's thread. */
static void
on_resumed(void *ctx)
{
	struct launcher *launcher = ctx;

	loop_post(launcher->loop, note_run, launcher);
}

static void
watch(struct launcher *launcher, struct virt_conn *conn, unsigned serial)
{
	const struct virt_watcher watcher = { .changed = on_event,
					      .resumed = on_resumed,
					      .closed = on_event,
					      .ctx = launcher };
	struct virt_watch *made;
	struct err err;

	if (launcher->watched == serial)
		return;
	/* The one before ended with its connection. */
	if (virt_watch_new(conn, &watcher, &made, &err) == -1)
		log_warning(NULL, "looking each second only: %s", err.text);
	else
		launcher->watched = serial;
}

/* QEMU's process, for when libvirtd cannot be asked. */
static void
remember_qemu(struct launcher *launcher, int id)
{
	AUTO(free_ptr)
	char *path =
		libvirtd_pid_file(launcher->options.nonroot, launcher->domain);
	AUTO(free_ptr) char *text = NULL;
	struct err err;
	size_t len;

	if (path_read_file(path, PID_MAX_TEXT, &text, &len, &err) == 0)
		launcher->qemu_pid = (pid_t)strtol(text, NULL, 10);
	launcher->qemu_id = id;
}

static bool
qemu_is_gone(const struct launcher *launcher)
{
	pid_t pid = launcher->qemu_pid;

	return pid > 0 && kill(pid, 0) == -1 && errno == ESRCH;
}

/*
 * How long the guest stood still comes with the last words of the source, a
 * moment after the guest has been seen running: without it nobody would learn
 * it, since the source may not write any more by then.
 */
static void
read_downtime(struct virt_conn *conn, struct look_job *job)
{
	struct virt_progress arrival;
	struct err err;

	for (unsigned i = 0; i < DOWNTIME_TRIES; i++) {
		if (virt_job_completed(conn, job->launcher->domain, &arrival,
				       &err) == 0 &&
		    arrival.downtime_ms != 0) {
			job->downtime_ms = arrival.downtime_ms;
			job->blackout_ms = arrival.blackout_ms;
			return;
		}
		/* Then the source goes on for long. */
		if (job->look.why == VIRT_WHY_POST_COPY)
			break;
		(void)usleep(DOWNTIME_LOOK_US);
	}
}

static void
look_work(struct virtworker *worker, void *arg)
{
	struct look_job *job = arg;
	struct virt_conn *conn;
	struct err err;

	job->rc = virtworker_conn(worker, &conn, &err);
	if (job->rc == 0) {
		watch(job->launcher, conn, virtworker_conn_serial(worker));
		job->rc = virt_domain_look(conn, job->launcher->domain,
					   &job->look, &err);
	}
	if (job->rc == -1) {
		log_debug(NULL, "%s", err.text);
		job->qemu_gone = qemu_is_gone(job->launcher);
		return;
	}
	if (job->look.id != -1 && job->look.id != job->launcher->qemu_id)
		remember_qemu(job->launcher, job->look.id);
	if (job->look.why == VIRT_WHY_IO_ERROR)
		job->disk_error =
			virt_domain_disk_errors(conn, job->launcher->domain);
	if (job->arriving && job->look.state == VIRT_RUNNING)
		read_downtime(conn, job);
	(void)virt_conn_versions(conn, job->libvirt, job->qemu, &err);
}

/* What a migration of which nobody knows the end wants of its domain. */
struct hold_job {
	struct launcher *launcher;
	enum outcome_wish wish;
	int rc;
};

static void
hold_work(struct virtworker *worker, void *arg)
{
	struct hold_job *job = arg;
	const char *domain = job->launcher->domain;
	struct virt_conn *conn;
	struct err err;

	job->rc = virtworker_conn(worker, &conn, &err);
	if (job->rc == 0)
		job->rc = job->wish == OUTCOME_RESUME
				  ? virt_domain_resume(conn, domain, &err)
				  : virt_domain_pause(conn, domain, &err);
	if (job->rc == -1)
		log_error(NULL, "trying again: %s", err.text);
}

static void
hold_done(void *arg)
{
	struct hold_job *job = arg;
	struct launcher *launcher = job->launcher;

	launcher->holding = false;
	if (job->rc == 0 && job->wish == OUTCOME_RESUME) {
		source_returned(launcher->source);
		launcher_touch(launcher);
		launcher_look(launcher);
	}
	free(job);
}

/* Again with each look, until it is so. */
static void
hold(struct launcher *launcher, enum outcome_wish wish)
{
	struct hold_job *job;

	if (wish == OUTCOME_NOTHING || launcher->holding)
		return;
	launcher->holding = true;
	job = xmalloc0(sizeof(*job));
	job->launcher = launcher;
	job->wish = wish;
	virtworker_do(launcher->actor, hold_work, hold_done, job);
}

/* A migration that came in, or went out, by what is seen. */
static bool
follow(struct launcher *launcher)
{
	bool changed = false;

	if (launcher->target.uid != NULL) {
		changed = life_follow_target(&launcher->target, &launcher->look,
					     time_now_us());
		if (launcher->target.domain_ready_us != 0)
			launcher->life.started = true;
	}
	if (launcher->source != NULL && launcher->libvirt_up)
		hold(launcher,
		     source_follow(launcher->source, &launcher->look));
	return changed;
}

static void
judge(struct launcher *launcher)
{
	struct life_verdict before = launcher->verdict;
	bool moving =
		launcher->source != NULL && !source_over(launcher->source);

	life_judge(&launcher->life, &launcher->look, &launcher->verdict);
	if (before.state != launcher->verdict.state ||
	    before.cause != launcher->verdict.cause)
		log_info(NULL, "the machine is %s (%s)",
			 launch_state_name(launcher->verdict.state),
			 launch_cause_name(launcher->verdict.cause));
	/* The record has to say how it went before anybody ends. */
	if (launcher->verdict.over && !moving)
		launcher_end(launcher, launcher->verdict.failed ? 1 : 0);
}

static bool
same_look(const struct virt_look *a, const struct virt_look *b)
{
	return a->state == b->state && a->why == b->why && a->id == b->id;
}

static bool
apply_look(struct launcher *launcher, const struct look_job *job)
{
	bool changed = launcher->libvirt_up != (job->rc == 0);

	launcher->libvirt_up = job->rc == 0;
	if (job->rc == -1) {
		changed = changed || launcher->life.qemu_gone != job->qemu_gone;
		launcher->life.qemu_gone = job->qemu_gone;
		return changed;
	}
	launcher->life.qemu_gone = false;
	changed = changed || !same_look(&launcher->look, &job->look);
	launcher->look = job->look;
	if (job->downtime_ms > 0) {
		launcher->target.progress.downtime_ms = job->downtime_ms;
		launcher->target.progress.blackout_ms = job->blackout_ms;
	}
	memcpy(launcher->libvirt, job->libvirt, sizeof(job->libvirt));
	memcpy(launcher->qemu, job->qemu, sizeof(job->qemu));
	return changed;
}

static void
look_done(void *arg)
{
	struct look_job *job = arg;
	struct launcher *launcher = job->launcher;
	bool changed = apply_look(launcher, job);

	launcher->looking = false;
	free(launcher->disk_error);
	launcher->disk_error = job->disk_error;
	free(job);
	changed = follow(launcher) || changed;
	judge(launcher);
	changed = take_run(launcher) || changed;
	if (changed)
		launcher_touch(launcher);
	if (launcher->look_again)
		launcher_look(launcher);
}

static bool
migrating(const struct launcher *launcher)
{
	return (launcher->source != NULL &&
		!source_record(launcher->source)->completed) ||
	       (launcher->target.uid != NULL && !launcher->target.completed);
}

void
launcher_look(struct launcher *launcher)
{
	struct look_job *job;

	loop_timer_start(launcher->look_timer,
			 (migrating(launcher) ? LAUNCHER_LOOK_MIGRATING_MS
					      : LAUNCHER_LOOK_MS) *
				 US_PER_MS);
	mend_look(launcher->mend);
	launcher->look_again = launcher->looking;
	if (launcher->looking)
		return;
	launcher->looking = true;
	job = xmalloc0(sizeof(*job));
	job->launcher = launcher;
	job->arriving =
		launcher->target.uid != NULL && !launcher->target.completed;
	virtworker_do(launcher->looker, look_work, look_done, job);
}

void
launcher_touch(struct launcher *launcher)
{
	launcher->changed(launcher->ctx);
}

static void
ended(void *arg)
{
	struct launcher *launcher = arg;

	launcher->ended(launcher->ctx, launcher->exit_status);
}

void
launcher_end(struct launcher *launcher, int status)
{
	uint64_t linger_ms = launcher->heard(launcher->ctx)
				     ? LAUNCHER_LINGER_SEEN_MS
				     : LAUNCHER_LINGER_MS;

	if (launcher->ending)
		return;
	launcher->ending = true;
	launcher->exit_status = status;
	launcher_touch(launcher);
	loop_timer_start(launcher->end_timer, linger_ms * US_PER_MS);
}

/* Nobody came, and nobody asked for a machine. */
static void
idle(void *arg)
{
	struct launcher *launcher = arg;

	if (launcher->life.started || launcher->busy ||
	    launcher->look.state != VIRT_ABSENT)
		return;
	log_error(NULL, "no machine was started here within --qemu-timeout");
	launcher_end(launcher, 1);
}

static void
kill_work(struct virtworker *worker, void *arg)
{
	struct launcher *launcher = arg;
	struct virt_conn *conn;
	struct err err;
	pid_t pid = launcher->qemu_pid;

	if (virtworker_conn(worker, &conn, &err) == 0 &&
	    virt_domain_destroy(conn, launcher->domain, &err) == 0)
		return;
	log_warning(NULL, "%s", err.text);
	/* Without libvirtd: the process itself. */
	if (pid > 0)
		(void)kill(pid, SIGKILL);
}

void
launcher_kill(struct launcher *launcher)
{
	launcher->life.stopping = true;
	launcher->life.killing = true;
	if (launcher->kill_ms == 0)
		launcher->kill_ms = loop_now_ms();
	virtworker_do(launcher->killer, kill_work, post_look, launcher);
}

static void
press_work(struct virtworker *worker, void *arg)
{
	struct launcher *launcher = arg;
	struct virt_conn *conn;
	struct err err;

	if (virtworker_conn(worker, &conn, &err) == -1 ||
	    virt_domain_press(conn, launcher->domain, &err) == -1)
		log_debug(NULL, "trying again: %s", err.text);
}

/* Presses the button until the guest has heard, then kills it. */
static void
press(void *arg)
{
	struct launcher *launcher = arg;
	uint64_t now = loop_now_ms();
	uint64_t left_ms;

	if (launcher->ending)
		return;
	if (now >= launcher->kill_ms) {
		if (!launcher->life.killing)
			log_info(NULL, "the guest did not shut down in time");
		launcher_kill(launcher);
		loop_timer_start(launcher->press_timer,
				 LAUNCHER_PRESS_MS * US_PER_MS);
		return;
	}
	left_ms = launcher->kill_ms - now;
	virtworker_do(launcher->killer, press_work, NULL, launcher);
	loop_timer_start(
		launcher->press_timer,
		(left_ms < LAUNCHER_PRESS_MS ? left_ms : LAUNCHER_PRESS_MS) *
			US_PER_MS);
}

void
launcher_stop(struct launcher *launcher, uint64_t grace_s)
{
	uint64_t kill_ms;

	if (!launcher->life.started && !launcher->busy &&
	    launcher->look.state == VIRT_ABSENT) {
		launcher_end(launcher, 0);
		return;
	}
	/* It runs elsewhere, or needs what is elsewhere: what is here hears no
	 * button. */
	if (source_holds(launcher->source) || life_is_half(&launcher->target))
		grace_s = 0;
	kill_ms = loop_now_ms() + grace_s * MS_PER_S;
	/* The earlier end counts; asking again presses again. */
	if (launcher->kill_ms == 0 || kill_ms < launcher->kill_ms)
		launcher->kill_ms = kill_ms;
	launcher->life.stopping = true;
	press(launcher);
}

void
launcher_give_up(struct launcher *launcher)
{
	if (source_stands(launcher->source)) {
		launcher->life.lost = true;
		free(launcher->message);
		launcher->message =
			xstrdup("it was lost on the target of its migration, "
				"and what stood here cannot run on");
	}
	launcher_stop(launcher, 0);
}

int
launcher_cleanup(struct launcher *launcher, struct err *err)
{
	if (launcher->life.started || launcher->busy ||
	    launcher->look.state != VIRT_ABSENT)
		return err_set(err, ERR_CONFLICT, "there is a machine here");
	launcher_end(launcher, 0);
	return 0;
}

static void
look_late(void *arg)
{
	launcher_look(arg);
}

struct launcher *
launcher_new(const struct launcher_config *config)
{
	struct launcher *launcher = xmalloc0(sizeof(*launcher));

	launcher->options = *config->options;
	launcher->loop = config->loop;
	launcher->children = config->children;
	launcher->changed = config->changed;
	launcher->heard = config->heard;
	launcher->ended = config->ended;
	launcher->ctx = config->ctx;
	launcher->uri = libvirtd_uri(launcher->options.nonroot);
	launcher->domain =
		domain_name(launcher->options.ns, launcher->options.name);
	launcher->look.id = -1;
	launcher->looker =
		virtworker_new("looker", config->loop, launcher->uri);
	launcher->actor = virtworker_new("actor", config->loop, launcher->uri);
	launcher->killer =
		virtworker_new("killer", config->loop, launcher->uri);
	launcher->sampler =
		virtworker_new("sampler", config->loop, launcher->uri);
	launcher->mend = mend_new(launcher);
	launcher->look_timer =
		loop_timer_new(config->loop, look_late, launcher);
	launcher->idle_timer = loop_timer_new(config->loop, idle, launcher);
	launcher->press_timer = loop_timer_new(config->loop, press, launcher);
	launcher->end_timer = loop_timer_new(config->loop, ended, launcher);
	loop_timer_start(launcher->idle_timer,
			 launcher->options.qemu_timeout_ms * US_PER_MS);
	launcher_look(launcher);
	return launcher;
}

void
launcher_free(struct launcher *launcher)
{
	virtworker_free(launcher->looker);
	virtworker_free(launcher->actor);
	virtworker_free(launcher->killer);
	virtworker_free(launcher->sampler);
	mend_free(launcher->mend);
	loop_timer_free(launcher->look_timer);
	loop_timer_free(launcher->idle_timer);
	loop_timer_free(launcher->press_timer);
	loop_timer_free(launcher->end_timer);
	if (launcher->source != NULL && source_over(launcher->source))
		source_free(launcher->source);
	launch_record_done(&launcher->target);
	launch_interfaces_done(&launcher->interfaces);
	js_unref(&launcher->vmi);
	free(launcher->guest);
	free(launcher->domain);
	free(launcher->message);
	free(launcher->disk_error);
	free(launcher);
}

/* The last one: what goes out after what came in, or the other way round. */
static const struct launch_record *
last_record(const struct launcher *launcher)
{
	if (launcher->source != NULL)
		return source_record(launcher->source);
	return launcher->target.uid != NULL ? &launcher->target : NULL;
}

json_t *
launcher_status(const struct launcher *launcher)
{
	static char version[] = FERRY_VERSION;
	const struct launch_record *record = last_record(launcher);
	struct launch_status status = {
		.version = version,
		.libvirt = (char *)(uintptr_t)launcher->libvirt,
		.qemu = (char *)(uintptr_t)launcher->qemu,
		.vmi_uid = (char *)(uintptr_t)launcher->options.uid,
		.state = launcher->verdict.state,
		.cause = launcher->verdict.cause,
		.id = launcher->look.id > 0 ? launcher->look.id : 0,
		.message = launcher->message,
		.disk_error = launcher->disk_error,
		.libvirt_up = launcher->libvirt_up,
		.interfaces = launcher->interfaces,
		.migration = (struct launch_record *)(uintptr_t)record,
		.guest = launcher->guest,
	};

	return launch_status_encode(&status);
}
