/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/migration/testlaws.h"

#include <string.h>

#include "api/names.h"
#include "base/array.h"
#include "controller/migration/ladder.h"
#include "controller/migration/testtruth.h"
#include "meta/time.h"

#define SECOND TIME_US_PER_SECOND

/* The first law that does not hold is the answer. */
#define LAW(condition, text)         \
	do {                         \
		if (!(condition))    \
			return text; \
	} while (0)

static const struct decision_cond *
cond_of(const struct decision *d, const char *type)
{
	for (size_t i = 0; i < d->cond_count; i++) {
		if (strcmp(d->conds[i].type, type) == 0)
			return &d->conds[i];
	}
	return NULL;
}

/* The reason of a condition after the decision; NULL: it is not there. */
static const char *
reason_after(const struct facts *f, const struct decision *d, const char *type)
{
	const struct decision_cond *cond = cond_of(d, type);

	if (cond != NULL)
		return cond->remove ? NULL : cond->reason;
	for (size_t i = 0; i < f->vmim->conds.len; i++) {
		if (strcmp(f->vmim->conds.list[i].type, type) == 0)
			return f->vmim->conds.list[i].reason;
	}
	return NULL;
}

static bool
does(const struct decision *d, enum action_kind kind)
{
	return decision_action(d, kind) != NULL;
}

static bool
does_anything(const struct decision *d)
{
	return d->action_count != 0 || d->passed_count != 0 ||
	       d->cond_count != 0 || d->copy_state || d->remove_finalizer ||
	       d->delete_migration;
}

/* The laws, by what they are about. */

static const char *
about_confirming(const struct facts *f, const struct decision *d)
{
	const char *code = reason_after(f, d, COND_FAILURE);

	LAW(!d->confirm || !f->confirmed,
	    "what is confirmed is not asked for again");
	LAW(!d->confirm || (!does_anything(d) && d->event_count == 0 &&
			    d->phase == f->vmim->phase),
	    "who asks first does nothing yet");
	if (f->confirmed)
		return NULL;
	LAW(!does(d, ACTION_CREATE_TARGET) && !does(d, ACTION_HANDOFF) &&
		    !does(d, ACTION_TELL_LEFT),
	    "what cannot be undone waits for confirmed facts");
	LAW(!d->remove_finalizer && (!d->delete_migration || f->vmi != NULL),
	    "nothing is left behind that a late cache does not show");
	LAW(d->passed_count == 0 || f->vmim->phase != MIGRATION_UNSET ||
		    d->phase == MIGRATION_FAILED ||
		    d->phase == MIGRATION_SUCCEEDED,
	    "a migration begins with confirmed facts");
	/* The nodes' own word is as good from a cache as from elsewhere. */
	LAW(d->phase != MIGRATION_FAILED || truth_is_final(f->vmim->phase) ||
		    (truth_own(f) != NULL && truth_own(f)->failed) ||
		    (code != NULL && strcmp(code, FAILURE_UNSUPPORTED) == 0),
	    "what a late cache explains does not fail");
	return NULL;
}

static const char *
about_phases(const struct facts *f, const struct decision *d)
{
	enum migration_phase at = f->vmim->phase;

	LAW(d->passed_count != 0 || d->phase == at,
	    "a phase that is entered is told");
	LAW(!truth_is_final(at) || d->passed_count == 0,
	    "what has ended has ended");
	for (size_t i = 0; i < d->passed_count; i++) {
		enum migration_phase to = d->passed[i];
		bool next = at == MIGRATION_UNSET ? to == MIGRATION_PENDING
						  : (int)to == (int)at + 1;

		LAW(to == MIGRATION_FAILED ? i == 0 : next,
		    "phases have an order");
		LAW(!truth_is_canceled(f) || to == MIGRATION_FAILED ||
			    truth_has_arrived(f),
		    "a canceled one enters no further phase");
		at = to;
	}
	LAW(at == d->phase, "the last phase that is entered is the new one");
	if (truth_is_final(f->vmim->phase)) {
		for (size_t i = 0; i < d->action_count; i++)
			LAW(d->actions[i].kind == ACTION_ABORT ||
				    d->actions[i].kind == ACTION_FAIL_STATE ||
				    d->actions[i].kind == ACTION_DELETE_POD,
			    "after the end there is only tidying up");
		LAW(d->cond_count == 0 && d->event_count == 0,
		    "after the end nothing new is said");
	}
	return NULL;
}

