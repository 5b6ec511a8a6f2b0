/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Evictions of pods of machines: where the machine can move it is marked for
 * evacuation, and the eviction refused until it has moved.
 */
#include <string.h>

#include "api/kinds.h"
#include "api/names.h"
#include "api/pod.h"
#include "api/vmi.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/str.h"
#include "kube/obj.h"
#include "webhook/admit.h"
#include "webhook/api.h"
#include "webhook/evict.h"

enum {
	PLACE_POD,
	PLACE_VMI,
	PLACE_PATCH
};

#define STATUS_TOO_MANY 429

static void
refuse(struct call *call, const char *text)
{
	AUTO(status_done) struct status st = STATUS_INIT;

	(void)status_set(&st, STATUS_TOO_MANY, NULL, "%s", text);
	call_deny(call, &st);
}

/* The API server did not say it: the machine must not be lost by that. */
static void
refuse_unread(struct call *call, size_t place, const char *what)
{
	AUTO(status_done) struct status st = STATUS_INIT;

	(void)status_set(&st, STATUS_TOO_MANY, NULL, "%s: %s", what,
			 call->reads.items[place].status.message);
	call_deny(call, &st);
}

static bool
is_dry_run(const struct review *review)
{
	const json_t *list = js_arr_at(review->object, "deleteOptions.dryRun");
	const char *first = json_string_value(json_array_get(list, 0));

	return review->dry_run || str_equal(first, "All");
}

static void
marked(struct call *call)
{
	AUTO(status_done) struct status st = STATUS_INIT;

	if (reads_answer(&call->reads, PLACE_PATCH) == NULL) {
		refuse_unread(call, PLACE_PATCH,
			      "kubevirt failed marking the vmi for eviction");
		return;
	}
	(void)status_set(&st, STATUS_TOO_MANY, NULL, EVICT_TRIGGERED,
			 obj_ns(reads_answer(&call->reads, PLACE_VMI)),
			 obj_name(reads_answer(&call->reads, PLACE_VMI)));
	call_deny(call, &st);
}

static void
mark(struct call *call, const struct vmi *vmi)
{
	const char *by =
		obj_annotation(call->review.object, EVICT_REQUESTED_BY);
	AUTO(js_unref)
	json_t *patch = evict_patch(reads_answer(&call->reads, PLACE_VMI),
				    str_equal(by, EVICT_DESCHEDULER));

	(void)call_send(call, (struct kube_request){
				      .verb = KUBE_PATCH_JSON,
				      .resource = &api_vmis,
				      .ns = vmi->meta.ns,
				      .name = vmi->meta.name,
				      .body = patch,
				      .dry_run = is_dry_run(&call->review),
				      .repeatable = true,
			      });
	call_then(call, marked);
}

static void
launcher_read(struct call *call)
{
	const struct kubevirt_config *config = call_config(call);
	AUTO(status_done) struct status st = STATUS_INIT;
	AUTO(pod_unref) struct pod *pod = NULL;
	AUTO(vmi_unref) struct vmi *vmi = NULL;
	struct err err;

	if (config == NULL)
		return;
	if (reads_answer(&call->reads, PLACE_VMI) == NULL) {
		refuse_unread(call, PLACE_VMI,
			      "kubevirt failed getting the vmi");
		return;
	}
	pod = pod_decode(reads_answer(&call->reads, PLACE_POD), &err);
	vmi = vmi_decode(reads_answer(&call->reads, PLACE_VMI), &err);
	if (pod == NULL || vmi == NULL) {
		refuse(call, err.text);
		return;
	}
	switch (evict_decide(pod, vmi, config, &st)) {
	case EVICT_ALLOW:
		call_allow(call, NULL);
		return;
	case EVICT_REFUSE:
		call_deny(call, &st);
		return;
	case EVICT_MARK:
		mark(call, vmi);
		return;
	}
}

/* A launcher pod's volumes: it stays as long as the machine is there. */
static void
hotplug_vmi_read(struct call *call)
{
	AUTO(status_done) struct status st = STATUS_INIT;
	size_t vmi = call->reads.count - 1;

	if (reads_is_missing(&call->reads, vmi)) {
		call_allow(call, NULL);
		return;
	}
	if (reads_answer(&call->reads, vmi) == NULL) {
		refuse_unread(call, vmi, "kubevirt failed getting the vmi");
		return;
	}
	(void)status_set(&st, STATUS_TOO_MANY, NULL,
			 "cannot evict hotplug pod: %s associated with running "
			 "vmi: %s in namespace %s",
			 call->review.name,
			 obj_name(reads_answer(&call->reads, vmi)),
			 call->review.ns);
	call_deny(call, &st);
}

static void
read_vmi(struct call *call, const char *name, call_fn *then)
{
	(void)call_send(call, (struct kube_request){
				      .verb = KUBE_GET,
				      .resource = &api_vmis,
				      .ns = call->review.ns,
				      .name = name,
			      });
	call_then(call, then);
}

static void
owner_read(struct call *call)
{
	size_t owner = call->reads.count - 1;
	AUTO(pod_unref) struct pod *pod = NULL;
	struct err err;

	if (reads_answer(&call->reads, owner) == NULL &&
	    !reads_is_missing(&call->reads, owner)) {
		refuse_unread(call, owner,
			      "failed getting owner for hotplug pod");
		return;
	}
	if (reads_answer(&call->reads, owner) != NULL)
		pod = pod_decode(reads_answer(&call->reads, owner), &err);
	if (pod == NULL || !pod->launcher || pod_is_down(pod) ||
	    pod->vmi_name[0] == '\0')
		call_allow(call, NULL);
	else
		read_vmi(call, pod->vmi_name, hotplug_vmi_read);
}

static void
read_owner(struct call *call, const json_t *owners)
{
	(void)call_send(
		call,
		(struct kube_request){
			.verb = KUBE_GET,
			.resource = &kube_pods,
			.ns = call->review.ns,
			.name = js_str_at(json_array_get(owners, 0), "name"),
		});
	call_then(call, owner_read);
}

static void
pod_read(struct call *call)
{
	const json_t *object = reads_answer(&call->reads, PLACE_POD);
	const json_t *owners = js_arr_at(object, "metadata.ownerReferences");
	AUTO(pod_unref) struct pod *pod = NULL;
	struct err err;

	if (object == NULL && !reads_is_missing(&call->reads, PLACE_POD)) {
		refuse_unread(call, PLACE_POD,
			      "kubevirt failed getting the pod");
		return;
	}
	if (object != NULL)
		pod = pod_decode(object, &err);
	if (pod != NULL && pod->hotplug && json_array_size(owners) == 1 &&
	    js_str_at(json_array_get(owners, 0), "name")[0] != '\0')
		read_owner(call, owners);
	else if (pod != NULL && pod->launcher && !pod_is_down(pod) &&
		 pod->vmi_name[0] != '\0')
		read_vmi(call, pod->vmi_name, launcher_read);
	else
		call_allow(call, NULL);
}

void
admit_eviction(struct call *call)
{
	const struct review *review = &call->review;

	/* The names that pods of machines have; all others cost nothing. */
	if (!str_has_prefix(review->name, PREFIX_LAUNCHER) &&
	    !str_has_prefix(review->name, PREFIX_HOTPLUG)) {
		call_allow(call, NULL);
		return;
	}
	(void)call_send(call, (struct kube_request){
				      .verb = KUBE_GET,
				      .resource = &kube_pods,
				      .ns = review->ns,
				      .name = review->name,
			      });
	call_then(call, pod_read);
}
