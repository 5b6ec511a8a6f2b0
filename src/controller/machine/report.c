/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/machine/report.h"

#include <string.h>

#include "api/names.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/jsat.h"
#include "kube/conditions.h"
#include "meta/time.h"

#define BACKOFF_STEP_S 10 /* times the square of the failures */

int64_t
machine_backoff_s(uint32_t failures, uint32_t random)
{
	int64_t n = failures == 0 ? 1 : failures;
	int64_t delay;

	if (n > MACHINE_BACKOFF_MAX_S)
		return MACHINE_BACKOFF_MAX_S;
	delay = BACKOFF_STEP_S * n * n;
	/* Those that fail together do not come back together. */
	delay += random % (delay / 2 + 1);
	return delay > MACHINE_BACKOFF_MAX_S ? MACHINE_BACKOFF_MAX_S : delay;
}

/* The conditions that are not simply those of the instance. */
static bool
is_own(const char *type)
{
	return strcmp(type, COND_READY) == 0 ||
	       strcmp(type, COND_VM_FAILURE) == 0 ||
	       strcmp(type, COND_RESTART_REQUIRED) == 0;
}

static const char *
status_text(const struct cond *cond)
{
	return cond->status == COND_TRUE    ? "True"
	       : cond->status == COND_FALSE ? "False"
					    : "Unknown";
}

/* The instance's, with its own time. */
static void
copy_cond(json_t *conds, const struct cond *cond, int64_t now_us)
{
	const struct condition c = {
		.type = cond->type,
		.status = status_text(cond),
		.reason = cond->reason,
		.message = cond->message,
	};

	(void)condition_set(conds, &c,
			    cond->since_us == 0 ? now_us : cond->since_us);
}

static void
report_ready(const struct machine_facts *facts, json_t *conds)
{
	const struct cond *ready =
		facts->vmi == NULL ? NULL
				   : conds_find(&facts->vmi->conds, COND_READY);
	const struct condition c = {
		.type = COND_READY,
		.status = "False",
		.reason = facts->vmi == NULL ? "VMINotExists"
					     : "VMIConditionMissing",
		.message = facts->vmi == NULL
				   ? "VMI does not exist"
				   : "VMI is missing the Ready condition",
	};

	if (ready != NULL)
		copy_cond(conds, ready, facts->now_us);
	else
		(void)condition_set(conds, &c, facts->now_us);
}

static void
report_instances(const struct machine_facts *facts, json_t *conds)
{
	const struct vmi *vmi = facts->vmi;

	if (vmi == NULL)
		return;
	for (size_t i = 0; i < vmi->conds.len; i++) {
		if (!is_own(vmi->conds.list[i].type))
			copy_cond(conds, &vmi->conds.list[i], facts->now_us);
	}
	for (size_t i = json_array_size(conds); i-- > 0;) {
		const char *type = js_str_at(json_array_get(conds, i), "type");

		if (!is_own(type) && conds_find(&vmi->conds, type) == NULL)
			(void)json_array_remove(conds, i);
	}
}

static void
report_trouble(const struct machine_facts *facts,
	       const struct machine_report *report, json_t *conds)
{
	const struct condition c = {
		.type = COND_VM_FAILURE,
		.status = "True",
		.reason = report->trouble,
		.message = report->trouble_text,
	};

	if (report->trouble == NULL)
		(void)condition_remove(conds, COND_VM_FAILURE);
	else
		(void)condition_set(conds, &c, facts->now_us);
}

/* That what runs is not what is asked for, until it is started anew. */
static void
report_restart(const struct machine_facts *facts, json_t *conds)
{
	static const struct condition c = {
		.type = COND_RESTART_REQUIRED,
		.status = "True",
		.message = "a non-live-updatable field was changed in the "
			   "template spec",
	};

	if (facts->vmi == NULL || facts->template == TEMPLATE_SAME ||
	    facts->vmi->vm_generation == facts->vm->meta.generation)
		(void)condition_remove(conds, COND_RESTART_REQUIRED);
	else if (facts->template == TEMPLATE_CHANGED)
		(void)condition_set(conds, &c, facts->now_us);
}

static void
report_conds(const struct machine_facts *facts,
	     const struct machine_report *report, json_t *status)
{
	AUTO(js_unref) json_t *before = conds_json(&facts->vm->conds);
	AUTO(js_unref) json_t *conds = json_deep_copy(before);

	report_ready(facts, conds);
	report_instances(facts, conds);
	report_trouble(facts, report, conds);
	report_restart(facts, conds);
	if (!json_equal(before, conds))
		json_object_set(status, "conditions", conds);
}

