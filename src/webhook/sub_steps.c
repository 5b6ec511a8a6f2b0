/* SPDX-License-Identifier: Apache-2.0 */
#include "webhook/sub_steps.h"

#include "api/kinds.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "kube/resource.h"
#include "webhook/api.h"
#include "webhook/pause.h"
#include "webhook/plan.h"
#include "webhook/sub.h"

#define CONFLICT 409
#define UNPROCESSABLE 422

static const struct write {
	const struct kube_resource *resource;
	const char *subresource;
	enum kube_verb verb;
	bool named;
} writes[] = {
	[STEP_PATCH_VM] = { &api_vms, NULL, KUBE_PATCH_JSON, true },
	[STEP_PATCH_VM_STATUS] = { &api_vms, "status", KUBE_PATCH_JSON, true },
	[STEP_PATCH_VMI] = { &api_vmis, NULL, KUBE_PATCH_JSON, true },
	[STEP_CREATE_MIGRATION] = { &api_vmims, NULL, KUBE_CREATE, false },
	[STEP_DELETE_POD] = { &kube_pods, NULL, KUBE_DELETE, true },
};

static const struct step *
step_of(const struct call *call)
{
	return &call->plan->steps[call->step];
}

/* What a patch tests has changed, or the object has under its hands. */
static bool
came_too_late(const struct call *call, const struct reads_item *item)
{
	return step_of(call)->tests &&
	       (item->code == CONFLICT || item->code == UNPROCESSABLE);
}

static void
again(struct call *call)
{
	reads_done(&call->reads);
	plan_free(call->plan);
	call->plan = NULL;
	call->step = 0;
	sub_begin(call);
}

static void
step_failed(struct call *call, const struct reads_item *item)
{
	const struct gr gr = { "kubevirt.io", "virtualmachine" };
	AUTO(status_done) struct status st = STATUS_INIT;

	if (came_too_late(call, item) && call->step == 0 &&
	    ++call->tries < SUB_TRIES) {
		again(call);
		return;
	}
	if (came_too_late(call, item))
		(void)status_conflict(&st, &gr, call->name,
				      item->status.message);
	else
		(void)status_internal(&st, "%s", item->status.message);
	call_reply_status(call, &st);
}

static void
step_done(struct call *call)
{
	const struct reads_item *item =
		&call->reads.items[call->reads.count - 1];
	bool gone = step_of(call)->kind == STEP_DELETE_POD &&
		    reads_is_missing(&call->reads, call->reads.count - 1);

	if (item->status.code != 0 && !gone) {
		step_failed(call, item);
		return;
	}
	call->step++;
	sub_steps_run(call);
}

static void
paused(const struct status *st, void *arg)
{
	struct call *call = arg;

	if (st->code != 0) {
		call_reply_status(call, st);
		return;
	}
	pause_free(call->pause);
	call->pause = NULL;
	call->step++;
	sub_steps_run(call);
}

static void
run_pause(struct call *call)
{
	const struct pause_config config = {
		.client = call->api->client,
		.ns = call->ns,
		.name = call->name,
		.pause = json_is_true(step_of(call)->body),
		.dry_run = call->dry_run,
		.done = paused,
		.arg = call,
	};

	call->pause = pause_start(&config);
}

void
sub_steps_run(struct call *call)
{
	const struct step *step;
	const struct write *write;

	if (call->step == call->plan->count) {
		call_reply(call, call->plan->code, NULL);
		return;
	}
	step = step_of(call);
	if (step->kind == STEP_PAUSE) {
		run_pause(call);
		return;
	}
	write = &writes[step->kind];
	/* What was read is in the plan. */
	reads_done(&call->reads);
	(void)call_send(call, (struct kube_request){
				      .verb = write->verb,
				      .resource = write->resource,
				      .ns = call->ns,
				      .name = !write->named        ? NULL
					      : step->name == NULL ? call->name
								   : step->name,
				      .subresource = write->subresource,
				      .body = step->body,
				      .dry_run = call->dry_run,
			      });
	call_then(call, step_done);
}
