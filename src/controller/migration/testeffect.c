/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/migration/testeffect.h"

#include <stdio.h>
#include <string.h>

#include "api/names.h"
#include "base/array.h"
#include "base/test.h"

static const char *const types[] = {
	COND_ABORT_REQUESTED,
	COND_QUOTA,
	COND_UTILITY_VOLUMES,
	COND_BACKUP,
	COND_WAITING,
	COND_FAILURE,
	COND_DECENTRALIZED_BLOCKED,
};
static char messages[ARRAY_LEN(types)][DECISION_TEXT_SIZE];
static char told[DECISION_TEXT_SIZE];
static char some_time[] = "2026-01-01T00:00:00Z";

bool
effect_is_any(const struct decision *d)
{
	return d->action_count != 0 || decision_changes_status(d) ||
	       d->remove_finalizer || d->delete_migration;
}

static void
effect_of_action(struct testfacts *t, const struct action *action)
{
	struct pod *pod = action->pod == &t->target ? &t->target : &t->source;

	switch (action->kind) {
	case ACTION_STAMP:
		t->vmim.has_finalizer = t->vmim.has_observed_versions = true;
		t->vmim.vmi_label = t->vmim.vmi_name;
		break;
	case ACTION_CREATE_TARGET:
		t->f.target_pod = &t->target;
		t->f.slot = SLOT_HELD;
		t->target.meta.created_us = t->f.now_us;
		break;
	case ACTION_HANDOFF:
		testfacts_hand_off(t);
		t->f.inbound = SLOT_HELD;
		break;
	case ACTION_TELL_LEFT:
		t->state.end_us = t->f.now_us;
		break;
	case ACTION_ABORT:
		t->state.abort_requested = true;
		break;
	case ACTION_FAIL_STATE:
		(void)snprintf(told, sizeof(told), "%s", action->text);
		t->state.failed = t->state.completed = true;
		t->state.failure_reason = told;
		break;
	case ACTION_MARK_READY:
		pod->target_ready = some_time;
		break;
	case ACTION_DELETE_POD:
		pod->meta.deleted_us = t->f.now_us;
		pod->ready = false;
		break;
	case ACTION_COUNT:
		fail();
	}
}

static void
effect_of_cond(struct testfacts *t, const struct decision_cond *cond)
{
	struct conds *conds = &t->vmim.conds;
	size_t type = 0, k = 0;

	while (strcmp(types[type], cond->type) != 0)
		assert_true(++type < ARRAY_LEN(types));
	while (k < conds->len && strcmp(conds->list[k].type, cond->type) != 0)
		k++;
	if (cond->remove) {
		assert_true(k < conds->len);
		conds->list[k] = conds->list[--conds->len];
		return;
	}
	if (k == conds->len)
		assert_true(++conds->len <= TESTFACTS_CONDS_MAX);
	(void)snprintf(messages[type], sizeof(messages[type]), "%s",
		       cond->message);
	conds->list[k] = (struct cond){
		.type = (char *)(uintptr_t)types[type],
		.status = COND_TRUE,
		.reason = (char *)(uintptr_t)cond->reason,
		.message = messages[type],
		.since_us = cond->since_us,
	};
}

void
effect_of(struct testfacts *t, const struct decision *d)
{
	for (size_t i = 0; i < d->action_count; i++)
		effect_of_action(t, &d->actions[i]);
	for (size_t i = 0; i < d->passed_count; i++)
		t->vmim.phase_since_us[d->passed[i]] = t->f.now_us;
	t->vmim.phase = d->phase;
	for (size_t i = 0; i < d->cond_count; i++)
		effect_of_cond(t, &d->conds[i]);
	if (d->copy_state)
		t->vmim.state_uid = t->vmim.meta.uid;
	if (d->remove_finalizer)
		t->vmim.has_finalizer = false;
	if (d->delete_migration)
		t->vmim.meta.deleted_us = t->f.now_us;
}
