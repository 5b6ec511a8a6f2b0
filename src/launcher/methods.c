/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/config.h"
#include "api/units.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "launcher/console.h"
#include "launcher/disks.h"
#include "launcher/domainxml.h"
#include "launcher/launcher.h"
#include "launcher/libvirtd.h"
#include "launcher/machine.h"
#include "launcher/mend.h"
#include "launcher/source.h"
#include "launcher/virtworker.h"
#include "launchrpc/request.h"
#include "rpc/session.h"

/*
 * The methods that make, move and change a machine. What waits is a job for
 * the actor.
 */

#define MS_PER_S 1000

/* A job that a client waits for. */
struct job {
	struct launcher *launcher;
	struct rpc_pending *pending;
	struct launch_sync sync;
	struct launch_prepare prepare;
	bool pause;
	struct virt_look look;
	int rc;
	struct err err;
};

static struct job *
job_new(struct launcher *launcher, struct rpc_pending *pending)
{
	struct job *job = xmalloc0(sizeof(*job));

	job->launcher = launcher;
	job->pending = pending;
	return job;
}

static void
job_free(struct job *job)
{
	launch_sync_done(&job->sync);
	launch_prepare_done(&job->prepare);
	free(job);
}

static void
answer(struct job *job)
{
	if (job->rc == 0)
		rpc_pending_result(job->pending,
				   launcher_status(job->launcher));
	else
		rpc_pending_error(job->pending, &job->err);
	job_free(job);
}

/* A job's own, which no other thread has a reference to. */
static void
own(json_t **vmi)
{
	json_t *copy = json_deep_copy(*vmi);

	json_decref(*vmi);
	*vmi = copy;
}

static void
remember(struct launcher *launcher, const json_t *vmi,
	 const struct launch_interfaces *interfaces)
{
	js_unref(&launcher->vmi);
	launcher->vmi = json_deep_copy(vmi);
	launch_interfaces_copy(&launcher->interfaces, interfaces);
}

/* KubeVirt's default is to log it. */
static void
follow_console(struct launcher *launcher, const json_t *vmi)
{
	const json_t *devices = js_obj_at(vmi, "spec.domain.devices");
	AUTO(free_ptr) char *path = machine_console(&launcher->options);
	struct err err;

	if (launcher->console ||
	    !js_bool_at(devices, "logSerialConsole", true) ||
	    !js_bool_at(devices, "autoattachSerialConsole", true))
		return;
	launcher->console = true;
	if (console_follow(path, &err) == -1)
		log_warning(NULL, "the console is not logged, ignoring: %s",
			    err.text);
}

static void
sync_work(struct virtworker *worker, void *arg)
{
	struct job *job = arg;

	job->rc =
		machine_start(&job->launcher->options, job->launcher->children,
			      worker, &job->sync, &job->err);
	/* Somebody else was faster, which is fine. */
	if (job->rc == -1 && job->err.kind == ERR_EXISTS)
		job->rc = 0;
}

static void
sync_done(void *arg)
{
	struct job *job = arg;
	struct launcher *launcher = job->launcher;

	launcher->busy = false;
	free(launcher->message);
	launcher->message = NULL;
	if (job->rc == 0) {
		launcher->life.started = true;
		/* Until the next look says so. */
		launcher->look =
			(struct virt_look){ .state = VIRT_INCOMING, .id = -1 };
		launcher->verdict.state = LAUNCH_STARTING;
	} else {
		log_error(NULL, "cannot start the machine: %s", job->err.text);
		launcher->message = xstrdup(job->err.text);
	}
	answer(job);
	launcher_touch(launcher);
	launcher_look(launcher);
	/* A stop that came meanwhile. */
	if (launcher->kill_ms != 0)
		launcher_stop(launcher, launcher->options.grace_s);
}

int
launcher_sync(struct launcher *launcher, const json_t *params,
	      struct rpc_pending *pending, struct err *err)
{
	AUTO(launch_sync_done) struct launch_sync sync = { 0 };
	struct job *job;

	if (launch_sync_decode(params, &sync, err) == -1 ||
	    machine_check(&launcher->options, sync.vmi, err) == -1)
		return -1;
	if (launcher->busy)
		return err_set(err, ERR_CONFLICT,
			       "a machine is being made already");
	if (launcher->ending || launcher->kill_ms != 0)
		return err_set(err, ERR_CONFLICT, "the launcher ends");
	if (launcher->target.uid != NULL && !launcher->life.started)
		return err_set(err, ERR_CONFLICT,
			       "the machine is to come by a migration");
	remember(launcher, sync.vmi, &sync.interfaces);
	follow_console(launcher, sync.vmi);
	if (launcher->life.started) {
		rpc_pending_result(pending, launcher_status(launcher));
		return 0;
	}
	job = job_new(launcher, pending);
	job->sync = sync;
	sync = (struct launch_sync){ 0 };
	own(&job->sync.vmi);
	launcher->busy = true;
	virtworker_do(launcher->actor, sync_work, sync_done, job);
	return 0;
}

