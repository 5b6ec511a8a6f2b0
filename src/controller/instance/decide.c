/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/instance/decide.h"

#include <stdio.h>
#include <string.h>

#include "api/names.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "controller/instance/report.h"
#include "meta/time.h"

static void
again(struct instance_decision *d, int64_t due_us)
{
	if (due_us < d->again_us)
		d->again_us = due_us;
}

static bool
is_going_down(const struct pod *pod)
{
	return pod_is_down(pod) || objmeta_is_deleting(&pod->meta);
}

/* What a step of the phase says. */
struct step {
	enum vmi_phase phase;
	const char *rule;
	/* It follows from a pod not being there. */
	bool from_absence;
};

static struct step
step_unprocessed(const struct instance_facts *facts, const struct pod *pod)
{
	if (pod != NULL)
		return (struct step){ VMI_SCHEDULING, "pod-exists", false };
	if (objmeta_is_deleting(&facts->vmi->meta))
		return (struct step){ VMI_FAILED, "deleted-before", true };
	return (struct step){ facts->vmi->phase, "no-pod", false };
}

static struct step
step_scheduling(const struct instance_facts *facts, const struct pod *pod)
{
	if (pod == NULL)
		return (struct step){ VMI_FAILED, "pod-gone", true };
	if (pod->ready && !objmeta_is_deleting(&facts->vmi->meta) &&
	    *pod->node != '\0')
		return (struct step){ VMI_SCHEDULED, "pod-ready", false };
	if (is_going_down(pod))
		return (struct step){ VMI_FAILED, "pod-ended", false };
	return (struct step){ VMI_SCHEDULING, "pod-starts", false };
}

/* A node has it. The node says what becomes of it as long as it can. */
static struct step
step_owned(const struct instance_facts *facts, const struct pod *pod,
	   struct instance_decision *d)
{
	int64_t due_us;

	/* Until its node has written that it begins it is nowhere else. */
	if (instance_is_moving(facts) &&
	    (pod != NULL || facts->vmi->migration->start_us != 0))
		return (struct step){ facts->vmi->phase, "moving", false };
	if (pod == NULL)
		return (struct step){ VMI_FAILED, "pod-gone", true };
	if (!pod_is_down(pod))
		return (struct step){ facts->vmi->phase, "pod-runs", false };
	if (instance_is_stranded(facts))
		return (struct step){ VMI_FAILED, "stranded", false };
	due_us = (pod->ended_us == 0 ? pod->meta.created_us : pod->ended_us) +
		 INSTANCE_ENDED_S * TIME_US_PER_SECOND;
	if (facts->now_us < due_us) {
		again(d, due_us);
		return (struct step){ facts->vmi->phase, "pod-ends", false };
	}
	return (struct step){ pod->phase == POD_SUCCEEDED ? VMI_SUCCEEDED
							  : VMI_FAILED,
			      "pod-ended", false };
}

static struct step
step_of(const struct instance_facts *facts, struct instance_decision *d)
{
	const struct pod *pod = instance_pod(facts);

	switch (facts->vmi->phase) {
	case VMI_UNSET:
	case VMI_PENDING:
		return step_unprocessed(facts, pod);
	case VMI_SCHEDULING:
		return step_scheduling(facts, pod);
	case VMI_SCHEDULED:
	case VMI_RUNNING:
	case VMI_UNKNOWN:
		return step_owned(facts, pod, d);
	case VMI_WAITING_FOR_SYNC:
		if (objmeta_is_deleting(&facts->vmi->meta))
			return (struct step){ VMI_FAILED, "deleted-before",
					      true };
		break;
	case VMI_SUCCEEDED:
	case VMI_FAILED:
	case VMI_PHASE_COUNT:
		break;
	}
	return (struct step){ facts->vmi->phase, "as-it-is", false };
}

/* Names the first claim that has to be there and is not; NULL for none. What
 * data volumes make by and by is waited for. */
