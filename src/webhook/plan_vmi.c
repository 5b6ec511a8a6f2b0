/* SPDX-License-Identifier: Apache-2.0 */
/* What is asked of an instance: pause, unpause, evacuate/cancel. */
#include <string.h>

#include "api/config.h"
#include "api/names.h"
#include "api/node.h"
#include "api/vmi.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "meta/status.h"
#include "webhook/plan_internal.h"

#define OK 200
#define NO_SCHEDULE "NoSchedule"

static struct vmi *
decode(const struct plan_facts *facts, struct status *st)
{
	struct err err;
	struct vmi *vmi = vmi_decode(facts->vmi, &err);

	if (vmi == NULL)
		(void)status_internal(st, "%s", err.text);
	return vmi;
}

static struct plan *
pausing(bool pause)
{
	struct plan *plan = plan_new(OK);

	(void)plan_add(plan, STEP_PAUSE, json_boolean(pause));
	return plan;
}

struct plan *
plan_pause(const struct plan_facts *facts, struct status *st)
{
	const json_t *state = js_obj_at(facts->vmi, "status.migrationState");
	const struct gr gr = { "kubevirt.io", "virtualmachineinstance" };
	AUTO(vmi_unref) struct vmi *vmi = decode(facts, st);

	if (vmi == NULL)
		return NULL;
	if (vmi->phase != VMI_RUNNING)
		return plan_conflict_vmi(facts, st, VM_NOT_RUNNING);
	if (js_at(facts->vmi, "spec.livenessProbe") != NULL) {
		(void)status_forbidden(st, &gr, facts->name,
				       "Pausing VMIs with LivenessProbe is "
				       "currently not supported");
		return NULL;
	}
	if (conds_find(&vmi->conds, COND_PAUSED) != NULL)
		return plan_conflict_vmi(facts, st, "VMI is already paused");
	if (state != NULL && !js_bool_at(state, "completed", false))
		return plan_conflict_vmi(facts, st,
					 "Cannot pause VM '%s' because it is "
					 "currently being migrated",
					 facts->name);
	return pausing(true);
}

struct plan *
plan_unpause(const struct plan_facts *facts, struct status *st)
{
	AUTO(vmi_unref) struct vmi *vmi = decode(facts, st);

	if (vmi == NULL)
		return NULL;
	if (js_at(facts->vm, "status.snapshotInProgress") != NULL)
		return plan_conflict_vm(facts, st,
					"VM snapshot is in progress");
	if (vmi->phase != VMI_RUNNING)
		return plan_conflict_vmi(facts, st, "VMI is not running");
	if (conds_find(&vmi->conds, COND_PAUSED) == NULL)
		return plan_conflict_vmi(facts, st, "VMI is not paused");
	return pausing(false);
}

const char *
plan_node(const json_t *vmi)
{
	const char *node = js_str_at(vmi, "status.evacuationNodeName");

	return node[0] != '\0' ? node : js_str_at(vmi, "status.nodeName");
}

/* As long as the taint is there the machine would be marked again. */
static int
check_taint(const struct plan_facts *facts, struct status *st)
{
	const char *key = facts->config->migrations.node_drain_taint_key;
	AUTO(node_unref) struct node *node = NULL;
	struct err err;

	if (facts->node == NULL || key[0] == '\0')
		return 0;
	node = node_decode(facts->node, &err);
	if (node == NULL)
		return status_internal(st, "%s", err.text);
	if (node_has_taint(node, key, NO_SCHEDULE)) {
		return status_bad_request(
			st,
			"Node \"%s\" has NodeDrainTaintKey \"%s:" NO_SCHEDULE
			"\"",
			node->meta.name, key);
	}
	return 0;
}

struct plan *
plan_evacuate_cancel(const struct plan_facts *facts, struct status *st)
{
	const char *path = "/status/evacuationNodeName";
	const char *node = js_str_at(facts->options, "evacuationNodeName");
	struct plan *plan;

	if (check_taint(facts, st) == -1)
		return NULL;
	if (js_str_at(facts->vmi, "status.evacuationNodeName")[0] == '\0')
		return plan_new(OK);
	if (!facts->has_body) {
		(void)status_bad_request(st, "No body");
		return NULL;
	}
	plan = plan_new(OK);
	(void)plan_add(plan, STEP_PATCH_VMI,
		       plan_ops(plan_op("test", path, json_string(node)),
				plan_op("remove", path, NULL)));
	return plan;
}
