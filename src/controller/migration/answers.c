/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/migration/answers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/kinds.h"
#include "api/names.h"
#include "base/array.h"
#include "base/jsat.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/migration/runstate.h"
#include "kube/obj.h"
#include "meta/time.h"

/* Quotas tell when they change; this is for what they do not tell. */
#define QUOTA_RETRY_US (60 * TIME_US_PER_SECOND)
#define QUOTA_TEXT "exceeded quota"
/* A server that is away for a moment is not worth an event. */
#define TRANSIENT_FAILURES 3
#define SECURITY_TEXT "violates PodSecurity"
#define NAME_TAKEN "another pod has the name of the target"

static void
emit(const struct run *run, const struct decision_event *event)
{
	const struct events_ref vmim = {
		.api_version = "kubevirt.io/v1",
		.kind = api_vmims.kind,
		.ns = run->ns,
		.name = run->name,
		.uid = run->uid,
	};
	const struct events_ref vmi = {
		.api_version = "kubevirt.io/v1",
		.kind = api_vmis.kind,
		.ns = run->ns,
		.name = run->vmi_name,
		.uid = run->vmi_uid,
	};

	if (event->reason == NULL || (event->on_vmi && run->vmi_uid[0] == '\0'))
		return;
	events_emit(run->all->events, event->on_vmi ? &vmi : &vmim,
		    event->warning ? "Warning" : "Normal", event->reason, "%s",
		    event->text);
}

void
answers_say_failed(struct run *run, const struct action *action,
		   const char *text)
{
	struct decision_event event = {
		.on_vmi = action->failed_on_vmi,
		.warning = true,
		.reason = action->failed_reason,
	};
	struct log_field ref[RUNSTATE_REF];

	log_warning(runstate_ref(run, ref), "%s failed, trying again: %s",
		    action_name(action->kind), text);
	if (action->kind != ACTION_CREATE_TARGET) {
		(void)snprintf(event.text, sizeof(event.text), "%s", text);
	} else if (strstr(text, SECURITY_TEXT) != NULL) {
		(void)snprintf(event.text, sizeof(event.text),
			       "failed to create pod for vmi %s/%s, it needs a "
			       "privileged namespace to run: %s",
			       run->ns, run->vmi_name, text);
	} else {
		(void)snprintf(event.text, sizeof(event.text),
			       ACTION_CREATE_FAILED_FORMAT, text);
	}
	emit(run, &event);
}

static bool
has_lasted(const struct run *run)
{
	return queue_failures(worker_queue(run->all->worker), run->key) >=
	       TRANSIENT_FAILURES;
}

/* It may be over at once, and has not lasted long. */
static bool
is_transient(const struct run *run, const struct kube_result *result)
{
	return (result->code == 0 || result->code == 409 ||
		result->code == 429 || result->code >= 500) &&
	       !has_lasted(run);
}

/* For what the server said: of what may be over at once only when it is not. */
static void
say_refused(struct run *run, const struct action *action,
	    const struct kube_result *result)
{
	struct log_field ref[RUNSTATE_REF];

	if (is_transient(run, result))
		log_info(runstate_ref(run, ref), "%s failed, trying again: %s",
			 action_name(action->kind), result->status->message);
	else
		answers_say_failed(run, action, result->status->message);
}

static enum verdict
pod_is_there(struct run *run, const struct action *action, const json_t *pod)
{
	struct decision_event event = action->event;

	note_set_target(run->note, pod);
	note_set_quota(run->note, NULL, 0);
	note_accept(run->note);
	(void)snprintf(event.text, sizeof(event.text), ACTION_CREATED_FORMAT,
		       obj_name(pod));
	emit(run, &event);
	return VERDICT_TURN;
}

/* Told, and tried again later; others may use the slot meanwhile. */
static enum verdict
refuse_pod(struct run *run, const char *text)
{
	migrations_release(run->all, run->uid);
	note_refuse(run->note, text, world_now_us(run->all->world));
	return VERDICT_TURN;
}

static enum verdict
pod_failed(struct run *run, const struct action *action,
	   const struct kube_result *result)
{
	const char *text = result->status->message;

	if (result->unknown || kube_is_already_exists(result)) {
		run->note->create_sent = true;
		free(run->said);
		run->said = xstrdup(text);
		return VERDICT_LOOK;
	}
	say_refused(run, action, result);
	/* Others may use it meanwhile. */
	migrations_release(run->all, run->uid);
	if (is_transient(run, result))
		return VERDICT_PAUSE;
	if (result->code != 403 || strstr(text, QUOTA_TEXT) == NULL)
		return refuse_pod(run, text);
	/* It may be about a quota that has been raised since, and nobody says
	 * so again. */
	if (run->quota_changes != run->all->quota_changes)
		return VERDICT_PAUSE;
	note_set_quota(run->note, text,
		       world_now_us(run->all->world) + QUOTA_RETRY_US);
	return VERDICT_TURN;
}

