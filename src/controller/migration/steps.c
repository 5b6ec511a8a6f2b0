/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/migration/steps.h"

#include <stdio.h>
#include <string.h>

#include "api/names.h"
#include "base/array.h"
#include "controller/migration/ladder.h"
#include "controller/migration/waits.h"
#include "meta/time.h"

/* How long a machine may be on its way to the target's word. */
#define LEFT_QUIET_US (5 * TIME_US_PER_SECOND)

static bool
handed_off(const struct facts *f)
{
	return vmi_is_handed_to(f->vmi, f->vmim->meta.uid);
}

/* One that has arrived before it was canceled was accepted then, though nobody
 * may have come to write that. */
static bool
accepted(const struct facts *f)
{
	return !facts_is_unwanted(f) || facts_is_done(f);
}

/* One that was handed off had a pod then. */
static bool
has_pod(const struct facts *f)
{
	return f->target_pod != NULL || handed_off(f);
}

/* And it was ready. */
static bool
pod_ready(const struct facts *f)
{
	return (f->target_pod != NULL && f->target_pod->ready) || handed_off(f);
}

/* What has switched had started, whoever did not say so. */
static bool
source_started(const struct facts *f)
{
	const struct migration_state *state = facts_state(f);

	return state != NULL && (state->start_us != 0 || facts_is_switched(f));
}

/* And what has started had somebody to send to. */
static bool
target_listens(const struct facts *f)
{
	const struct migration_state *state = facts_state(f);

	return state != NULL && state->target_node[0] != '\0' &&
	       (state->target_address[0] != '\0' || source_started(f));
}

/* The condition that says what has not come about; NULL. */
static const char *
change_to_come(const struct facts *f)
{
	const struct conds *conds = &f->vmi->conds;

	if (conds_find(conds, COND_HOT_VCPU) != NULL)
		return COND_HOT_VCPU;
	if (conds_is_true(conds, COND_HOT_MEMORY))
		return COND_HOT_MEMORY;
	if (conds_is_true(conds, COND_MIGRATION_REQUIRED))
		return COND_MIGRATION_REQUIRED;
	return NULL;
}

/* It also moves machines whose CPUs or memory were changed: these have to say
 * that the change has come about. */
static bool
arrived(const struct facts *f)
{
	return facts_is_done(f) && change_to_come(f) == NULL;
}

static const struct step steps[] = {
	{ "accepted", MIGRATION_UNSET, MIGRATION_PENDING, accepted },
	{ "pod-created", MIGRATION_PENDING, MIGRATION_SCHEDULING, has_pod },
	{ "pod-ready", MIGRATION_SCHEDULING, MIGRATION_SCHEDULED, pod_ready },
	{ "handed-off", MIGRATION_SCHEDULED, MIGRATION_PREPARING_TARGET,
	  handed_off },
	{ "target-listens", MIGRATION_PREPARING_TARGET, MIGRATION_TARGET_READY,
	  target_listens },
	{ "source-started", MIGRATION_TARGET_READY, MIGRATION_RUNNING,
	  source_started },
	{ "arrived", MIGRATION_RUNNING, MIGRATION_SUCCEEDED, arrived },
};

const struct step *
steps_all(size_t *ret_count)
{
	*ret_count = ARRAY_LEN(steps);
	return steps;
}

void
steps_advance(const struct facts *facts, struct decision *d)
{
	bool stays = facts_is_unwanted(facts) && !facts_is_done(facts);

	d->rule = "wait";
	for (size_t i = 0; !stays && i < ARRAY_LEN(steps); i++) {
		if (d->phase != steps[i].from || !steps[i].when(facts))
			continue;
		d->rule = steps[i].name;
		decision_enter(d, steps[i].to);
	}
}

void
steps_set_abort(const struct facts *facts, struct decision *d)
{
	const struct cond *old =
		conds_find(&facts->vmim->conds, COND_ABORT_REQUESTED);

	if (old != NULL && old->status == COND_TRUE)
		return;
	if (facts_is_canceled(facts))
		(void)decision_set_cond(d, facts, COND_ABORT_REQUESTED,
					FAILURE_CANCELED,
					"The migration was deleted.");
	else
		(void)decision_set_cond(d, facts, COND_ABORT_REQUESTED,
					FAILURE_RUNNING_TIMEOUT,
					"The transfer has taken longer than it "
					"may.");
}

/*
 * Without an answer it is not known where the machine is: it goes on, in
 * whichever pod it is, until a node says so or is gone.
 */
static void
say_abort(const struct facts *f, struct decision *d)
{
	int64_t due_us = facts_abort_due_us(f);

	if (f->now_us < due_us) {
		/* Counted from now on when it is asked for only now. */
		decision_again(d, due_us);
		decision_again(d,
			       facts_due_us(f->now_us, FACTS_ABORT_ANSWER_S));
		(void)waits_set(f, d, WAITING_ABORT,
				"The nodes have been asked to abort. It ends "
				"when they have answered.");
		return;
	}
	(void)waits_set(f, d, WAITING_ABORT,
			"The nodes have been asked to abort and do not answer. "
			"The machine may already run in the target pod, which "
			"therefore stays. It ends when ferry-handler on one of "
			"the two nodes answers, or when the target's node or "
			"pod has been removed.");
}

