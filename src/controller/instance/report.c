/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/instance/report.h"

#include <string.h>

#include "api/names.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/jsat.h"
#include "base/str.h"
#include "kube/conditions.h"
#include "meta/time.h"

#define PODSCHEDULED_UNSCHEDULABLE "Unschedulable"

static void
set_status(json_t *patch, const char *name, json_t *value)
{
	json_object_set_new(js_make_obj_at(patch, "status"), name, value);
}

static void
set_label(json_t *patch, const char *name, json_t *value)
{
	json_object_set_new(js_make_obj_at(patch, "metadata.labels"), name,
			    value);
}

static bool
is_going_down(const struct pod *pod)
{
	return pod_is_down(pod) || objmeta_is_deleting(&pod->meta);
}

static void
report_ready(const struct instance_facts *facts, enum vmi_phase phase,
	     json_t *conds)
{
	const struct pod *pod = instance_pod(facts);
	const struct cond *ready =
		pod == NULL ? NULL : conds_find(&pod->conds, COND_READY);
	struct condition c = { .type = COND_READY, .status = "False" };
	int64_t since_us = facts->now_us;

	if (pod == NULL) {
		c.reason = "PodNotExists";
		c.message = "virt-launcher pod has not yet been scheduled";
	} else if (is_going_down(pod)) {
		c.reason = "PodTerminating";
		c.message = "virt-launcher pod is terminating";
	} else if (phase != VMI_RUNNING) {
		c.reason = "GuestNotRunning";
		c.message = "Guest VM is not reported as running";
	} else if (ready == NULL) {
		c.reason = "PodConditionMissing";
		c.message = "virt-launcher pod is missing the Ready condition";
	} else {
		c.status = ready->status == COND_TRUE    ? "True"
			   : ready->status == COND_FALSE ? "False"
							 : "Unknown";
		c.reason = ready->reason;
		c.message = ready->message;
		if (ready->since_us != 0)
			since_us = ready->since_us;
	}
	(void)condition_set(conds, &c, since_us);
}

/* While it waits for a place, and only when there is none. */
static void
report_scheduled(const struct instance_facts *facts,
		 const struct instance_report *report, json_t *conds)
{
	const struct pod *pod = instance_pod(facts);
	const struct cond *cond =
		pod == NULL ? NULL
			    : conds_find(&pod->conds, COND_POD_SCHEDULED);
	struct condition c = { .type = COND_POD_SCHEDULED, .status = "False" };

	if (str_equal(report->trouble, "FailedPvcNotFound")) {
		c.reason = PODSCHEDULED_UNSCHEDULABLE;
		c.message = report->trouble_text;
		(void)condition_set(conds, &c, facts->now_us);
	} else if (report->phase == VMI_SCHEDULING && cond != NULL &&
		   cond->status == COND_FALSE) {
		c.reason = cond->reason;
		c.message = cond->message;
		(void)condition_set(conds, &c, cond->since_us);
	} else {
		(void)condition_remove(conds, COND_POD_SCHEDULED);
	}
}

static void
report_eviction(const struct instance_facts *facts, json_t *conds)
{
	static const struct condition c = {
		.type = COND_EVICTION_REQUESTED,
		.status = "True",
		.reason = COND_EVICTION_REQUESTED,
		.message = "VMI is marked for eviction",
	};

	if (*facts->vmi->evacuation_node != '\0' && !vmi_is_final(facts->vmi))
		(void)condition_set(conds, &c, facts->now_us);
	else
		(void)condition_remove(conds, COND_EVICTION_REQUESTED);
}

/* Said from the first that has to be waited for. */
static void
report_volumes(const struct instance_facts *facts,
	       const struct instance_report *report, json_t *conds)
{
	bool lacks = report->volumes_text[0] != '\0';
	const struct condition c = {
		.type = COND_DATA_VOLUMES,
		.status = lacks ? "False" : "True",
		.reason = lacks ? REASON_DATA_VOLUMES_UNREADY
				: REASON_DATA_VOLUMES_READY,
		.message = lacks ? report->volumes_text
				 : "All data volumes of the machine are there "
				   "and filled",
	};

	if (lacks || conds_find(&facts->vmi->conds, COND_DATA_VOLUMES) != NULL)
		(void)condition_set(conds, &c, facts->now_us);
}