static enum verdict
on_create(struct run *run, const struct step *step, const struct action *action,
	  const struct kube_result *result)
{
	(void)step;
	if (result->status->code != 0)
		return pod_failed(run, action, result);
	return pod_is_there(run, action, result->answer);
}

enum verdict
answers_look(struct run *run, const struct action *action,
	     const struct kube_result *result)
{
	const char *uid = obj_label(result->answer, LABEL_MIGRATION_UID);

	/* It was not made; or it was, and is gone again, which the next
	 * reading finds out. */
	if (result->status->code != 0) {
		run->note->create_sent = !kube_is_not_found(result);
		if (run->note->create_sent || !has_lasted(run))
			return VERDICT_PAUSE;
		answers_say_failed(run, action, run->said);
		return refuse_pod(run, run->said);
	}
	if (uid == NULL || strcmp(uid, run->uid) != 0) {
		run->note->create_sent = false;
		answers_say_failed(run, action, NAME_TAKEN);
		return refuse_pod(run, NAME_TAKEN);
	}
	return pod_is_there(run, action, result->answer);
}

/* The machine was not as it was seen, or is gone: look again. */
static bool
came_late(const struct kube_result *result)
{
	return kube_is_conflict(result) || kube_is_not_found(result) ||
	       result->code == 422;
}

static enum verdict
look_again(struct run *run)
{
	run->all->tally.conflicts++;
	reading_free(run->reading);
	run->reading = NULL;
	return VERDICT_PAUSE;
}

/* For all that patches the machine. */
static enum verdict
on_machine(struct run *run, const struct action *action,
	   const struct kube_result *result)
{
	if (result->status->code == 0) {
		note_set_vmi(run->note, result->answer);
		emit(run, &action->event);
		return VERDICT_NEXT;
	}
	if (came_late(result))
		return look_again(run);
	say_refused(run, action, result);
	return VERDICT_PAUSE;
}

static enum verdict
on_handoff(struct run *run, const struct step *step,
	   const struct action *action, const struct kube_result *result)
{
	struct note *note = run->note;
	enum verdict verdict;

	(void)step;
	if (result->unknown) {
		note->handoff_sent = true;
		note->handoff_sent_us = world_now_us(run->all->world);
		return VERDICT_PAUSE;
	}
	verdict = on_machine(run, action, result);
	return verdict == VERDICT_NEXT ? VERDICT_TURN : verdict;
}

static enum verdict
on_patch(struct run *run, const struct step *step, const struct action *action,
	 const struct kube_result *result)
{
	(void)step;
	return on_machine(run, action, result);
}

static enum verdict
on_stamp(struct run *run, const struct step *step, const struct action *action,
	 const struct kube_result *result)
{
	(void)step;
	if (result->status->code == 0) {
		note_set_vmim(run->note, result->answer);
		return VERDICT_NEXT;
	}
	if (!came_late(result))
		say_refused(run, action, result);
	return VERDICT_PAUSE;
}

static enum verdict
on_mark(struct run *run, const struct step *step, const struct action *action,
	const struct kube_result *result)
{
	(void)step;
	if (result->status->code == 0) {
		note_set_target(run->note, result->answer);
		return VERDICT_NEXT;
	}
	/* A pod that is gone needs no mark, and the watch will say so. */
	if (!kube_is_not_found(result))
		say_refused(run, action, result);
	return VERDICT_PAUSE;
}

/*
 * What a server answers a deletion with is gone when it does not say that it
 * will go, or has no time left and nobody to wait for: it then bears the
 * version that it had before, and would not be told from what the cache still
 * shows.
 */
static bool
is_taken_away(const json_t *answer)
{
	return !obj_is_deleting(answer) ||
	       (js_int_at(answer, "metadata.deletionGracePeriodSeconds", 1) ==
			0 &&
		json_array_size(js_arr_at(answer, "metadata.finalizers")) == 0);
}

static enum verdict
on_deletion(struct run *run, const struct step *step,
	    const struct action *action, const struct kube_result *result)
{
	struct decision_event event = action->event;

	if (kube_is_not_found(result)) {
		note_set_gone(run->note, step->pod_uid);
		return VERDICT_NEXT;
	}
	/* Another of the same name, or somebody came between: it is not known
	 * to be gone until the watch says so. */
	if (kube_is_conflict(result))
		return look_again(run);
	if (result->status->code != 0) {
		say_refused(run, action, result);
		return VERDICT_PAUSE;
	}
	if (is_taken_away(result->answer))
		note_set_gone(run->note, step->pod_uid);
	else if (str_equal(obj_label(result->answer, LABEL_MIGRATION_UID),
			   run->uid))
		note_set_target(run->note, result->answer);
	else
		note_set_source(run->note, result->answer);
	emit(run, &event);
	return VERDICT_NEXT;
}

