/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/migration/testtruth.h"

#include <string.h>

#include "api/names.h"
#include "base/array.h"
#include "meta/time.h"

#define SECOND TIME_US_PER_SECOND

const struct migration_state *
truth_own(const struct facts *f)
{
	if (f->vmi == NULL || f->vmi->migration == NULL ||
	    strcmp(f->vmi->migration->uid, f->vmim->meta.uid) != 0)
		return NULL;
	return f->vmi->migration;
}

bool
truth_is_canceled(const struct facts *f)
{
	return f->vmim->meta.deleted_us != 0;
}

bool
truth_is_final(enum migration_phase phase)
{
	return phase == MIGRATION_SUCCEEDED || phase == MIGRATION_FAILED;
}

bool
truth_is_up(const struct pod *pod)
{
	return pod != NULL && pod->phase != POD_SUCCEEDED &&
	       pod->phase != POD_FAILED;
}

bool
truth_machine_lives(const struct facts *f)
{
	return f->vmi != NULL && f->vmi->phase != VMI_SUCCEEDED &&
	       f->vmi->phase != VMI_FAILED;
}

bool
truth_is_with_nodes(const struct facts *f)
{
	enum migration_phase phase = f->vmim->phase;

	return f->handoff_sent || phase == MIGRATION_PREPARING_TARGET ||
	       phase == MIGRATION_TARGET_READY || phase == MIGRATION_RUNNING ||
	       (truth_own(f) != NULL && truth_own(f)->target_node[0] != '\0');
}

static bool
has_started(const struct facts *f)
{
	return truth_own(f) != NULL && !truth_own(f)->failed &&
	       truth_own(f)->start_us != 0;
}

bool
truth_has_switched(const struct facts *f)
{
	const struct migration_state *s = truth_own(f);

	return s != NULL && !s->failed &&
	       (s->completed || s->domain_ready_us != 0 || s->end_us != 0 ||
		s->mode == MODE_POST_COPY);
}

bool
truth_has_arrived(const struct facts *f)
{
	return truth_own(f) != NULL && truth_own(f)->completed &&
	       !truth_own(f)->failed;
}

bool
truth_changes_to_come(const struct facts *f)
{
	for (size_t i = 0; i < f->vmi->conds.len; i++) {
		const struct cond *c = &f->vmi->conds.list[i];

		if (strcmp(c->type, COND_HOT_VCPU) == 0 ||
		    (c->status == COND_TRUE &&
		     (strcmp(c->type, COND_HOT_MEMORY) == 0 ||
		      strcmp(c->type, COND_MIGRATION_REQUIRED) == 0)))
			return true;
	}
	return false;
}

bool
truth_is_at(const struct pod *pod, const char *node)
{
	return node[0] != '\0' && strcmp(pod->node, node) == 0;
}

bool
truth_may_be_in_target(const struct facts *f)
{
	if (!truth_is_up(f->target_pod))
		return false;
	if (f->machine_text != NULL)
		return true;
	if (!truth_machine_lives(f))
		return false;
	if (has_started(f) || truth_has_switched(f))
		return true;
	/* Where it runs, unless it is known to run there in another one. */
	return truth_is_at(f->target_pod, f->vmi->node) &&
	       (truth_is_with_nodes(f) || !truth_is_up(f->source_pod) ||
		!truth_is_at(f->source_pod, f->vmi->node));
}

bool
truth_may_be_in_source(const struct facts *f)
{
	return f->machine_text != NULL ||
	       (truth_machine_lives(f) &&
		truth_is_at(f->source_pod, f->vmi->node));
}

static int64_t
due_us(int64_t since_us, int64_t own_s, int64_t cluster_s)
{
	int64_t limit_s = own_s == VMIM_TIMEOUT_UNSET ? cluster_s : own_s;

	return limit_s == 0 ? INT64_MAX : since_us + limit_s * SECOND;
}