static const char *
about_stamps(const struct facts *f, const struct decision *d)
{
	const struct vmim *m = f->vmim;

	if (!does(d, ACTION_STAMP))
		return NULL;
	LAW(d->action_count == 1 && !decision_changes_status(d),
	    "a stamp comes before anything else");
	LAW(!truth_is_canceled(f) &&
		    (!m->has_finalizer || !m->has_observed_versions ||
		     strcmp(m->vmi_label, m->vmi_name) != 0),
	    "only what lacks its stamp gets it");
	return NULL;
}

static const char *
about_the_target_pod(const struct facts *f, const struct decision *d)
{
	bool creates = does(d, ACTION_CREATE_TARGET);
	bool hindered = !truth_machine_may_move(f) || truth_has_first(f) ||
			f->live_pods > 1 || f->quota_text != NULL ||
			f->refused_text != NULL || truth_is_held_back(f) ||
			f->slot == SLOT_CLUSTER_FULL ||
			f->slot == SLOT_SOURCE_FULL;

	if (creates) {
		LAW(f->target_pod == NULL && !f->create_sent,
		    "a pod is made once");
		LAW(!truth_is_with_nodes(f),
		    "what was handed off has had its pod");
		LAW(!truth_is_canceled(f),
		    "nothing is made for a canceled one");
		LAW(d->phase == MIGRATION_PENDING,
		    "a pod is made in Pending, and in no other phase");
		LAW(!hindered && !f->vmi->utility_volumes &&
			    !f->vmi->backup_in_progress &&
			    !truth_is_immovable(f),
		    "a pod is made when nothing hinders it");
		LAW(d->action_count == 1, "the pod comes before what follows");
		return NULL;
	}
	LAW(!f->confirmed || d->phase != MIGRATION_PENDING || hindered ||
		    f->vmi->utility_volumes || f->vmi->backup_in_progress ||
		    f->target_pod != NULL || f->create_sent ||
		    truth_is_with_nodes(f) || does(d, ACTION_STAMP),
	    "a pod is made as soon as nothing hinders it");
	return NULL;
}

static const char *
about_the_handoff(const struct facts *f, const struct decision *d)
{
	const struct action *action = decision_action(d, ACTION_HANDOFF);
	bool can = truth_machine_may_move(f) && !truth_has_first(f) &&
		   f->target_pod != NULL && f->target_pod->ready &&
		   f->inbound != SLOT_TARGET_FULL;

	if (action == NULL) {
		LAW(!f->confirmed || d->phase != MIGRATION_SCHEDULED || !can ||
			    truth_is_with_nodes(f) || does(d, ACTION_STAMP),
		    "it is handed off as soon as it can be");
		return NULL;
	}
	LAW(!truth_is_canceled(f), "a canceled one is not handed off");
	LAW(d->phase == MIGRATION_SCHEDULED && !truth_is_with_nodes(f),
	    "it is handed off once");
	LAW(can, "it is handed off when both sides are ready");
	LAW(action->pod == f->target_pod &&
		    !truth_is_at(f->target_pod, f->vmi->node),
	    "it is handed to another node");
	return NULL;
}

