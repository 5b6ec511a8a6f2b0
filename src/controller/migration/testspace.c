/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/migration/testspace.h"

#include <string.h>

#include "api/names.h"
#include "base/array.h"
#include "base/test.h"
#include "controller/migration/gc.h"
#include "controller/migration/ladder.h"
#include "meta/time.h"

#define NOW TESTFACTS_NOW_US
#define SECOND TIME_US_PER_SECOND
#define LEFT_QUIET_S 5
#define BACKOFF_S 20

static const struct {
	const char *name;
	unsigned size;
} table[] = {
	[FACT_PHASE] = { "phase", MIGRATION_PHASE_COUNT },
	[FACT_CONFIRMED] = { "confirmed", 2 },
	[FACT_CANCELED] = { "canceled", 2 },
	[FACT_STAMP] = { "stamp", 4 },
	[FACT_HALF] = { "half", 4 },
	[FACT_PRIORITY] = { "priority", PRIORITY_COUNT },
	[FACT_MACHINE] = { "machine", 12 },
	[FACT_MACHINE_NODE] = { "machine-node", 3 },
	[FACT_MIGRATABLE] = { "migratable", 3 },
	[FACT_DISKS] = { "disks", 2 },
	[FACT_CHANGE] = { "change", 7 },
	[FACT_UTILITY] = { "utility", 5 },
	[FACT_BACKUP] = { "backup", 2 },
	[FACT_OTHER] = { "other", 9 },
	[FACT_BEGUN] = { "begun", 2 },
	[FACT_OTHER_BEGUN] = { "other-begun", 2 },
	[FACT_BACKOFF] = { "back-off", 5 },
	[FACT_KEPT] = { "kept", 3 },
	[FACT_STATE] = { "state", 6 },
	[FACT_ADDRESS] = { "address", 2 },
	[FACT_ABORT] = { "abort", 2 },
	[FACT_START] = { "start", 2 },
	[FACT_READY] = { "domain-ready", 2 },
	[FACT_LEFT] = { "left", 4 },
	[FACT_COMPLETED] = { "completed", 2 },
	[FACT_FAILED] = { "failed", 2 },
	[FACT_REASON] = { "reason", 3 },
	[FACT_MODE] = { "mode", MIGRATION_MODE_COUNT },
	[FACT_NODE_WAITS] = { "node-waits", 2 },
	[FACT_SOURCE] = { "source", 6 },
	[FACT_TARGET] = { "target", 9 },
	[FACT_POD_TIME] = { "pod-time", 6 },
	[FACT_MARKED] = { "marked", 2 },
	[FACT_LIVE] = { "live-pods", 3 },
	[FACT_CREATE_SENT] = { "create-sent", 2 },
	[FACT_HANDOFF_SENT] = { "hand-off-sent", 2 },
	[FACT_QUOTA] = { "quota", 2 },
	[FACT_REFUSED] = { "refused", 2 },
	[FACT_SLOT] = { "slot", 4 },
	[FACT_INBOUND] = { "inbound", 3 },
	[FACT_CPU] = { "cpu", 2 },
	[FACT_PHASE_TIME] = { "phase-time", 5 },
	[FACT_ABORT_COND] = { "abort-cond", 6 },
	[FACT_WAITING] = { "waiting", 3 },
	[FACT_OLD_CONDS] = { "old-conds", 2 },
	[FACT_COPIED] = { "copied", 2 },
};
_Static_assert(ARRAY_LEN(table) == FACT_COUNT, "each fact has a row");

static char text_x[] = "x";
static char no_text[] = "";
static char node_a[] = "a", node_b[] = "b", node_c[] = "c";

const char *
space_name(enum fact fact)
{
	return table[fact].name;
}

unsigned
space_size(enum fact fact)
{
	return table[fact].size;
}

void
space_print(const struct point *p)
{
	print_error("at");
	for (enum fact i = 0; i < FACT_COUNT; i++) {
		if (p->at[i] != 0)
			print_error(" %s=%u", table[i].name, p->at[i]);
	}
	print_error("\n");
}