static const struct instance_claim *
missing_claim(const struct instance_facts *facts)
{
	for (size_t i = 0; i < facts->claim_count; i++) {
		if (facts->claims[i].pvc == NULL &&
		    facts->claims[i].volume->kind != VOLUME_DATA_VOLUME)
			return &facts->claims[i];
	}
	return NULL;
}

/* Says which data volume is not there yet; false when all are. */
static bool
waits_for_volume(const struct instance_facts *facts,
		 struct instance_report *report)
{
	for (size_t i = 0; i < facts->claim_count; i++) {
		const struct instance_claim *claim = &facts->claims[i];

		if (claim->volume->kind != VOLUME_DATA_VOLUME ||
		    (claim->pvc != NULL && pvc_is_filled(claim->pvc)))
			continue;
		if (claim->pvc == NULL) {
			(void)snprintf(report->volumes_text,
				       sizeof(report->volumes_text),
				       "DataVolume %s has made no claim yet",
				       claim->volume->claim);
		} else {
			(void)snprintf(report->volumes_text,
				       sizeof(report->volumes_text),
				       "DataVolume %s is being filled: its pod "
				       "is %s",
				       claim->volume->claim,
				       claim->pvc->filling);
		}
		return true;
	}
	return false;
}

static void
emit(struct instance_decision *d, bool warning, const char *reason)
{
	d->event_warning = warning;
	d->event_reason = reason;
}

/*
 * What keeps the pod from being made. Fills in the trouble that the instance
 * reports; true when there is something.
 */
static bool
has_obstacle(const struct instance_facts *facts, struct instance_report *report,
	     struct instance_decision *d)
{
	const struct instance_claim *missing = missing_claim(facts);

	if (missing != NULL) {
		(void)snprintf(d->event_text, sizeof(d->event_text),
			       "failed to render launch manifest: didn't find "
			       "PVC %s",
			       missing->volume->claim);
		report->trouble = REASON_PVC_NOT_FOUND;
		report->trouble_text = d->event_text;
		if (!conds_is_false(&facts->vmi->conds, COND_SYNCHRONIZED))
			emit(d, true, REASON_PVC_NOT_FOUND);
		return true;
	}
	if (waits_for_volume(facts, report))
		return true;
	if (facts->migrates) {
		report->trouble = EVENT_FAILED_CREATE;
		report->trouble_text = "active migration exists";
		return true;
	}
	if (facts->failure.reason == NULL)
		return false;
	report->trouble = facts->failure.reason;
	report->trouble_text = facts->failure.message;
	if (facts->now_us >= facts->failure.retry_us)
		return false;
	again(d, facts->failure.retry_us);
	return true;
}

/* An image that cannot be had is what people look for first. */
static void
find_trouble(const struct instance_facts *facts, struct instance_report *report)
{
	const struct pod *pod = instance_pod(facts);

	if (report->phase != VMI_SCHEDULING || pod == NULL)
		return;
	if (strcmp(pod->waiting_reason, REASON_ERR_IMAGE_PULL) != 0 &&
	    strcmp(pod->waiting_reason, REASON_IMAGE_BACKOFF) != 0)
		return;
	report->trouble = pod->waiting_reason;
	report->trouble_text = pod->waiting_message;
}

static void
remove_pod(struct instance_decision *d, const struct pod *pod)
{
	if (d->remove_count < INSTANCE_REMOVES_MAX)
		d->remove[d->remove_count++] = pod;
}

/* Pods go with their instance, and none outlives its end for long. */
static void
decide_pods(const struct instance_facts *facts, struct instance_decision *d)
{
	const struct vmi *vmi = facts->vmi;
	bool deleting = objmeta_is_deleting(&vmi->meta);
	int64_t due_us = vmi->phase_since_us[vmi->phase] +
			 INSTANCE_LINGER_S * TIME_US_PER_SECOND;

	if (!deleting && !vmi_is_final(vmi))
		return;
	for (size_t i = 0; i < facts->pod_count; i++) {
		const struct pod *pod = facts->pods[i];

		if (objmeta_is_deleting(&pod->meta))
			continue;
		if (!deleting && pod_is_down(pod))
			continue;
		if (deleting || facts->now_us >= due_us)
			remove_pod(d, pod);
		else
			again(d, due_us);
	}
}

