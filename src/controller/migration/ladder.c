/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/migration/ladder.h"

#include <string.h>

#include "api/names.h"
#include "base/array.h"

static bool
machine_unreadable(const struct facts *f)
{
	return f->machine_text != NULL;
}

static bool
machine_gone(const struct facts *f)
{
	return f->vmi == NULL;
}

static bool
machine_ended(const struct facts *f)
{
	return vmi_is_final(f->vmi);
}

/* Others do not come into the phases of one, and nothing leads out of them. */
static bool
decentralized(const struct facts *f)
{
	return vmim_is_decentralized(f->vmim) ||
	       f->vmim->phase == MIGRATION_WAITING_FOR_SYNC ||
	       f->vmim->phase == MIGRATION_SYNCHRONIZING;
}

static bool
canceled_early(const struct facts *f)
{
	return facts_is_canceled(f) && !facts_is_handed_off(f);
}

/* The nodes have said how it went: what becomes of the pod follows from that
 * and is no reason. */
static bool
is_told(const struct facts *f)
{
	const struct migration_state *state = facts_state(f);

	return state != NULL && (state->completed || state->failed);
}

static bool
target_ended(const struct facts *f)
{
	return f->target_pod != NULL && pod_is_down(f->target_pod) &&
	       !is_told(f);
}

static bool
target_removed(const struct facts *f)
{
	return f->target_pod == NULL && !is_told(f) &&
	       migration_phase_is_running(f->vmim->phase);
}

static bool
state_cleared(const struct facts *f)
{
	return migration_phase_is_handed_off(f->vmim->phase) &&
	       (f->vmi->migration == NULL || f->vmi->migration->uid[0] == '\0');
}

static bool
state_taken(const struct facts *f)
{
	return migration_phase_is_handed_off(f->vmim->phase) &&
	       facts_state(f) == NULL;
}

static bool
node_failed(const struct facts *f)
{
	const struct migration_state *state = facts_state(f);

	return state != NULL && state->failed;
}

/* One that was handed off was first, whatever has been written of it. */
static bool
rival(const struct facts *f)
{
	return f->vmim->phase == MIGRATION_UNSET && !facts_is_handed_off(f) &&
	       facts_has_rival(f);
}

/* Admission looks at this too; a machine can become so while it waits. */
static bool
not_migratable(const struct facts *f)
{
	return f->vmim->phase <= MIGRATION_PENDING && f->target_pod == NULL &&
	       !f->create_sent &&
	       (f->disks_text != NULL ||
		conds_is_false(&f->vmi->conds, COND_LIVE_MIGRATABLE));
}

/* The source node has been told and so will not begin. */
static bool
canceled_unstarted(const struct facts *f)
{
	const struct migration_state *state = facts_state(f);

	return state != NULL && facts_is_canceled(f) &&
	       state->abort_requested && state->start_us == 0 &&
	       !facts_is_switched(f);
}

static bool
same_node(const struct facts *f)
{
	return facts_is_on_source(f);
}

/* They hinder the pod. Of one that has its pod, or had it, the phase may only
 * not be written yet. */
static bool
utility_late(const struct facts *f)
{
	return f->vmim->phase <= MIGRATION_PENDING && f->vmi->utility_volumes &&
	       f->target_pod == NULL && !facts_is_handed_off(f) &&
	       f->now_us >= facts_utility_due_us(f);
}

static bool
pod_late(const struct facts *f, bool unschedulable)
{
	bool is_unschedulable;
	int64_t due_us = facts_pod_due_us(f, &is_unschedulable);

	return !facts_is_handed_off(f) && f->now_us >= due_us &&
	       is_unschedulable == unschedulable;
}

static bool
unschedulable_late(const struct facts *f)
{
	return pod_late(f, true);
}

static bool
pending_late(const struct facts *f)
{
	return pod_late(f, false);
}

/* One that has moved on, and only does not say so yet, is not late. */
static bool
scheduled_late(const struct facts *f)
{
	return f->vmim->phase == MIGRATION_SCHEDULED &&
	       f->now_us >= facts_phase_due_us(f) &&
	       !vmi_is_handed_to(f->vmi, f->vmim->meta.uid);
}

static bool
preparing_late(const struct facts *f)
{
	return f->vmim->phase == MIGRATION_PREPARING_TARGET &&
	       f->now_us >= facts_phase_due_us(f) &&
	       facts_state(f)->target_address[0] == '\0' &&
	       !facts_may_be_switched(f);
}

static bool
ready_late(const struct facts *f)
{
	return f->vmim->phase == MIGRATION_TARGET_READY &&
	       f->now_us >= facts_phase_due_us(f) &&
	       facts_state(f)->start_us == 0 && !facts_is_switched(f);
}

#define CANCELED_TEXT "Migration failed due to being canceled"
#define REMOVED_TEXT "Migration target pod was removed during active migration."

/*
 * The order is KubeVirt's; what is marked + is added. Rows below one that
 * asks for the machine can rely on it being there, rows below state_taken on
 * the state being of this migration in phases after the hand-off.
 */
