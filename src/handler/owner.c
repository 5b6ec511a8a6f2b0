/* SPDX-License-Identifier: Apache-2.0 */
/* The node that a machine runs on, or is to. */
#include <string.h>

#include "api/names.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/str.h"
#include "handler/decide.h"
#include "handler/migratable.h"
#include "handler/skew.h"
#include "kube/conditions.h"
#include "kube/obj.h"
#include "meta/time.h"

#define DEFAULT_GRACE_S 30

static bool
has_ended(const struct facts *f)
{
	return f->status != NULL && (f->status->state == LAUNCH_STOPPED ||
				     f->status->state == LAUNCH_CRASHED);
}

/* When a phase is entered for the first time is kept beside it. */
static void
enter(const struct facts *f, struct decision *d, enum vmi_phase phase)
{
	json_t *times =
		js_arr_at(f->object, "status.phaseTransitionTimestamps");
	const char *name = vmi_phase_name(phase);
	char text[TIME_TEXT_SIZE];

	wish_text(&d->wishes, MEMBER_PHASE, name);
	if (js_find(times, "phase", name) != NULL)
		return;
	times = times == NULL ? json_array() : json_deep_copy(times);
	json_array_append_new(times, json_pack("{s:s, s:s}", "phase", name,
					       "phaseTransitionTimestamp",
					       time_text(f->now_us, text)));
	wish_set(&d->wishes, "/status/phaseTransitionTimestamps", times);
}

/* The machine has ended: nothing of it is to go on here. */
static bool
owner_final(const struct facts *f, struct decision *d)
{
	if (!vmi_is_final(f->vmi))
		return false;
	if (facts_has_domain(f))
		d->step = STEP_KILL;
	else if (f->source.uid[0] != '\0')
		d->step = STEP_STOP_SOURCE;
	else if (f->target.uid[0] != '\0')
		d->step = STEP_STOP_TARGET;
	return true;
}

/*
 * The domain has ended. After a migration that is as it should be, and what
 * becomes of the machine is for the target to say.
 */
static bool
owner_stopped(const struct facts *f, struct decision *d)
{
	bool failed;

	if (!has_ended(f) || f->status->cause == LAUNCH_CAUSE_MIGRATED)
		return false;
	failed = f->status->state == LAUNCH_CRASHED ||
		 f->status->cause == LAUNCH_CAUSE_START_FAILED;
	enter(f, d, failed ? VMI_FAILED : VMI_SUCCEEDED);
	if (failed && f->status->message[0] != '\0') {
		decision_emit(d, true, "Stopped",
			      "The VirtualMachineInstance crashed: %s",
			      f->status->message);
	} else {
		decision_emit(d, failed, "Stopped", "%s",
			      failed ? "The VirtualMachineInstance crashed."
				     : "The VirtualMachineInstance was shut "
				       "down.");
	}
	return true;
}

/*
 * Its launcher was killed, and all that was in the pod with it: nobody is left
 * to say so but this node. One that ended by itself has said why before; if
 * nobody has heard it, the controller finds out whether the machine went
 * elsewhere or was shut down.
 */
static bool
owner_pod_down(const struct facts *f, struct decision *d)
{
	if (f->pod == NULL || f->pod->phase != POD_FAILED)
		return false;
	enter(f, d, VMI_FAILED);
	decision_emit(d, true, "Stopped",
		      "The pod that the machine was in has failed.");
	return true;
}

static bool
owner_deleted(const struct facts *f, struct decision *d)
{
	if (!objmeta_is_deleting(&f->vmi->meta))
		return false;
	/* A guest that was asked may take its time to show it; one that was not
	 * up to it then is asked again. */
	if (f->now_us < f->shutdown_us + DECIDE_SHUTDOWN_US) {
		decision_again(d, f->shutdown_us + DECIDE_SHUTDOWN_US);
		return true;
	}
	if (facts_has_domain(f) && f->status->state != LAUNCH_SHUTTING_DOWN) {
		int64_t grace_s = js_int_at(
			f->object, "spec.terminationGracePeriodSeconds",
			DEFAULT_GRACE_S);

		d->step = grace_s > 0 ? STEP_SHUTDOWN : STEP_KILL;
		d->grace_s = grace_s > 0 ? (uint64_t)grace_s : 0;
		decision_emit(d, false, "ShuttingDown",
			      "Signaled Graceful Shutdown");
		return true;
	}
	/* A machine that never began ends with its pod. */
	return true;
}

