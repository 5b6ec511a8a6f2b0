/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/migration/decide.h"

#include <string.h>

#include "api/names.h"
#include "base/array.h"
#include "controller/migration/gc.h"
#include "controller/migration/ladder.h"
#include "controller/migration/steps.h"
#include "meta/time.h"

static void
ask_to_confirm(struct decision *d, const struct facts *f, const char *rule)
{
	memset(d, 0, sizeof(*d));
	d->rule = rule;
	d->confirm = true;
	d->phase = f->vmim->phase;
	d->again_us = DECISION_NEVER;
}

static void
drop_waiting(struct decision *d, const struct facts *f)
{
	decision_drop_cond(d, f, COND_WAITING);
	decision_drop_cond(d, f, COND_UTILITY_VOLUMES);
	decision_drop_cond(d, f, COND_BACKUP);
	decision_drop_cond(d, f, COND_QUOTA);
}

/* What the machine's state is told, so that the nodes give up too. */
static const char *
failure_told(const struct rung *rung, const struct facts *f)
{
	const struct cond *cond = conds_find(&f->vmim->conds, COND_FAILURE);

	if (rung != NULL)
		return rung->told[0] != '\0' ? rung->told : rung->text;
	return cond != NULL ? cond->message : "Migration has failed";
}

static void
fail_state(struct decision *d, const struct facts *f, const char *told)
{
	struct action *action = decision_act(d, ACTION_FAIL_STATE);

	action->text = told;
	action_event(action, EVENT_FAILED_MIGRATION,
		     "VirtualMachineInstance migration uid %s failed. reason: "
		     "%s",
		     f->vmim->meta.uid, told);
	action->event.on_vmi = true;
	action->event.warning = true;
}

/* Where a machine that lives may be is for the nodes to say; as long as it has
 * not switched they can still stop. */
static void
tell_nodes(struct decision *d, const struct facts *f, const char *told)
{
	bool lives = f->vmi != NULL && !vmi_is_final(f->vmi) &&
		     f->target_pod != NULL && !pod_is_down(f->target_pod);

	if (!lives || !facts_needs_target(f))
		fail_state(d, f, told);
	else if (!facts_is_switched(f) && !facts_state(f)->abort_requested)
		(void)decision_act(d, ACTION_ABORT);
}

/* The pod that the machine is not in now; NULL: none. */
static const struct pod *
leftover_pod(const struct decision *d, const struct facts *f)
{
	/* A machine can arrive and end before its migration says so. */
	if (d->phase == MIGRATION_FAILED && !facts_is_done(f))
		return facts_needs_target(f) ? NULL : f->target_pod;
	/* Only the state of this migration says which one it left. */
	if (f->source_pod == NULL || f->vmi == NULL || facts_state(f) == NULL ||
	    strcmp(f->source_pod->meta.name, facts_state(f)->source_pod) != 0 ||
	    strcmp(f->source_pod->node, f->vmi->node) == 0)
		return NULL;
	return f->source_pod;
}

static void
delete_pod(struct decision *d, const struct facts *f, const struct pod *pod,
	   const char *code)
{
	static const struct {
		const char *code, *format;
	} texts[] = {
		{ FAILURE_UNSCHEDULABLE_TIMEOUT, "unschedulable pod" },
		{ FAILURE_PENDING_TIMEOUT, "pending pod" },
	};
	struct action *action = decision_act(d, ACTION_DELETE_POD);
	const char *ns = pod->meta.ns, *name = pod->meta.name;

	action->pod = pod;
	action->failed_reason = EVENT_FAILED_DELETE;
	if (d->phase == MIGRATION_FAILED && facts_is_canceled(f)) {
		action_event(action, EVENT_SUCCESSFUL_DELETE,
			     "migration canceled and pod %s/%s is deleted", ns,
			     name);
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		if (strcmp(code, texts[i].code) == 0)
			action_event(action, EVENT_SUCCESSFUL_DELETE,
				     "%s %s/%s timeout period exceeded",
				     texts[i].format, ns, name);
	}
}

/*
 * What is to be done after the end, in as many goes as it takes: the state of
 * the machine, the pod that is left, the copy of the state, the finalizer. The
 * finalizer stays until nothing else is left.
 */
