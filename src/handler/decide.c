/* SPDX-License-Identifier: Apache-2.0 */
#include "handler/decide.h"

#include <stdio.h>
#include <string.h>

#include "api/names.h"
#include "base/array.h"
#include "base/jsat.h"
#include "base/str.h"
#include "kube/conditions.h"

bool
decide_by(const struct decide_rule *rules, size_t count, const struct facts *f,
	  struct decision *d)
{
	for (size_t i = 0; i < count; i++) {
		if (rules[i].rule(f, d)) {
			d->rule = rules[i].name;
			return true;
		}
	}
	return false;
}

/* The conditions as wished so far in this decision, or as they are. A new
 * reference. */
static json_t *
conditions_now(const struct facts *f, const struct decision *d)
{
	json_t *list = js_arr_at(f->object, "status.conditions");

	for (size_t i = 0; i < d->wishes.count; i++) {
		if (str_equal(d->wishes.list[i].pointer, MEMBER_CONDITIONS))
			list = d->wishes.list[i].value;
	}
	return list == NULL ? json_array() : json_deep_copy(list);
}

void
decide_condition(const struct facts *f, struct decision *d,
		 const struct condition *condition)
{
	json_t *list = conditions_now(f, d);
	bool changed;

	if (condition->status == NULL)
		changed = condition_remove(list, condition->type);
	else
		changed = condition_set(list, condition, f->now_us);
	if (changed)
		wish_set(&d->wishes, MEMBER_CONDITIONS, list);
	else
		json_decref(list);
}

static const char *
waits_member(const struct facts *f)
{
	return facts_is_source(f) ? MEMBER_STATE "sourceWaitsFor"
				  : MEMBER_STATE "targetWaitsFor";
}

bool
decide_needs_proxy(const struct facts *f, struct decision *d)
{
	const char *member = waits_member(f);
	char text[DECISION_TEXT_SIZE];

	if (f->proxy_up)
		return false;
	(void)snprintf(text, sizeof(text),
		       "ferry-proxy of node '%s' does not answer", f->node);
	wish_text(&d->wishes, member, text);
	decision_emit(d, true, EVENT_PROXY_UNAVAILABLE,
		      "%s: the migration waits for it.", text);
	decision_again(d, f->now_us + DECIDE_RETRY_US);
	return true;
}

void
decide_waits_no_more(const struct facts *f, struct decision *d)
{
	wish_gone(&d->wishes, waits_member(f));
}

void
decide_failure(const struct facts *f, struct decision *d, const char *code,
	       const char *text)
{
	struct wishes *w = &d->wishes;
	const struct migration_state *state = f->vmi->migration;

	/* Not when the machine arrives at the same moment. */
	w->exact = true;
	wish_set(w, MEMBER_STATE "failed", json_true());
	wish_set(w, MEMBER_STATE "completed", json_true());
	wish_text(w, MEMBER_STATE "failureReason", text);
	wish_text(w, MEMBER_STATE "failureCode", code);
	/* Only the source says when it began. */
	if (state->start_us == 0 && facts_is_source(f))
		wish_time(w, MEMBER_STATE "startTimestamp", f->now_us);
	if (state->end_us == 0)
		wish_time(w, MEMBER_STATE "endTimestamp", f->now_us);
	decide_waits_no_more(f, d);
	decision_emit(d, true, "Migrated",
		      "VirtualMachineInstance migration uid %s failed. "
		      "reason:%s",
		      state->uid, text);
}

void
decide_stop(const struct facts *f, struct decision *d, enum step step)
{
	d->step = step;
	d->finish = f->vmi != NULL && f->vmi->migration != NULL &&
		    !f->vmi->migration->failed;
}

/* The way of the listeners that nobody needs. */
static bool
rest_listeners(const struct facts *f, struct decision *d)
{
	if (f->target.uid[0] != '\0')
		decide_stop(f, d, STEP_STOP_TARGET);
	else if (f->source.uid[0] != '\0')
		decide_stop(f, d, STEP_STOP_SOURCE);
	return d->step != STEP_NONE;
}

/*
 * A pod here whose machine is elsewhere or gone. A domain in it is killed only
 * when nobody can want it: the machine is gone or has ended. After a migration
 * the launcher ends by itself, and a machine that another node claims while it
 * runs here is no case to decide in a hurry.
 */
static bool
rest_domain(const struct facts *f, struct decision *d)
{
	if (!facts_has_domain(f) || (f->vmi != NULL && !vmi_is_final(f->vmi)))
		return false;
	d->step = STEP_KILL;
	return true;
}

/* A target that was prepared and is not needed: its launcher waits in vain. */
static bool
rest_target(const struct facts *f, struct decision *d)
{
	if (f->status == NULL || f->status->state != LAUNCH_NO_DOMAIN ||
	    f->status->migration == NULL ||
	    f->status->migration->role != LAUNCH_TARGET || f->pod == NULL ||
	    f->pod->migration_uid[0] == '\0')
		return false;
	if (f->vmi != NULL && f->vmi->migration != NULL &&
	    str_equal(f->vmi->migration->uid, f->pod->migration_uid) &&
	    !facts_is_over(f))
		return false;
	d->step = STEP_CLEANUP;
	return true;
}

static const struct decide_rule rest_rules[] = {
	{ "rest-domain", rest_domain },
	{ "rest-listeners", rest_listeners },
	{ "rest-target", rest_target },
};

void
decide(const struct facts *f, struct decision *ret_decision)
{
	struct decision *d = ret_decision;

	memset(d, 0, sizeof(*d));
	d->rule = "idle";
	d->again_us = DECISION_NEVER;
	if (facts_is_target(f) && decide_target(f, d))
		return;
	if (facts_is_source(f) && decide_source(f, d))
		return;
	if (facts_is_owner(f)) {
		(void)decide_owner(f, d);
		return;
	}
	(void)decide_by(rest_rules, ARRAY_LEN(rest_rules), f, d);
}