static const char *
about_the_nodes(const struct facts *f, const struct decision *d)
{
	const struct migration_state *s = truth_own(f);
	bool asked = f->vmim->phase == MIGRATION_FAILED ||
		     truth_is_canceled(f) || truth_is_transfer_late(f) ||
		     truth_has_cond(f, COND_ABORT_REQUESTED);
	bool open = s != NULL && !s->failed && !s->completed;
	const struct action *action;

	if (does(d, ACTION_ABORT))
		LAW(asked && open && !s->abort_requested &&
			    !truth_has_switched(f),
		    "only what can be stopped is asked to");
	if (does(d, ACTION_TELL_LEFT))
		LAW(open && f->source_pod == NULL && s->start_us != 0 &&
			    s->end_us == 0,
		    "only a source that is gone is spoken for");
	if (does(d, ACTION_MARK_READY))
		LAW(s != NULL && !s->failed && s->domain_ready_us != 0 &&
			    f->target_pod->target_ready[0] == '\0',
		    "networks are told once that the guest is there");
	action = decision_action(d, ACTION_FAIL_STATE);
	if (action != NULL) {
		LAW(open && d->phase == MIGRATION_FAILED,
		    "nodes are told of a failure that they do not know");
		LAW(action->text[0] != '\0', "nodes are told why");
		LAW(!truth_may_be_in_target(f),
		    "nodes are not told to give up where the guest may be");
	}
	LAW(action != NULL || !open || d->phase != MIGRATION_FAILED ||
		    d->confirm || truth_may_be_in_target(f),
	    "nodes are told of a failure");
	LAW(d->confirm || !f->confirmed || !asked || !open ||
		    truth_is_final(f->vmim->phase) || does(d, ACTION_ABORT) ||
		    does(d, ACTION_TELL_LEFT) || s->abort_requested ||
		    truth_has_switched(f) || d->phase == MIGRATION_FAILED ||
		    does(d, ACTION_STAMP) || !truth_is_with_nodes(f),
	    "what is to stop is asked to");
	return NULL;
}

static const char *
about_pods(const struct facts *f, const struct decision *d)
{
	for (size_t i = 0; i < d->action_count; i++) {
		const struct action *action = &d->actions[i];

		if (action->kind != ACTION_DELETE_POD)
			continue;
		LAW(truth_is_final(d->phase), "pods are deleted at the end");
		LAW(action->pod->meta.deleted_us == 0, "a pod is deleted once");
		LAW(action->pod == f->target_pod ||
			    action->pod == f->source_pod,
		    "pods of others are left alone");
		if (action->pod == f->source_pod) {
			LAW(!truth_may_be_in_source(f) &&
				    truth_own(f) != NULL &&
				    strcmp(action->pod->meta.name,
					   truth_own(f)->source_pod) == 0 &&
				    (d->phase == MIGRATION_SUCCEEDED ||
				     truth_has_arrived(f)),
			    "a source that the guest may be in stays");
			continue;
		}
		LAW(!truth_may_be_in_target(f) && d->phase == MIGRATION_FAILED,
		    "a target that the guest may be in stays");
	}
	return NULL;
}

/* Failing. */

static bool
is_gone(const struct facts *f)
{
	return f->vmi == NULL && f->machine_text == NULL;
}

static bool
is_unreadable(const struct facts *f)
{
	return f->machine_text != NULL;
}

static bool
has_ended(const struct facts *f)
{
	return f->vmi != NULL && !truth_machine_lives(f);
}

/* Nobody here leads out of the phases of one half either. */
static bool
is_half(const struct facts *f)
{
	return (f->vmim->send_to_id[0] == '\0') !=
		       (f->vmim->receive_id[0] == '\0') ||
	       f->vmim->phase == MIGRATION_WAITING_FOR_SYNC ||
	       f->vmim->phase == MIGRATION_SYNCHRONIZING;
}

static bool
is_told(const struct facts *f)
{
	return truth_own(f) != NULL &&
	       (truth_own(f)->completed || truth_own(f)->failed);
}

static bool
is_target_down(const struct facts *f)
{
	return f->target_pod != NULL && !truth_is_up(f->target_pod) &&
	       !is_told(f);
}

static bool
is_target_gone(const struct facts *f)
{
	return f->target_pod == NULL &&
	       f->vmim->phase >= MIGRATION_SCHEDULING && !is_told(f);
}

