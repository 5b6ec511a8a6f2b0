/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/migration/testworld.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "meta/time.h"

struct world live, cache, standby;
int64_t now_us;
bool quota_full;
bool status_lost;
struct slots *slots;
bool create_sent[VMIMS], handoff_sent[VMIMS];
enum migration_phase canceled_in[VMIMS];
unsigned run;

const struct slot_limits limits = { .cluster = 3, .outbound = 2, .inbound = 1 };

char node_names[NODES][4] = { "n0", "n1", "n2", "n3" };
char pod_names[PODS][8], vmim_uids[VMIMS][8];
static char foreign[] = "foreign";
static char no_text[] = "";
static char some_address[] = "10.0.0.1";
static char some_time[] = "2026-01-01T00:00:00Z";

static void
view_vmim(struct views *v, const struct world *w, int i)
{
	const struct mvmim *m = &w->vmims[i];
	struct vmim *view = &v->vmims[i];

	testfacts_vmim(view, vmim_uids[i]);
	view->meta.created_us = m->created_us;
	view->meta.deleted_us = m->deleting ? 1 : 0;
	view->has_finalizer = m->finalizer;
	view->has_observed_versions = m->stamped;
	view->evacuation = m->automatic;
	view->phase = m->phase;
	view->state_uid = m->copied ? vmim_uids[i] : no_text;
	memcpy(view->phase_since_us, m->since_us, sizeof(m->since_us));
	for (size_t k = 0; k < m->cond_count; k++) {
		v->conds[i][k] = (struct cond){
			.type = (char *)(uintptr_t)m->conds[k].type,
			.reason = (char *)(uintptr_t)m->conds[k].reason,
			.message = (char *)(uintptr_t)m->conds[k].message,
			.status = COND_TRUE,
			.since_us = m->conds[k].since_us,
		};
	}
	view->conds.list = v->conds[i];
	view->conds.len = m->cond_count;
}

void
view_pod(struct pod *view, const struct world *w, int i)
{
	const struct mpod *p = &w->pods[i];

	testfacts_pod(view, pod_names[i]);
	view->meta.created_us = p->created_us;
	view->meta.deleted_us = p->deleting ? 1 : 0;
	view->node = p->node == NONE ? no_text : node_names[p->node];
	view->phase = p->down    ? POD_FAILED
		      : p->ready ? POD_RUNNING
				 : POD_PENDING;
	view->ready = p->ready && !p->down && !p->deleting;
	view->unschedulable = p->unschedulable && !p->ready;
	view->migration_uid = p->vmim == NONE ? no_text : vmim_uids[p->vmim];
	if (p->marked)
		view->target_ready = some_time;
}

void
view_state(struct views *v, const struct mstate *s)
{
	testfacts_state(&v->state);
	if (s->vmim == NONE)
		return;
	v->state.uid = s->vmim == FOREIGN ? foreign : vmim_uids[s->vmim];
	v->vmi.migration = &v->state;
	if (s->vmim == FOREIGN)
		return;
	v->state.source_node = node_names[s->source_node];
	v->state.target_node = node_names[s->target_node];
	v->state.source_pod = pod_names[s->source_pod];
	v->state.target_pod = pod_names[s->target_pod];
	v->state.target_address = s->address ? some_address : no_text;
	v->state.target_waits = v->state.source_waits = no_text;
	v->state.abort_requested = s->abort;
	v->state.start_us = s->started ? 1 : 0;
	v->state.domain_ready_us = s->arrived ? 1 : 0;
	v->state.end_us = s->left ? 1 : 0;
	v->state.mode = s->post_copy ? MODE_POST_COPY : MODE_PRE_COPY;
	v->state.completed = s->completed || s->failed;
	v->state.failed = s->failed;
	v->state.failure_reason = (char *)(uintptr_t)s->reason;
}

int
target_pod_of(const struct world *w, int vmim)
{
	for (int i = 0; i < PODS; i++) {
		if (w->pods[i].exists && w->pods[i].vmim == vmim)
			return i;
	}
	return NONE;
}

static void
view_pods(struct views *v, const struct world *w, int i)
{
	int vmi = w->vmims[i].vmi, target = target_pod_of(w, i);
	const struct mvmi *m = &w->vmis[vmi];
	int source = m->state.vmim == i ? m->state.source_pod : m->pod;

	if (target != NONE) {
		view_pod(&v->target, w, target);
		v->f.target_pod = &v->target;
		v->f.inbound = slots_ask_inbound(slots, vmim_uids[i],
						 v->target.node, &limits);
	}
	if (m->exists && w->pods[source].exists) {
		view_pod(&v->source, w, source);
		v->f.source_pod = &v->source;
	}
	for (int k = 0; k < PODS; k++)
		v->f.live_pods += w->pods[k].exists && w->pods[k].vmi == vmi &&
				  !w->pods[k].down && k != target;
}