static enum verdict (*const on_answer[])(struct run *run,
					 const struct step *step,
					 const struct action *action,
					 const struct kube_result *result) = {
	[ACTION_STAMP] = on_stamp,     [ACTION_CREATE_TARGET] = on_create,
	[ACTION_HANDOFF] = on_handoff, [ACTION_TELL_LEFT] = on_patch,
	[ACTION_ABORT] = on_patch,     [ACTION_FAIL_STATE] = on_patch,
	[ACTION_MARK_READY] = on_mark, [ACTION_DELETE_POD] = on_deletion,
};
_Static_assert(ARRAY_LEN(on_answer) == ACTION_COUNT, "each has a row");

enum verdict
answers_step(struct run *run, const struct step *step,
	     const struct action *action, const struct kube_result *result)
{
	return on_answer[step->kind](run, step, action, result);
}

/* Several may have been passed before any was written. */
static void
count_phases(const struct run *run, int64_t now_us)
{
	const struct decision *d = &run->decision;
	struct tally *tally = &run->all->tally;
	enum migration_phase phase = run->phase;
	int64_t since_us = run->phase_since_us;

	for (size_t i = 0; i < d->passed_count; i++) {
		int64_t entered_us = run->note->entered_us[d->passed[i]];

		if (entered_us == 0)
			entered_us = now_us;
		if (since_us != 0)
			tally_phase_left(tally, phase, entered_us - since_us);
		tally_phase_reached(tally, d->passed[i],
				    now_us - run->created_us);
		phase = d->passed[i];
		since_us = entered_us;
	}
}

static void
count_wait(const struct run *run, int64_t now_us)
{
	const struct decision *d = &run->decision;

	for (size_t i = 0; i < d->cond_count && run->waited_for[0] != '\0';
	     i++) {
		const struct decision_cond *cond = &d->conds[i];

		if (str_equal(cond->type, COND_WAITING) &&
		    (cond->remove || !str_equal(cond->reason, run->waited_for)))
			tally_waited(&run->all->tally, run->waited_for,
				     now_us - run->waited_since_us);
	}
}

static void
status_is_written(struct run *run, const json_t *answer)
{
	const struct decision *d = &run->decision;
	struct migrations *m = run->all;
	struct note *note = run->note;
	int64_t now_us = world_now_us(m->world);
	struct log_field ref[RUNSTATE_REF];

	note_set_vmim(note, answer);
	if (d->passed_count != 0)
		log_info(runstate_ref(run, ref), "phase %s -> %s (%s)",
			 migration_phase_name(run->phase),
			 migration_phase_name(d->phase), d->rule);
	count_phases(run, now_us);
	count_wait(run, now_us);
	if (d->passed_count != 0 && migration_phase_is_final(d->phase))
		tally_result(&m->tally, js_obj_at(answer, "status"),
			     now_us - run->created_us);
	for (size_t i = 0; i < d->event_count; i++)
		emit(run, &d->events[i]);
	if (d->passed_count != 0 && migration_phase_is_final(d->phase))
		migrations_release(m, run->uid);
}

static enum verdict
on_status(struct run *run, const json_t *answer)
{
	status_is_written(run, answer);
	return VERDICT_NEXT;
}

static enum verdict
on_finalizer(struct run *run, const json_t *answer)
{
	note_set_vmim(run->note, answer);
	run->note->finalized = true;
	return VERDICT_NEXT;
}

/* As with pods: one that does not say that it will go is gone. */
static enum verdict
on_migration_deleted(struct run *run, const json_t *answer)
{
	if (obj_is_deleting(answer)) {
		note_set_vmim(run->note, answer);
		return VERDICT_NEXT;
	}
	run->gone = true;
	return VERDICT_PAUSE;
}

static enum verdict (*const on_written[])(struct run *run,
					  const json_t *answer) = {
	[WRITE_STATUS] = on_status,
	[WRITE_FINALIZER] = on_finalizer,
	[WRITE_DELETION] = on_migration_deleted,
};
_Static_assert(ARRAY_LEN(on_written) == WRITE_COUNT, "each has a row");

enum verdict
answers_write(struct run *run, unsigned which, const struct kube_result *result)
{
	struct log_field ref[RUNSTATE_REF];

	/* Whatever was to be done about one that is gone is done. */
	if (kube_is_not_found(result)) {
		run->gone = true;
		return VERDICT_PAUSE;
	}
	if (result->status->code != 0) {
		if (came_late(result))
			run->all->tally.conflicts++;
		else
			log_warning(runstate_ref(run, ref),
				    "cannot be written, trying again: %s",
				    result->status->message);
		return VERDICT_PAUSE;
	}
	return on_written[which](run, result->answer);
}