static bool
owner_waits(const struct facts *f, struct decision *d)
{
	if (f->link == LINK_READY)
		return false;
	if (f->link == LINK_REFUSED) {
		decide_condition(f, d,
				 &(struct condition){
					 .type = COND_SYNCHRONIZED,
					 .status = "False",
					 .reason = "VersionSkew",
					 .message = f->link_text,
				 });
	}
	if (f->link != LINK_NONE)
		decision_again(d, f->now_us + DECIDE_RETRY_US);
	return true;
}

/* Gone to another node, which has not said so yet. */
static bool
owner_left(const struct facts *f, struct decision *d)
{
	(void)d;
	return has_ended(f);
}

static bool
owner_network(const struct facts *f, struct decision *d)
{
	if (f->interfaces != NULL)
		return false;
	d->step = STEP_NETWORK;
	return true;
}

static bool
owner_starts(const struct facts *f, struct decision *d)
{
	if (facts_has_domain(f))
		return false;
	/* Running without a domain: libvirtd is not up yet, or it is lost; the
	 * launcher finds out which. A second start would be another guest. */
	if (f->vmi->phase == VMI_RUNNING || !f->status->libvirt_up) {
		decision_again(d, f->now_us + DECIDE_RETRY_US);
		return true;
	}
	if (f->vmi->phase == VMI_SCHEDULED) {
		d->step = STEP_SYNC;
		decision_emit(d, false, "Created",
			      "VirtualMachineInstance defined.");
	}
	return true;
}

struct pause {
	const char *reason, *message;
};

/* Paused by whom; without a reason when it is not paused. */
static const struct pause *
pause_of(const struct launch_status *status)
{
	static const struct pause none = { NULL, NULL };
	static const struct pause by_user = { "PausedByUser",
					      "VMI was paused by user" };
	static const struct pause by_error = {
		"PausedIOError", "VMI was paused, low-level IO error detected"
	};
	static const struct pause by_monitor = {
		"PausedByMigrationMonitor",
		"VMI was paused by the migration monitor"
	};
	static const struct pause *const by_cause[LAUNCH_CAUSE_COUNT] = {
		[LAUNCH_CAUSE_IO_ERROR] = &by_error,
		[LAUNCH_CAUSE_MIGRATING] = &by_monitor,
		[LAUNCH_CAUSE_POST_COPY] = &by_monitor,
		[LAUNCH_CAUSE_POST_COPY_FAILED] = &by_monitor,
	};

	if (status->state != LAUNCH_PAUSED)
		return &none;
	return by_cause[status->cause] != NULL ? by_cause[status->cause]
					       : &by_user;
}

static void
tell_pause(const struct facts *f, struct decision *d)
{
	const struct pause *pause = pause_of(f->status);

	decide_condition(
		f, d,
		&(struct condition){
			.type = COND_PAUSED,
			.status = pause->reason != NULL ? "True" : NULL,
			.reason = pause->reason,
			.message = pause->message,
		});
}

static void
tell_migratable(const struct facts *f, struct decision *d)
{
	const struct migratable *m = f->migratable;

	if (m == NULL)
		return;
	decide_condition(f, d,
			 &(struct condition){
				 .type = COND_LIVE_MIGRATABLE,
				 .status = m->ok ? "True" : "False",
				 .reason = m->reason,
				 .message = m->message,
			 });
	decide_condition(
		f, d,
		&(struct condition){
			.type = COND_STORAGE_LIVE_MIGRATABLE,
			.status = m->storage_ok ? "True" : "False",
			.reason = m->storage_ok ? NULL : "NotMigratable",
			.message = m->storage_message,
		});
	wish_text(&d->wishes, "/status/migrationMethod",
		  m->block ? "BlockMigration" : "LiveMigration");
}

/* What it runs with, for the node that may receive it one day. */
static void
tell_versions(const struct facts *f, struct decision *d)
{
	AUTO(free_ptr) char *text = skew_text(f->versions);

	if (text != NULL)
		wish_tag(&d->wishes, "annotations",
			 ANNOTATION_LAUNCHER_VERSIONS, text);
}

/* Everything the node says about a machine that runs. */
static void
tell(const struct facts *f, struct decision *d)
{
	struct wishes *w = &d->wishes;

	tell_versions(f, d);
	tell_pause(f, d);
	tell_migratable(f, d);
	decide_condition(f, d,
			 &(struct condition){ .type = COND_SYNCHRONIZED });
	wish_set(w, "/status/interfaces", json_deep_copy(f->interfaces));
	wish_text(w, "/status/migrationTransport", "Unix");
	wish_text(w, "/status/selinuxContext", f->selinux_context);
}

