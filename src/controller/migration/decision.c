/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/migration/decision.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/str.h"
#include "controller/migration/facts.h"

static const char *const action_names[] = {
	[ACTION_STAMP] = "stamp",
	[ACTION_CREATE_TARGET] = "create-target",
	[ACTION_HANDOFF] = "hand-off",
	[ACTION_TELL_LEFT] = "tell-left",
	[ACTION_ABORT] = "abort",
	[ACTION_FAIL_STATE] = "fail-state",
	[ACTION_MARK_READY] = "mark-ready",
	[ACTION_DELETE_POD] = "delete-pod",
};
_Static_assert(ARRAY_LEN(action_names) == ACTION_COUNT,
	       "each action has a name");

const char *
action_name(enum action_kind kind)
{
	return action_names[kind];
}

bool
decision_changes_status(const struct decision *decision)
{
	return decision->passed_count != 0 || decision->cond_count != 0 ||
	       decision->copy_state;
}

const struct action *
decision_action(const struct decision *decision, enum action_kind kind)
{
	for (size_t i = 0; i < decision->action_count; i++) {
		if (decision->actions[i].kind == kind)
			return &decision->actions[i];
	}
	return NULL;
}

void
decision_enter(struct decision *d, enum migration_phase phase)
{
	assert(d->passed_count < ARRAY_LEN(d->passed));
	d->phase = phase;
	d->passed[d->passed_count++] = phase;
}

struct action *
decision_act(struct decision *d, enum action_kind kind)
{
	struct action *action;

	assert(d->action_count < ARRAY_LEN(d->actions));
	assert(d->action_count == 0 ||
	       d->actions[d->action_count - 1].kind <= kind);
	action = &d->actions[d->action_count++];
	memset(action, 0, sizeof(*action));
	action->kind = kind;
	action->text = "";
	return action;
}

/* What is cut must not end within a character: JSON would not have it. */
static void __attribute__((format(printf, 2, 0)))
format(char to[DECISION_TEXT_SIZE], const char *fmt, va_list ap)
{
	(void)vsnprintf(to, DECISION_TEXT_SIZE, fmt, ap);
	for (size_t len; *to != '\0'; to += len) {
		len = str_utf8_len(to);
		if (len == 0) {
			*to = '\0';
			return;
		}
	}
}

void
decision_emit(struct decision *d, bool on_vmi, const char *reason,
	      const char *fmt, ...)
{
	struct decision_event *event;
	va_list ap;

	assert(d->event_count < ARRAY_LEN(d->events));
	event = &d->events[d->event_count++];
	event->on_vmi = on_vmi;
	event->warning = true;
	event->reason = reason;
	va_start(ap, fmt);
	format(event->text, fmt, ap);
	va_end(ap);
}

void
action_event(struct action *action, const char *reason, const char *fmt, ...)
{
	va_list ap;

	action->event.reason = reason;
	va_start(ap, fmt);
	format(action->event.text, fmt, ap);
	va_end(ap);
}

bool
decision_set_cond(struct decision *d, const struct facts *facts,
		  const char *type, const char *reason, const char *fmt, ...)
{
	const struct cond *old = conds_find(&facts->vmim->conds, type);
	bool same = old != NULL && old->status == COND_TRUE &&
		    strcmp(old->reason, reason) == 0;
	struct decision_cond *cond;
	va_list ap;

	assert(d->cond_count < ARRAY_LEN(d->conds));
	assert(d->said_count < ARRAY_LEN(d->said));
	d->said[d->said_count++] = type;
	cond = &d->conds[d->cond_count];
	cond->type = type;
	cond->remove = false;
	cond->reason = reason;
	cond->since_us = same ? old->since_us : facts->now_us;
	va_start(ap, fmt);
	format(cond->message, fmt, ap);
	va_end(ap);
	if (!same || strcmp(old->message, cond->message) != 0)
		d->cond_count++;
	return !same;
}

void
decision_drop_cond(struct decision *d, const struct facts *facts,
		   const char *type)
{
	if (conds_find(&facts->vmim->conds, type) == NULL)
		return;
	for (size_t i = 0; i < d->said_count; i++) {
		if (strcmp(d->said[i], type) == 0)
			return;
	}
	assert(d->cond_count < ARRAY_LEN(d->conds));
	d->conds[d->cond_count++] = (struct decision_cond){
		.type = type,
		.remove = true,
		.reason = "",
	};
}

void
decision_again(struct decision *d, int64_t due_us)
{
	if (due_us < d->again_us)
		d->again_us = due_us;
}
