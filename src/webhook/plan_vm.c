/* SPDX-License-Identifier: Apache-2.0 */
/* What is asked of a VirtualMachine: start, stop, restart, migrate. */
#include <string.h>

#include "api/kinds.h"
#include "api/names.h"
#include "api/vm.h"
#include "api/vmi.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "kube/obj.h"
#include "meta/status.h"
#include "webhook/plan_internal.h"

#define ACCEPTED 202
#define CONDITION_RECOVERY "ManualRecoveryRequired"
/* The shortest time in which a machine can still be switched off in order. */
#define FORCED_GRACE_S 1

/* The machine and its instance, decoded. */
struct views {
	struct vm *vm;
	struct vmi *vmi; /* NULL where there is none */
};

static void
views_done(struct views *views)
{
	vm_free(views->vm);
	vmi_free(views->vmi);
}

static int
views_decode(const struct plan_facts *facts, struct views *ret,
	     struct status *st)
{
	struct err err;

	ret->vm = vm_decode(facts->vm, &err);
	if (ret->vm == NULL)
		return status_internal(st, "%s", err.text);
	if (facts->vmi == NULL)
		return 0;
	ret->vmi = vmi_decode(facts->vmi, &err);
	return ret->vmi == NULL ? status_internal(st, "%s", err.text) : 0;
}

static json_t *
stop_request(const struct plan_facts *facts)
{
	return json_pack("{s:s, s:s}", "action", "Stop", "uid",
			 obj_uid(facts->vmi));
}

static json_t *
start_request(bool paused)
{
	json_t *request = json_pack("{s:s}", "action", "Start");

	if (paused)
		(void)json_object_set_new(request, "data",
					  json_pack("{s:s}", "paused", "true"));
	return request;
}

/*
 * Asks the controller, by status.stateChangeRequests; takes the reference of
 * requests. A stop replaces what was asked before, all else waits for it.
 */
static struct plan *
ask(const struct plan_facts *facts, json_t *requests, struct status *st)
{
	AUTO(js_unref) json_t *list = requests;
	const char *path = "/status/stateChangeRequests";
	json_t *before = js_arr_at(facts->vm, "status.stateChangeRequests");
	const json_t *status = js_obj_at(facts->vm, "status");
	bool is_stop = json_array_size(list) == 1 &&
		       strcmp(js_str_at(json_array_get(list, 0), "action"),
			      "Stop") == 0;
	struct plan *plan;
	json_t *ops;

	if (json_array_size(before) > 0 && !is_stop) {
		(void)status_internal(st, "unable to complete request: "
					  "stop/start already underway");
		return NULL;
	}
	if (before != NULL)
		ops = plan_ops(plan_op("test", path, json_incref(before)),
			       plan_op("replace", path, json_incref(list)));
	else {
		/* That there is none cannot be tested everywhere. */
		ops = plan_ops(
			plan_op("test", "/metadata/resourceVersion",
				json_string(obj_version(facts->vm))),
			json_object_size(status) == 0
				? plan_op("add", "/status",
					  json_pack("{s:O}",
						    "stateChangeRequests",
						    list))
				: plan_op("add", path, json_incref(list)));
	}
	if (js_at(facts->vm, "status.startFailure") != NULL)
		(void)json_array_append_new(
			ops, plan_op("remove", "/status/startFailure", NULL));
	plan = plan_new(ACCEPTED);
	plan_add(plan, STEP_PATCH_VM_STATUS, ops)->tests = true;
	return plan;
}

/* The machine itself says whether it is to run. */
static void
add_running(struct plan *plan, const struct plan_facts *facts, bool running)
{
	json_t *strategy = js_at(facts->vm, "spec.runStrategy");
	const char *path = "/spec/running";
	json_t *before = js_at(facts->vm, "spec.running");
	json_t *after = json_boolean(running);

	if (strategy != NULL) {
		path = "/spec/runStrategy";
		before = strategy;
		after = json_string(
			run_strategy_name(running ? RUN_ALWAYS : RUN_HALTED));
	}
	plan_add(plan, STEP_PATCH_VM,
		 plan_ops(plan_op("test", path, json_incref(before)),
			  plan_op("replace", path, after)))
		->tests = true;
}

static bool
is_up(const struct vmi *vmi)
{
	return vmi != NULL && !vmi_is_final(vmi) && vmi->phase != VMI_UNKNOWN &&
	       vmi->phase != VMI_UNSET;
}

static struct plan *
start_halted(const struct plan_facts *facts, bool paused, struct status *st)
{
	struct plan *plan;

	/* The controller changes the strategy when it sees this. */
	if (paused)
		return ask(facts, json_pack("[o]", start_request(paused)), st);
	plan = plan_new(ACCEPTED);
	add_running(plan, facts, true);
	return plan;
}