/* The descheduler reads its signs on the pod. */
static void
decide_annotations(const struct instance_facts *facts,
		   struct instance_decision *d)
{
	const struct pod *pod = instance_pod(facts);
	bool leaves = *facts->vmi->evacuation_node != '\0';

	if (pod == NULL || !pod->ready || vmi_is_final(facts->vmi))
		return;
	if (pod->evicting != leaves ||
	    strcmp(pod->wishes, facts->vmi->wishes) != 0)
		d->annotate = pod;
}

static void
decide_finalizers(const struct instance_facts *facts,
		  struct instance_decision *d, struct instance_report *report)
{
	const struct vmi *vmi = facts->vmi;

	if (!vmi_is_final(vmi))
		return;
	if (vmi->has_vm_finalizer && !facts->has_owner)
		d->drop_vm_finalizer = true;
	if (facts->pod_count > 0)
		return;
	report->forget_launcher = true;
	if (vmi->has_finalizer)
		d->finalize = FINALIZE_DROP;
}

static void
decide_creation(const struct instance_facts *facts, struct instance_decision *d,
		struct instance_report *report)
{
	const struct vmi *vmi = facts->vmi;

	if (!instance_is_unprocessed(vmi) || report->phase == VMI_FAILED ||
	    report->phase == VMI_SCHEDULING)
		return;
	if (has_obstacle(facts, report, d)) {
		report->phase = VMI_PENDING;
		return;
	}
	if (!vmi->has_finalizer)
		d->finalize = FINALIZE_ADD;
	d->create = true;
	d->rule = "create";
}

static void
decide_phase(const struct instance_facts *facts, struct instance_decision *d,
	     struct instance_report *report, const struct step *step)
{
	report->phase = step->phase;
	d->rule = step->rule;
	if (step->phase == facts->vmi->phase || step->phase != VMI_FAILED ||
	    !instance_is_stranded(facts))
		return;
	report->status_reason = REASON_NODE_UNRESPONSIVE;
	emit(d, false, REASON_NODE_UNRESPONSIVE);
	(void)snprintf(d->event_text, sizeof(d->event_text),
		       "virt-handler on node %s is not responsive, marking VMI "
		       "as failed",
		       facts->vmi->node);
}

/* Whether the decision rests on what a late cache would explain, or needs more
 * of the objects than their views have. */
static bool
needs_confirmation(const struct instance_decision *d, const struct step *step)
{
	return step->from_absence || d->create || d->annotate != NULL ||
	       d->finalize != FINALIZE_NOTHING || d->drop_vm_finalizer;
}

void
instance_decide(const struct instance_facts *facts,
		struct instance_decision *ret_decision)
{
	struct instance_decision *d = ret_decision;
	struct instance_report report = { .phase = facts->vmi->phase };
	struct step step;

	*d = (struct instance_decision){ .again_us = INSTANCE_NEVER };
	step = step_of(facts, d);
	decide_phase(facts, d, &report, &step);
	decide_creation(facts, d, &report);
	find_trouble(facts, &report);
	decide_pods(facts, d);
	decide_annotations(facts, d);
	decide_finalizers(facts, d, &report);
	d->phase = report.phase;
	if (!facts->confirmed && needs_confirmation(d, &step)) {
		*d = (struct instance_decision){
			.rule = d->rule,
			.confirm = true,
			.phase = facts->vmi->phase,
			.again_us = INSTANCE_NEVER,
		};
		return;
	}
	/* What is made now is reported when it is there, or was refused. */
	if (!d->create)
		d->patch = instance_report(facts, &report);
}

void
instance_decision_done(struct instance_decision *decision)
{
	json_decref(decision->patch);
	decision->patch = NULL;
}