struct point
space_base(enum migration_phase phase)
{
	struct point p = { .at = { [FACT_PHASE] = (unsigned char)phase,
				   [FACT_CONFIRMED] = 1 } };

	if (phase >= MIGRATION_SCHEDULING) {
		p.at[FACT_TARGET] = TARGET_MADE;
		p.at[FACT_SLOT] = SLOT_HELD;
	}
	if (phase >= MIGRATION_SCHEDULED)
		p.at[FACT_TARGET] = TARGET_READY;
	if (phase >= MIGRATION_PREPARING_TARGET)
		p.at[FACT_STATE] = STATE_OWN;
	if (phase >= MIGRATION_TARGET_READY)
		p.at[FACT_ADDRESS] = 1;
	if (phase >= MIGRATION_RUNNING)
		p.at[FACT_START] = 1;
	p.at[FACT_COMPLETED] = phase >= MIGRATION_SUCCEEDED;
	p.at[FACT_FAILED] = phase == MIGRATION_FAILED;
	if (phase == MIGRATION_SUCCEEDED) {
		p.at[FACT_READY] = 1;
		p.at[FACT_LEFT] = LEFT_LONG;
		p.at[FACT_MACHINE_NODE] = NODE_TARGET;
	}
	return p;
}

/*
 * - That the machine makes no sense is known only where facts are confirmed.
 * - One half of a decentralized migration, or what is in a phase of one, fails
 *   at its first look, before it has a pod or a hand-off.
 * - The condition that it is to be aborted comes from a cancel, which is not
 *   taken back, or from a transfer that takes too long.
 * - The hand-off writes UID and target node in one patch, and only the
 *   controller may write either: what has one of them has been told nothing
 *   by nodes yet. It is to another node than the machine's.
 * - The target node writes in one patch that it has the machine and since when.
 */
bool
space_is_possible(const struct point *p)
{
	const unsigned char *at = p->at;
	bool is_half = at[FACT_HALF] == 1 || at[FACT_HALF] == 2 ||
		       at[FACT_PHASE] == MIGRATION_WAITING_FOR_SYNC ||
		       at[FACT_PHASE] == MIGRATION_SYNCHRONIZING;
	bool is_own =
		at[FACT_STATE] == STATE_OWN || at[FACT_STATE] == STATE_HALF;

	if (at[FACT_MACHINE] == MACHINE_UNREADABLE && !at[FACT_CONFIRMED])
		return false;
	if (is_half &&
	    (at[FACT_STATE] == STATE_OWN || at[FACT_STATE] == STATE_HALF ||
	     at[FACT_TARGET] != TARGET_NONE || at[FACT_CREATE_SENT] ||
	     at[FACT_HANDOFF_SENT]))
		return false;
	if (at[FACT_ABORT_COND] != 0 && !at[FACT_CANCELED] &&
	    (at[FACT_ABORT_COND] < 4 || at[FACT_PHASE] != MIGRATION_RUNNING))
		return false;
	if (is_own && (at[FACT_TARGET] == TARGET_ON_SOURCE ||
		       at[FACT_TARGET] == TARGET_DOWN_ON_SOURCE))
		return false;
	if (is_own && at[FACT_MACHINE_NODE] == NODE_TARGET &&
	    (!at[FACT_READY] || at[FACT_LEFT] == LEFT_NOT))
		return false;
	return at[FACT_STATE] != STATE_HALF ||
	       (!at[FACT_ADDRESS] && !at[FACT_START] && !at[FACT_READY] &&
		!at[FACT_LEFT] && !at[FACT_COMPLETED] && !at[FACT_FAILED] &&
		at[FACT_MODE] == MODE_NONE);
}

/* A deadline of limit_s from the result on: over in a moment, now, since. */
static int64_t
began_us(unsigned value, int64_t limit_s)
{
	int64_t at_us = NOW - limit_s * SECOND;

	return value == TIME_BEFORE ? at_us + 1
	       : value == TIME_AT   ? at_us
				    : at_us - 1;
}

static void
set_cond(struct testfacts *t, const char *type, const char *reason,
	 int64_t since_us)
{
	testfacts_cond(t, type, reason);
	t->conds[t->vmim.conds.len - 1].since_us = since_us;
	t->conds[t->vmim.conds.len - 1].message = text_x;
}

static void
set_phase(const unsigned char *at, struct testfacts *t)
{
	static const int64_t limits_s[MIGRATION_PHASE_COUNT] = {
		[MIGRATION_SCHEDULED] = CONFIG_SCHEDULED_TIMEOUT_S,
		[MIGRATION_PREPARING_TARGET] = CONFIG_PREPARING_TIMEOUT_S,
		[MIGRATION_TARGET_READY] = CONFIG_READY_TIMEOUT_S,
		[MIGRATION_RUNNING] = CONFIG_RUNNING_TIMEOUT_S,
	};
	enum migration_phase phase = at[FACT_PHASE];
	unsigned time = at[FACT_PHASE_TIME];

	t->vmim.phase = phase;
	t->vmim.phase_since_us[phase] =
		time == TIME_UNKNOWN ? 0 : began_us(time, limits_s[phase]);
	if (time == TIME_UNKNOWN)
		t->vmim.meta.created_us = NOW - 10 * limits_s[phase] * SECOND;
	if (time == TIME_NO_END) {
		t->vmim.deadlines.scheduled_s = t->vmim.deadlines.preparing_s =
			t->vmim.deadlines.ready_s =
				t->vmim.deadlines.running_s = 0;
	}
}

