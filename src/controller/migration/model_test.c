/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plays a small cluster at random: pods appear and go, nodes work, fail or are
 * silent, people cancel, clocks jump, the controller sees all of it late, in
 * any order or not at all, and is restarted. What it decides is carried out on
 * the cluster; after each step it is checked that nothing has happened that
 * never may, and at the end that everything has come to its end.
 */
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/test.h"
#include "controller/migration/decide.h"
#include "controller/migration/gc.h"
#include "controller/migration/ladder.h"
#include "controller/migration/steps.h"
#include "controller/migration/testworld.h"
#include "meta/time.h"

#define RUNS 4000
#define STEPS 250
#define DRAIN_MAX 4000
/* Turns of the end, for nodes that say nothing. */
#define SILENT_LONG 100
#define SILENT_GONE 200
#define SECOND TIME_US_PER_SECOND

static unsigned long long seed;
static bool nodes_silent, nodes_slow, api_fails;
static unsigned removed;     /* sources, while their machine was on its way */
static unsigned standby_lag; /* it sees something in one step of so many */

static unsigned
dice(unsigned sides)
{
	seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (unsigned)(seed >> 33) % sides;
}

bool
requests_fail(void)
{
	return api_fails && dice(12) == 0;
}

/* Which rows of the tables were used, so that a test that no longer gets to
 * them is noticed. */
static bool used_rungs[32], used_steps[16];

static void
note_rule(const char *rule)
{
	size_t rungs, count;
	const struct rung *ladder = ladder_all(&rungs);
	const struct step *steps = steps_all(&count);

	for (size_t i = 0; i < rungs; i++)
		used_rungs[i] |= strcmp(ladder[i].name, rule) == 0;
	for (size_t i = 0; i < count; i++)
		used_steps[i] |= strcmp(steps[i].name, rule) == 0;
}

static void
check_all_used(void)
{
	size_t rungs, count;
	const struct rung *ladder = ladder_all(&rungs);
	const struct step *steps = steps_all(&count);

	for (size_t i = 0; i < rungs; i++) {
		/* Not played here. */
		if (strcmp(ladder[i].name, "machine-unreadable") == 0 ||
		    strcmp(ladder[i].name, "decentralized") == 0 ||
		    strcmp(ladder[i].name, "not-migratable") == 0 ||
		    strcmp(ladder[i].name, "utility-late") == 0)
			continue;
		if (!used_rungs[i])
			print_error("never: %s\n", ladder[i].name);
		CHECK(used_rungs[i]);
	}
	for (size_t i = 0; i < count; i++) {
		if (!used_steps[i])
			print_error("never: %s\n", steps[i].name);
		CHECK(used_steps[i]);
	}
}

/* What is said to have happened has. */
static void
check_true(const char *rule, int i)
{
	const struct mvmi *m = &live.vmis[live.vmims[i].vmi];

	if (strcmp(rule, "machine-gone") == 0)
		CHECK(!m->exists);
	else if (strcmp(rule, "target-removed") == 0)
		CHECK(target_pod_of(&live, i) == NONE);
	else if (strncmp(rule, "state-", strlen("state-")) == 0)
		CHECK(m->state.vmim != i);
	else if (strcmp(rule, "canceled") == 0)
		CHECK(m->state.vmim != i && live.vmims[i].deleting);
}

/* One look of the controller at a migration. True when it did something. */
static bool
look(int i)
{
	static struct views v;
	struct decision d, again;
	const struct world *seen = &cache;

	if (!cache.vmims[i].exists || !live.vmims[i].exists)
		return false;
	view(&v, seen, i, false);
	decide(&v.f, &d);
	if (d.confirm) {
		CHECK(d.action_count == 0 && !decision_changes_status(&d));
		CHECK(!d.remove_finalizer && !d.delete_migration);
		seen = &live;
		view(&v, seen, i, true);
		decide(&v.f, &d);
		CHECK(!d.confirm);
	}
	memset(&again, 0xa5, sizeof(again));
	decide(&v.f, &again);
	CHECK(again.phase == d.phase && again.action_count == d.action_count);
	note_rule(d.rule);
	check_true(d.rule, i);
	carry_out(i, &d, seen);
	return d.action_count != 0 || decision_changes_status(&d) ||
	       d.remove_finalizer || d.delete_migration;
}

/* What the controller gets to see, one object at a time. */

static void
see_pod(int i)
{
	int vmim = live.pods[i].vmim;

	cache.pods[i] = live.pods[i];
	if (vmim >= 0)
		create_sent[vmim] = false;
}

