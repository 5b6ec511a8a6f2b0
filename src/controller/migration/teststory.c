/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/migration/teststory.h"

#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "controller/migration/testlaws.h"
#include "meta/time.h"

#define SECOND TIME_US_PER_SECOND
#define DAY (86400 * SECOND)
#define TURNS_MAX 16
#define DRAIN_MAX 60
/* Migration, machine and pods of all stories. */
#define VMIM 0
#define VMI 0
#define SOURCE 0
#define HOME_NODE 0
#define OTHER_NODE 1

/* All objects of the story at one moment. */
struct moment {
	struct mvmim vmim;
	struct mvmi vmi;
	struct mpod source, target;
};

struct telling telling;
static struct moment history[EVENTS_MAX + 1];
static bool waits[EVENT_COUNT]; /* what it is about is not there yet */
unsigned made;
static int64_t again_us;
static unsigned requests;
unsigned long long tellings, decisions;

bool
requests_fail(void)
{
	return requests++ == telling.lost;
}

static const char *event_name(enum event event);

void
story_print(void)
{
	print_error("%s:", telling.story->name);
	for (size_t i = 0; i < telling.len; i++)
		print_error("%s %s", i == telling.late ? " (late)" : "",
			    event_name(telling.events[i]));
	print_error("; looks %#x", telling.looks);
	if (telling.stale != 0)
		print_error("; after %zu objects %#x of %zu before",
			    telling.stale_at, telling.stale, telling.stale_by);
	if (telling.unwritten != 0)
		print_error("; unwritten before %zu", telling.unwritten);
	if (telling.lost != NO_REQUEST)
		print_error("; without request %u", telling.lost);
	print_error("; now %s, machine %s%s, %u made\n",
		    migration_phase_name(live.vmims[VMIM].phase),
		    live.vmis[VMI].exists ? "there" : "gone",
		    live.vmis[VMI].ended ? " and ended" : "", made);
}

static void
begin(void)
{
	memset(&live.vmims[VMIM], 0, sizeof(live.vmims[VMIM]));
	memset(waits, 0, sizeof(waits));
	for (int i = 0; i < PODS; i++) {
		(void)snprintf(pod_names[i], sizeof(pod_names[i]), "p%d", i);
		live.pods[i] = cache.pods[i] = (struct mpod){ .vmim = NONE };
	}
	(void)snprintf(vmim_uids[VMIM], sizeof(vmim_uids[VMIM]), "u0");
	live.vmis[VMI] = (struct mvmi){ .exists = true,
					.node = HOME_NODE,
					.pod = SOURCE,
					.state = { .vmim = NONE } };
	live.pods[SOURCE] = (struct mpod){ .exists = true,
					   .ready = true,
					   .node = HOME_NODE,
					   .vmi = VMI,
					   .vmim = NONE };
	now_us = TESTFACTS_NOW_US;
	live.vmims[VMIM].exists = true;
	live.vmims[VMIM].finalizer = live.vmims[VMIM].stamped = true;
	live.vmims[VMIM].vmi = VMI;
	live.vmims[VMIM].created_us = now_us;
	live.vmims[VMIM].version = 1;
	canceled_in[VMIM] = MIGRATION_PHASE_COUNT;
	create_sent[VMIM] = handoff_sent[VMIM] = false;
	quota_full = false;
	made = requests = 0;
	status_lost = telling.unwritten != 0;
	slots = slots_new();
	tellings++;
}

/* What happens. */

static void
place(struct mpod *p, int node)
{
	if (p->node == NONE)
		p->node = node;
}

static void
placed(struct mpod *p)
{
	place(p, OTHER_NODE);
}

static void
unschedulable(struct mpod *p)
{
	p->unschedulable = p->node == NONE;
}

static void
ready(struct mpod *p)
{
	place(p, OTHER_NODE);
	p->ready = !p->down && !p->deleting;
}

static void
same_node(struct mpod *p)
{
	place(p, HOME_NODE);
	p->ready = !p->down && !p->deleting;
}

