/* SPDX-License-Identifier: Apache-2.0 */
/* Migrations: what is added to a new one, and which are refused. */
#include <stdlib.h>

#include "api/check.h"
#include "api/defaults.h"
#include "api/kinds.h"
#include "api/names.h"
#include "api/vmi.h"
#include "api/vmim.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "kube/obj.h"
#include "webhook/admit.h"
#include "webhook/api.h"
#include "webhook/diff.h"
#include "webhook/who.h"

enum {
	PLACE_VMI,
	PLACE_VMIMS
};

/* The version that the API serves and stores; the controller would write it
 * first of all otherwise. */
#define OBSERVED_VERSION "v1"

void
admit_migration_mutate(struct call *call)
{
	const json_t *object = call->review.object;
	AUTO(js_unref) json_t *after = json_deep_copy(object);
	AUTO(js_unref) json_t *patch = NULL;

	vmim_set_defaults(after);
	(void)obj_set_annotation(after, ANNOTATION_LATEST_VERSION,
				 OBSERVED_VERSION);
	(void)obj_set_annotation(after, ANNOTATION_STORAGE_VERSION,
				 OBSERVED_VERSION);
	patch = diff_patch(object, after);
	call_allow(call, patch);
}

static struct vmim *
decode(struct call *call, struct status *st)
{
	struct err err;
	struct vmim *vmim = vmim_decode(call->review.object, &err);

	if (vmim == NULL)
		(void)check_fail(st, "%s", err.text);
	return vmim;
}

struct others {
	struct vmim **list;
	size_t count;
};

static void
others_done(struct others *others)
{
	for (size_t i = 0; i < others->count; i++)
		vmim_free(others->list[i]);
	free(others->list);
}

/* One that cannot be read is as good as none: the controller looks again. */
static void
others_decode(const json_t *list, struct others *ret)
{
	const json_t *items = js_arr_at(list, "items");
	size_t i;
	json_t *item;

	ret->list = xcalloc(json_array_size(items) + 1, sizeof(struct vmim *));
	json_array_foreach(items, i, item)
	{
		struct err err;
		struct vmim *vmim = vmim_decode(item, &err);

		if (vmim != NULL)
			ret->list[ret->count++] = vmim;
	}
}

static int
check_create(struct call *call, const struct kubevirt_config *config,
	     struct status *st)
{
	const json_t *object = reads_answer(&call->reads, PLACE_VMI);
	AUTO(vmim_unref) struct vmim *vmim = decode(call, st);
	AUTO(others_done) struct others others = { 0 };
	AUTO(vmi_unref) struct vmi *vmi = NULL;
	struct vmim_create_facts facts = {
		.vmim = vmim,
		.user = who_check_user(call->review.user, call->api->ns),
		.config = config,
	};
	struct err err;

	if (vmim == NULL)
		return -1;
	if (object != NULL) {
		vmi = vmi_decode(object, &err);
		if (vmi == NULL)
			return check_fail(st, "%s", err.text);
	}
	others_decode(reads_answer(&call->reads, PLACE_VMIMS), &others);
	facts.vmi = vmi;
	facts.of_vmi = (const struct vmim *const *)others.list;
	facts.of_vmi_count = others.count;
	return vmim_check_create(&facts, st);
}

static void
create_read(struct call *call)
{
	const struct kubevirt_config *config;
	AUTO(status_done) struct status st = STATUS_INIT;

	if (reads_answer(&call->reads, PLACE_VMI) == NULL &&
	    !reads_is_missing(&call->reads, PLACE_VMI)) {
		call_deny_unread(call, PLACE_VMI, "the VMI");
		return;
	}
	if (reads_answer(&call->reads, PLACE_VMIMS) == NULL) {
		call_deny_unread(call, PLACE_VMIMS, "the VMI's migrations");
		return;
	}
	config = call_config(call);
	if (config == NULL)
		return;
	(void)check_create(call, config, &st);
	call_judge(call, &st);
}

void
admit_migration_create(struct call *call)
{
	struct check_user user =
		who_check_user(call->review.user, call->api->ns);
	AUTO(status_done) struct status st = STATUS_INIT;
	AUTO(vmim_unref) struct vmim *vmim = decode(call, &st);
	AUTO(free_ptr) char *selector = NULL;

	if (vmim == NULL || vmim_check_spec(vmim, &user, &st) == -1) {
		call_deny(call, &st);
		return;
	}
	selector = xasprintf(LABEL_VMI_NAME "=%s", vmim->vmi_name);
	(void)call_send(call, (struct kube_request){
				      .verb = KUBE_GET,
				      .resource = &api_vmis,
				      .ns = call->review.ns,
				      .name = vmim->vmi_name,
			      });
	(void)call_send(call, (struct kube_request){
				      .verb = KUBE_GET,
				      .resource = &api_vmims,
				      .ns = call->review.ns,
				      .label_selector = selector,
			      });
	call_then(call, create_read);
}

void
admit_migration_update(struct call *call)
{
	AUTO(status_done) struct status st = STATUS_INIT;

	(void)vmim_check_update(call->review.old_object, call->review.object,
				&st);
	call_judge(call, &st);
}