/* Once a node has the machine it is the node that says so. */
static void
report_trouble(const struct instance_facts *facts,
	       const struct instance_report *report, json_t *conds)
{
	const struct condition c = {
		.type = COND_SYNCHRONIZED,
		.status = "False",
		.reason = report->trouble,
		.message = report->trouble_text,
	};

	if (report->trouble != NULL)
		(void)condition_set(conds, &c, facts->now_us);
	else if (facts->vmi->phase != VMI_SCHEDULED &&
		 facts->vmi->phase != VMI_RUNNING)
		(void)condition_remove(conds, COND_SYNCHRONIZED);
}

static void
report_conds(const struct instance_facts *facts,
	     const struct instance_report *report, json_t *patch)
{
	AUTO(js_unref) json_t *before = conds_json(&facts->vmi->conds);
	AUTO(js_unref) json_t *conds = json_deep_copy(before);

	report_ready(facts, report->phase, conds);
	report_scheduled(facts, report, conds);
	report_eviction(facts, conds);
	report_volumes(facts, report, conds);
	report_trouble(facts, report, conds);
	if (!json_equal(before, conds))
		set_status(patch, "conditions", json_incref(conds));
}

static json_t *
passage(enum vmi_phase phase, int64_t us)
{
	char time[TIME_TEXT_SIZE];

	return json_pack("{s:s, s:s}", "phase", vmi_phase_name(phase),
			 "phaseTransitionTimestamp", time_text(us, time));
}

/* All phases with the first time they were entered. One that was passed
 * between two looks counts as entered now. */
static void
report_phase(const struct instance_facts *facts, enum vmi_phase phase,
	     json_t *patch)
{
	const struct vmi *vmi = facts->vmi;
	json_t *passages;

	/* Nor does everybody who writes a phase write down when. */
	if (phase == vmi->phase &&
	    (phase == VMI_UNSET || vmi->phase_since_us[phase] != 0))
		return;
	passages = json_array();
	for (size_t i = VMI_PENDING; i < VMI_PHASE_COUNT; i++) {
		bool now = i == phase ||
			   (i == VMI_PENDING && phase == VMI_SCHEDULING);
		int64_t us = vmi->phase_since_us[i];

		if (us == 0 && now)
			us = facts->now_us;
		if (us != 0)
			(void)json_array_append_new(
				passages, passage((enum vmi_phase)i, us));
	}
	if (phase != vmi->phase)
		set_status(patch, "phase", json_string(vmi_phase_name(phase)));
	set_status(patch, "phaseTransitionTimestamps", passages);
}

static const struct vmi_pod *
active_pod(const struct vmi *vmi, const char *uid)
{
	for (size_t i = 0; i < vmi->pod_count; i++) {
		if (strcmp(vmi->pods[i].uid, uid) == 0)
			return &vmi->pods[i];
	}
	return NULL;
}

/*
 * Whether a pod that is not listed is to be. The target of a migration is
 * listed by the hand-off, and the one that the machine has left was taken off
 * the list by the node that received it: nothing is to be written about either
 * here, unless that did not happen.
 */
static bool
is_missing(const struct instance_facts *facts, const struct pod *pod)
{
	const struct migration_state *state = facts->vmi->migration;

	return pod == instance_pod(facts) ||
	       (state != NULL && !state->completed && !state->failed &&
		strcmp(state->uid, pod->migration_uid) == 0);
}

/*
 * The pods that the machine is in, or may be, whether they have ended or not.
 * Those without a node are of no use to anybody who looks here, and neither
 * are those of instances that no node has; each would be one more write.
 */