/* False: there is nothing to abort, or no way to. */
static bool
abort_transfer(const struct facts *f, struct decision *d)
{
	const struct migration_state *state = facts_state(f);
	struct action *action;

	if (!facts_is_unwanted(f))
		return false;
	steps_set_abort(f, d);
	if (facts_is_switched(f))
		return false;
	say_abort(f, d);
	/* Handed off, and not yet seen so. */
	if (state == NULL) {
		decision_again(d, f->now_us + TIME_US_PER_SECOND);
		return true;
	}
	if (state->abort_requested)
		return true;
	action = decision_act(d, ACTION_ABORT);
	action_event(action, EVENT_SUCCESSFUL_ABORT,
		     "Migration is ready to be canceled by virt-handler.");
	action->failed_reason = EVENT_FAILED_ABORT;
	return true;
}

static bool
act_pending(const struct facts *f, struct decision *d)
{
	struct action *action;

	if (f->target_pod != NULL)
		return true;
	/* Handed off, and not yet seen so: it has had its pod. */
	if (f->create_sent || f->handoff_sent) {
		decision_again(d, f->now_us + TIME_US_PER_SECOND);
		return true;
	}
	if (waits_before_pod(f, d)) {
		decision_drop_cond(d, f, COND_UTILITY_VOLUMES);
		decision_drop_cond(d, f, COND_BACKUP);
		return true;
	}
	/* One pod, whatever the caches have not seen yet. The condition that
	 * it waits stays until the pod is there: it may still be refused. */
	if (!f->confirmed)
		return false;
	action = decision_act(d, ACTION_CREATE_TARGET);
	action->event.reason = EVENT_SUCCESSFUL_CREATE;
	action->failed_reason = EVENT_FAILED_CREATE;
	action->failed_on_vmi = true;
	return true;
}

/* In the scheduler's own words: they say what is missing where. */
static bool
say_no_node(const struct facts *f, struct decision *d)
{
	const struct cond *cond =
		conds_find(&f->target_pod->conds, COND_POD_SCHEDULED);
	const char *said = cond == NULL ? "" : cond->message;
	char message[DECISION_TEXT_SIZE];

	(void)snprintf(message, sizeof(message),
		       "No node fits the target pod. It goes on when one "
		       "does.%s%s",
		       said[0] == '\0' ? "" : " The scheduler says: ", said);
	return waits_set(f, d, WAITING_SCHEDULING, message);
}

static void
say_unschedulable(const struct facts *f, struct decision *d)
{
	const char *ns = f->vmi->meta.ns, *name = f->vmi->meta.name;

	if (!say_no_node(f, d))
		return;
	decision_emit(d, false, EVENT_UNSCHEDULABLE,
		      "Migration target pod for VMI [%s/%s] is currently "
		      "unschedulable.",
		      ns, name);
	if (f->cpu_labels == NULL)
		return;
	decision_emit(d, true, EVENT_NO_HOST_MODEL_NODE,
		      "Migration cannot proceed since no node is suitable to "
		      "run the required CPU model / required features: %s",
		      f->cpu_labels);
}

static bool
act_scheduling(const struct facts *f, struct decision *d)
{
	bool unschedulable;

	/* Handed off, and not yet seen so: it was ready. */
	if (f->handoff_sent) {
		decision_again(d, f->now_us + TIME_US_PER_SECOND);
		return true;
	}
	decision_again(d, facts_pod_due_us(f, &unschedulable));
	if (f->target_pod != NULL && f->target_pod->unschedulable)
		say_unschedulable(f, d);
	else
		(void)waits_set(f, d, WAITING_POD_START,
				"The target pod is not ready. It goes on when "
				"its containers run.");
	return true;
}

static bool
act_scheduled(const struct facts *f, struct decision *d)
{
	struct action *action;
	bool unschedulable;

	if (d->phase == f->vmim->phase)
		decision_again(d, facts_phase_due_us(f));
	if (facts_is_handed_off(f)) {
		decision_again(d, f->now_us + TIME_US_PER_SECOND);
		return true;
	}
	/* It may have become unready again. */
	decision_again(d, facts_pod_due_us(f, &unschedulable));
	if (waits_before_handoff(f, d))
		return true;
	/* Not for one that has been canceled meanwhile. */
	if (!f->confirmed)
		return false;
	action = decision_act(d, ACTION_HANDOFF);
	action->pod = f->target_pod;
	action_event(action, EVENT_SUCCESSFUL_HANDOVER,
		     "Migration target pod is ready for preparation by "
		     "virt-handler.");
	action->failed_reason = EVENT_FAILED_HANDOVER;
	return true;
}