static bool
owner_runs(const struct facts *f, struct decision *d)
{
	if (f->vmi->phase != VMI_SCHEDULED)
		return false;
	if (f->status->state == LAUNCH_STARTING)
		return true;
	tell(f, d);
	enter(f, d, VMI_RUNNING);
	decision_emit(d, false, "Started", "VirtualMachineInstance started.");
	return true;
}

/*
 * What the subresources pause and unpause ask for, once for each request; see
 * docs/api.md. A machine that is as it is asked to be is an answer too, and so
 * is a failure.
 */
static bool
owner_pauses(const struct facts *f, struct decision *d)
{
	const char *wanted =
		obj_annotation(f->object, ANNOTATION_PAUSE_REQUESTED);
	const char *id = obj_annotation(f->object, ANNOTATION_PAUSE_ID);
	const char *answered =
		obj_annotation(f->object, ANNOTATION_PAUSE_ANSWERED);
	bool pause;

	if (wanted == NULL || id == NULL ||
	    (answered != NULL && str_equal(answered, id)))
		return false;
	pause = str_equal(wanted, "true");
	if (f->pause_failure[0] == '\0' &&
	    f->status->state == (pause ? LAUNCH_RUNNING : LAUNCH_PAUSED)) {
		d->step = pause ? STEP_PAUSE : STEP_UNPAUSE;
		return true;
	}
	tell(f, d);
	wish_tag(&d->wishes, "annotations", ANNOTATION_PAUSE_ANSWERED, id);
	wish_tag(&d->wishes, "annotations", ANNOTATION_PAUSE_FAILURE,
		 f->pause_failure[0] != '\0' ? f->pause_failure : NULL);
	return true;
}

/* Of a migration that is over, and whose end could not be tidied up: there was
 * no way to ferry-proxy then. */
static bool
owner_hushes(const struct facts *f, struct decision *d)
{
	if (f->vmi->migration != NULL && !facts_is_over(f))
		return false;
	if (f->target.uid[0] == '\0' && f->source.uid[0] == '\0')
		return false;
	if (f->vmi->phase == VMI_RUNNING)
		tell(f, d);
	decide_stop(f, d,
		    f->target.uid[0] != '\0' ? STEP_STOP_TARGET
					     : STEP_STOP_SOURCE);
	return true;
}

/* A proxy that was killed leaves its sockets, and nobody else would remove
 * them before the next migration. */
static bool
owner_sweeps(const struct facts *f, struct decision *d)
{
	if (f->vmi->migration == NULL || !facts_is_over(f) ||
	    str_equal(f->swept, f->vmi->migration->uid) ||
	    f->source.uid[0] != '\0' || f->target.uid[0] != '\0')
		return false;
	if (f->vmi->phase == VMI_RUNNING)
		tell(f, d);
	d->step = STEP_SWEEP;
	return true;
}

/* The pod can spoil what was made for it at any time, and so can people. The
 * last rule but one: a machine whose network cannot be mended is told about as
 * ever. */
static bool
owner_mends(const struct facts *f, struct decision *d)
{
	if (f->vmi->phase != VMI_RUNNING)
		return false;
	if (f->now_us < f->network_us + DECIDE_MEND_US) {
		decision_again(d, f->network_us + DECIDE_MEND_US);
		return false;
	}
	tell(f, d);
	d->step = STEP_NETWORK;
	return true;
}

static bool
owner_tells(const struct facts *f, struct decision *d)
{
	if (f->vmi->phase == VMI_RUNNING)
		tell(f, d);
	return true;
}

static const struct decide_rule owner_rules[] = {
	{ "owner-final", owner_final },
	{ "owner-stopped", owner_stopped },
	{ "owner-pod-down", owner_pod_down },
	{ "owner-deleted", owner_deleted },
	{ "owner-waits", owner_waits },
	{ "owner-left", owner_left },
	{ "owner-network", owner_network },
	{ "owner-starts", owner_starts },
	{ "owner-runs", owner_runs },
	{ "owner-pauses", owner_pauses },
	{ "owner-hushes", owner_hushes },
	{ "owner-sweeps", owner_sweeps },
	{ "owner-mends", owner_mends },
	{ "owner-tells", owner_tells },
};

bool
decide_owner(const struct facts *f, struct decision *d)
{
	return decide_by(owner_rules, ARRAY_LEN(owner_rules), f, d);
}
