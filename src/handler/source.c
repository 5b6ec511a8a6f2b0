/* SPDX-License-Identifier: Apache-2.0 */
/* The node that a machine leaves. */
#include <stdio.h>
#include <string.h>

#include "api/names.h"
#include "base/array.h"
#include "base/jsat.h"
#include "base/str.h"
#include "handler/decide.h"
#include "handler/forecast.h"
#include "kube/conditions.h"

#define PAUSED_STALLED "PostCopyFailed"

static const struct migration_state *
state_of(const struct facts *f)
{
	return f->vmi->migration;
}

/* Somebody has ended it. What still flows is cut; whatever else is to be done
 * is the owner's. */
static bool
source_over(const struct facts *f, struct decision *d)
{
	if (!facts_is_over(f) || f->source.uid[0] == '\0')
		return false;
	/* After a failure: a launcher that has not heard of it yet gives up at
	 * once. */
	decide_stop(f, d, STEP_STOP_SOURCE);
	return true;
}

static bool
is_unconfirmed(const struct launch_record *r)
{
	return r != NULL && !r->completed &&
	       r->reason == LAUNCH_REASON_UNCONFIRMED;
}

static bool
is_stalled(const struct launch_record *r)
{
	return !r->completed && r->reason == LAUNCH_REASON_POST_COPY_FAILED;
}

/* Both nodes write to one of its disks, not each to its own copy. */
static bool
shares_disks(const struct vmi *vmi)
{
	for (size_t i = 0; i < vmi->volume_count; i++) {
		const struct vmi_volume *v = &vmi->volumes[i];
		bool shared = v->kind == VOLUME_PVC ||
			      v->kind == VOLUME_DATA_VOLUME ||
			      (v->kind == VOLUME_HOST_DISK && v->shared);

		if (shared && !v->read_only && !v->migrated)
			return true;
	}
	return false;
}

/*
 * Whether what was handed over may have run on the target. It was seen to; or
 * nobody is left who could have seen that it did not, since the target has
 * ended: only its launcher knows, and says that it never arrived. Where disks
 * are shared that is a guess nobody makes: they may have gone on.
 */
static bool
may_have_run(const struct facts *f)
{
	const char *code =
		js_str_at(f->object, "status.migrationState.failureCode");

	if (state_of(f)->domain_ready_us != 0)
		return true;
	return shares_disks(f->vmi) &&
	       !str_equal(code,
			  launch_reason_name(LAUNCH_REASON_NEVER_ARRIVED));
}

/* What stands here can never run again: it may have run on there, and its disks
 * with it; or half of it was there, and is lost with the target. */
static bool
is_dead(const struct facts *f, const struct launch_record *r)
{
	return is_stalled(r) || (is_unconfirmed(r) && may_have_run(f));
}

static bool
source_past(const struct facts *f, struct decision *d)
{
	const struct launch_record *r = facts_record(f, LAUNCH_SOURCE);

	if (!facts_is_over(f) || r == NULL || r->completed)
		return false;
	if (is_dead(f, r)) {
		d->step = STEP_KILL;
		return true;
	}
	/* Too late to cancel: the launcher finds out whether it is stalled. */
	if (r->mode == LAUNCH_POST_COPY) {
		decision_again(d, f->now_us + DECIDE_RETRY_US);
		return false;
	}
	/* A failure that the controller or the target wrote: the launcher goes
	 * on until it is told, or waits to be told that the machine is its. */
	if (r->abort == LAUNCH_ABORT_NONE) {
		d->step = STEP_CANCEL;
		return true;
	}
	return false;
}

/* Whatever becomes of it now is for the target to say: only there one can see
 * whether the machine has arrived. That it has left is written, so that nobody
 * takes it for one that is still here and gives the target up. */
static void
tell_left(const struct facts *f, struct decision *d, int64_t end_us)
{
	if (state_of(f)->end_us == 0)
		wish_time(&d->wishes, MEMBER_STATE "endTimestamp", end_us);
	decision_again(d, f->now_us + DECIDE_RETRY_US);
}

/* The pod has ended while the machine was on its way. */
static bool
source_pod_down(const struct facts *f, struct decision *d)
{
	if (f->pod == NULL || !pod_is_down(f->pod))
		return false;
	if (state_of(f)->start_us != 0) {
		tell_left(f, d, f->now_us);
		return true;
	}
	decide_failure(f, d, "SourcePodEnded",
		       "the pod that the machine was in has ended");
	return true;
}

static bool
has_ended(const struct facts *f)
{
	return f->status != NULL && (f->status->state == LAUNCH_STOPPED ||
				     f->status->state == LAUNCH_CRASHED);
}