void
view(struct views *v, const struct world *w, int i, bool confirmed)
{
	const struct mvmi *m = &w->vmis[w->vmims[i].vmi];

	memset(v, 0, sizeof(*v));
	testfacts_config(&v->config);
	v->config.migrations.parallel_cluster = limits.cluster;
	v->config.migrations.parallel_outbound = limits.outbound;
	v->config.parallel_inbound = limits.inbound;
	v->f = (struct facts){
		.now_us = now_us,
		.confirmed = confirmed,
		.config = &v->config,
		.vmim = &v->vmims[i],
		.others = v->others,
		.create_sent = create_sent[i],
		.handoff_sent = handoff_sent[i],
		.quota_text = quota_full ? "exceeded quota" : NULL,
		.quota_until_us = now_us + TIME_US_PER_SECOND,
	};
	for (int k = 0; k < VMIMS; k++) {
		if (!w->vmims[k].exists || w->vmims[k].vmi != w->vmims[i].vmi)
			continue;
		view_vmim(v, w, k);
		if (k != i)
			v->others[v->f.other_count++] = &v->vmims[k];
	}
	if (m->exists) {
		testfacts_vmi(&v->vmi);
		v->vmi.node = node_names[m->node];
		v->vmi.phase = m->ended ? VMI_FAILED : VMI_RUNNING;
		view_state(v, &m->state);
		v->f.vmi = &v->vmi;
		v->f.slot =
			slots_ask(slots, vmim_uids[i], v->vmi.node, &limits);
	}
	view_pods(v, w, i);
}

/* Carrying out decisions. */

static void
create_pod(int i, const struct mvmi *m)
{
	CHECK(target_pod_of(&live, i) == NONE);
	CHECK(m->exists && !live.vmims[i].deleting);
	if (slots_take(slots, vmim_uids[i], node_names[m->node], &limits) !=
	    SLOT_HELD)
		return;
	for (int k = VMIS; k < PODS; k++) {
		if (live.pods[k].exists || cache.pods[k].exists ||
		    standby.pods[k].exists)
			continue;
		live.pods[k] = (struct mpod){ .exists = true,
					      .node = NONE,
					      .vmi = live.vmims[i].vmi,
					      .vmim = i,
					      .created_us = now_us };
		create_sent[i] = true;
		return;
	}
}

static void
hand_off(int i, struct mvmi *m, int pod)
{
	CHECK(!live.vmims[i].deleting && !m->ended);
	CHECK(live.pods[pod].ready && live.pods[pod].node != m->node);
	if (slots_take_inbound(slots, vmim_uids[i],
			       node_names[live.pods[pod].node],
			       &limits) != SLOT_HELD)
		return;
	m->state = (struct mstate){
		.vmim = i,
		.source_pod = m->pod,
		.target_pod = pod,
		.source_node = m->node,
		.target_node = live.pods[pod].node,
	};
	handoff_sent[i] = true;
}

static void
delete_pod(const struct action *action, int i)
{
	int pod = (int)(strtol(action->pod->meta.name + 1, NULL, 10));
	const struct mvmi *m = &live.vmis[live.vmims[i].vmi];

	/* Never the one that the machine is in, even if nobody has said so. */
	CHECK(!m->exists || m->ended || m->pod != pod);
	/* The place of one that is long gone may be another's pod now. */
	if (m->exists && !m->ended && m->state.vmim != NONE &&
	    m->state.vmim == live.pods[pod].vmim &&
	    m->state.target_pod == pod) {
		CHECK(!m->state.moved || live.pods[pod].down);
		/* Nor the one that it may be in. */
		CHECK(!m->state.started || m->state.failed ||
		      live.pods[pod].down);
		CHECK(m->state.failed || !(m->state.arrived || m->state.left));
	}
	live.pods[pod].deleting = true;
}

/* The machine is on the target, at least in part, and alive. */
static bool
is_switched(int i)
{
	const struct mvmi *m = &live.vmis[live.vmims[i].vmi];
	const struct mstate *s = &m->state;

	return m->exists && !m->ended && s->vmim == i && !s->failed &&
	       (s->moved || s->arrived || s->post_copy || s->left ||
		s->completed) &&
	       live.pods[s->target_pod].exists &&
	       live.pods[s->target_pod].vmim == i &&
	       !live.pods[s->target_pod].down;
}