static void
prepare_work(struct virtworker *worker, void *arg)
{
	struct job *job = arg;

	job->rc = machine_prepare(&job->launcher->options,
				  job->launcher->children, worker,
				  &job->prepare, &job->err);
}

static void
prepare_done(void *arg)
{
	struct job *job = arg;
	struct launcher *launcher = job->launcher;

	launcher->busy = false;
	if (job->rc == 0) {
		launch_record_done(&launcher->target);
		launcher->target = (struct launch_record){
			.uid = xstrdup(job->prepare.migration_uid),
			.message = xstrdup(""),
			.role = LAUNCH_TARGET,
			.mode = LAUNCH_PRE_COPY,
			.watched = true,
		};
	} else {
		log_error(NULL, "cannot prepare: %s", job->err.text);
	}
	answer(job);
	launcher_touch(launcher);
	launcher_look(launcher);
}

int
launcher_prepare(struct launcher *launcher, const json_t *params,
		 struct rpc_pending *pending, struct err *err)
{
	AUTO(launch_prepare_done) struct launch_prepare prepare = { 0 };
	struct launch_record *target = &launcher->target;
	struct job *job;

	if (launch_prepare_decode(params, &prepare, err) == -1 ||
	    machine_check(&launcher->options, prepare.vmi, err) == -1)
		return -1;
	if (target->uid != NULL &&
	    str_equal(target->uid, prepare.migration_uid)) {
		rpc_pending_result(pending, launcher_status(launcher));
		return 0;
	}
	if (launcher->busy || launcher->life.started ||
	    (target->uid != NULL && !target->completed))
		return err_set(err, ERR_CONFLICT,
			       "there is a machine here, or another migration "
			       "is coming in");
	if (launcher->ending || launcher->kill_ms != 0)
		return err_set(err, ERR_CONFLICT, "the launcher ends");
	remember(launcher, prepare.vmi, &prepare.interfaces);
	follow_console(launcher, prepare.vmi);
	job = job_new(launcher, pending);
	job->prepare = prepare;
	prepare = (struct launch_prepare){ 0 };
	own(&job->prepare.vmi);
	launcher->busy = true;
	virtworker_do(launcher->actor, prepare_work, prepare_done, job);
	return 0;
}

static void
pause_work(struct virtworker *worker, void *arg)
{
	struct job *job = arg;
	struct virt_conn *conn;
	enum virt_state state;

	job->rc = virtworker_conn(worker, &conn, &job->err);
	if (job->rc == 0)
		job->rc = virt_domain_look(conn, job->launcher->domain,
					   &job->look, &job->err);
	if (job->rc == -1)
		return;
	state = job->look.state;
	if (state != VIRT_RUNNING && state != VIRT_PAUSED)
		job->rc = err_set(&job->err, ERR_CONFLICT,
				  "the machine does not run");
	else if (job->pause && state == VIRT_RUNNING)
		job->rc = virt_domain_pause(conn, job->launcher->domain,
					    &job->err);
	else if (!job->pause && state == VIRT_PAUSED)
		job->rc = virt_domain_resume(conn, job->launcher->domain,
					     &job->err);
	/* The answer has the state that it led to. */
	if (job->rc == 0)
		job->rc = virt_domain_look(conn, job->launcher->domain,
					   &job->look, &job->err);
}

static void
pause_done(void *arg)
{
	struct job *job = arg;
	struct launcher *launcher = job->launcher;

	if (job->rc == 0) {
		launcher->look = job->look;
		life_judge(&launcher->life, &launcher->look,
			   &launcher->verdict);
	}
	answer(job);
	launcher_touch(launcher);
}

int
launcher_pause(struct launcher *launcher, bool pause,
	       struct rpc_pending *pending, struct err *err)
{
	struct job *job;

	if (!launcher->life.started || launcher->ending)
		return err_set(err, ERR_CONFLICT, "there is no machine");
	if (source_holds(launcher->source))
		return err_set(err, ERR_CONFLICT,
			       "the machine may run on the target of its "
			       "migration: it stands here until that is known");
	job = job_new(launcher, pending);
	job->pause = pause;
	virtworker_do(launcher->actor, pause_work, pause_done, job);
	return 0;
}

