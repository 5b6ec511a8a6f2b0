/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/evacuation/plan.h"

#include "api/names.h"
#include "meta/time.h"

/* What its migration was for is gone, and the guest is not over there yet. */
static bool
is_moot(const struct plan_candidate *c)
{
	const struct migration_state *state = c->vmi->migration;

	if (!c->has_update || c->update != UPDATE_NONE)
		return false;
	return c->vmi->abort_updates || state == NULL ||
	       state->domain_ready_us == 0;
}

static bool
runs(const struct vmi *vmi)
{
	return vmi->phase == VMI_RUNNING && !objmeta_is_deleting(&vmi->meta);
}

static enum plan_verdict
judge(const struct plan_facts *facts, const struct plan_candidate *c)
{
	bool migratable = conds_is_true(&c->vmi->conds, COND_LIVE_MIGRATABLE);

	if (is_moot(c))
		return PLAN_ABORT;
	if (c->update == UPDATE_NONE || c->has_migration || c->claimed)
		return PLAN_WAIT;
	if (facts->config->methods_live_migrate && migratable)
		return PLAN_MIGRATE;
	return facts->config->methods_evict ? PLAN_EVICT : PLAN_WAIT;
}

/* How many may be evicted now. */
static size_t
batch(const struct plan_facts *facts)
{
	int64_t next_us = facts->last_batch_us +
			  facts->config->evict_interval_s * TIME_US_PER_SECOND;

	if (facts->last_batch_us != 0 && facts->now_us < next_us)
		return 0;
	return facts->config->evict_batch;
}

void
plan_make(const struct plan_facts *facts, enum plan_verdict *verdicts,
	  struct plan *ret_plan)
{
	size_t limit = facts->config->migrations.parallel_cluster;
	size_t migrations = limit > facts->running ? limit - facts->running : 0;
	size_t evictions = batch(facts);
	/* Without the object nobody has asked for updates. */
	bool acts = facts->config->deployed && facts->config->meta.name != NULL;

	*ret_plan = (struct plan){ .evicts = false };
	for (size_t i = 0; i < facts->count; i++) {
		const struct plan_candidate *c = &facts->candidates[i];
		enum plan_verdict verdict =
			runs(c->vmi) ? judge(facts, c) : PLAN_WAIT;

		if (runs(c->vmi) && c->update != UPDATE_NONE)
			ret_plan->outdated++;
		if (!acts) {
			verdicts[i] = PLAN_WAIT;
			continue;
		}
		if (verdict != PLAN_WAIT)
			ret_plan->unfinished = true;
		if (verdict == PLAN_MIGRATE && migrations > 0)
			migrations--;
		else if (verdict == PLAN_EVICT && evictions > 0)
			evictions--;
		else if (verdict != PLAN_ABORT)
			verdict = PLAN_WAIT;
		if (verdict == PLAN_EVICT)
			ret_plan->evicts = true;
		verdicts[i] = verdict;
	}
}