int64_t
truth_phase_due_us(const struct facts *f)
{
	const struct migration_deadlines *m = &f->vmim->deadlines;
	const struct migration_deadlines *all = &f->config->deadlines;
	int64_t since_us = f->vmim->phase_since_us[f->vmim->phase];

	if (since_us == 0)
		since_us = f->vmim->meta.created_us;
	if (f->vmim->phase == MIGRATION_SCHEDULED)
		return due_us(since_us, m->scheduled_s, all->scheduled_s);
	if (f->vmim->phase == MIGRATION_PREPARING_TARGET)
		return due_us(since_us, m->preparing_s, all->preparing_s);
	if (f->vmim->phase == MIGRATION_TARGET_READY)
		return due_us(since_us, m->ready_s, all->ready_s);
	if (f->vmim->phase == MIGRATION_RUNNING)
		return due_us(since_us, m->running_s, all->running_s);
	return INT64_MAX;
}

int64_t
truth_pod_due_us(const struct facts *f)
{
	const struct migration_deadlines *m = &f->vmim->deadlines;
	const struct migration_deadlines *all = &f->config->deadlines;
	const struct pod *pod = f->target_pod;
	int64_t pending, unschedulable;

	if (!truth_is_up(pod) || pod->ready || truth_is_with_nodes(f))
		return INT64_MAX;
	pending = due_us(pod->meta.created_us, m->pending_s, all->pending_s);
	unschedulable = due_us(pod->meta.created_us, m->unschedulable_s,
			       all->unschedulable_s);
	return pod->unschedulable && unschedulable < pending ? unschedulable
							     : pending;
}

int64_t
truth_utility_due_us(const struct facts *f)
{
	return due_us(f->vmim->meta.created_us, f->vmim->utility_timeout_s,
		      f->config->migrations.utility_timeout_s);
}

bool
truth_is_transfer_late(const struct facts *f)
{
	return f->vmim->phase == MIGRATION_RUNNING &&
	       f->now_us >= truth_phase_due_us(f);
}

bool
truth_has_cond(const struct facts *f, const char *type)
{
	for (size_t i = 0; i < f->vmim->conds.len; i++) {
		if (strcmp(f->vmim->conds.list[i].type, type) == 0)
			return true;
	}
	return false;
}

/* Another migration of the machine that goes on, or was there first. */
static bool
goes_first(const struct facts *f, const struct vmim *other)
{
	bool is_new = f->vmim->phase == MIGRATION_UNSET;
	int64_t age = other->meta.created_us - f->vmim->meta.created_us;

	if (truth_is_final(other->phase))
		return false;
	if (f->vmi->migration != NULL &&
	    strcmp(f->vmi->migration->uid, other->meta.uid) == 0)
		return true;
	if (!is_new)
		return false;
	return other->phase != MIGRATION_UNSET ||
	       (!f->begun &&
		(age < 0 ||
		 (age == 0 && strcmp(other->meta.uid, f->vmim->meta.uid) < 0)));
}

bool
truth_has_first(const struct facts *f)
{
	for (size_t i = 0; i < f->other_count; i++) {
		if (goes_first(f, f->others[i]))
			return true;
	}
	return f->vmim->phase == MIGRATION_UNSET && !f->begun && f->other_begun;
}

bool
truth_is_held_back(const struct facts *f)
{
	const struct vmim *m = f->vmim;

	if ((!m->evacuation && !m->workload_update) || m->ignores_backoff)
		return false;
	for (size_t i = 0; i < f->other_count; i++) {
		const struct vmim *o = f->others[i];
		int64_t age = o->meta.created_us - m->meta.created_us;

		/* Who is followed by another is not. */
		if (age > 0 || (age == 0 && !truth_is_final(o->phase) &&
				strcmp(o->meta.uid, m->meta.uid) > 0))
			return false;
	}
	for (size_t i = 0; i < f->other_count; i++) {
		const struct vmim *o = f->others[i];

		if (o->evacuation && o->phase == MIGRATION_FAILED &&
		    o->phase_since_us[o->phase] + 20 * SECOND > f->now_us)
			return true;
	}
	return false;
}

bool
truth_machine_may_move(const struct facts *f)
{
	return f->vmi != NULL && f->vmi->phase == VMI_RUNNING &&
	       f->vmi->meta.deleted_us == 0 && truth_is_up(f->source_pod);
}

bool
truth_is_immovable(const struct facts *f)
{
	if (f->disks_text != NULL)
		return true;
	for (size_t i = 0; i < f->vmi->conds.len; i++) {
		const struct cond *c = &f->vmi->conds.list[i];

		if (strcmp(c->type, COND_LIVE_MIGRATABLE) == 0 &&
		    c->status == COND_FALSE)
			return true;
	}
	return false;
}