static void
set_migration(const unsigned char *at, struct testfacts *t)
{
	static const char *const waiting[] = { NULL, WAITING_TRANSFER,
					       WAITING_CLUSTER_SLOT };
	unsigned abort = at[FACT_ABORT_COND];

	t->f.confirmed = at[FACT_CONFIRMED];
	t->vmim.meta.deleted_us = at[FACT_CANCELED] ? NOW : 0;
	t->vmim.has_finalizer = at[FACT_STAMP] != 1;
	t->vmim.has_observed_versions = at[FACT_STAMP] != 2;
	if (at[FACT_STAMP] == 3)
		t->vmim.vmi_label = no_text;
	t->vmim.send_to_id = at[FACT_HALF] & 1 ? text_x : no_text;
	t->vmim.receive_id = at[FACT_HALF] & 2 ? text_x : no_text;
	t->vmim.priority = at[FACT_PRIORITY];
	t->vmim.state_uid = at[FACT_COPIED] ? t->vmim.meta.uid : no_text;
	if (abort != 0) {
		set_cond(t, COND_ABORT_REQUESTED,
			 abort < 4 ? FAILURE_CANCELED : FAILURE_RUNNING_TIMEOUT,
			 abort < 4 ? began_us(abort - 1, FACTS_ABORT_ANSWER_S)
			 : abort == 4
				 ? NOW
				 : NOW - 2 * FACTS_ABORT_ANSWER_S * SECOND);
	}
	if (at[FACT_WAITING] != 0)
		set_cond(t, COND_WAITING, waiting[at[FACT_WAITING]],
			 NOW - SECOND);
	if (at[FACT_OLD_CONDS]) {
		set_cond(t, COND_UTILITY_VOLUMES, REASON_UTILITY_VOLUMES, NOW);
		set_cond(t, COND_BACKUP, REASON_BACKUP, NOW);
		set_cond(t, COND_QUOTA, WAITING_QUOTA, NOW);
	}
}

static void
set_others(const unsigned char *at, struct testfacts *t)
{
	static const struct {
		int created_s;
		enum migration_phase phase;
		const char *uid;
	} others[] = {
		[OTHER_NEW_OLDER] = { -1, MIGRATION_UNSET, NULL },
		[OTHER_NEW_NEWER] = { 1, MIGRATION_UNSET, NULL },
		[OTHER_NEW_BEFORE] = { 0, MIGRATION_UNSET, "uid-0" },
		[OTHER_NEW_BEHIND] = { 0, MIGRATION_UNSET, "uid-2" },
		[OTHER_PENDING] = { 1, MIGRATION_PENDING, NULL },
		[OTHER_RUNNING] = { -1, MIGRATION_RUNNING, NULL },
		[OTHER_FAILED] = { -1, MIGRATION_FAILED, NULL },
		[OTHER_SUCCEEDED] = { -1, MIGRATION_SUCCEEDED, NULL },
	};
	unsigned which = at[FACT_OTHER], backoff = at[FACT_BACKOFF];
	int64_t own_s = (t->vmim.meta.created_us - NOW) / SECOND;
	struct vmim *other;

	if (which != OTHER_NONE) {
		other = testfacts_other(t, own_s + others[which].created_s,
					others[which].phase, -1);
		if (others[which].uid != NULL)
			other->meta.uid = (char *)(uintptr_t)others[which].uid;
	}
	t->f.begun = at[FACT_BEGUN];
	t->f.other_begun = at[FACT_OTHER_BEGUN];
	if (backoff != 0) {
		t->vmim.evacuation = true;
		t->vmim.ignores_backoff = backoff == 4;
		other = testfacts_other(t, own_s - 100, MIGRATION_FAILED, 0);
		other->evacuation = true;
		other->phase_since_us[MIGRATION_FAILED] = began_us(
			backoff == 4 ? TIME_BEFORE : backoff - 1, BACKOFF_S);
	}
	for (unsigned i = 0; at[FACT_KEPT] != 0 && i < GC_KEPT; i++) {
		if (i != 0 || at[FACT_KEPT] == 2)
			(void)testfacts_other(t, own_s + 2, MIGRATION_SUCCEEDED,
					      0);
	}
}