static bool
is_cleared(const struct facts *f)
{
	return f->vmim->phase >= MIGRATION_PREPARING_TARGET &&
	       (f->vmi->migration == NULL || f->vmi->migration->uid[0] == '\0');
}

static bool
is_taken(const struct facts *f)
{
	return f->vmim->phase >= MIGRATION_PREPARING_TARGET &&
	       truth_own(f) == NULL && !is_cleared(f);
}

static bool
is_told_failed(const struct facts *f)
{
	return truth_own(f) != NULL && truth_own(f)->failed;
}

static bool
is_new_and_second(const struct facts *f)
{
	return f->vmim->phase == MIGRATION_UNSET && !truth_is_with_nodes(f) &&
	       truth_has_first(f);
}

static bool
cannot_move(const struct facts *f)
{
	return f->vmim->phase <= MIGRATION_PENDING && f->target_pod == NULL &&
	       !f->create_sent && truth_is_immovable(f);
}

static bool
is_utility_late(const struct facts *f)
{
	return f->vmim->phase <= MIGRATION_PENDING && f->vmi->utility_volumes &&
	       f->now_us >= truth_utility_due_us(f) && f->target_pod == NULL &&
	       !truth_is_with_nodes(f);
}

static bool
is_pod_late(const struct facts *f)
{
	return f->now_us >= truth_pod_due_us(f);
}

static bool
is_unschedulable_late(const struct facts *f)
{
	return is_pod_late(f) && f->target_pod->unschedulable;
}

static bool
is_with_machine(const struct facts *f)
{
	return f->target_pod != NULL && truth_is_up(f->source_pod) &&
	       truth_is_at(f->target_pod, f->vmi->node) &&
	       truth_is_at(f->source_pod, f->vmi->node) &&
	       !truth_is_with_nodes(f);
}

static bool
is_scheduled_late(const struct facts *f)
{
	return f->vmim->phase == MIGRATION_SCHEDULED &&
	       f->now_us >= truth_phase_due_us(f) &&
	       (truth_own(f) == NULL || truth_own(f)->target_node[0] == '\0');
}

/* What has been told to a node, and came to the other's ears out of order. */
static bool
has_moved_on(const struct facts *f)
{
	return truth_own(f) == NULL || truth_own(f)->start_us != 0 ||
	       truth_has_switched(f);
}

static bool
is_preparing_late(const struct facts *f)
{
	return f->vmim->phase == MIGRATION_PREPARING_TARGET &&
	       f->now_us >= truth_phase_due_us(f) && !has_moved_on(f) &&
	       truth_own(f)->target_address[0] == '\0';
}

static bool
is_ready_late(const struct facts *f)
{
	return f->vmim->phase == MIGRATION_TARGET_READY &&
	       f->now_us >= truth_phase_due_us(f) && !has_moved_on(f);
}

static bool
is_late_abort(const struct facts *f)
{
	return is_told_failed(f) && truth_has_cond(f, COND_ABORT_REQUESTED);
}

/* Nothing has begun, or it has come to nothing. */
static bool
is_canceled_in_time(const struct facts *f)
{
	const struct migration_state *s = truth_own(f);

	return truth_is_canceled(f) &&
	       (!truth_is_with_nodes(f) || is_told_failed(f) ||
		(s != NULL && s->abort_requested && s->start_us == 0 &&
		 !truth_has_switched(f)));
}

/*
 * What has happened when it is said to, and makes a migration fail whatever
 * else there is. The last one is only said: nodes were asked to abort.
 */