static void
report_pods(const struct instance_facts *facts, json_t *patch)
{
	const struct vmi *vmi = facts->vmi;
	AUTO(js_unref) json_t *changes = json_object();
	AUTO(js_unref) json_t *here = json_object();

	for (size_t i = 0; i < facts->pod_count; i++) {
		const struct pod *pod = facts->pods[i];
		const struct vmi_pod *known = active_pod(vmi, pod->meta.uid);

		if (*pod->node == '\0')
			continue;
		json_object_set_new(here, pod->meta.uid, json_true());
		if (known == NULL ? is_missing(facts, pod)
				  : strcmp(known->node, pod->node) != 0)
			json_object_set_new(changes, pod->meta.uid,
					    json_string(pod->node));
	}
	for (size_t i = 0; i < vmi->pod_count; i++) {
		if (json_object_get(here, vmi->pods[i].uid) == NULL)
			json_object_set_new(changes, vmi->pods[i].uid,
					    json_null());
	}
	if (json_object_size(changes) > 0)
		set_status(patch, "activePods", json_incref(changes));
}

/*
 * Which launcher it has, and whether that is an old one. A node that has taken
 * an instance over leaves both empty; they are filled in when the pod that it
 * left is gone, with the list of pods: in one write, and out of the way of what
 * the nodes still write.
 */
static void
report_launcher(const struct instance_facts *facts,
		const struct instance_report *report, json_t *patch)
{
	const struct vmi *vmi = facts->vmi;
	const struct pod *pod = instance_pod(facts);
	const char *image =
		pod == NULL ? vmi->launcher_image : pod->compute_image;
	bool outdated =
		pod == NULL ? vmi->outdated
			    : *image != '\0' &&
				      strcmp(image, facts->launcher_image) != 0;

	if (*vmi->launcher_image == '\0' && vmi->phase == VMI_RUNNING &&
	    facts->pod_count > 1)
		return;
	if (report->forget_launcher) {
		image = "";
		outdated = false;
	}
	if (strcmp(image, vmi->launcher_image) != 0)
		set_status(patch, "launcherContainerImageVersion",
			   *image == '\0' ? json_null() : json_string(image));
	if (outdated != vmi->outdated)
		set_label(patch, LABEL_OUTDATED_IMAGE,
			  outdated ? json_string("") : json_null());
}

static void
report_qos(const struct instance_facts *facts, json_t *patch)
{
	const struct pod *pod = instance_pod(facts);

	if (pod != NULL && *pod->qos_class != '\0' &&
	    strcmp(pod->qos_class, facts->vmi->qos_class) != 0)
		set_status(patch, "qosClass", json_string(pod->qos_class));
}

/* Nodes need to know of claims, and do not read them. */
static json_t *
volume_status(const struct instance_facts *facts)
{
	const struct vmi *vmi = facts->vmi;
	json_t *list = json_array();

	for (size_t i = 0; i < vmi->volume_count; i++) {
		json_t *item = json_pack("{s:s, s:s}", "name",
					 vmi->volumes[i].name, "target", "");

		for (size_t c = 0; c < facts->claim_count; c++) {
			if (facts->claims[c].volume == &vmi->volumes[i] &&
			    facts->claims[c].pvc != NULL)
				json_object_set_new(
					item, "persistentVolumeClaimInfo",
					pvc_info_json(facts->claims[c].pvc));
		}
		(void)json_array_append_new(list, item);
	}
	return list;
}

static void
report_handover(const struct instance_facts *facts, json_t *patch)
{
	const struct pod *pod = instance_pod(facts);

	set_label(patch, LABEL_NODE, json_string(pod->node));
	set_status(patch, "nodeName", json_string(pod->node));
	if (pod->unix_transport)
		set_status(patch, "migrationTransport", json_string("Unix"));
	if (facts->vmi->volume_count > 0)
		set_status(patch, "volumeStatus", volume_status(facts));
}

json_t *
instance_report(const struct instance_facts *facts,
		const struct instance_report *report)
{
	AUTO(js_unref) json_t *patch = json_object();

	report_phase(facts, report->phase, patch);
	report_conds(facts, report, patch);
	if (report->phase != VMI_PENDING && report->phase != VMI_SCHEDULING)
		report_pods(facts, patch);
	report_launcher(facts, report, patch);
	report_qos(facts, patch);
	if (facts->vmi->phase == VMI_SCHEDULING &&
	    report->phase == VMI_SCHEDULED)
		report_handover(facts, patch);
	if (report->status_reason != NULL)
		set_status(patch, "reason", json_string(report->status_reason));
	return json_object_size(patch) == 0 ? NULL : TAKE_PTR(patch);
}
