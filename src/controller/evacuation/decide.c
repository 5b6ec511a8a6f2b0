/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/evacuation/decide.h"

#include <string.h>

#include "api/names.h"
#include "meta/time.h"

bool
evacuation_is_due(const struct evacuation_facts *facts)
{
	const struct vmi *vmi = facts->vmi;

	if (*vmi->node == '\0')
		return false;
	if (strcmp(vmi->evacuation_node, vmi->node) == 0)
		return true;
	return facts->node != NULL &&
	       node_has_taint(facts->node,
			      facts->config->migrations.node_drain_taint_key,
			      "NoSchedule");
}

enum update
update_of(const struct vmi *vmi, const char *launcher_image)
{
	if (vmi->abort_updates)
		return UPDATE_NONE;
	if (conds_find(&vmi->conds, COND_HOT_VCPU) != NULL ||
	    conds_is_true(&vmi->conds, COND_HOT_MEMORY) ||
	    conds_is_true(&vmi->conds, COND_MIGRATION_REQUIRED) ||
	    conds_is_true(&vmi->conds, COND_VOLUMES_CHANGE))
		return UPDATE_CHANGE;
	if (*vmi->launcher_image != '\0' &&
	    strcmp(vmi->launcher_image, launcher_image) != 0)
		return UPDATE_LAUNCHER;
	return UPDATE_NONE;
}

static bool
has_migration(const struct evacuation_facts *facts)
{
	for (size_t i = 0; i < facts->vmim_count; i++) {
		if (!vmim_is_final(facts->vmims[i]))
			return true;
	}
	return false;
}

/* Of the newest migration that has ended. */
static const char *
last_uid(const struct evacuation_facts *facts)
{
	const struct vmim *last = NULL;

	for (size_t i = 0; i < facts->vmim_count; i++) {
		const struct vmim *vmim = facts->vmims[i];

		if (last == NULL ||
		    vmim->meta.created_us > last->meta.created_us ||
		    (vmim->meta.created_us == last->meta.created_us &&
		     strcmp(vmim->meta.uid, last->meta.uid) > 0))
			last = vmim;
	}
	return last == NULL ? "" : last->meta.uid;
}

/* Why it is not the time, or not for the system to decide; NULL: it is. */
static const char *
obstacle(const struct evacuation_facts *facts)
{
	const struct vmi *vmi = facts->vmi;

	if (objmeta_is_deleting(&vmi->meta) || vmi->phase != VMI_RUNNING)
		return "not-running";
	if (has_migration(facts))
		return "has-migration";
	if (vmi_is_migrating(vmi, facts->now_us))
		return "migrating";
	return NULL;
}

static bool
may_leave(const struct evacuation_facts *facts)
{
	enum eviction_strategy strategy =
		vmi_eviction(facts->vmi, facts->config);

	return strategy == EVICTION_LIVE_MIGRATE ||
	       strategy == EVICTION_LIVE_MIGRATE_IF_POSSIBLE;
}

static void
create(const struct evacuation_facts *facts, struct evacuation_decision *d,
       enum evacuation_kind kind, enum migration_priority priority)
{
	if (!facts->confirmed) {
		d->confirm = true;
		return;
	}
	d->create = kind;
	d->priority = priority;
	d->seed = last_uid(facts);
}

static void
decide_leaving(const struct evacuation_facts *facts,
	       struct evacuation_decision *d)
{
	if (!conds_is_true(&facts->vmi->conds, COND_LIVE_MIGRATABLE)) {
		d->rule = "not-migratable";
		d->complain = true;
		d->again_us = facts->now_us +
			      EVACUATION_COMPLAIN_S * TIME_US_PER_SECOND;
		return;
	}
	d->rule = "leaves";
	create(facts, d, EVACUATION_LEAVE,
	       facts->vmi->from_descheduler ? PRIORITY_SYSTEM_MAINTENANCE
					    : PRIORITY_SYSTEM_CRITICAL);
}

static void
decide_update(const struct evacuation_facts *facts,
	      struct evacuation_decision *d)
{
	d->rule = "update";
	create(facts, d, EVACUATION_UPDATE,
	       facts->update == UPDATE_CHANGE ? PRIORITY_USER_TRIGGERED
					      : PRIORITY_SYSTEM_CRITICAL);
}

void
evacuation_decide(const struct evacuation_facts *facts,
		  struct evacuation_decision *ret_decision)
{
	struct evacuation_decision *d = ret_decision;
	bool leaves = evacuation_is_due(facts) && may_leave(facts);

	*d = (struct evacuation_decision){
		.rule = "stays",
		.seed = "",
		.again_us = EVACUATION_NEVER,
	};
	if (!leaves && facts->update == UPDATE_NONE)
		return;
	d->rule = obstacle(facts);
	if (d->rule != NULL)
		return;
	/* A pod of an earlier migration would only hold the next one up. */
	if (facts->live_pods > 1) {
		d->rule = "several-pods";
		d->again_us =
			facts->now_us + EVACUATION_PODS_S * TIME_US_PER_SECOND;
		return;
	}
	if (leaves)
		decide_leaving(facts, d);
	else
		decide_update(facts, d);
}