static void
see_vmi(int i)
{
	cache.vmis[i] = live.vmis[i];
	for (int k = 0; k < VMIMS; k++) {
		if (live.vmims[k].vmi == i)
			handoff_sent[k] = false;
	}
}

static void
see_vmim(int i)
{
	cache.vmims[i] = live.vmims[i];
}

static void
see_all(void)
{
	for (int i = 0; i < PODS; i++)
		see_pod(i);
	for (int i = 0; i < VMIS; i++)
		see_vmi(i);
	for (int i = 0; i < VMIMS; i++)
		see_vmim(i);
	/* Also of pods that were gone before they were seen. */
	memset(create_sent, 0, sizeof(create_sent));
	standby = live;
}

/* The one that stands by sees everything at its own time. */
static void
see_standby(void)
{
	int pod = (int)dice(PODS), vmi = (int)dice(VMIS);
	int vmim = (int)dice(VMIMS);

	if (dice(standby_lag) != 0)
		return;
	switch (dice(4)) {
	case 0:
		standby.pods[pod] = live.pods[pod];
		break;
	case 1:
		standby.vmis[vmi] = live.vmis[vmi];
		break;
	case 2:
		standby.vmims[vmim] = live.vmims[vmim];
		break;
	default:
		standby = live;
		break;
	}
}

/* Hand-offs are asked for; where others are is as the cache has it. */
static void
adopt_slots(void)
{
	for (int i = 0; i < VMIMS; i++) {
		const struct mvmim *m = &live.vmims[i];
		const struct mvmi *vmi = &live.vmis[m->vmi];
		bool handed = vmi->state.vmim == i;
		int node = handed ? vmi->state.source_node
				  : standby.vmis[m->vmi].node;

		if (!m->exists || migration_phase_is_final(m->phase))
			continue;
		if (!migration_phase_is_running(m->phase) &&
		    target_pod_of(&live, i) == NONE)
			continue;
		slots_adopt(slots, vmim_uids[i], node_names[node],
			    handed ? node_names[vmi->state.target_node] : "");
	}
}

/*
 * Another takes the lead, with what it has seen until then; the one that led is
 * started anew, and what it lists first may be older than what it lists last.
 */
static void
restart(void)
{
	struct world old = cache;

	slots_free(slots);
	slots = slots_new();
	memset(create_sent, 0, sizeof(create_sent));
	memset(handoff_sent, 0, sizeof(handoff_sent));
	adopt_slots();
	cache = standby;
	standby = live;
	if (dice(2) == 0)
		memcpy(standby.vmis, old.vmis, sizeof(old.vmis));
	if (dice(2) == 0)
		memcpy(standby.pods, old.pods, sizeof(old.pods));
}

/* What people, pods and nodes do. */

/* Of one that is forgotten the place can be used for another. */
static bool
is_known(const struct world *w, int vmim)
{
	for (int i = 0; i < VMIS; i++) {
		if (w->vmis[i].state.vmim == vmim)
			return true;
	}
	return w->vmims[vmim].exists || target_pod_of(w, vmim) != NONE;
}

static void
new_migration(void)
{
	for (int i = 0; i < VMIMS; i++) {
		int vmi = (int)dice(VMIS);

		if (is_known(&live, i) || is_known(&cache, i) ||
		    is_known(&standby, i))
			continue;
		live.vmims[i] = (struct mvmim){
			.exists = live.vmis[vmi].exists,
			.finalizer = dice(4) != 0,
			.stamped = dice(2) == 0,
			.automatic = dice(2) == 0,
			.vmi = vmi,
			.created_us = now_us,
			.version = live.vmims[i].version + 1,
		};
		canceled_in[i] = MIGRATION_PHASE_COUNT;
		slots_release(slots, vmim_uids[i]);
		return;
	}
}

static void
cancel(int i)
{
	struct mvmim *m = &live.vmims[i];

	if (!m->exists || m->deleting)
		return;
	m->deleting = true;
	m->version++;
	canceled_in[i] = m->phase;
	/* Without a finalizer it is only gone if nothing was done for it. */
	if (!m->finalizer)
		m->exists = false;
}

/* By force, or with its node: nobody is there to say that it has ended. As long
 * as the target may have the machine that is all. */
static void
source_is_removed(struct mvmi *m, struct mpod *p)
{
	struct mstate *s = &m->state;
	bool whole = s->moved && !s->post_copy;

	if (s->vmim < 0 || !s->started || s->failed || s->completed)
		return;
	removed++;
	p->exists = false;
	s->cut_off = !whole;
}