static bool
act_transfer(const struct facts *f, struct decision *d, const char *reason,
	     const char *message)
{
	/* The time of a phase that begins now is not known before it is
	 * stored; what stores it looks again. */
	if (d->phase == f->vmim->phase && !facts_is_switched(f))
		decision_again(d, facts_phase_due_us(f));
	(void)waits_set(f, d, reason, message);
	return true;
}

/* The same for what a node may have to wait for, in its own words. */
static bool
act_node(const struct facts *f, struct decision *d, const char *reason,
	 const char *message, const char *waits)
{
	char text[DECISION_TEXT_SIZE];

	if (waits[0] == '\0')
		return act_transfer(f, d, reason, message);
	(void)snprintf(text, sizeof(text), "%s. It goes on when it does.",
		       waits);
	return act_transfer(f, d, reason, text);
}

static bool
act_preparing(const struct facts *f, struct decision *d)
{
	const struct migration_state *state = facts_state(f);

	return act_node(f, d, WAITING_TARGET_PREPARATION,
			"The target node prepares. It goes on when the "
			"machine says at which address it listens.",
			state == NULL ? "" : state->target_waits);
}

static bool
act_ready(const struct facts *f, struct decision *d)
{
	const struct migration_state *state = facts_state(f);

	return act_node(f, d, WAITING_SOURCE_START,
			"The source node is to start the transfer. It goes "
			"on when the machine says when it did.",
			state == NULL ? "" : state->source_waits);
}

/* Networks send packets to the new place as soon as they know. */
void
steps_mark_ready(const struct facts *facts, struct decision *d)
{
	const struct migration_state *state = facts_state(facts);
	const struct pod *pod = facts->target_pod;

	if (pod != NULL && state != NULL && state->domain_ready_us != 0 &&
	    !state->failed && pod->target_ready[0] == '\0')
		decision_act(d, ACTION_MARK_READY)->pod = pod;
}

/*
 * It was on its way, and the pod that it came from is gone, by force or with
 * its node: nobody there says any more that it has left. Whether it has arrived
 * is for the target to say, which waits for that word before it gives up.
 */
static bool
has_lost_source(const struct facts *f)
{
	const struct migration_state *state = facts_state(f);

	return f->source_pod == NULL && state != NULL && state->start_us != 0 &&
	       state->end_us == 0 && !state->failed && !state->completed;
}

static bool
act_running(const struct facts *f, struct decision *d)
{
	const struct migration_state *state = facts_state(f);
	char text[DECISION_TEXT_SIZE];

	steps_mark_ready(f, d);
	if (facts_is_done(f) && change_to_come(f) != NULL) {
		(void)snprintf(text, sizeof(text),
			       "The machine has arrived. It ends when its "
			       "condition %s says that the change has come "
			       "about.",
			       change_to_come(f));
		return act_transfer(f, d, WAITING_TRANSFER, text);
	}
	/* Usually the target says so at once, and nobody has to be told. */
	if (state != NULL && state->end_us != 0) {
		if (f->now_us >= state->end_us + LEFT_QUIET_US) {
			return act_transfer(
				f, d, WAITING_TRANSFER,
				f->source_pod != NULL
					? "The source node has given the "
					  "machine away. It ends when the "
					  "target node says whether it has "
					  "arrived."
					: "The source pod is gone. It ends "
					  "when the target node says whether "
					  "the machine has arrived.");
		}
		decision_again(d, state->end_us + LEFT_QUIET_US);
	}
	return act_transfer(f, d, WAITING_TRANSFER,
			    "The machine is being transferred. It ends when "
			    "the target node says that it has arrived.");
}

static bool (*const acts[MIGRATION_PHASE_COUNT])(const struct facts *f,
						 struct decision *d) = {
	[MIGRATION_PENDING] = act_pending,
	[MIGRATION_SCHEDULING] = act_scheduling,
	[MIGRATION_SCHEDULED] = act_scheduled,
	[MIGRATION_PREPARING_TARGET] = act_preparing,
	[MIGRATION_TARGET_READY] = act_ready,
	[MIGRATION_RUNNING] = act_running,
};

bool
steps_act(const struct facts *facts, struct decision *d)
{
	bool (*act)(const struct facts *f, struct decision *d);

	/* A pod that a late cache does not show is not gone. */
	if (has_lost_source(facts) && !facts->confirmed)
		return false;
	if (has_lost_source(facts)) {
		(void)decision_act(d, ACTION_TELL_LEFT);
		return true;
	}
	/* In any phase: the first one that is written may be a late one. */
	if (facts_is_handed_off(facts) && abort_transfer(facts, d))
		return true;
	/* One that was canceled stays in its phase while it goes on. */
	act = acts[facts_is_switched(facts) ? MIGRATION_RUNNING : d->phase];
	if (act == NULL)
		return true;
	if (!act(facts, d))
		return false;
	if (d->phase != MIGRATION_PENDING) {
		decision_drop_cond(d, facts, COND_UTILITY_VOLUMES);
		decision_drop_cond(d, facts, COND_BACKUP);
		decision_drop_cond(d, facts, COND_QUOTA);
	}
	return true;
}