static void
carry_out_action(const struct action *action, int i)
{
	struct mvmi *m = &live.vmis[live.vmims[i].vmi];

	switch (action->kind) {
	case ACTION_STAMP:
		live.vmims[i].stamped = live.vmims[i].finalizer = true;
		break;
	case ACTION_CREATE_TARGET:
		create_pod(i, m);
		break;
	case ACTION_HANDOFF:
		hand_off(i, m, target_pod_of(&live, i));
		break;
	case ACTION_TELL_LEFT:
		/* What a late cache does not show is not gone. */
		CHECK(!live.pods[m->state.source_pod].exists);
		if (m->exists && m->state.vmim == i)
			m->state.left = true;
		break;
	case ACTION_ABORT:
		if (m->exists && m->state.vmim == i)
			m->state.abort = true;
		break;
	case ACTION_FAIL_STATE:
		CHECK(!is_switched(i));
		if (m->exists && m->state.vmim == i && !m->state.completed) {
			m->state.failed = true;
			(void)snprintf(m->state.reason, sizeof(m->state.reason),
				       "%s", action->text);
		}
		break;
	case ACTION_MARK_READY:
		if (target_pod_of(&live, i) != NONE)
			live.pods[target_pod_of(&live, i)].marked = true;
		break;
	case ACTION_DELETE_POD:
		delete_pod(action, i);
		break;
	case ACTION_COUNT:
		fail();
	}
}

static void
write_conds(struct mvmim *m, const struct decision *d)
{
	for (size_t i = 0; i < d->cond_count; i++) {
		const struct decision_cond *cond = &d->conds[i];
		size_t k = 0;

		while (k < m->cond_count &&
		       strcmp(m->conds[k].type, cond->type) != 0)
			k++;
		if (cond->remove) {
			CHECK(k < m->cond_count);
			m->conds[k] = m->conds[--m->cond_count];
			continue;
		}
		if (k == m->cond_count)
			CHECK(++m->cond_count <= ARRAY_LEN(m->conds));
		m->conds[k].type = cond->type;
		m->conds[k].reason = cond->reason;
		m->conds[k].since_us = cond->since_us;
		(void)snprintf(m->conds[k].message, sizeof(m->conds[k].message),
			       "%s", cond->message);
	}
}

static void
check_phases(const struct mvmim *m, const struct decision *d, int i)
{
	enum migration_phase at = m->phase;

	for (size_t k = 0; k < d->passed_count; k++) {
		enum migration_phase to = d->passed[k];
		bool next = at == MIGRATION_UNSET ? to == MIGRATION_PENDING
						  : (int)to == (int)at + 1;

		CHECK(!migration_phase_is_final(at));
		CHECK(next || to == MIGRATION_FAILED);
		/* Once canceled it ends, or had arrived. */
		CHECK(canceled_in[i] == MIGRATION_PHASE_COUNT ||
		      to == MIGRATION_FAILED ||
		      live.vmis[m->vmi].state.completed);
		CHECK(to != MIGRATION_FAILED || !is_switched(i));
		at = to;
	}
}

/* Fails when the migration was changed since it was read. */
static bool
write_status(int i, const struct decision *d, unsigned version)
{
	struct mvmim *m = &live.vmims[i];

	if (!decision_changes_status(d))
		return true;
	if (!m->exists || m->version != version || status_lost ||
	    requests_fail())
		return false;
	check_phases(m, d, i);
	for (size_t k = 0; k < d->passed_count; k++)
		m->since_us[d->passed[k]] = now_us;
	m->phase = d->phase;
	write_conds(m, d);
	m->copied |= d->copy_state;
	m->version++;
	return true;
}

void
carry_out(int i, const struct decision *d, const struct world *seen)
{
	struct mvmim *m = &live.vmims[i];

	for (size_t k = 0; k < d->action_count; k++) {
		if (requests_fail())
			return;
		carry_out_action(&d->actions[k], i);
	}
	if (decision_action(d, ACTION_STAMP) != NULL)
		m->version++;
	if (!write_status(i, d, seen->vmims[i].version))
		return;
	if (requests_fail())
		return;
	if (d->remove_finalizer) {
		CHECK(migration_phase_is_final(m->phase));
		m->finalizer = false;
		m->version++;
	}
	if (d->delete_migration)
		m->deleting = true;
	if (m->deleting && !m->finalizer)
		m->exists = false;
	if (migration_phase_is_final(m->phase))
		slots_release(slots, vmim_uids[i]);
}