static void
pod_event(int i, unsigned what)
{
	struct mpod *p = &live.pods[i];
	struct mvmi *m = &live.vmis[p->vmi];
	bool home = m->exists && m->pod == i;

	if (!p->exists)
		return;
	if (what == 0 && !p->ready && !p->down && !p->deleting) {
		/* Now and then the scheduler is wrong. */
		p->node = dice(16) == 0 ? m->node
					: (m->node + 1 + (int)dice(NODES - 1)) %
						  NODES;
		p->ready = true;
	} else if (what == 1 && !p->ready) {
		p->unschedulable = true;
	} else if (what == 2) {
		p->down = true;
		p->ready = false;
		m->ended |= home;
	} else if (what == 3 && p->deleting) {
		p->exists = false;
		m->ended |= home;
	} else if (what == 4 && !home) {
		p->exists = false;
	}
}

static void
source_works(struct mstate *s)
{
	bool switched = s->arrived || s->post_copy || s->left || s->completed;

	if (s->failed || s->completed || !live.pods[s->source_pod].exists)
		return;
	if (s->moved && !switched) {
		/* What was done is told some time later, or never. */
		s->post_copy = dice(2) == 0;
		s->left = !s->post_copy;
	} else if (s->abort && !switched) {
		s->failed = true;
		(void)snprintf(s->reason, sizeof(s->reason), "aborted");
	} else if (s->address && !s->abort && !s->started) {
		s->started = true;
	} else if (s->started && !switched && dice(4) == 0) {
		s->moved = true;
	} else if (!switched && dice(8) == 0) {
		s->failed = true;
	}
}

static void
target_works(struct mvmi *m)
{
	struct mstate *s = &m->state;
	const struct mpod *pod;

	if (s->vmim < 0 || s->failed || s->completed)
		return;
	pod = &live.pods[s->target_pod];
	if (!pod->exists || pod->down || pod->vmim != s->vmim) {
		/* The machine was there, at least in part. */
		if (s->moved || s->arrived || s->post_copy || s->left)
			m->ended = true;
		return;
	}
	if (!s->address) {
		s->address = true;
	} else if (s->cut_off) {
		/* Half of it, or nothing: given up when nobody has the rest. */
		s->failed = s->left;
	} else if (s->left && !s->arrived && dice(4) == 0) {
		s->failed = true;
		m->ended = true;
	} else if (s->moved && !s->arrived) {
		s->arrived = true;
	} else if (s->arrived) {
		s->completed = true;
		m->node = s->target_node;
		m->pod = s->target_pod;
	}
}

static void
nodes_work(int i)
{
	struct mvmi *m = &live.vmis[i];

	if (!m->exists || m->ended || m->state.vmim < 0)
		return;
	if (dice(2) == 0)
		source_works(&m->state);
	else
		target_works(m);
}

/* As the controller of machines does: one whose pod is gone has ended, unless
 * it is on its way. */
static void
machines_end(void)
{
	for (int i = 0; i < VMIS; i++) {
		struct mvmi *m = &live.vmis[i];
		const struct mstate *s = &m->state;
		bool moves = s->vmim >= 0 && !s->failed && !s->completed &&
			     target_pod_of(&live, s->vmim) != NONE;

		m->ended |= !live.pods[m->pod].exists && !moves;
	}
}

static void
vmi_event(int i)
{
	struct mvmi *m = &live.vmis[i];

	switch (dice(24)) {
	case 0:
		m->ended = true;
		break;
	case 1:
		m->exists = false;
		break;
	case 2:
	case 3:
	case 4:
	case 5:
		/* Somebody meddles. */
		if (m->state.vmim >= 0 && !m->state.completed &&
		    !m->state.moved)
			m->state = (struct mstate){ .vmim = dice(2) == 0
								    ? NONE
								    : FOREIGN };
		break;
	case 6:
	case 7:
		source_is_removed(m, &live.pods[m->pod]);
		break;
	default:
		break;
	}
}

/* As the garbage collector does, and the controller with what is left. */
static void
collect_pods(void)
{
	static struct views v;

	for (int i = 0; i < PODS; i++) {
		const struct mpod *p = &live.pods[i];
		struct mvmi *m = &live.vmis[p->vmi];

		if (!p->exists)
			continue;
		if (!m->exists)
			live.pods[i].deleting = true;
		if (p->vmim == NONE || live.vmims[p->vmim].exists || !m->exists)
			continue;
		testfacts_vmi(&v.vmi);
		v.vmi.node = node_names[m->node];
		view_state(&v, &m->state);
		view_pod(&v.target, &live, i);
		v.target.vmi_uid = v.vmi.meta.uid;
		if (gc_pod_is_left(&v.target, &v.vmi)) {
			CHECK(m->pod != i);
			CHECK(m->ended || m->state.vmim != p->vmim ||
			      !m->state.moved || p->down);
			live.pods[i].deleting = true;
		}
	}
}