/* An instance that has ended must go before the next can come. */
static struct plan *
start_asked(const struct plan_facts *facts, const struct views *views,
	    bool paused, struct status *st)
{
	enum run_strategy strategy = views->vm->strategy;
	enum vmi_phase phase =
		views->vmi == NULL ? VMI_UNSET : views->vmi->phase;
	bool restart = phase == VMI_SUCCEEDED ||
		       (strategy == RUN_MANUAL && phase == VMI_FAILED);

	if (strategy == RUN_RERUN_ON_FAILURE && phase == VMI_FAILED)
		return plan_conflict_vm(facts, st,
					"%s does not support starting VM from "
					"failed state",
					run_strategy_name(strategy));
	if (restart)
		return ask(facts,
			   json_pack("[o, o]", stop_request(facts),
				     start_request(paused)),
			   st);
	return ask(facts, json_pack("[o]", start_request(paused)), st);
}

static struct plan *
no_strategy(struct status *st)
{
	(void)status_internal(st, "the VM has no run strategy");
	return NULL;
}

struct plan *
plan_start(const struct plan_facts *facts, struct status *st)
{
	bool paused = js_bool_at(facts->options, "paused", false);
	AUTO(views_done) struct views views = { 0 };

	if (views_decode(facts, &views, st) == -1)
		return NULL;
	if (is_up(views.vmi))
		return plan_conflict_vm(facts, st, "VM is already running");
	if (conds_is_true(&views.vm->conds, CONDITION_RECOVERY))
		return plan_conflict_vm(facts, st, VM_RECOVERY_REQUIRED);
	switch (views.vm->strategy) {
	case RUN_HALTED:
		return start_halted(facts, paused, st);
	case RUN_MANUAL:
	case RUN_RERUN_ON_FAILURE:
		return start_asked(facts, &views, paused, st);
	case RUN_ALWAYS:
	case RUN_ONCE:
	case RUN_WAIT_AS_RECEIVER:
		return plan_conflict_vm(
			facts, st, "%s does not support manual start requests",
			run_strategy_name(views.vm->strategy));
	case RUN_UNSET:
	case RUN_STRATEGY_COUNT:
		break;
	}
	return no_strategy(st);
}

/* The instance learns that it has less time, before it is told to go. */
static void
add_grace(struct plan *plan, const struct plan_facts *facts, json_t *grace)
{
	const char *path = "/spec/terminationGracePeriodSeconds";
	json_t *before =
		js_at(facts->vmi, "spec.terminationGracePeriodSeconds");
	json_t *ops;

	if (before == NULL)
		ops = plan_ops(plan_op("add", path, json_incref(grace)), NULL);
	else
		ops = plan_ops(plan_op("test", path, json_incref(before)),
			       plan_op("replace", path, json_incref(grace)));
	(void)plan_add(plan, STEP_PATCH_VMI, ops);
}

/* grace goes first. Takes plan, which may be NULL. */
static struct plan *
with_grace(const struct plan_facts *facts, const struct views *views,
	   json_t *grace, struct plan *plan)
{
	struct plan *both;

	if (plan == NULL || grace == NULL || views->vmi == NULL ||
	    vmi_is_final(views->vmi))
		return plan;
	both = plan_new(plan->code);
	add_grace(both, facts, grace);
	for (size_t i = 0; i < plan->count; i++) {
		struct step *step = plan_add(both, plan->steps[i].kind,
					     json_incref(plan->steps[i].body));

		step->tests = plan->steps[i].tests;
	}
	plan_free(plan);
	return both;
}

static struct plan *
stop_asked(const struct plan_facts *facts, const struct views *views,
	   json_t *grace, struct status *st)
{
	const json_t *before =
		js_at(facts->vmi, "spec.terminationGracePeriodSeconds");

	if (views->vmi == NULL || vmi_is_final(views->vmi))
		return plan_conflict_vm(facts, st, VM_NOT_RUNNING);
	if (views->vm->strategy == RUN_HALTED &&
	    (grace == NULL ||
	     (before != NULL &&
	      json_integer_value(grace) >= json_integer_value(before))))
		return plan_conflict_vm(facts, st,
					"%s only supports manual stop requests "
					"with a shorter graceperiod",
					run_strategy_name(RUN_HALTED));
	return ask(facts, json_pack("[o]", stop_request(facts)), st);
}

