/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/machine/decide.h"

#include <string.h>

#include "api/names.h"
#include "base/array.h"
#include "base/jsat.h"
#include "base/str.h"
#include "controller/machine/report.h"
#include "meta/time.h"

static const char *const action_names[] = {
	[MACHINE_NOTHING] = "nothing",
	[MACHINE_ADD_FINALIZER] = "add-finalizer",
	[MACHINE_DROP_FINALIZER] = "drop-finalizer",
	[MACHINE_ADOPT] = "adopt",
	[MACHINE_START] = "start",
	[MACHINE_STOP] = "stop",
	[MACHINE_SET_ALWAYS] = "set-always",
};
_Static_assert(ARRAY_LEN(action_names) == MACHINE_ACTION_COUNT,
	       "each action has a name");

const char *
machine_action_name(enum machine_action action)
{
	return action_names[action];
}

/* What a strategy wants. */
struct want {
	enum machine_action action;
	const char *rule;
	bool request_start; /* written down, before anything else is done */
};

static const struct want nothing = { MACHINE_NOTHING, "as-it-is", false };

static struct want
want_always(const struct machine_facts *facts)
{
	const struct vmi *vmi = facts->vmi;

	if (vmi == NULL)
		return (struct want){ MACHINE_START, "always", false };
	if (machine_asks_stop(facts))
		return (struct want){ MACHINE_STOP, "asked-to-stop", false };
	if (vmi_is_final(vmi))
		return (struct want){ MACHINE_STOP, "ended", false };
	return nothing;
}

/*
 * Starts again what has failed. That it is to be started stands in the machine
 * before the failed instance goes: who looks then, and has not seen it fail,
 * would take it for one that ended well.
 */
static struct want
want_rerun(const struct machine_facts *facts)
{
	const struct vmi *vmi = facts->vmi;

	if (vmi == NULL) {
		if (machine_asks_start(facts) ||
		    facts->vm->followed != facts->vm->strategy)
			return (struct want){ MACHINE_START, "rerun", false };
		return nothing;
	}
	if (objmeta_is_deleting(&vmi->meta))
		return nothing;
	if (vmi->phase == VMI_FAILED && !machine_asks_start(facts))
		return (struct want){ MACHINE_NOTHING, "failed", true };
	if (vmi_is_final(vmi))
		return (struct want){ MACHINE_STOP, "ended", false };
	if (machine_asks_stop(facts))
		return (struct want){ MACHINE_STOP, "asked-to-stop", false };
	return nothing;
}

static struct want
want_manual(const struct machine_facts *facts)
{
	if (facts->vmi != NULL && machine_asks_stop(facts))
		return (struct want){ MACHINE_STOP, "asked-to-stop", false };
	if (facts->vmi == NULL && machine_asks_start(facts))
		return (struct want){ MACHINE_START, "asked-to-start", false };
	return nothing;
}

static struct want
want_halted(const struct machine_facts *facts)
{
	if (facts->vmi != NULL)
		return (struct want){ MACHINE_STOP, "halted", false };
	if (machine_asks_start(facts))
		return (struct want){ MACHINE_SET_ALWAYS, "asked-to-start",
				      false };
	return nothing;
}

static struct want
want_once(const struct machine_facts *facts)
{
	if (facts->vmi == NULL)
		return (struct want){ MACHINE_START, "once", false };
	return nothing;
}

static struct want
want_of(const struct machine_facts *facts)
{
	static struct want (*const by_strategy[])(
		const struct machine_facts *facts) = {
		[RUN_ALWAYS] = want_always, [RUN_HALTED] = want_halted,
		[RUN_MANUAL] = want_manual, [RUN_RERUN_ON_FAILURE] = want_rerun,
		[RUN_ONCE] = want_once,     [RUN_WAIT_AS_RECEIVER] = NULL,
	};
	enum run_strategy strategy = facts->vm->strategy;

	if (strategy >= ARRAY_LEN(by_strategy) || by_strategy[strategy] == NULL)
		return (struct want){ MACHINE_NOTHING, "no-strategy", false };
	return by_strategy[strategy](facts);
}

static struct want
want_deleted(const struct machine_facts *facts)
{
	if (facts->vmi == NULL || facts->vm->orphans)
		return (struct want){ facts->vm->has_finalizer
					      ? MACHINE_DROP_FINALIZER
					      : MACHINE_NOTHING,
				      "gone", false };
	return (struct want){ MACHINE_STOP, "deleted", false };
}

static void
again(struct machine_decision *d, int64_t due_us)
{
	if (due_us < d->again_us)
		d->again_us = due_us;
}

/* What starts is held back after starts that failed, what failed for another
 * reason for a while. */
static void
hold_back(const struct machine_facts *facts, struct machine_decision *d,
	  struct machine_report *report)
{
	const struct vm *vm = facts->vm;