/* The machine has ended before its launcher was asked to send it: there is
 * nothing to begin with, and nothing to wait for on the target. */
static bool
source_stopped(const struct facts *f, struct decision *d)
{
	if (!has_ended(f) || facts_record(f, LAUNCH_SOURCE) != NULL)
		return false;
	decide_failure(f, d, "MachineEnded",
		       "the machine ended before its migration began");
	return true;
}

/*
 * In post-copy, half of the machine has ended here. The target may have all of
 * it by now, and says so then; otherwise it waits for what nobody can send any
 * more, perhaps without an answer, and libvirt's call here waits with it.
 */
static bool
source_halved(const struct facts *f, struct decision *d)
{
	const struct launch_record *r = facts_record(f, LAUNCH_SOURCE);
	int64_t due_us = state_of(f)->end_us + DECIDE_ARRIVAL_US;

	if (!has_ended(f) || f->status->cause == LAUNCH_CAUSE_MIGRATED ||
	    r == NULL || r->completed || r->mode != LAUNCH_POST_COPY)
		return false;
	tell_left(f, d, f->now_us);
	if (state_of(f)->end_us == 0)
		return true;
	if (f->now_us < due_us)
		decision_again(d, due_us);
	else
		decide_failure(f, d, "MachineEnded",
			       "the machine ended in post-copy, before all of "
			       "it was on the target");
	return true;
}

/* Canceled before it began: it does not. */
static bool
source_unstarted(const struct facts *f, struct decision *d)
{
	if (!state_of(f)->abort_requested || state_of(f)->start_us != 0 ||
	    facts_record(f, LAUNCH_SOURCE) != NULL)
		return false;
	if (f->source.uid[0] != '\0')
		d->step = STEP_STOP_SOURCE;
	return true;
}

/* One that has begun goes on without us. */
static bool
source_refused(const struct facts *f, struct decision *d)
{
	if (f->link != LINK_REFUSED || state_of(f)->start_us != 0)
		return false;
	decide_failure(f, d, "VersionSkew", f->link_text);
	return true;
}

static bool
source_waits(const struct facts *f, struct decision *d)
{
	if (f->link == LINK_READY)
		return false;
	decision_again(d, f->now_us + DECIDE_RETRY_US);
	return true;
}

static bool
target_is_ready(const struct facts *f)
{
	return state_of(f)->target_address[0] != '\0' &&
	       state_of(f)->port_count > 0;
}

/* Nobody could connect there; the controller gives it up some time. */
static bool
source_puzzled(const struct facts *f, struct decision *d)
{
	if (!state_of(f)->ports_bad || state_of(f)->start_us != 0)
		return false;
	wish_text(&d->wishes, MEMBER_STATE "sourceWaitsFor",
		  "the ports that the target node listens on make no sense");
	return true;
}

/* The sockets come first: from the moment the start is written everybody
 * expects it to go on. */
static bool
source_listens(const struct facts *f, struct decision *d)
{
	if (facts_record(f, LAUNCH_SOURCE) != NULL)
		return false;
	if (!target_is_ready(f))
		return true;
	if (str_equal(f->source.uid, state_of(f)->uid))
		return false;
	/* One that has been canceled needs no way any more. */
	if (state_of(f)->abort_requested)
		return false;
	if (decide_needs_proxy(f, d))
		return true;
	d->step = STEP_LISTEN_SOURCE;
	return true;
}

/*
 * The start is written before it is made, and only onto the object as it was
 * seen: so a cancel comes either before, and nothing begins, or after, and the
 * controller knows that there is something to abort.
 */
static bool
source_claims(const struct facts *f, struct decision *d)
{
	if (state_of(f)->start_us != 0)
		return false;
	wish_time(&d->wishes, MEMBER_STATE "startTimestamp", f->now_us);
	wish_text(&d->wishes, MEMBER_STATE "mode", "PreCopy");
	decide_waits_no_more(f, d);
	d->wishes.exact = true;
	decision_emit(d, false, "Migrating",
		      "VirtualMachineInstance is migrating.");
	return true;
}

static bool
source_begins(const struct facts *f, struct decision *d)
{
	if (facts_record(f, LAUNCH_SOURCE) != NULL)
		return false;
	if (state_of(f)->abort_requested) {
		wish_text(&d->wishes, MEMBER_STATE "abortStatus", "Succeeded");
		decide_failure(f, d, "Canceled",
			       "Live migration has been aborted");
		return true;
	}
	d->step = STEP_MIGRATE;
	return true;
}