static const struct rung ladder[] = {
	{ "machine-unreadable", machine_unreadable, /* + */
	  FAILURE_MACHINE_UNREADABLE,
	  "Migration failed because there is no sense in the machine", "",
	  true },
	{ "machine-gone", machine_gone, FAILURE_MACHINE_GONE,
	  "Migration failed because vmi does not exist.", "", true },
	{ "machine-ended", machine_ended, FAILURE_MACHINE_ENDED,
	  "Migration failed vmi shutdown during migration.",
	  "Machine has ended", true },
	{ "decentralized", decentralized, FAILURE_UNSUPPORTED, /* + */
	  "Migration failed because migrations between namespaces or clusters "
	  "are not supported",
	  "", false },
	{ "canceled", canceled_early, FAILURE_CANCELED, CANCELED_TEXT,
	  "Migration was canceled", true },
	{ "target-ended", target_ended, FAILURE_TARGET_POD_ENDED,
	  "Migration failed because target pod shutdown during migration",
	  LADDER_TARGET_DOWN, true },
	{ "target-removed", target_removed, FAILURE_TARGET_POD_REMOVED,
	  REMOVED_TEXT, LADDER_TARGET_DOWN, true },
	{ "state-cleared", state_cleared, FAILURE_STATE_CLEARED,
	  "VMI's migration state was cleared during the active migration.", "",
	  true },
	{ "state-taken", state_taken, FAILURE_STATE_TAKEN,
	  "VMI's migration state was taken over by another migration job "
	  "during active migration.",
	  "", true },
	{ "node-failed", node_failed, FAILURE_NODE,
	  "source node reported migration failed", "", false },
	{ "rival", rival, FAILURE_RIVAL,
	  "VMI is not eligible for migration because another migration job is "
	  "in progress.",
	  "", true },
	{ "not-migratable", not_migratable, FAILURE_NOT_MIGRATABLE, /* + */
	  "Migration failed because the machine cannot be migrated", "", true },
	{ "canceled-unstarted", canceled_unstarted, FAILURE_CANCELED, /* + */
	  CANCELED_TEXT, "Migration was canceled", true },
	{ "same-node", same_node, FAILURE_SAME_NODE, /* + */
	  "Migration failed because the target pod is on the node that the "
	  "machine runs on",
	  "", true },
	{ "utility-late", utility_late, FAILURE_UTILITY_TIMEOUT,
	  "Migration failed because utility volumes were not detached in time",
	  "", true },
	{ "unschedulable-late", unschedulable_late,
	  FAILURE_UNSCHEDULABLE_TIMEOUT, REMOVED_TEXT, LADDER_TARGET_DOWN,
	  true },
	{ "pending-late", pending_late, FAILURE_PENDING_TIMEOUT, REMOVED_TEXT,
	  LADDER_TARGET_DOWN, true },
	{ "scheduled-late", scheduled_late, FAILURE_SCHEDULED_TIMEOUT, /* + */
	  "Migration failed because it could not be handed to the nodes in "
	  "time",
	  "Hand-off took too long", true },
	{ "preparing-late", preparing_late, FAILURE_PREPARING_TIMEOUT, /* + */
	  "Migration failed because the target node did not prepare in time",
	  "Target node did not prepare in time", true },
	{ "ready-late", ready_late, FAILURE_READY_TIMEOUT, /* + */
	  "Migration failed because the source node did not start it in time",
	  "Source node did not start in time", true },
};

const struct rung *
ladder_find(const struct facts *facts)
{
	for (size_t i = 0; i < ARRAY_LEN(ladder); i++) {
		if (ladder[i].when(facts))
			return &ladder[i];
	}
	return NULL;
}

const struct rung *
ladder_all(size_t *ret_count)
{
	*ret_count = ARRAY_LEN(ladder);
	return ladder;
}

/*
 * A row writes the machine's state first and the migration second. When only
 * the first came about, the state says which row it was.
 */
static const char *
code_of_told(const char *told)
{
	for (size_t i = 0; told[0] != '\0' && i < ARRAY_LEN(ladder); i++) {
		if (strcmp(ladder[i].told, told) == 0)
			return ladder[i].code;
	}
	return NULL;
}

const char *
ladder_code(const struct rung *rung, const struct facts *facts)
{
	const struct cond *abort =
		conds_find(&facts->vmim->conds, COND_ABORT_REQUESTED);
	const char *code;

	if (rung->when != node_failed)
		return rung->code;
	code = code_of_told(facts_state(facts)->failure_reason);
	if (code != NULL)
		return code;
	if (facts_is_canceled(facts))
		return FAILURE_CANCELED;
	if (abort != NULL &&
	    strcmp(abort->reason, FAILURE_RUNNING_TIMEOUT) == 0)
		return FAILURE_RUNNING_TIMEOUT;
	return rung->code;
}

/* What scheduler and kubelet say of the target pod: the pod goes, and its
 * events soon after it. */
static const char *
pod_detail(const struct rung *rung, const struct pod *pod)
{
	const struct cond *scheduled;

	if (rung->when == target_ended)
		return pod->message[0] != '\0' ? pod->message : pod->ended_text;
	if (rung->when == pending_late)
		return pod->waiting_message[0] != '\0' ? pod->waiting_message
						       : pod->waiting_reason;
	scheduled = conds_find(&pod->conds, COND_POD_SCHEDULED);
	return scheduled != NULL ? scheduled->message : "";
}

const char *
ladder_detail(const struct rung *rung, const struct facts *facts)
{
	const struct migration_state *state = facts_state(facts);

	if (facts->target_pod != NULL &&
	    (rung->when == target_ended || rung->when == pending_late ||
	     rung->when == unschedulable_late))
		return pod_detail(rung, facts->target_pod);

	if (rung->when == machine_unreadable)
		return facts->machine_text;
	if (rung->when == not_migratable && facts->disks_text != NULL)
		return facts->disks_text;
	if (rung->when == not_migratable)
		return conds_find(&facts->vmi->conds, COND_LIVE_MIGRATABLE)
			->message;
	return state != NULL && state->failed ? state->failure_reason : "";
}