struct plan *
plan_stop(const struct plan_facts *facts, struct status *st)
{
	json_t *grace = js_at(facts->options, "gracePeriod");
	AUTO(views_done) struct views views = { 0 };
	struct plan *plan;

	if (grace != NULL &&
	    (!json_is_integer(grace) || json_integer_value(grace) < 0)) {
		(void)status_bad_request(st, "gracePeriod has to be greater or "
					     "equal to 0");
		return NULL;
	}
	if (views_decode(facts, &views, st) == -1)
		return NULL;
	switch (views.vm->strategy) {
	case RUN_HALTED:
	case RUN_MANUAL:
	case RUN_RERUN_ON_FAILURE:
		plan = stop_asked(facts, &views, grace, st);
		return with_grace(facts, &views, grace, plan);
	case RUN_ALWAYS:
	case RUN_ONCE:
	case RUN_WAIT_AS_RECEIVER:
		plan = plan_new(ACCEPTED);
		add_running(plan, facts, false);
		return with_grace(facts, &views, grace, plan);
	case RUN_UNSET:
	case RUN_STRATEGY_COUNT:
		break;
	}
	return no_strategy(st);
}

bool
plan_is_forced(const json_t *options)
{
	return js_at(options, "gracePeriodSeconds") != NULL;
}

/* While it moves there are two: the one it has arrived in counts. "" for
 * none. */
static const char *
find_pod(const struct plan_facts *facts)
{
	const json_t *items = js_arr_at(facts->pods, "items");
	const char *target =
		js_str_at(facts->vmi, "status.migrationState.targetPod");
	size_t i;
	json_t *item;

	if (json_array_size(items) < 2 ||
	    !js_bool_at(facts->vmi, "status.migrationState.completed", false))
		return js_str_at(json_array_get(items, 0), "metadata.name");
	json_array_foreach(items, i, item)
	{
		if (strcmp(obj_name(item), target) == 0)
			return target;
	}
	return "";
}

static int
check_restart_grace(const struct plan_facts *facts, struct status *st)
{
	const json_t *grace = js_at(facts->options, "gracePeriodSeconds");

	if (grace == NULL)
		return 0;
	if (!json_is_integer(grace) || json_integer_value(grace) > 0)
		return status_bad_request(st, "For force restart, only "
					      "gracePeriod=0 is supported for "
					      "now");
	if (json_integer_value(grace) < 0)
		return status_bad_request(st, "gracePeriod has to be greater "
					      "or equal to 0");
	return 0;
}

static int
check_restart(const struct plan_facts *facts, const struct views *views,
	      struct status *st)
{
	enum run_strategy strategy = views->vm->strategy;

	if (conds_is_true(&views->vm->conds, COND_VOLUMES_CHANGE))
		(void)plan_conflict_vm(facts, st, VM_RECOVERY_REQUIRED);
	else if (strategy == RUN_HALTED || strategy == RUN_ONCE) {
		(void)plan_conflict_vm(facts, st,
				       "RunStategy %s does not support manual "
				       "restart requests",
				       run_strategy_name(strategy));
	} else if (views->vmi == NULL) {
		(void)plan_conflict_vm(facts, st, VM_NOT_RUNNING ": %s",
				       run_strategy_name(RUN_HALTED));
	}
	return st->code == 0 ? 0 : -1;
}

struct plan *
plan_restart(const struct plan_facts *facts, struct status *st)
{
	AUTO(views_done) struct views views = { 0 };
	const char *pod = find_pod(facts);
	struct plan *plan;

	if (check_restart_grace(facts, st) == -1 ||
	    views_decode(facts, &views, st) == -1 ||
	    check_restart(facts, &views, st) == -1)
		return NULL;
	plan = ask(
		facts,
		json_pack("[o, o]", stop_request(facts), start_request(false)),
		st);
	if (plan != NULL && plan_is_forced(facts->options) && pod[0] != '\0') {
		plan_add(plan, STEP_DELETE_POD,
			 json_pack("{s:s, s:s, s:i}", "apiVersion", "v1",
				   "kind", "DeleteOptions",
				   "gracePeriodSeconds", FORCED_GRACE_S))
			->name = xstrdup(pod);
	}
	return plan;
}

struct plan *
plan_migrate(const struct plan_facts *facts, struct status *st)
{
	json_t *selector = js_obj_at(facts->options, "addedNodeSelector");
	AUTO(free_ptr) char *version = kube_api_version(&api_vmims);
	AUTO(views_done) struct views views = { 0 };
	struct plan *plan;
	json_t *vmim;

	if (views_decode(facts, &views, st) == -1)
		return NULL;
	if (views.vmi == NULL || views.vmi->phase != VMI_RUNNING)
		return plan_conflict_vm(facts, st, VM_NOT_RUNNING);
	vmim = json_pack("{s:s, s:s, s:{s:s}, s:{s:s}}", "apiVersion", version,
			 "kind", api_vmims.kind, "metadata", "generateName",
			 PREFIX_MIGRATE_VM, "spec", "vmiName", facts->name);
	if (selector != NULL)
		(void)json_object_set(json_object_get(vmim, "spec"),
				      "addedNodeSelector", selector);
	plan = plan_new(ACCEPTED);
	(void)plan_add(plan, STEP_CREATE_MIGRATION, vmim);
	return plan;
}