static void
check_always(void)
{
	int cluster = 0, outbound[NODES] = { 0 }, inbound[NODES] = { 0 };
	int active[VMIS] = { 0 };

	for (int i = 0; i < VMIMS; i++) {
		const struct mvmim *m = &live.vmims[i];
		const struct mvmi *vmi = &live.vmis[m->vmi];
		bool handed = vmi->exists && vmi->state.vmim == i;

		if (!m->exists || migration_phase_is_final(m->phase))
			continue;
		active[m->vmi] += m->phase != MIGRATION_UNSET;
		if (!migration_phase_is_running(m->phase) &&
		    target_pod_of(&live, i) == NONE)
			continue;
		cluster++;
		if (handed && !vmi->state.completed)
			inbound[vmi->state.target_node]++;
		if (handed)
			outbound[vmi->state.source_node]++;
		else if (vmi->exists)
			outbound[vmi->node]++;
	}
	CHECK(cluster <= (int)limits.cluster);
	for (int i = 0; i < NODES; i++) {
		CHECK(outbound[i] <= (int)limits.outbound);
		CHECK(inbound[i] <= (int)limits.inbound);
	}
	for (int i = 0; i < VMIS; i++)
		CHECK(active[i] <= 1);
}

static void
begin(void)
{
	static const unsigned lags[] = { 1, 12, 60, 60 };

	memset(&live, 0, sizeof(live));
	for (int i = 0; i < PODS; i++) {
		(void)snprintf(pod_names[i], sizeof(pod_names[i]), "p%d", i);
		live.pods[i].vmim = NONE;
	}
	for (int i = 0; i < VMIMS; i++)
		(void)snprintf(vmim_uids[i], sizeof(vmim_uids[i]), "u%d", i);
	for (int i = 0; i < VMIS; i++) {
		live.vmis[i] = (struct mvmi){ .exists = true,
					      .node = (int)dice(2),
					      .pod = i,
					      .state = { .vmim = NONE } };
		live.pods[i] = (struct mpod){ .exists = true,
					      .ready = true,
					      .node = live.vmis[i].node,
					      .vmi = i,
					      .vmim = NONE };
	}
	now_us = TESTFACTS_NOW_US;
	quota_full = false;
	api_fails = dice(2) == 0;
	nodes_slow = dice(2) == 0;
	nodes_silent = false;
	standby_lag = lags[dice(ARRAY_LEN(lags))];
	slots = slots_new();
	memset(create_sent, 0, sizeof(create_sent));
	memset(handoff_sent, 0, sizeof(handoff_sent));
	cache = standby = live;
}

/* A migration, most often one that goes on. */
static int
pick(void)
{
	int i = NONE;

	for (int tries = 0; tries < VMIMS; tries++) {
		i = (int)dice(VMIMS);
		if (live.vmims[i].exists &&
		    !migration_phase_is_final(live.vmims[i].phase))
			break;
	}
	return i;
}

static int
pick_pod(void)
{
	int pod = target_pod_of(&live, pick());

	return pod == NONE || dice(4) == 0 ? (int)dice(PODS) : pod;
}

static void
step(void)
{
	bool is_long = nodes_slow || standby_lag > 1 || dice(8) == 0;

	switch (dice(16)) {
	case 0:
		new_migration();
		break;
	case 1:
		if (dice(3) == 0)
			cancel(pick());
		break;
	case 2:
		pod_event(pick_pod(), 0);
		break;
	case 3:
		if (dice(nodes_slow ? 20 : 4) == 0)
			pod_event((int)dice(PODS), 1 + dice(4));
		break;
	case 4:
	case 5:
		if (!nodes_slow || dice(5) == 0)
			nodes_work((int)dice(VMIS));
		break;
	case 6:
		if (dice(nodes_slow ? 12 : 4) == 0)
			vmi_event((int)dice(VMIS));
		break;
	case 7:
		now_us += (int64_t)dice(is_long ? 400 : 20) * SECOND;
		now_us -= dice(16) == 0 ? 30 * SECOND : 0;
		break;
	case 8:
		if (dice(4) == 0)
			restart();
		quota_full = dice(10) == 0;
		break;
	case 9:
		see_pod(pick_pod());
		break;
	case 10:
		see_vmi((int)dice(VMIS));
		break;
	case 11:
		see_vmim(pick());
		break;
	default:
		(void)look(pick());
		break;
	}
	machines_end();
	see_standby();
	check_always();
}