	if (d->action == MACHINE_STOP && facts->vmi != NULL &&
	    objmeta_is_deleting(&facts->vmi->meta))
		d->action = MACHINE_NOTHING; /* it is on its way */
	if (d->action == MACHINE_START && vm->retry_after_us > facts->now_us &&
	    (vm->strategy == RUN_ALWAYS ||
	     vm->strategy == RUN_RERUN_ON_FAILURE)) {
		d->action = MACHINE_NOTHING;
		d->rule = "backoff";
		again(d, vm->retry_after_us);
	}
	if (d->action != MACHINE_START && d->action != MACHINE_STOP)
		return;
	if (d->action == MACHINE_START && facts->bond == BOND_FOREIGN) {
		report->trouble = EVENT_FAILED_CREATE;
		report->trouble_text =
			"Failure while starting VMI: an instance of the same "
			"name belongs to another owner";
		d->action = MACHINE_NOTHING;
		return;
	}
	if (!str_equal(facts->failure.reason, d->action == MACHINE_START
						      ? EVENT_FAILED_CREATE
						      : EVENT_FAILED_DELETE))
		return;
	d->fails = true;
	report->trouble = facts->failure.reason;
	report->trouble_text = facts->failure.message;
	if (facts->now_us < facts->failure.retry_us) {
		again(d, facts->failure.retry_us);
		d->action = MACHINE_NOTHING;
	}
}

/* A machine that never changes has nothing to be compared with. */
static bool
needs_comparison(const struct machine_facts *facts)
{
	const struct vm *vm = facts->vm;
	const struct vmi *vmi = facts->vmi;

	return vmi != NULL && !objmeta_is_deleting(&vm->meta) &&
	       vmi->vm_generation != vm->meta.generation &&
	       (vm->observed_generation != vmi->vm_generation ||
		vm->desired_generation != vm->meta.generation);
}

/* What the instance keeps of a machine that has changed since. */
static void
decide_refresh(const struct machine_facts *facts, struct machine_decision *d)
{
	const struct vmi *vmi = facts->vmi;

	if (vmi == NULL || objmeta_is_deleting(&vmi->meta) ||
	    objmeta_is_deleting(&facts->vm->meta))
		return;
	if (facts->template == TEMPLATE_SAME &&
	    vmi->vm_generation != facts->vm->meta.generation)
		d->refresh_generation = facts->vm->meta.generation;
	d->refresh_wishes = facts->wishes != NULL &&
			    strcmp(facts->wishes, vmi->wishes) != 0;
}

static bool
needs_confirmation(const struct machine_facts *facts,
		   const struct machine_decision *d)
{
	return d->action != MACHINE_NOTHING || d->release ||
	       machine_requests_met(facts) > 0 || needs_comparison(facts);
}

/* The request to start says that the guest is to be paused. */
static bool
asks_paused(const struct machine_facts *facts)
{
	const struct vm_request *request = machine_request(facts);

	return request != NULL && request->action == VM_START &&
	       strcmp(js_str_at(request->data, "paused"), "true") == 0;
}

static void
decide_action(const struct machine_facts *facts, struct machine_decision *d,
	      struct machine_report *report)
{
	const struct vm *vm = facts->vm;
	struct want want;

	if (facts->bond == BOND_LOOSE && !objmeta_is_deleting(&vm->meta))
		want = (struct want){ MACHINE_ADOPT, "adopt", false };
	else if (objmeta_is_deleting(&vm->meta))
		want = want_deleted(facts);
	else if (!vm->has_finalizer)
		want = (struct want){ MACHINE_ADD_FINALIZER, "finalizer",
				      false };
	else
		want = want_of(facts);
	d->action = want.action;
	d->rule = want.rule;
	report->request_start = want.request_start;
	if (str_equal(want.rule, "no-strategy")) {
		report->trouble = EVENT_FAILED_CREATE;
		report->trouble_text =
			"Failure while starting VMI: the runStrategy is not "
			"supported";
	}
	hold_back(facts, d, report);
	d->paused = d->action == MACHINE_START && asks_paused(facts);
}

void
machine_decide(const struct machine_facts *facts,
	       struct machine_decision *ret_decision)
{
	struct machine_decision *d = ret_decision;
	struct machine_report report = { .trouble = NULL };

	*d = (struct machine_decision){ .again_us = MACHINE_NEVER };
	decide_action(facts, d, &report);
	d->release = d->action == MACHINE_NOTHING && facts->vmi != NULL &&
		     vmi_is_final(facts->vmi) && facts->vmi->has_vm_finalizer;
	if (!facts->confirmed && needs_confirmation(facts, d)) {
		*d = (struct machine_decision){
			.rule = d->rule,
			.confirm = true,
			.again_us = MACHINE_NEVER,
		};
		return;
	}
	decide_refresh(facts, d);
	/* What comes of an action is reported when it is seen. */
	if (d->action == MACHINE_NOTHING)
		d->patch = machine_report(facts, &report);
}

void
machine_decision_done(struct machine_decision *decision)
{
	json_decref(decision->patch);
	decision->patch = NULL;
}