static json_t *
request_json(const struct vm_request *request)
{
	json_t *item = json_pack("{s:s}", "action",
				 request->action == VM_STOP ? "Stop" : "Start");

	if (*request->uid != '\0')
		json_object_set_new(item, "uid", json_string(request->uid));
	if (request->data != NULL)
		json_object_set(item, "data", request->data);
	return item;
}

static void
report_requests(const struct machine_facts *facts,
		const struct machine_report *report, json_t *status)
{
	const struct vm *vm = facts->vm;
	size_t met = machine_requests_met(facts);
	json_t *list;

	if (met == 0 && !report->request_start)
		return;
	list = json_array();
	for (size_t i = met; i < vm->request_count; i++)
		(void)json_array_append_new(list,
					    request_json(&vm->requests[i]));
	if (report->request_start)
		(void)json_array_append_new(
			list, json_pack("{s:s}", "action", "Start"));
	if (json_array_size(list) == 0) {
		json_decref(list);
		list = json_null();
	}
	json_object_set_new(status, "stateChangeRequests", list);
}

static bool
retries(enum run_strategy strategy)
{
	return strategy == RUN_ALWAYS || strategy == RUN_RERUN_ON_FAILURE ||
	       strategy == RUN_ONCE;
}

/* Counts starts that came to nothing: instances that ended without ever having
 * run. */
static void
report_failures(const struct machine_facts *facts, json_t *status)
{
	const struct vm *vm = facts->vm;
	const struct vmi *vmi = facts->vmi;
	char time[TIME_TEXT_SIZE];
	uint32_t count;
	int64_t retry_us;

	if (machine_has_run(facts) || !retries(vm->strategy)) {
		if (vm->failed_count > 0)
			json_object_set_new(status, "startFailure",
					    json_null());
		return;
	}
	if (vmi == NULL || !vmi_is_final(vmi) ||
	    strcmp(vm->failed_uid, vmi->meta.uid) == 0)
		return;
	count = vm->failed_count + 1;
	retry_us = facts->now_us +
		   machine_backoff_s(count, facts->random) * TIME_US_PER_SECOND;
	json_object_set_new(
		status, "startFailure",
		json_pack("{s:s, s:s, s:I}", "lastFailedVMIUID", vmi->meta.uid,
			  "retryAfterTimestamp", time_text(retry_us, time),
			  "consecutiveFailCount", (json_int_t)count));
}

static void
report_generations(const struct machine_facts *facts, json_t *status)
{
	const struct vm *vm = facts->vm;
	const struct vmi *vmi = facts->vmi;

	/* What was not compared was not observed, and one that is as good as
	 * the newest is about to say so. */
	if (vmi == NULL || vmi->vm_generation == 0 ||
	    (vmi->vm_generation != vm->meta.generation &&
	     (!facts->confirmed || facts->template == TEMPLATE_SAME)))
		return;
	if (vm->observed_generation != vmi->vm_generation)
		json_object_set_new(
			status, "observedGeneration",
			json_integer((json_int_t)vmi->vm_generation));
	if (vm->desired_generation != vm->meta.generation)
		json_object_set_new(
			status, "desiredGeneration",
			json_integer((json_int_t)vm->meta.generation));
}

static void
report_flags(const struct machine_facts *facts, json_t *status)
{
	const struct vm *vm = facts->vm;
	const struct vmi *vmi = facts->vmi;
	bool created = vmi != NULL;
	bool ready = created && conds_is_true(&vmi->conds, COND_READY);
	const char *printable = machine_printable(facts);

	if (created != vm->created)
		json_object_set_new(status, "created", json_boolean(created));
	if (ready != vm->ready)
		json_object_set_new(status, "ready", json_boolean(ready));
	if (strcmp(printable, vm->printable_status) != 0)
		json_object_set_new(status, "printableStatus",
				    json_string(printable));
	/* Unset until it was started once, which some strategies ask. */
	if ((vm->followed != RUN_UNSET || created) &&
	    vm->followed != vm->strategy)
		json_object_set_new(
			status, "runStrategy",
			json_string(run_strategy_name(vm->strategy)));
}

json_t *
machine_report(const struct machine_facts *facts,
	       const struct machine_report *report)
{
	AUTO(js_unref) json_t *status = json_object();

	report_flags(facts, status);
	report_generations(facts, status);
	report_requests(facts, report, status);
	report_failures(facts, status);
	report_conds(facts, report, status);
	return json_object_size(status) == 0
		       ? NULL
		       : json_pack("{s:O}", "status", status);
}