static struct cond
machine_cond(const char *type, bool is_true)
{
	return (struct cond){
		.type = (char *)(uintptr_t)type,
		.status = is_true ? COND_TRUE : COND_FALSE,
		.reason = text_x,
		.message = text_x,
	};
}

static void
set_machine_conds(const unsigned char *at, struct testfacts *t)
{
	static const char *const changes[] = {
		COND_HOT_VCPU,
		COND_HOT_MEMORY,
		COND_MIGRATION_REQUIRED,
	};
	static struct cond conds[2];
	unsigned change = at[FACT_CHANGE];
	size_t len = 0;

	if (at[FACT_MIGRATABLE] != 0)
		conds[len++] = machine_cond(COND_LIVE_MIGRATABLE,
					    at[FACT_MIGRATABLE] == 1);
	if (change != 0)
		conds[len++] = machine_cond(changes[(change - 1) / 2],
					    change % 2 == 1);
	t->vmi.conds = (struct conds){ .list = conds, .len = len };
}

static void
set_machine(const unsigned char *at, struct testfacts *t)
{
	static const enum vmi_phase phases[] = {
		VMI_RUNNING, VMI_RUNNING,   VMI_RUNNING,
		VMI_RUNNING, VMI_SUCCEEDED, VMI_FAILED,
		VMI_UNSET,   VMI_PENDING,   VMI_SCHEDULING,
		VMI_UNKNOWN, VMI_SCHEDULED, VMI_WAITING_FOR_SYNC,
	};
	char *const nodes[] = { node_a, node_b, no_text };
	unsigned utility = at[FACT_UTILITY];

	t->vmi.phase = phases[at[FACT_MACHINE]];
	t->vmi.node = nodes[at[FACT_MACHINE_NODE]];
	if (at[FACT_MACHINE] == MACHINE_DELETED)
		t->vmi.meta.deleted_us = NOW;
	if (at[FACT_MACHINE] == MACHINE_GONE ||
	    at[FACT_MACHINE] == MACHINE_UNREADABLE)
		t->f.vmi = NULL;
	if (at[FACT_MACHINE] == MACHINE_UNREADABLE)
		t->f.machine_text = text_x;
	t->vmi.backup_in_progress = at[FACT_BACKUP];
	t->vmi.utility_volumes = utility != UTILITY_NONE;
	if (utility == UTILITY_EVER)
		t->vmim.utility_timeout_s = 0;
	else if (utility != UTILITY_NONE)
		t->vmim.meta.created_us = began_us(utility - UTILITY_BEFORE,
						   CONFIG_UTILITY_TIMEOUT_S);
	set_machine_conds(at, t);
}

static void
set_state(const unsigned char *at, struct testfacts *t)
{
	static char told[] = "Target node did not prepare in time";
	static char address[] = "10.0.0.2";
	char *const reasons[] = { no_text, told, text_x };
	struct migration_state *s = &t->state;
	unsigned which = at[FACT_STATE];

	if (which == STATE_NONE)
		return;
	t->vmi.migration = s;
	s->uid = which == STATE_EMPTY     ? no_text
		 : which == STATE_FOREIGN ? text_x
		 : which == STATE_OTHER && t->f.other_count != 0
			 ? t->others[0].meta.uid
			 : t->vmim.meta.uid;
	if (which == STATE_OTHER && t->f.other_count == 0)
		s->uid = text_x;
	s->source_node = node_a;
	s->source_pod = t->source.meta.name;
	if (which != STATE_HALF)
		s->target_node = node_b;
	s->target_pod = t->target.meta.name;
	s->target_address = at[FACT_ADDRESS] ? address : no_text;
	s->abort_requested = at[FACT_ABORT];
	s->start_us = at[FACT_START] ? NOW - 10 * SECOND : 0;
	s->domain_ready_us = at[FACT_READY] ? NOW : 0;
	if (at[FACT_LEFT] != LEFT_NOT)
		s->end_us = began_us(at[FACT_LEFT] - LEFT_NOW, LEFT_QUIET_S);
	s->completed = at[FACT_COMPLETED];
	s->failed = at[FACT_FAILED];
	s->failure_reason = reasons[at[FACT_REASON]];
	s->mode = at[FACT_MODE];
	s->target_waits = s->source_waits =
		at[FACT_NODE_WAITS] ? text_x : no_text;
}