static void
source_changed(void *ctx)
{
	struct launcher *launcher = ctx;
	const struct launch_record *record = source_record(launcher->source);

	launcher_touch(launcher);
	if (!source_over(launcher->source))
		return;
	if (record->failed)
		log_error(NULL, "migration %s failed (%s): %s", record->uid,
			  launch_reason_name(record->reason), record->message);
	else if (record->completed)
		log_info(NULL, "migration %s: handed over", record->uid);
	else
		log_warning(NULL, "migration %s: %s", record->uid,
			    record->message);
	launcher_look(launcher);
}

static void
resume_source(void *ctx)
{
	struct launcher *launcher = ctx;

	mend_resume(launcher->mend);
}

/* What a migration is made of, while it is being put together. */
struct departure {
	const struct launcher *launcher;
	const struct launch_migrate *request;
	struct migration_config config;
	struct disks disks;
	const char *targets[DISKS_MAX]; /* of those that are copied */
	size_t target_count;
	uint64_t bytes; /* to be moved, for the completion timeout */
};

static int
choose_disks(struct departure *d, struct err *err)
{
	const struct options *options = &d->launcher->options;
	const struct disk_dirs dirs = {
		.ephemeral = options->ephemeral_dir,
		.containers = options->container_dir,
		.private = options->private_dir,
		.devices = "/dev",
	};

	if (disks_plan(d->request->vmi, &dirs, &d->disks, err) == -1)
		return -1;
	for (size_t i = 0; d->request->block && i < d->disks.count; i++) {
		const struct disk *disk = &d->disks.items[i];
		struct stat st;

		if (!disk_is_copied(disk))
			continue;
		d->targets[d->target_count++] = disk->target;
		if (stat(disk->path, &st) == 0)
			d->bytes += (uint64_t)st.st_size;
	}
	return 0;
}

/*
 * What nobody has changed is not set: QEMU then stops a guest for 300 ms. As in
 * KubeVirt, where the default of 900 ms, which is shown, has no effect, and
 * where it takes a feature gate to have another.
 */
static uint64_t
max_downtime_ms(const struct migration_config *config)
{
	if (config->max_downtime_ms <= 0 ||
	    config->max_downtime_ms == CONFIG_MAX_DOWNTIME_MS)
		return 0;
	return (uint64_t)config->max_downtime_ms;
}

static void
depart(struct launcher *launcher, const struct departure *d)
{
	const struct migration_config *config = &d->config;
	const struct options *options = &launcher->options;
	AUTO(free_ptr)
	char *control = machine_socket(options, MACHINE_CHANNEL_CONTROL);
	AUTO(free_ptr)
	char *control_uri = libvirtd_peer_uri(options->nonroot, control);
	AUTO(free_ptr)
	char *memory = machine_socket(options, MACHINE_CHANNEL_MEMORY);
	AUTO(free_ptr) char *memory_uri = xasprintf("unix://%s", memory);
	AUTO(free_ptr)
	char *disks = machine_socket(options, MACHINE_CHANNEL_DISKS);
	AUTO(free_ptr) char *disks_uri = xasprintf("unix://%s", disks);
	bool post_copy =
		config->allow_post_copy && config->allow_workload_disruption;
	int64_t completion_s = units_completion_timeout_s(
		config->completion_timeout_per_gib, d->bytes);
	struct source_config source = {
		.uid = d->request->migration_uid,
		.watched = mend_is_possible(launcher->mend),
		.changed = source_changed,
		.resume = resume_source,
		.ctx = launcher,
	};

	source.flight = (struct flight_config){
		.loop = launcher->loop,
		.uri = launcher->uri,
		.migration = {
			.domain = launcher->domain,
			.control_uri = control_uri,
			.memory_uri = memory_uri,
			.disks_uri = d->target_count > 0 ? disks_uri : NULL,
			.disks = d->targets,
			.disk_count = d->target_count,
			.bandwidth_mib = units_bandwidth_mib(&config->bandwidth),
			/* QEMU 7.2 loses a guest that is switched to post-copy
			 * with several connections, on both sides. */
			.parallel = post_copy ? 0 : d->request->parallel,
			.post_copy = post_copy,
			.auto_converge = config->allow_auto_converge,
			.paused = launcher->look.state == VIRT_PAUSED,
		},
		.limits = {
			.completion_ms = (uint64_t)completion_s * MS_PER_S,
			.progress_ms = (uint64_t)config->progress_timeout_s *
				       MS_PER_S,
			.post_copy = post_copy,
			.disruption = config->allow_workload_disruption,
		},
		.max_downtime_ms = max_downtime_ms(config),
		.abort_grace_ms = SOURCE_ABORT_GRACE_MS,
	};
	source_free(launcher->source);
	launcher->source = source_start(&source);
}