static void
pod_down(struct mpod *p)
{
	p->down = true;
	p->ready = false;
}

/* Of one that nobody knew of nothing is left to know it by. */
static void
pod_removed(struct mpod *p)
{
	p->exists = false;
	made -= live.vmims[VMIM].phase <= MIGRATION_PENDING;
}

static void
address(struct mvmi *m)
{
	m->state.address = true;
}

static void
started(struct mvmi *m)
{
	m->state.started = true;
}

/* False: nobody arrives in what has ended, or without the rest. */
static bool
move(struct mvmi *m)
{
	struct mstate *s = &m->state;
	const struct mpod *pod = &live.pods[s->target_pod];

	if (!s->failed && !s->cut_off && pod->exists && !pod->down && !m->ended)
		s->moved = true;
	return s->moved && !s->failed;
}

static void
post_copy(struct mvmi *m)
{
	m->state.post_copy |= move(m);
}

static void
arrived(struct mvmi *m)
{
	m->state.arrived |= move(m);
}

static void
left(struct mvmi *m)
{
	m->state.left |= move(m);
}

static void
completed(struct mvmi *m)
{
	if (!move(m))
		return;
	m->state.completed = true;
	m->node = m->state.target_node;
	m->pod = m->state.target_pod;
}

static void
failed(struct mvmi *m)
{
	m->state.failed |= !m->state.completed;
	m->ended |= m->state.failed && m->state.moved;
}

static void
cleared(struct mvmi *m)
{
	if (!m->state.moved)
		m->state = (struct mstate){ .vmim = NONE };
}

static void
taken(struct mvmi *m)
{
	if (!m->state.moved)
		m->state = (struct mstate){ .vmim = FOREIGN };
}

static void
canceled(void)
{
	struct mvmim *m = &live.vmims[VMIM];

	if (!m->exists || m->deleting)
		return;
	canceled_in[VMIM] = m->phase;
	m->version++;
	m->deleting = true;
	m->exists = m->finalizer;
}

static void
source_removed(void)
{
	struct mstate *s = &live.vmis[VMI].state;

	live.pods[SOURCE].exists = false;
	if (s->vmim == VMIM && s->started && !s->failed && !s->completed)
		s->cut_off = !s->moved || s->post_copy;
}

static void
machine_ended(void)
{
	live.vmis[VMI].ended = true;
}

static void
machine_gone(void)
{
	live.vmis[VMI].exists = false;
}

static void
fill_quota(void)
{
	quota_full = true;
}

static void
free_quota(void)
{
	quota_full = false;
}

/* What there is to happen, to the target pod, to the machine's migration state
 * of this migration, or to anything else. */
static const struct {
	const char *name;
	void (*to_pod)(struct mpod *p);
	void (*to_state)(struct mvmi *m);
	void (*to_other)(void);
} happenings[] = {
	[EVENT_PLACED] = { "placed", .to_pod = placed },
	[EVENT_UNSCHEDULABLE] = { "unschedulable", .to_pod = unschedulable },
	[EVENT_READY] = { "ready", .to_pod = ready },
	[EVENT_SAME_NODE] = { "same-node", .to_pod = same_node },
	[EVENT_TARGET_DOWN] = { "pod-down", .to_pod = pod_down },
	[EVENT_TARGET_REMOVED] = { "pod-removed", .to_pod = pod_removed },
	[EVENT_ADDRESS] = { "address", .to_state = address },
	[EVENT_STARTED] = { "started", .to_state = started },
	[EVENT_POST_COPY] = { "post-copy", .to_state = post_copy },
	[EVENT_ARRIVED] = { "arrived", .to_state = arrived },
	[EVENT_LEFT] = { "left", .to_state = left },
	[EVENT_COMPLETED] = { "completed", .to_state = completed },
	[EVENT_FAILED] = { "failed", .to_state = failed },
	[EVENT_CLEARED] = { "cleared", .to_state = cleared },
	[EVENT_TAKEN] = { "taken", .to_state = taken },
	[EVENT_CANCEL] = { "cancel", .to_other = canceled },
	[EVENT_SOURCE_REMOVED] = { "source-removed",
				   .to_other = source_removed },
	[EVENT_MACHINE_ENDED] = { "machine-ended", .to_other = machine_ended },
	[EVENT_MACHINE_GONE] = { "machine-gone", .to_other = machine_gone },
	[EVENT_QUOTA_FULL] = { "quota-full", .to_other = fill_quota },
	[EVENT_QUOTA_FREE] = { "quota-free", .to_other = free_quota },
};
_Static_assert(ARRAY_LEN(happenings) == EVENT_COUNT, "each has a row");