static const struct {
	const char *code;
	bool (*holds)(const struct facts *f);
} causes[] = {
	{ FAILURE_MACHINE_UNREADABLE, is_unreadable },
	{ FAILURE_MACHINE_GONE, is_gone },
	{ FAILURE_MACHINE_ENDED, has_ended },
	{ FAILURE_UNSUPPORTED, is_half },
	{ FAILURE_CANCELED, is_canceled_in_time },
	{ FAILURE_TARGET_POD_ENDED, is_target_down },
	{ FAILURE_TARGET_POD_REMOVED, is_target_gone },
	{ FAILURE_STATE_CLEARED, is_cleared },
	{ FAILURE_STATE_TAKEN, is_taken },
	{ FAILURE_NODE, is_told_failed },
	{ FAILURE_RIVAL, is_new_and_second },
	{ FAILURE_NOT_MIGRATABLE, cannot_move },
	{ FAILURE_SAME_NODE, is_with_machine },
	{ FAILURE_UTILITY_TIMEOUT, is_utility_late },
	{ FAILURE_UNSCHEDULABLE_TIMEOUT, is_unschedulable_late },
	{ FAILURE_PENDING_TIMEOUT, is_pod_late },
	{ FAILURE_SCHEDULED_TIMEOUT, is_scheduled_late },
	{ FAILURE_PREPARING_TIMEOUT, is_preparing_late },
	{ FAILURE_READY_TIMEOUT, is_ready_late },
	{ FAILURE_RUNNING_TIMEOUT, is_late_abort },
};

/* A failure that was written by half: the machine's state says which. */
static bool
is_half_written(const struct facts *f)
{
	return is_told_failed(f) && truth_own(f)->failure_reason[0] != '\0';
}

static const char *
must_fail(const struct facts *f)
{
	for (size_t i = 0; i < ARRAY_LEN(causes) - 1; i++) {
		/* What asks for the machine comes after the first two. */
		if ((i < 2 || f->vmi != NULL) && causes[i].holds(f))
			return causes[i].code;
	}
	return NULL;
}

static const char *
about_failing(const struct facts *f, const struct decision *d)
{
	const struct decision_cond *cond = cond_of(d, COND_FAILURE);
	size_t i = 0;

	if (truth_is_final(f->vmim->phase) || d->confirm)
		return NULL;
	if (d->phase != MIGRATION_FAILED) {
		LAW(must_fail(f) == NULL, "what has to fail does");
		LAW(cond == NULL, "a failure is one");
		return NULL;
	}
	LAW(cond != NULL && cond->message[0] != '\0', "a failure has a cause");
	while (i < ARRAY_LEN(causes) &&
	       strcmp(causes[i].code, cond->reason) != 0)
		i++;
	LAW(i < ARRAY_LEN(causes), "a cause has a name that is known");
	LAW(is_half_written(f) ||
		    ((f->vmi != NULL || i < 2) && causes[i].holds(f)),
	    "what is said to be the cause has happened");
	LAW(d->event_count == 1 && d->events[0].warning &&
		    strcmp(d->events[0].reason, EVENT_FAILED_MIGRATION) == 0 &&
		    d->events[0].text[0] != '\0',
	    "a failure has its event");
	LAW(f->machine_text != NULL || !truth_may_be_in_target(f) ||
		    truth_own(f) == NULL || truth_own(f)->failed,
	    "what has begun to move is not given up");
	return NULL;
}

static const char *
about_success(const struct facts *f, const struct decision *d)
{
	bool is_new = !truth_is_final(f->vmim->phase);

	LAW(!f->confirmed || !is_new || !truth_has_arrived(f) ||
		    !truth_machine_lives(f) ||
		    truth_own(f)->target_node[0] == '\0' ||
		    truth_changes_to_come(f) ||
		    d->phase == MIGRATION_SUCCEEDED || does(d, ACTION_STAMP) ||
		    must_fail(f) != NULL || f->target_pod == NULL,
	    "a machine that has arrived has arrived");
	if (d->phase != MIGRATION_SUCCEEDED || !is_new)
		return NULL;
	LAW(truth_has_arrived(f) && !truth_changes_to_come(f) &&
		    truth_machine_lives(f),
	    "it succeeds when the machine has arrived, as it is to be");
	LAW(d->copy_state == (f->vmim->state_uid[0] == '\0'),
	    "how it went is kept");
	LAW(d->event_count == 1 && !d->events[0].warning &&
		    strcmp(d->events[0].reason, EVENT_SUCCESSFUL_MIGRATION) ==
			    0,
	    "a success has its event");
	return NULL;
}