static void
set_source(const unsigned char *at, struct testfacts *t)
{
	bool is_own =
		at[FACT_STATE] == STATE_OWN || at[FACT_STATE] == STATE_HALF;

	/* Before the hand-off it is the one where the machine is. */
	if (!is_own)
		t->source.node = t->vmi.node;
	if (t->f.vmi == NULL || t->source.node[0] == '\0')
		t->f.source_pod = NULL;
	switch (at[FACT_SOURCE]) {
	case SOURCE_NONE:
		t->f.source_pod = NULL;
		break;
	case SOURCE_DOWN:
		t->source.phase = POD_SUCCEEDED;
		t->source.ready = false;
		break;
	case SOURCE_DELETED:
		t->source.meta.deleted_us = NOW;
		t->source.ready = false;
		break;
	case SOURCE_AWAY:
		if (is_own)
			t->source.node = node_c;
		break;
	case SOURCE_ANOTHER:
		t->source.meta.name = text_x;
		break;
	default:
		break;
	}
}

static void
set_target(const unsigned char *at, struct testfacts *t)
{
	static const struct {
		char *node;
		enum pod_phase phase;
		bool ready;
	} pods[] = {
		[TARGET_NONE] = { no_text, POD_PENDING, false },
		[TARGET_MADE] = { no_text, POD_PENDING, false },
		[TARGET_NO_NODE] = { no_text, POD_PENDING, false },
		[TARGET_PLACED] = { node_b, POD_RUNNING, false },
		[TARGET_READY] = { node_b, POD_RUNNING, true },
		[TARGET_ON_SOURCE] = { node_a, POD_RUNNING, true },
		[TARGET_DOWN] = { node_b, POD_FAILED, false },
		[TARGET_DOWN_ON_SOURCE] = { node_a, POD_SUCCEEDED, false },
		[TARGET_DELETED] = { node_b, POD_RUNNING, false },
	};
	const int64_t unschedulable_s = CONFIG_UNSCHEDULABLE_TIMEOUT_S;
	const int64_t pending_s = CONFIG_PENDING_TIMEOUT_S;
	unsigned which = at[FACT_TARGET], time = at[FACT_POD_TIME];

	t->target.migration_uid = t->vmim.meta.uid;
	t->f.target_pod = which == TARGET_NONE ? NULL : &t->target;
	t->target.node = pods[which].node;
	t->target.phase = pods[which].phase;
	t->target.ready = pods[which].ready;
	t->target.unschedulable = which == TARGET_NO_NODE;
	if (which == TARGET_DELETED)
		t->target.meta.deleted_us = NOW;
	/* Before both deadlines, at the first, between, at the second, ... */
	t->target.meta.created_us = time < 2 ? began_us(time, unschedulable_s)
				    : time == 2
					    ? began_us(TIME_BEFORE, pending_s)
					    : began_us(time - 2, pending_s);
	if (time == 5)
		t->vmim.deadlines.pending_s =
			t->vmim.deadlines.unschedulable_s = 0;
	t->target.target_ready = at[FACT_MARKED] ? text_x : no_text;
}

void
space_facts(const struct point *p, struct testfacts *t)
{
	static const unsigned live[] = { 1, 0, 2 };
	static const enum slot inbound[] = { SLOT_FREE, SLOT_HELD,
					     SLOT_TARGET_FULL };
	const unsigned char *at = p->at;

	testfacts_init(t);
	set_phase(at, t);
	set_migration(at, t);
	set_machine(at, t);
	set_others(at, t);
	set_state(at, t);
	set_source(at, t);
	set_target(at, t);
	t->f.live_pods = live[at[FACT_LIVE]];
	t->f.create_sent = at[FACT_CREATE_SENT];
	t->f.handoff_sent = at[FACT_HANDOFF_SENT];
	t->f.quota_text = at[FACT_QUOTA] ? text_x : NULL;
	t->f.quota_until_us = at[FACT_QUOTA] ? NOW + SECOND : 0;
	t->f.refused_text = at[FACT_REFUSED] ? text_x : NULL;
	t->f.refused_until_us = at[FACT_REFUSED] ? NOW + SECOND : 0;
	t->f.slot = at[FACT_SLOT];
	t->f.inbound = inbound[at[FACT_INBOUND]];
	t->f.cpu_labels = at[FACT_CPU] ? text_x : NULL;
	t->f.disks_text = at[FACT_DISKS] ? text_x : NULL;
}