static void
settle(struct decision *d, const struct facts *f, const struct rung *rung)
{
	const struct migration_state *state = facts_state(f);
	const struct pod *pod;
	bool settled = true;

	if (d->phase == MIGRATION_FAILED && state != NULL && !state->failed &&
	    !state->completed) {
		tell_nodes(d, f, failure_told(rung, f));
		settled = false;
	}
	if (state == NULL && f->handoff_sent && f->vmi != NULL) {
		decision_again(d, f->now_us + TIME_US_PER_SECOND);
		settled = false;
	}
	if (f->create_sent && f->target_pod == NULL) {
		decision_again(d, f->now_us + TIME_US_PER_SECOND);
		settled = false;
	}
	/* Until somebody has mended it nobody knows which pod it is in. */
	if (f->machine_text != NULL && facts_needs_target(f))
		settled = false;
	pod = leftover_pod(d, f);
	if (pod != NULL && !objmeta_is_deleting(&pod->meta)) {
		delete_pod(d, f, pod, rung == NULL ? "" : rung->code);
		settled = false;
	}
	if (state != NULL && (state->failed || state->completed) &&
	    f->vmim->state_uid[0] == '\0')
		d->copy_state = true;
	if (!settled)
		return;
	/* A pod that the cache does not show would be left behind. */
	if (f->vmim->has_finalizer && !f->confirmed) {
		decision_again(d, f->now_us);
		return;
	}
	d->remove_finalizer = f->vmim->has_finalizer;
	d->delete_migration = gc_is_surplus(f) ||
			      (f->vmi == NULL && f->machine_text == NULL &&
			       vmim_is_final(f->vmim) &&
			       !objmeta_is_deleting(&f->vmim->meta));
}

static void
fail(struct decision *d, const struct facts *f, const struct rung *rung)
{
	const char *detail = ladder_detail(rung, f);
	bool sentence = rung->text[strlen(rung->text) - 1] == '.';

	if (facts_is_canceled(f))
		steps_set_abort(f, d);
	if (vmim_is_decentralized(f->vmim))
		(void)decision_set_cond(d, f, COND_DECENTRALIZED_BLOCKED,
					rung->code, "%s", rung->text);
	(void)decision_set_cond(d, f, COND_FAILURE, ladder_code(rung, f),
				"%s%s%s", rung->text,
				detail[0] == '\0' ? ""
				: sentence        ? " "
						  : ": ",
				detail);
	decision_enter(d, MIGRATION_FAILED);
	decision_emit(d, false, EVENT_FAILED_MIGRATION, "%s", rung->text);
	settle(d, f, rung);
	drop_waiting(d, f);
}

static void
succeed(struct decision *d, const struct facts *f)
{
	decision_emit(d, false, EVENT_SUCCESSFUL_MIGRATION,
		      "Source node reported migration succeeded");
	d->events[d->event_count - 1].warning = false;
	/* It may have arrived between two looks. */
	steps_mark_ready(f, d);
	settle(d, f, NULL);
	drop_waiting(d, f);
}

static bool
needs_stamp(const struct vmim *vmim)
{
	return !objmeta_is_deleting(&vmim->meta) &&
	       (!vmim->has_finalizer || !vmim->has_observed_versions ||
		strcmp(vmim->vmi_label, vmim->vmi_name) != 0);
}

static void
decide_ended(const struct facts *f, struct decision *d)
{
	/* Without its machine it is deleted: better be sure. */
	if (f->vmi == NULL && !f->confirmed) {
		ask_to_confirm(d, f, "ended");
		return;
	}
	d->rule = "ended";
	settle(d, f, NULL);
	if (d->again_us <= f->now_us)
		ask_to_confirm(d, f, "ended");
}

void
decide(const struct facts *facts, struct decision *ret_decision)
{
	struct decision *d = ret_decision;
	const struct rung *rung;

	memset(d, 0, sizeof(*d));
	d->phase = facts->vmim->phase;
	d->again_us = DECISION_NEVER;
	if (vmim_is_final(facts->vmim)) {
		decide_ended(facts, d);
		return;
	}
	rung = ladder_find(facts);
	if (rung != NULL && rung->confirm && !facts->confirmed) {
		ask_to_confirm(d, facts, rung->name);
		return;
	}
	if (rung != NULL) {
		d->rule = rung->name;
		fail(d, facts, rung);
		return;
	}
	if (needs_stamp(facts->vmim)) {
		d->rule = "stamp";
		(void)decision_act(d, ACTION_STAMP);
		return;
	}
	steps_advance(facts, d);
	if (d->phase == MIGRATION_SUCCEEDED) {
		succeed(d, facts);
		return;
	}
	/* One at a time: of two that begin, one may not be seen yet. */
	if ((facts->vmim->phase == MIGRATION_UNSET && !facts->confirmed) ||
	    !steps_act(facts, d))
		ask_to_confirm(d, facts, d->rule);
}