/* Waiting. */

static bool
is_before_pod(const struct facts *f, const struct decision *d)
{
	return d->phase == MIGRATION_PENDING && f->target_pod == NULL;
}

static bool
wait_holds(const struct facts *f, const struct decision *d, const char *reason)
{
	const struct migration_state *s = truth_own(f);
	const struct pod *pod = f->target_pod;
	bool before = is_before_pod(f, d);
	bool between = before || d->phase == MIGRATION_SCHEDULED;
	const struct {
		const char *reason;
		bool holds;
	} waits[] = {
		{ WAITING_CLUSTER_SLOT, before &&
						f->slot == SLOT_CLUSTER_FULL &&
						d->wants == f->slot },
		{ WAITING_SOURCE_SLOT, before && f->slot == SLOT_SOURCE_FULL &&
					       d->wants == f->slot },
		{ WAITING_TARGET_SLOT, d->phase == MIGRATION_SCHEDULED &&
					       d->wants == f->inbound &&
					       f->inbound == SLOT_TARGET_FULL },
		{ WAITING_BACKOFF,
		  before && truth_is_held_back(f) &&
			  d->again_us <= f->now_us + 20 * SECOND },
		{ WAITING_QUOTA, before && f->quota_text != NULL &&
					 d->again_us <= f->quota_until_us },
		{ WAITING_REFUSED, before && f->refused_text != NULL &&
					   d->again_us == f->refused_until_us },
		{ WAITING_UTILITY_VOLUMES,
		  before && f->vmi->utility_volumes &&
			  d->again_us == truth_utility_due_us(f) },
		{ WAITING_BACKUP, before && f->vmi->backup_in_progress },
		{ WAITING_OTHER, between && truth_has_first(f) },
		{ WAITING_PODS, before && f->live_pods > 1 },
		{ WAITING_SOURCE_POD, between && !truth_is_up(f->source_pod) },
		{ WAITING_MACHINE, between && !truth_machine_may_move(f) },
		{ WAITING_SCHEDULING, d->phase == MIGRATION_SCHEDULING &&
					      pod != NULL &&
					      pod->unschedulable },
		{ WAITING_POD_START, (d->phase == MIGRATION_SCHEDULING ||
				      d->phase == MIGRATION_SCHEDULED) &&
					     (pod == NULL || !pod->ready) },
		{ WAITING_TARGET_PREPARATION,
		  d->phase == MIGRATION_PREPARING_TARGET && s != NULL &&
			  s->target_address[0] == '\0' && !has_moved_on(f) },
		{ WAITING_SOURCE_START,
		  d->phase == MIGRATION_TARGET_READY && !has_moved_on(f) },
		{ WAITING_TRANSFER,
		  d->phase == MIGRATION_RUNNING || truth_has_switched(f) },
		{ WAITING_ABORT,
		  (truth_is_canceled(f) || truth_is_transfer_late(f) ||
		   truth_has_cond(f, COND_ABORT_REQUESTED)) &&
			  !truth_has_switched(f) },
	};

	for (size_t i = 0; i < ARRAY_LEN(waits); i++) {
		if (strcmp(waits[i].reason, reason) == 0)
			return waits[i].holds;
	}
	return false;
}

/* When something is over that nobody tells of. */
static int64_t
next_due_us(const struct facts *f)
{
	int64_t next = INT64_MAX;
	bool counts = !truth_has_switched(f) && !truth_is_canceled(f) &&
		      !truth_has_cond(f, COND_ABORT_REQUESTED);
	int64_t dues[] = { counts ? truth_phase_due_us(f) : INT64_MAX,
			   truth_pod_due_us(f) };

	for (size_t i = 0; i < ARRAY_LEN(dues); i++) {
		if (dues[i] > f->now_us && dues[i] < next)
			next = dues[i];
	}
	return next;
}