static json_t *
progress_json(const struct launch_progress *p)
{
	json_t *o = json_object();
	const struct {
		const char *name;
		uint64_t value;
	} members[] = {
		{ "percent", p->percent },
		{ "bytesTotal", p->bytes_total },
		{ "bytesProcessed", p->bytes_processed },
		{ "bytesRemaining", p->bytes_remaining },
		{ "rateBytesPerSecond", p->rate_bytes_per_second },
		{ "dirtyRateBytesPerSecond", p->dirty_rate_bytes_per_second },
		{ "iteration", p->iteration },
		{ "expectedDowntimeMs", p->expected_downtime_ms },
		{ "etaSeconds", p->eta_seconds },
		{ "throttlePercent", p->throttle_percent },
		{ "downtimeMs", p->downtime_ms },
		{ "blackoutMs", p->blackout_ms },
	};

	for (size_t i = 0; i < ARRAY_LEN(members); i++)
		json_object_set_new(o, members[i].name,
				    json_integer((json_int_t)members[i].value));
	return o;
}

static void
mirror(const struct launch_record *r, struct decision *d)
{
	wish_text(&d->wishes, MEMBER_STATE "mode", launch_mode_name(r->mode));
	wish_set(&d->wishes, MEMBER_STATE "progress",
		 progress_json(&r->progress));
	if (r->abort != LAUNCH_ABORT_NONE)
		wish_text(&d->wishes, MEMBER_STATE "abortStatus",
			  launch_abort_name(r->abort));
}

/* Whether the guest stands because post-copy broke; not by the reason of its
 * record, which goes while it is only tried to take it up again. */
static void
tell_stalled(const struct facts *f, struct decision *d)
{
	bool stands = launch_record_broken(
		facts_record(f, LAUNCH_SOURCE),
		f->status->cause == LAUNCH_CAUSE_POST_COPY_FAILED);
	const json_t *told = js_find(js_arr_at(f->object, "status.conditions"),
				     "type", COND_PAUSED);

	if (!stands && !str_equal(js_str_at(told, "reason"), PAUSED_STALLED))
		return;
	decide_condition(
		f, d,
		&(struct condition){
			.type = COND_PAUSED,
			.status = stands ? "True" : NULL,
			.reason = PAUSED_STALLED,
			.message = "The connection broke in post-copy: the "
				   "machine needs both nodes, and stands "
				   "until they reach each other again",
		});
}

/*
 * Whether it can be tried to take it up again. QEMU on the target has to listen
 * first, after this very break; one that is connected to too early is lost.
 * Where QEMU has no second monitor, or the target knows nothing of it, libvirt
 * asks there by itself.
 */
static bool
may_recover(const struct facts *f, const struct launch_record *r,
	    struct decision *d)
{
	int64_t listening =
		js_int_at(f->object,
			  "status.migrationState.targetListensAfterBreaks", -1);

	if (!f->proxy_up || !target_is_ready(f))
		return false;
	d->listening = r->watched && listening >= 0;
	return !d->listening ||
	       (r->breaks > 0 && (uint64_t)listening >= r->breaks);
}

/*
 * The way between the nodes was cut when the machine was on both of them, and
 * both halves wait. Nothing is lost as long as the way can be mended: to give
 * up would be to lose it, so that nobody does.
 */
static bool
source_recovers(const struct facts *f, struct decision *d)
{
	const struct launch_record *r = facts_record(f, LAUNCH_SOURCE);

	if (!is_stalled(r))
		return false;
	mirror(r, d);
	tell_stalled(f, d);
	if (may_recover(f, r, d))
		d->step = STEP_RECOVER;
	else
		decision_again(d, f->now_us + DECIDE_RETRY_US);
	return true;
}

/*
 * The machine was handed over, and the target's word that it runs was lost on
 * the way: it may run there. Here it stands until the target has said so, or
 * has given it up, upon which it is taken back (source-past).
 */
static bool
source_unconfirmed(const struct facts *f, struct decision *d)
{
	const struct launch_record *r = facts_record(f, LAUNCH_SOURCE);

	if (!is_unconfirmed(r))
		return false;
	mirror(r, d);
	/* Of one in post-copy half is here, as far as anybody knows, and is
	 * wanted: to say that it has left would be to give it up. */
	if (r->mode == LAUNCH_POST_COPY)
		decision_again(d, f->now_us + DECIDE_RETRY_US);
	else
		tell_left(f, d, r->end_us);
	return true;
}