/* It runs, or stands because its owner wants it to. */
static bool
can_depart(const struct launcher *launcher)
{
	const struct virt_look *look = &launcher->look;

	return launcher->life.started && !launcher->verdict.over &&
	       launcher->kill_ms == 0 &&
	       (look->state == VIRT_RUNNING ||
		(look->state == VIRT_PAUSED && look->why == VIRT_WHY_USER));
}

int
launcher_migrate(struct launcher *launcher, const json_t *params,
		 struct err *err)
{
	AUTO(launch_migrate_done) struct launch_migrate request = { 0 };
	struct departure d = { .launcher = launcher, .request = &request };
	const struct launch_record *last;
	int rc;

	if (launch_migrate_decode(params, &request, err) == -1 ||
	    machine_check(&launcher->options, request.vmi, err) == -1)
		return -1;
	last = launcher->source != NULL ? source_record(launcher->source)
					: NULL;
	if (last != NULL && str_equal(last->uid, request.migration_uid))
		return 0;
	if (last != NULL &&
	    (!last->completed || !source_over(launcher->source)))
		return err_set(err, ERR_CONFLICT, "migration '%s' is under way",
			       last->uid);
	if (launcher->target.uid != NULL && !launcher->target.completed)
		return err_set(err, ERR_CONFLICT,
			       "the machine is arriving by migration '%s'",
			       launcher->target.uid);
	if (!can_depart(launcher))
		return err_set(err, ERR_CONFLICT, "the machine is %s (%s)",
			       launch_state_name(launcher->verdict.state),
			       launch_cause_name(launcher->verdict.cause));
	d.bytes = domain_memory(request.vmi);
	migration_config_init(&d.config);
	rc = request.configuration == NULL
		     ? 0
		     : migration_config_overlay(&d.config,
						request.configuration, err);
	if (rc == 0)
		rc = choose_disks(&d, err);
	if (rc == 0)
		depart(launcher, &d);
	disks_done(&d.disks);
	migration_config_done(&d.config);
	return rc;
}

static int
check_uid(const struct launch_record *record, const char *uid, struct err *err)
{
	if (record != NULL && str_equal(record->uid, uid))
		return 0;
	return err_set(err, ERR_NOT_FOUND, "there is no migration '%s' here",
		       uid);
}

int
launcher_cancel(struct launcher *launcher, const char *uid, struct err *err)
{
	struct launch_record *target = &launcher->target;

	if (launcher->source != NULL &&
	    str_equal(source_record(launcher->source)->uid, uid)) {
		launcher_look(launcher);
		return source_abort(launcher->source, err);
	}
	if (check_uid(target->uid != NULL ? target : NULL, uid, err) == -1)
		return -1;
	if (target->completed)
		return target->failed ? 0
				      : err_set(err, ERR_CONFLICT,
						"the machine has arrived");
	if (target->domain_detected)
		return err_set(err, ERR_CONFLICT,
			       "the machine is arriving: only the source can "
			       "cancel it now");
	target->completed = target->failed = true;
	target->reason = LAUNCH_REASON_CANCELED;
	free(target->message);
	target->message = xstrdup("The migration was canceled");
	return 0;
}

/* Sockets of an arrival are of no more use to anybody. */
int
launcher_finalize(struct launcher *launcher, const char *uid, struct err *err)
{
	static const int channels[] = { MACHINE_CHANNEL_MEMORY,
					MACHINE_CHANNEL_DISKS };
	const struct launch_record *target = &launcher->target;

	if (check_uid(target->uid != NULL ? target : NULL, uid, err) == -1)
		return -1;
	if (!target->completed || target->failed)
		return err_set(err, ERR_CONFLICT,
			       "the machine has not arrived");
	for (size_t i = 0; i < sizeof(channels) / sizeof(channels[0]); i++) {
		AUTO(free_ptr)
		char *path = machine_socket(&launcher->options, channels[i]);

		(void)unlink(path);
	}
	return 0;
}

int
launcher_recover(struct launcher *launcher, const char *uid, bool listening,
		 struct err *err)
{
	const struct launch_record *record =
		launcher->source != NULL ? source_record(launcher->source)
					 : NULL;

	if (check_uid(record, uid, err) == -1)
		return -1;
	return source_recover(launcher->source, listening, err);
}