static bool
is_all_over(void)
{
	for (int i = 0; i < VMIMS; i++) {
		const struct mvmim *m = &live.vmims[i];

		if (m->exists &&
		    (!migration_phase_is_final(m->phase) || m->finalizer))
			return false;
	}
	for (int i = 0; i < PODS; i++) {
		const struct mpod *p = &live.pods[i];

		if (p->exists && (p->deleting || !live.vmis[p->vmi].exists))
			return false;
	}
	return true;
}

static void
print_left(void)
{
	for (int i = 0; i < VMIMS; i++) {
		const struct mvmim *m = &live.vmims[i];

		if (m->exists &&
		    (!migration_phase_is_final(m->phase) || m->finalizer)) {
			print_error(
				"%s: %s%s%s, vmi %d, waits for %s\n",
				vmim_uids[i], migration_phase_name(m->phase),
				m->deleting ? " canceled" : "",
				m->finalizer ? " finalizer" : "", m->vmi,
				m->cond_count == 0 ? "-" : m->conds[0].reason);
		}
	}
	for (int i = 0; i < PODS; i++) {
		const struct mpod *p = &live.pods[i];

		if (p->exists)
			print_error("%s: vmi %d vmim %d%s%s%s\n", pod_names[i],
				    p->vmi, p->vmim, p->down ? " down" : "",
				    p->deleting ? " deleting" : "",
				    p->ready ? " ready" : "");
	}
}

/*
 * Nodes that say nothing any more have been taken out of the cluster, with all
 * that ran there. Until then what was sent may run on the target: nothing is
 * done about it.
 */
static void
remove_silent_nodes(void)
{
	for (int i = 0; i < VMIS; i++) {
		struct mvmi *m = &live.vmis[i];
		const struct mstate *s = &m->state;

		if (!m->exists || s->vmim < 0 || s->failed || s->completed ||
		    !s->started || live.pods[s->target_pod].vmim != s->vmim)
			continue;
		m->ended |= s->moved;
		live.pods[s->target_pod].exists = false;
	}
}

/* From now on all is seen, and nothing new happens; the nodes work on, or are
 * silent unless they have said that the machine has moved. */
static void
drain(void)
{
	unsigned turns = 0;

	quota_full = false;
	api_fails = false;
	nodes_slow = false;
	nodes_silent = dice(2) == 0;
	for (; turns < DRAIN_MAX && !is_all_over(); turns++) {
		for (int i = 0; i < PODS; i++) {
			pod_event(i, 3);
			if (!nodes_silent)
				pod_event(i, 0);
		}
		for (int i = 0; i < VMIS; i++) {
			const struct mstate *s = &live.vmis[i].state;

			if (!nodes_silent || s->arrived || s->post_copy ||
			    s->left)
				nodes_work(i);
		}
		collect_pods();
		machines_end();
		see_all();
		for (int i = 0; i < VMIMS; i++)
			(void)look(i);
		check_always();
		now_us += 5 * SECOND;
		if (nodes_silent && turns > SILENT_LONG)
			now_us += 3600 * SECOND;
		if (nodes_silent && turns > SILENT_GONE)
			remove_silent_nodes();
	}
	if (turns == DRAIN_MAX)
		print_left();
	CHECK(turns < DRAIN_MAX);
}

/* Only the pods that machines run in, or ended in, are left. */
static void
check_nothing_left(void)
{
	for (int i = 0; i < PODS; i++) {
		const struct mpod *p = &live.pods[i];
		const struct mvmi *m = &live.vmis[p->vmi];

		if (p->exists && m->exists && m->pod != i)
			print_left();
		CHECK(!p->exists || !m->exists || m->pod == i);
	}
	CHECK(slots_used(slots) == 0);
}

/* When nothing changes, nothing is done. */
static void
check_quiet(void)
{
	see_all();
	for (int i = 0; i < VMIMS; i++) {
		for (unsigned turns = 0; look(i); turns++) {
			see_all();
			CHECK(turns < 4);
		}
	}
}

static void
test_whatever_happens_migrations_stay_safe_and_end(void **state)
{
	(void)state;
	for (run = 0; run < RUNS; run++) {
		seed = 12345 + run * 7919ULL;
		begin();
		for (unsigned i = 0; i < STEPS; i++)
			step();
		drain();
		check_nothing_left();
		check_quiet();
		slots_free(slots);
	}
	check_all_used();
	CHECK(removed > 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_whatever_happens_migrations_stay_safe_and_end),
	};

	return cmocka_run_group_tests_name("model", tests, NULL, NULL);
}