static const char *
event_name(enum event event)
{
	return happenings[event].name;
}

/* False: not yet, since what it is about is not there. */
static bool
happen(enum event event)
{
	struct mvmi *m = &live.vmis[VMI];
	int target = target_pod_of(&live, VMIM);

	if (happenings[event].to_pod != NULL) {
		if (target == NONE)
			return false;
		happenings[event].to_pod(&live.pods[target]);
	} else if (happenings[event].to_state != NULL) {
		if (m->state.vmim != VMIM)
			return false;
		happenings[event].to_state(m);
	} else {
		happenings[event].to_other();
	}
	return true;
}

/* Also what waited for its object; and what follows without anybody. */
static void
go_on(void)
{
	struct mvmi *m = &live.vmis[VMI];
	struct mstate *s = &m->state;
	int target = target_pod_of(&live, VMIM);

	for (enum event i = 0; i < EVENT_COUNT; i++)
		waits[i] = waits[i] && !happen(i);
	if (s->vmim == VMIM && s->cut_off && s->left)
		s->failed = true;
	if (s->vmim == VMIM && s->moved && !s->failed &&
	    (target == NONE || live.pods[target].down))
		m->ended = true;
	if (!live.pods[m->pod].exists &&
	    (s->vmim != VMIM || s->failed || s->completed || target == NONE))
		m->ended = true;
}

/* The controller. */

static void
remember(struct moment *moment)
{
	int target = target_pod_of(&live, VMIM);

	moment->vmim = live.vmims[VMIM];
	moment->vmi = live.vmis[VMI];
	moment->source = live.pods[SOURCE];
	moment->target = (struct mpod){ .vmim = NONE };
	if (target != NONE)
		moment->target = live.pods[target];
}

/* Of the objects in the mask as they were, of the others as they are. */
static void
see(const struct moment *old, unsigned mask)
{
	struct moment now;

	remember(&now);
	cache.vmims[VMIM] = mask & 1U << OBJECT_VMIM ? old->vmim : now.vmim;
	cache.vmis[VMI] = mask & 1U << OBJECT_VMI ? old->vmi : now.vmi;
	cache.pods[SOURCE] =
		mask & 1U << OBJECT_SOURCE ? old->source : now.source;
	cache.pods[VMIS] =
		mask & 1U << OBJECT_TARGET ? old->target : now.target;
	create_sent[VMIM] = handoff_sent[VMIM] = false;
}

static void
decide_by(const struct world *seen, struct decision *d)
{
	static struct views v;
	const char *law;

	view(&v, seen, VMIM, seen == &live);
	decide(&v.f, d);
	decisions++;
	law = laws_broken(&v.f, d);
	if (law == NULL)
		return;
	story_print();
	print_error("rule %s: %s\n", d->rule, law);
	fail();
}

