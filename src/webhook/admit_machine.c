/* SPDX-License-Identifier: Apache-2.0 */
/* Machines: VirtualMachine and VirtualMachineInstance. */
#include <string.h>

#include "api/check.h"
#include "api/config.h"
#include "api/defaults.h"
#include "api/kinds.h"
#include "api/names.h"
#include "api/vmi.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/str.h"
#include "kube/obj.h"
#include "meta/names.h"
#include "meta/time.h"
#include "webhook/admit.h"
#include "webhook/api.h"
#include "webhook/diff.h"
#include "webhook/who.h"

enum {
	PLACE_VMI
};

static bool
is_internal(const struct call *call)
{
	return who_is(call->review.user, call->api->ns) != WHO_OTHER;
}

/* Allows it as it is after the changes. */
static void
allow_changed(struct call *call, json_t *after)
{
	AUTO(js_unref) json_t *patch = diff_patch(call->review.object, after);

	call_allow(call, patch);
}

/* So that nobody sees a machine without a phase; what else a client says about
 * a machine that does not exist yet is not its to say. */
static void
set_first_status(json_t *object)
{
	char now[TIME_TEXT_SIZE];

	(void)json_object_set_new(
		object, "status",
		json_pack("{s:s, s:[{s:s, s:s}]}", "phase",
			  vmi_phase_name(VMI_PENDING),
			  "phaseTransitionTimestamps", "phase",
			  vmi_phase_name(VMI_PENDING),
			  "phaseTransitionTimestamp", time_now_text(now)));
}

/* The definition of a machine has no status subresource, so that whoever may
 * write the one could write the other; it stays as it is, without a word, as
 * with those that have. */
static void
keep_status(json_t *object, const json_t *old_object)
{
	json_t *status = json_object_get(old_object, "status");

	if (status == NULL)
		(void)json_object_del(object, "status");
	else
		(void)json_object_set(object, "status", status);
}

void
admit_vmi_mutate(struct call *call)
{
	AUTO(js_unref) json_t *after = NULL;
	const struct kubevirt_config *config;
	char uuid[NAME_UUID_SIZE];

	if (call->review.operation == REVIEW_UPDATE && is_internal(call)) {
		call_allow(call, NULL);
		return;
	}
	after = json_deep_copy(call->review.object);
	if (call->review.operation == REVIEW_UPDATE) {
		keep_status(after, call->review.old_object);
		allow_changed(call, after);
		return;
	}
	config = call_config(call);
	if (config == NULL)
		return;
	vmi_set_defaults(after, config, name_uuid(uuid));
	if (!is_internal(call) || js_str_at(after, "status.phase")[0] == '\0')
		set_first_status(after);
	allow_changed(call, after);
}

/* A person pauses with the subresource, which has a permission of its own. */
static int
check_pause(const struct call *call, struct status *st)
{
	static const char *const names[] = { ANNOTATION_PAUSE_REQUESTED,
					     ANNOTATION_PAUSE_ID };

	if (who_is(call->review.user, call->api->ns) == WHO_API)
		return 0;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!str_equal(
			    obj_annotation(call->review.old_object, names[i]),
			    obj_annotation(call->review.object, names[i]))) {
			return check_deny(st, "FieldValueNotSupported",
					  "metadata.annotations",
					  "the annotation %s is written by the "
					  "subresources pause and unpause only",
					  names[i]);
		}
	}
	return 0;
}

void
admit_vmi_create(struct call *call)
{
	const struct check_user user =
		who_check_user(call->review.user, call->api->ns);
	AUTO(status_done) struct status st = STATUS_INIT;

	if (vmi_check_create(call->review.object, &user, &st) == 0)
		(void)check_pause(call, &st);
	call_judge(call, &st);
}

static int
check_handler(const struct call *call, const struct kubevirt_config *config,
	      struct status *st)
{
	const struct review *review = &call->review;

	if (who_is(review->user, call->api->ns) != WHO_HANDLER ||
	    !kubevirt_config_gate(config, GATE_NODE_RESTRICTION))
		return 0;
	return vmi_check_node_update(review->old_object, review->object,
				     review_extra(review, WHO_EXTRA_NODE), st);
}

void
admit_vmi_update(struct call *call)
{
	const struct kubevirt_config *config = call_config(call);
	const struct check_user user =
		who_check_user(call->review.user, call->api->ns);
	AUTO(status_done) struct status st = STATUS_INIT;

	if (config == NULL)
		return;
	if (check_handler(call, config, &st) == 0 &&
	    vmi_check_update(call->review.old_object, call->review.object,
			     &user, time_now_us(), &st) == 0)
		(void)check_pause(call, &st);
	call_judge(call, &st);
}

void
admit_vm_mutate(struct call *call)
{
	const struct kubevirt_config *config = call_config(call);
	AUTO(js_unref) json_t *after = NULL;

	if (config == NULL)
		return;
	if (obj_is_deleting(call->review.object)) {
		call_allow(call, NULL);
		return;
	}
	after = json_deep_copy(call->review.object);
	vm_set_defaults(after, config);
	allow_changed(call, after);
}

/* Whether the machine moves matters for changes of its volumes only. */
static bool
needs_vmi(const struct call *call)
{
	const json_t *now = js_at(call->review.object, "status.volumeRequests");
	const json_t *before =
		js_at(call->review.old_object, "status.volumeRequests");

	return json_array_size(now) > 0 &&
	       (before == NULL || !json_equal(before, now));
}

static void
check_vm(struct call *call)
{
	const struct kubevirt_config *config = call_config(call);
	const json_t *object = call->reads.count == 0
				       ? NULL
				       : reads_answer(&call->reads, PLACE_VMI);
	AUTO(status_done) struct status st = STATUS_INIT;
	AUTO(vmi_unref) struct vmi *vmi = NULL;
	struct vm_facts facts = {
		.old_object = call->review.old_object,
		.new_object = call->review.object,
		.config = config,
		.now_us = time_now_us(),
	};
	struct err err;

	if (config == NULL)
		return;
	if (object != NULL)
		vmi = vmi_decode(object, &err);
	facts.vmi = vmi;
	(void)vm_check(&facts, &st);
	call_judge(call, &st);
}

static void
vm_read(struct call *call)
{
	if (reads_answer(&call->reads, PLACE_VMI) == NULL &&
	    !reads_is_missing(&call->reads, PLACE_VMI))
		call_deny_unread(call, PLACE_VMI, "the VMI");
	else
		check_vm(call);
}

void
admit_vm_validate(struct call *call)
{
	if (!needs_vmi(call)) {
		check_vm(call);
		return;
	}
	(void)call_send(call, (struct kube_request){
				      .verb = KUBE_GET,
				      .resource = &api_vmis,
				      .ns = call->review.ns,
				      .name = call->review.name,
			      });
	call_then(call, vm_read);
}
