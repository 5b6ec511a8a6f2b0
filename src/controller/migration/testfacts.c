/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/migration/testfacts.h"

#include <assert.h>
#include <string.h>

#include "api/names.h"
#include "base/array.h"
#include "meta/time.h"

static char empty[] = "";

static void
init_meta(struct objmeta *meta, const char *name)
{
	static char ns[] = "default";

	*meta = (struct objmeta){ .ns = ns,
				  .name = (char *)(uintptr_t)name,
				  .uid = (char *)(uintptr_t)name,
				  .version = empty,
				  .owner_uid = empty };
}

void
testfacts_vmim(struct vmim *vmim, const char *uid)
{
	static char vmi_name[] = "vm";

	*vmim = (struct vmim){
		.vmi_name = vmi_name,
		.send_to_id = empty,
		.send_to_url = empty,
		.receive_id = empty,
		.vmi_label = vmi_name,
		.evacuation_node = empty,
		.has_finalizer = true,
		.has_observed_versions = true,
		.deadlines = { -1, -1, -1, -1, -1, -1 },
		.utility_timeout_s = VMIM_TIMEOUT_UNSET,
		.state_uid = empty,
		.source_pod = empty,
	};
	init_meta(&vmim->meta, uid);
}

void
testfacts_vmi(struct vmi *vmi)
{
	static char name[] = "vm";

	*vmi = (struct vmi){
		.vm_name = empty,
		.cpu_model = empty,
		.scheduler_name = empty,
		.phase = VMI_RUNNING,
		.node = empty,
		.evacuation_node = empty,
		.launcher_image = empty,
		.selinux_context = empty,
		.migration_transport = empty,
	};
	init_meta(&vmi->meta, name);
}

void
testfacts_pod(struct pod *pod, const char *name)
{
	*pod = (struct pod){
		.launcher = true,
		.vmi_uid = empty,
		.vmi_name = empty,
		.migration_uid = empty,
		.migration_name = empty,
		.target_ready = empty,
		.node = empty,
		.compute_image = empty,
		.ip = empty,
		.phase = POD_PENDING,
		.reason = empty,
		.message = empty,
		.waiting_reason = empty,
		.waiting_message = empty,
		.ended_text = empty,
	};
	init_meta(&pod->meta, name);
}

void
testfacts_state(struct migration_state *state)
{
	*state = (struct migration_state){
		.uid = empty,
		.source_node = empty,
		.source_pod = empty,
		.target_node = empty,
		.target_pod = empty,
		.target_attachment_pod_uid = empty,
		.policy_name = empty,
		.source_pvc = empty,
		.target_pvc = empty,
		.target_address = empty,
		.target_waits = empty,
		.source_waits = empty,
		.failure_reason = empty,
		.source_state_uid = empty,
		.target_state_uid = empty,
		.text = empty,
	};
}

void
testfacts_config(struct kubevirt_config *config)
{
	*config = (struct kubevirt_config){
		.migrations = {
			.parallel_cluster = CONFIG_PARALLEL_CLUSTER,
			.parallel_outbound = CONFIG_PARALLEL_OUTBOUND,
			.utility_timeout_s = CONFIG_UTILITY_TIMEOUT_S,
		},
		.deadlines = {
			.unschedulable_s = CONFIG_UNSCHEDULABLE_TIMEOUT_S,
			.pending_s = CONFIG_PENDING_TIMEOUT_S,
			.scheduled_s = CONFIG_SCHEDULED_TIMEOUT_S,
			.preparing_s = CONFIG_PREPARING_TIMEOUT_S,
			.ready_s = CONFIG_READY_TIMEOUT_S,
			.running_s = CONFIG_RUNNING_TIMEOUT_S,
		},
	};
}

void
testfacts_init(struct testfacts *t)
{
	static char node_a[] = "a", source[] = "pod-a", target[] = "pod-b";
	static char uid[] = "uid-1";

	memset(t, 0, sizeof(*t));
	testfacts_config(&t->config);
	testfacts_vmim(&t->vmim, uid);
	testfacts_vmi(&t->vmi);
	testfacts_state(&t->state);
	testfacts_pod(&t->source, source);
	testfacts_pod(&t->target, target);
	t->vmi.node = node_a;
	t->source.node = node_a;
	t->source.phase = POD_RUNNING;
	t->source.ready = true;
	t->vmim.meta.created_us = TESTFACTS_NOW_US;
	t->target.meta.created_us = TESTFACTS_NOW_US;
	t->vmim.conds.list = t->conds;
	t->f = (struct facts){
		.now_us = TESTFACTS_NOW_US,
		.confirmed = true,
		.config = &t->config,
		.vmim = &t->vmim,
		.others = t->other_list,
		.vmi = &t->vmi,
		.source_pod = &t->source,
		.live_pods = 1,
	};
}

void
testfacts_hand_off(struct testfacts *t)
{
	testfacts_state(&t->state);
	t->state.uid = t->vmim.meta.uid;
	t->state.source_node = t->source.node;
	t->state.source_pod = t->source.meta.name;
	t->state.target_node = t->target.node;
	t->state.target_pod = t->target.meta.name;
	t->vmi.migration = &t->state;
}

static void
hand_off(struct testfacts *t, enum migration_phase phase)
{
	static char address[] = "10.0.0.2";

	testfacts_hand_off(t);
	if (phase >= MIGRATION_TARGET_READY)
		t->state.target_address = address;
	if (phase >= MIGRATION_RUNNING)
		t->state.start_us = TESTFACTS_NOW_US - TIME_US_PER_SECOND;
}

void
testfacts_in(struct testfacts *t, enum migration_phase phase)
{
	static char node_b[] = "b";

	testfacts_init(t);
	t->vmim.phase = phase;
	t->vmim.phase_since_us[phase] = TESTFACTS_NOW_US - TIME_US_PER_SECOND;
	if (phase >= MIGRATION_SCHEDULING) {
		t->f.target_pod = &t->target;
		t->f.slot = SLOT_HELD;
	}
	if (phase >= MIGRATION_SCHEDULED) {
		t->target.phase = POD_RUNNING;
		t->target.ready = true;
		t->target.node = node_b;
	}
	if (phase >= MIGRATION_PREPARING_TARGET)
		hand_off(t, phase);
}

void
testfacts_cond(struct testfacts *t, const char *type, const char *reason)
{
	assert(t->vmim.conds.len < ARRAY_LEN(t->conds));
	t->conds[t->vmim.conds.len++] = (struct cond){
		.type = (char *)(uintptr_t)type,
		.status = COND_TRUE,
		.reason = (char *)(uintptr_t)reason,
		.message = empty,
		.since_us = TESTFACTS_NOW_US - TIME_US_PER_SECOND,
	};
}

struct vmim *
testfacts_other(struct testfacts *t, int64_t created_s,
		enum migration_phase phase, int64_t ended_s)
{
	static char uids[][8] = { "uid-o0", "uid-o1", "uid-o2", "uid-o3",
				  "uid-o4", "uid-o5", "uid-o6", "uid-o7" };
	size_t i = t->f.other_count;
	struct vmim *vmim = &t->others[i];

	assert(i < ARRAY_LEN(t->others));
	testfacts_vmim(vmim, uids[i]);
	vmim->meta.created_us =
		TESTFACTS_NOW_US + created_s * TIME_US_PER_SECOND;
	vmim->phase = phase;
	vmim->phase_since_us[phase] =
		TESTFACTS_NOW_US + ended_s * TIME_US_PER_SECOND;
	t->other_list[i] = vmim;
	t->f.other_count++;
	return vmim;
}