/* One turn, from what is in the cache. True when something was done. */
static bool
turn(void)
{
	static struct decision d;
	const struct world *seen = &cache;
	bool had_pod = target_pod_of(&live, VMIM) != NONE;

	if (!cache.vmims[VMIM].exists || !live.vmims[VMIM].exists)
		return false;
	decide_by(seen, &d);
	if (d.confirm) {
		seen = &live;
		decide_by(seen, &d);
		TOLD(!d.confirm);
	}
	again_us = d.again_us;
	carry_out(VMIM, &d, seen);
	if (!had_pod && target_pod_of(&live, VMIM) != NONE)
		TOLD(++made == 1);
	go_on();
	if (decision_changes_status(&d) && status_lost)
		return d.action_count != 0;
	return d.action_count != 0 || decision_changes_status(&d) ||
	       d.remove_finalizer || d.delete_migration;
}

static void
look(void)
{
	unsigned turns = 0;

	do {
		TOLD(turns++ < TURNS_MAX);
		see(NULL, 0);
	} while (turn());
}

static void
look_back(size_t at)
{
	if (telling.stale == 0 || at != telling.stale_at)
		return;
	see(&history[at - telling.stale_by], telling.stale);
	(void)turn();
}

/* The end. */

static bool
is_over(void)
{
	const struct mvmim *m = &live.vmims[VMIM];

	if (m->exists && (!migration_phase_is_final(m->phase) || m->finalizer))
		return false;
	for (int i = 0; i < PODS; i++) {
		if (live.pods[i].exists && live.pods[i].deleting)
			return false;
	}
	return true;
}

static void
pods_go(void)
{
	struct mvmi *m = &live.vmis[VMI];

	for (int i = 0; i < PODS; i++) {
		struct mpod *p = &live.pods[i];

		/* As the garbage collector does. */
		p->deleting |= p->exists && !m->exists;
		if (p->exists && p->deleting) {
			p->exists = false;
			m->ended |= m->pod == i;
		}
	}
}

/* Nodes that say nothing are taken out of the cluster: only what has started
 * waits for that. */
static void
remove_target_node(void)
{
	const struct mstate *s = &live.vmis[VMI].state;
	int target = target_pod_of(&live, VMIM);

	TOLD(s->vmim == VMIM && (s->started || s->moved) && target != NONE);
	live.pods[target].exists = false;
}

/* All time passes, and nothing happens any more. */
static void
drain(void)
{
	bool removed = false;

	for (unsigned turns = 0; !is_over(); turns++) {
		TOLD(turns < DRAIN_MAX);
		pods_go();
		go_on();
		look();
		if (is_over())
			break;
		if (migration_phase_is_final(live.vmims[VMIM].phase))
			continue;
		if (again_us != DECISION_NEVER) {
			TOLD(again_us > now_us);
			now_us = again_us;
		} else if (quota_full) {
			quota_full = false;
		} else {
			TOLD(!removed);
			removed = true;
			remove_target_node();
		}
	}
	see(NULL, 0);
	TOLD(!turn());
}

static void
check_nothing_left(void)
{
	const struct mvmi *m = &live.vmis[VMI];

	for (int i = 0; i < PODS; i++)
		TOLD(!live.pods[i].exists || !m->exists || m->pod == i);
	TOLD(slots_used(slots) == 0);
}

void
story_tell(void)
{
	begin();
	remember(&history[0]);
	if (telling.looks & 1)
		look();
	for (size_t i = 0; i < telling.len; i++) {
		status_lost = i + 1 < telling.unwritten;
		if (i == telling.late)
			now_us += 30 * DAY;
		if (!happen(telling.events[i]))
			waits[telling.events[i]] = true;
		go_on();
		if (telling.looks & 2U << i)
			look();
		remember(&history[i + 1]);
		look_back(i + 1);
	}
	drain();
	check_nothing_left();
	slots_free(slots);
}

void
story_set(const struct story *story)
{
	telling = (struct telling){ .story = story,
				    .len = story->len,
				    .looks = ~0U,
				    .lost = NO_REQUEST,
				    .late = story->len };
	memcpy(telling.events, story->events, sizeof(story->events));
}

void
story_expect(enum migration_phase phase)
{
	TOLD(live.vmims[VMIM].phase == phase);
}

unsigned
story_requests(void)
{
	return requests;
}
