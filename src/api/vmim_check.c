/* SPDX-License-Identifier: Apache-2.0 */
#include "api/check.h"

#include <string.h>

#include "api/check_internal.h"
#include "api/config.h"
#include "api/names.h"
#include "api/vmi.h"
#include "api/vmim.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/str.h"
#include "kube/obj.h"

int
vmim_check_spec(const struct vmim *vmim, const struct check_user *user,
		struct status *st)
{
	if (vmim->vmi_name[0] == '\0')
		return check_deny(st, CHECK_REQUIRED, "spec.vmiName",
				  "vmiName is missing");
	/* The name of the field is KubeVirt's. */
	if (vmim->priority != PRIORITY_UNSET && !user->controller)
		return check_deny(
			st, CHECK_INVALID, "spec.migrationPriority",
			"Migration priority queue, only virt-controller is "
			"allowed to set priority field");
	return 0;
}

/* A copy of the disks goes with a decentralized migration. */
static bool
is_tolerated(const struct vmim *vmim, const struct cond *cond)
{
	return vmim_is_decentralized(vmim) &&
	       strcmp(cond->reason, REASON_DISKS_NOT_MIGRATABLE) == 0;
}

static int
check_vmi(const struct vmim_create_facts *facts, struct status *st)
{
	const struct vmim *vmim = facts->vmim;
	const struct cond *cond;

	if (facts->vmi == NULL)
		return check_fail(st, "the VMI \"%s/%s\" does not exist",
				  vmim->meta.ns, vmim->vmi_name);
	if (vmi_is_final(facts->vmi))
		return check_fail(st, "Cannot migrate VMI in finalized state.");
	cond = conds_find(&facts->vmi->conds, COND_LIVE_MIGRATABLE);
	if (cond != NULL && cond->status == COND_FALSE &&
	    !is_tolerated(vmim, cond))
		return check_fail(st,
				  "Cannot migrate VMI, Reason: %s, Message: %s",
				  cond->reason, cond->message);
	return 0;
}

static int
check_others(const struct vmim_create_facts *facts, struct status *st)
{
	for (size_t i = 0; i < facts->of_vmi_count; i++) {
		const struct vmim *other = facts->of_vmi[i];

		if (vmim_is_final(other))
			continue;
		return check_fail(
			st,
			"in-flight migration detected. Active migration job "
			"(%s) is currently already in progress for VMI %s.",
			other->meta.uid, other->vmi_name);
	}
	return 0;
}

static int
check_halves(const struct vmim_create_facts *facts, struct status *st)
{
	const char *send = facts->vmim->send_to_id;
	const char *receive = facts->vmim->receive_id;

	if (send[0] == '\0' && receive[0] == '\0')
		return 0;
	if (!kubevirt_config_gate(facts->config, GATE_DECENTRALIZED))
		return check_fail(st, GATE_DECENTRALIZED
				  " feature gate is not enabled in kubevirt "
				  "resource");
	if (send[0] != '\0' && receive[0] != '\0' && strcmp(send, receive) != 0)
		return check_fail(st,
				  "sendTo migrationID %s does not match "
				  "receive migrationID %s",
				  send, receive);
	/* With both it is a migration like any other. */
	if (vmim_is_decentralized(facts->vmim)) {
		const char *half =
			send[0] != '\0' ? "spec.sendTo" : "spec.receive";

		return check_deny(st, CHECK_NOT_SUPPORTED, half,
				  "%s is not supported: there is nothing that "
				  "moves machines between namespaces or "
				  "clusters",
				  half);
	}
	return 0;
}

int
vmim_check_create(const struct vmim_create_facts *facts, struct status *st)
{
	if (vmim_check_spec(facts->vmim, &facts->user, st) == -1 ||
	    check_vmi(facts, st) == -1 || check_others(facts, st) == -1 ||
	    check_halves(facts, st) == -1)
		return -1;
	return 0;
}

static bool
is_final(const json_t *object)
{
	enum migration_phase phase;
	struct err err;

	return migration_phase_parse(js_str_at(object, "status.phase"), &phase,
				     &err) == 0 &&
	       migration_phase_is_final(phase);
}

int
vmim_check_update(const json_t *old_object, const json_t *new_object,
		  struct status *st)
{
	const char *old_label = obj_label(old_object, LABEL_VMI_NAME);
	const json_t *labels = js_obj_at(new_object, "metadata.labels");

	if (!check_same_members(js_obj_at(old_object, "spec"),
				js_obj_at(new_object, "spec")))
		return check_deny(
			st, CHECK_NOT_SUPPORTED, NULL,
			"update of Migration object's spec is restricted");
	if (is_final(new_object) || old_label == NULL)
		return 0;
	if (json_object_size(labels) == 0)
		return check_deny(st, CHECK_NOT_SUPPORTED, NULL,
				  "selector label can't be removed from an "
				  "in-flight migration");
	if (!str_equal(obj_label(new_object, LABEL_VMI_NAME), old_label))
		return check_deny(st, CHECK_NOT_SUPPORTED, NULL,
				  "selector label can't be modified on an "
				  "in-flight migration");
	return 0;
}
