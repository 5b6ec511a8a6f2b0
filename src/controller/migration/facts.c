/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/migration/facts.h"

#include <string.h>

#include "api/names.h"
#include "meta/time.h"

const struct migration_state *
facts_state(const struct facts *facts)
{
	const struct migration_state *state =
		facts->vmi == NULL ? NULL : facts->vmi->migration;

	if (state == NULL || strcmp(state->uid, facts->vmim->meta.uid) != 0)
		return NULL;
	return state;
}

bool
facts_is_handed_off(const struct facts *facts)
{
	return migration_phase_is_handed_off(facts->vmim->phase) ||
	       facts->handoff_sent ||
	       (facts->vmi != NULL &&
		vmi_is_handed_to(facts->vmi, facts->vmim->meta.uid));
}

bool
facts_is_done(const struct facts *facts)
{
	const struct migration_state *state = facts_state(facts);

	return state != NULL && state->completed && !state->failed;
}

bool
facts_is_switched(const struct facts *facts)
{
	const struct migration_state *state = facts_state(facts);

	return state != NULL && !state->failed &&
	       (state->completed || state->domain_ready_us != 0 ||
		state->end_us != 0 || state->mode == MODE_POST_COPY);
}

bool
facts_may_be_switched(const struct facts *facts)
{
	const struct migration_state *state = facts_state(facts);

	return facts_is_switched(facts) ||
	       (state != NULL && !state->failed && state->start_us != 0);
}

bool
facts_is_canceled(const struct facts *facts)
{
	return objmeta_is_deleting(&facts->vmim->meta);
}

bool
facts_is_unwanted(const struct facts *facts)
{
	const struct vmim *vmim = facts->vmim;

	if (facts_is_canceled(facts) ||
	    conds_is_true(&vmim->conds, COND_ABORT_REQUESTED))
		return true;
	return vmim->phase == MIGRATION_RUNNING && !facts_is_switched(facts) &&
	       facts->now_us >= facts_phase_due_us(facts);
}

/* Times are in seconds: of two within one the name decides. */
static bool
is_older(const struct vmim *a, const struct vmim *b)
{
	if (a->meta.created_us != b->meta.created_us)
		return a->meta.created_us < b->meta.created_us;
	return strcmp(a->meta.uid, b->meta.uid) < 0;
}

bool
facts_has_rival(const struct facts *facts)
{
	const struct vmim *vmim = facts->vmim;
	bool is_new = vmim->phase == MIGRATION_UNSET;

	if (is_new && !facts->begun && facts->other_begun)
		return true;
	for (size_t i = 0; i < facts->other_count; i++) {
		const struct vmim *other = facts->others[i];

		if (vmim_is_final(other))
			continue;
		/* Which of those that have begun is first was decided when
		 * they began. */
		if (is_new && (other->phase != MIGRATION_UNSET ||
			       (!facts->begun && is_older(other, vmim))))
			return true;
		if (facts->vmi != NULL && facts->vmi->migration != NULL &&
		    strcmp(facts->vmi->migration->uid, other->meta.uid) == 0)
			return true;
	}
	return false;
}

static bool
is_on_node(const struct pod *pod, const char *node)
{
	return pod != NULL && pod->node[0] != '\0' &&
	       strcmp(pod->node, node) == 0;
}

/* After the hand-off the machine can be in either, whatever else is known. */
bool
facts_is_on_source(const struct facts *facts)
{
	return facts->vmi != NULL && !facts_is_handed_off(facts) &&
	       is_on_node(facts->target_pod, facts->vmi->node) &&
	       is_on_node(facts->source_pod, facts->vmi->node) &&
	       (!pod_is_down(facts->source_pod) || vmi_is_final(facts->vmi));
}

bool
facts_needs_target(const struct facts *facts)
{
	const struct pod *pod = facts->target_pod;

	if (pod == NULL)
		return false;
	/* Nobody knows where it is. */
	if (facts->machine_text != NULL)
		return !pod_is_down(pod);
	if (facts->vmi == NULL)
		return false;
	return (facts_may_be_switched(facts) && !vmi_is_final(facts->vmi) &&
		!pod_is_down(pod)) ||
	       (is_on_node(pod, facts->vmi->node) &&
		!facts_is_on_source(facts));
}

int64_t
facts_due_us(int64_t from_us, int64_t limit_s)
{
	if (limit_s <= 0 || limit_s > INT64_MAX / TIME_US_PER_SECOND / 2)
		return INT64_MAX;
	return from_us + limit_s * TIME_US_PER_SECOND;
}

static int64_t
phase_limit_s(const struct migration_deadlines *deadlines,
	      enum migration_phase phase)
{
	const int64_t limits[MIGRATION_PHASE_COUNT] = {
		[MIGRATION_SCHEDULED] = deadlines->scheduled_s,
		[MIGRATION_PREPARING_TARGET] = deadlines->preparing_s,
		[MIGRATION_TARGET_READY] = deadlines->ready_s,
		[MIGRATION_RUNNING] = deadlines->running_s,
	};

	return limits[phase];
}

int64_t
facts_phase_due_us(const struct facts *facts)
{
	const struct migration_deadlines deadlines =
		vmim_deadlines(facts->vmim, facts->config);
	enum migration_phase phase = facts->vmim->phase;
	int64_t since = facts->vmim->phase_since_us[phase];

	/* Somebody wrote the phase and not its time: it still has an end. */
	if (since == 0)
		since = facts->vmim->meta.created_us;
	return facts_due_us(since, phase_limit_s(&deadlines, phase));
}

int64_t
facts_pod_due_us(const struct facts *facts, bool *ret_unschedulable)
{
	const struct migration_deadlines deadlines =
		vmim_deadlines(facts->vmim, facts->config);
	const struct pod *pod = facts->target_pod;
	int64_t pending, unschedulable;

	*ret_unschedulable = false;
	if (pod == NULL || pod->ready || pod_is_down(pod))
		return INT64_MAX;
	pending = facts_due_us(pod->meta.created_us, deadlines.pending_s);
	if (!pod->unschedulable)
		return pending;
	unschedulable =
		facts_due_us(pod->meta.created_us, deadlines.unschedulable_s);
	*ret_unschedulable = unschedulable <= pending;
	return *ret_unschedulable ? unschedulable : pending;
}

int64_t
facts_utility_due_us(const struct facts *facts)
{
	int64_t own = facts->vmim->utility_timeout_s;

	return facts_due_us(
		facts->vmim->meta.created_us,
		own != VMIM_TIMEOUT_UNSET
			? own
			: facts->config->migrations.utility_timeout_s);
}

int64_t
facts_abort_due_us(const struct facts *facts)
{
	const struct cond *cond =
		conds_find(&facts->vmim->conds, COND_ABORT_REQUESTED);

	return cond == NULL
		       ? INT64_MAX
		       : facts_due_us(cond->since_us, FACTS_ABORT_ANSWER_S);
}