/* libvirt sees a local socket that was closed. Why is known to ferry-proxy. */
static bool
source_blames(const struct facts *f, struct decision *d)
{
	const struct launch_record *r = facts_record(f, LAUNCH_SOURCE);

	if (!r->completed || !r->failed ||
	    r->reason == LAUNCH_REASON_CANCELED ||
	    !str_equal(f->source.uid, state_of(f)->uid) ||
	    str_equal(f->blame_uid, state_of(f)->uid))
		return false;
	mirror(r, d);
	d->step = STEP_BLAME;
	return true;
}

/* Failures of the way between the nodes, in the words of who carries it. */
static void
tell_failure(const struct facts *f, const struct launch_record *r,
	     struct decision *d)
{
	bool connection = r->reason == LAUNCH_REASON_CONNECT_FAILED ||
			  r->reason == LAUNCH_REASON_CONNECTION_LOST;
	char text[DECISION_TEXT_SIZE];

	if (connection && !f->proxy_up) {
		(void)snprintf(text, sizeof(text),
			       "%s; ferry-proxy of node '%s' does not answer",
			       r->message, f->node);
		decide_failure(f, d, launch_reason_name(r->reason), text);
		return;
	}
	if (!connection || f->blame_text[0] == '\0' ||
	    !str_equal(f->blame_uid, state_of(f)->uid)) {
		decide_failure(f, d, launch_reason_name(r->reason), r->message);
		return;
	}
	(void)snprintf(text, sizeof(text), "%s; ferry-proxy: %s: %s",
		       r->message, f->blame_code, f->blame_text);
	decide_failure(f, d, launch_reason_name(r->reason), text);
}

/* The machine is still here and runs on. */
static bool
source_fails(const struct facts *f, struct decision *d)
{
	const struct launch_record *r = facts_record(f, LAUNCH_SOURCE);

	if (!r->completed || !r->failed)
		return false;
	mirror(r, d);
	tell_failure(f, r, d);
	return true;
}

static bool
source_aborts(const struct facts *f, struct decision *d)
{
	const struct launch_record *r = facts_record(f, LAUNCH_SOURCE);

	/* Or the launcher itself does not want to wait any longer. */
	if ((!state_of(f)->abort_requested && r->abort != LAUNCH_ABORTING) ||
	    r->completed)
		return false;
	mirror(r, d);
	tell_stalled(f, d);
	if (r->abort == LAUNCH_ABORT_NONE) {
		d->step = STEP_CANCEL;
		decision_emit(d, false, "Migrating",
			      "VirtualMachineInstance is aborting migration.");
	} else if (r->cut_streams && r->mode != LAUNCH_POST_COPY &&
		   f->source.uid[0] != '\0') {
		/* Never what is in post-copy: the machine would stand. */
		d->step = STEP_STOP_SOURCE;
	}
	return true;
}

static bool
source_runs(const struct facts *f, struct decision *d)
{
	const struct launch_record *r = facts_record(f, LAUNCH_SOURCE);
	json_t *prediction;

	if (r->completed)
		return false;
	mirror(r, d);
	prediction = forecast(f, r);
	if (prediction != NULL)
		wish_set(&d->wishes, MEMBER_STATE "prediction", prediction);
	tell_stalled(f, d);
	return true;
}

/* Handed over. */
static bool
source_awaits(const struct facts *f, struct decision *d)
{
	const struct launch_record *r = facts_record(f, LAUNCH_SOURCE);

	mirror(r, d);
	tell_left(f, d, r->end_us);
	return true;
}

static const struct decide_rule source_rules[] = {
	{ "source-over", source_over },
	{ "source-past", source_past },
	{ "source-pod-down", source_pod_down },
	{ "source-stopped", source_stopped },
	{ "source-halved", source_halved },
	{ "source-unstarted", source_unstarted },
	{ "source-refused", source_refused },
	{ "source-waits", source_waits },
	{ "source-puzzled", source_puzzled },
	{ "source-listens", source_listens },
	{ "source-claims", source_claims },
	{ "source-begins", source_begins },
	{ "source-recovers", source_recovers },
	{ "source-unconfirmed", source_unconfirmed },
	{ "source-blames", source_blames },
	{ "source-fails", source_fails },
	{ "source-aborts", source_aborts },
	{ "source-runs", source_runs },
	{ "source-awaits", source_awaits },
};

/* A migration that is over concerns this side only for what it left. */
bool
decide_source(const struct facts *f, struct decision *d)
{
	size_t count = facts_is_over(f) ? 2 : ARRAY_LEN(source_rules);

	return decide_by(source_rules, count, f, d);
}