static const char *
about_waiting(const struct facts *f, const struct decision *d)
{
	const char *reason = reason_after(f, d, COND_WAITING);
	const struct decision_cond *cond = cond_of(d, COND_WAITING);
	bool acts = d->action_count != 0 || d->confirm;

	if (truth_is_final(f->vmim->phase))
		return NULL;
	if (truth_is_final(d->phase)) {
		LAW(reason == NULL &&
			    reason_after(f, d, COND_UTILITY_VOLUMES) == NULL &&
			    reason_after(f, d, COND_BACKUP) == NULL &&
			    reason_after(f, d, COND_QUOTA) == NULL,
		    "what has ended waits for nothing");
		return NULL;
	}
	if (acts)
		return NULL;
	LAW(d->again_us > f->now_us, "who waits does not turn in circles");
	LAW(reason != NULL || d->again_us != DECISION_NEVER,
	    "nothing is stuck without a word");
	/* What was written and not seen yet is looked for, and not told. */
	if (d->again_us <= f->now_us + SECOND &&
	    ((f->create_sent && f->target_pod == NULL) || f->handoff_sent))
		return NULL;
	LAW(cond == NULL || cond->message[0] != '\0',
	    "who waits says for what");
	LAW(reason != NULL && wait_holds(f, d, reason),
	    "what is waited for is not there yet");
	LAW(d->passed_count != 0 || d->again_us <= next_due_us(f),
	    "no deadline passes unseen");
	LAW(d->phase == MIGRATION_PENDING ||
		    strcmp(reason, WAITING_ABORT) == 0 ||
		    reason_after(f, d, COND_QUOTA) == NULL,
	    "what no longer hinders is no longer said");
	return NULL;
}

static const char *
about_the_end(const struct facts *f, const struct decision *d)
{
	const struct pod *left =
		d->phase == MIGRATION_FAILED && !truth_has_arrived(f)
			? f->target_pod
			: NULL;
	bool open = truth_own(f) != NULL && !truth_own(f)->failed &&
		    !truth_own(f)->completed;

	LAW(!d->copy_state ||
		    (truth_is_final(d->phase) && truth_own(f) != NULL),
	    "only how it went is kept");
	LAW(!d->delete_migration || truth_is_final(f->vmim->phase),
	    "a migration is there until it has ended");
	LAW(!d->delete_migration || !truth_is_canceled(f),
	    "nothing is deleted twice");
	if (!d->remove_finalizer) {
		LAW(!truth_is_final(f->vmim->phase) || !f->confirmed ||
			    !f->vmim->has_finalizer || d->action_count != 0 ||
			    (f->create_sent && f->target_pod == NULL) ||
			    (f->handoff_sent && truth_own(f) == NULL) ||
			    truth_may_be_in_target(f),
		    "the finalizer goes when nothing is left");
		return NULL;
	}
	LAW(truth_is_final(d->phase) && f->vmim->has_finalizer,
	    "the finalizer goes at the end");
	LAW(left == NULL || left->meta.deleted_us != 0 ||
		    (f->vmi != NULL && truth_is_at(left, f->vmi->node)) ||
		    (f->machine_text != NULL && !truth_is_up(left)),
	    "the finalizer stays until no pod is left");
	LAW(d->phase != MIGRATION_FAILED || !open,
	    "the finalizer stays until the nodes know");
	LAW(!f->create_sent || f->target_pod != NULL,
	    "the finalizer stays until it is known whether there is a pod");
	return NULL;
}

const char *
laws_broken(const struct facts *f, const struct decision *d)
{
	static const char *(*const laws[])(const struct facts *f,
					   const struct decision *d) = {
		about_confirming,     about_phases,      about_stamps,
		about_the_target_pod, about_the_handoff, about_the_nodes,
		about_pods,           about_failing,     about_success,
		about_waiting,        about_the_end,
	};

	for (size_t i = 0; i < ARRAY_LEN(laws); i++) {
		const char *broken = laws[i](f, d);

		if (broken != NULL)
			return broken;
	}
	return NULL;
}
