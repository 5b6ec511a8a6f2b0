/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "api/names.h"
#include "base/array.h"
#include "controller/machine/report.h"

static bool
is_terminating(const struct machine_facts *facts)
{
	return objmeta_is_deleting(&facts->vm->meta);
}

static bool
is_stopping(const struct machine_facts *facts)
{
	const struct vmi *vmi = facts->vmi;

	return vmi != NULL && !vmi_is_final(vmi) &&
	       objmeta_is_deleting(&vmi->meta);
}

static bool
is_migrating(const struct machine_facts *facts)
{
	return facts->vmi != NULL &&
	       vmi_is_migrating(facts->vmi, facts->now_us);
}

static bool
is_paused(const struct machine_facts *facts)
{
	return facts->vmi != NULL && facts->vmi->phase == VMI_RUNNING &&
	       conds_is_true(&facts->vmi->conds, COND_PAUSED);
}

static bool
is_running(const struct machine_facts *facts)
{
	return facts->vmi != NULL && facts->vmi->phase == VMI_RUNNING;
}

/* A condition of the instance that is False for this reason. */
static bool
is_false_for(const struct machine_facts *facts, const char *type,
	     const char *reason)
{
	const struct cond *cond =
		facts->vmi == NULL ? NULL
				   : conds_find(&facts->vmi->conds, type);

	return cond != NULL && cond->status == COND_FALSE &&
	       strcmp(cond->reason, reason) == 0;
}

static bool
lacks_claim(const struct machine_facts *facts)
{
	return is_false_for(facts, COND_SYNCHRONIZED, "FailedPvcNotFound");
}

static bool
is_unschedulable(const struct machine_facts *facts)
{
	return is_false_for(facts, COND_POD_SCHEDULED, "Unschedulable");
}

static bool
is_provisioning(const struct machine_facts *facts)
{
	return facts->provisions;
}

static bool
waits_for_binding(const struct machine_facts *facts)
{
	return facts->unbound && facts->vmi != NULL &&
	       !vmi_is_final(facts->vmi);
}

static bool
cannot_pull(const struct machine_facts *facts)
{
	return is_false_for(facts, COND_SYNCHRONIZED, "ErrImagePull");
}

static bool
waits_to_pull(const struct machine_facts *facts)
{
	return is_false_for(facts, COND_SYNCHRONIZED, "ImagePullBackOff");
}

static bool
is_starting(const struct machine_facts *facts)
{
	const struct vmi *vmi = facts->vmi;

	return vmi != NULL &&
	       (vmi->phase == VMI_UNSET || vmi->phase == VMI_PENDING ||
		vmi->phase == VMI_SCHEDULING || vmi->phase == VMI_SCHEDULED);
}

static bool
is_crashing(const struct machine_facts *facts)
{
	const struct vm *vm = facts->vm;

	if (facts->vmi != NULL && !vmi_is_final(facts->vmi))
		return false;
	/* One that has run clears the count, one that has not adds to it. */
	if (machine_has_run(facts) ||
	    (facts->vmi == NULL && vm->failed_count == 0))
		return false;
	return vm->strategy == RUN_ALWAYS ||
	       vm->strategy == RUN_RERUN_ON_FAILURE || vm->strategy == RUN_ONCE;
}

static bool
waits_as_receiver(const struct machine_facts *facts)
{
	return facts->vm->strategy == RUN_WAIT_AS_RECEIVER &&
	       (facts->vmi == NULL ||
		facts->vmi->phase == VMI_WAITING_FOR_SYNC);
}

static bool
is_stopped(const struct machine_facts *facts)
{
	return facts->vmi == NULL || vmi_is_final(facts->vmi);
}

/* The first that holds. Several may. */
static const struct {
	const char *text;
	bool (*holds)(const struct machine_facts *facts);
} states[] = {
	{ "Terminating", is_terminating },
	{ "Stopping", is_stopping },
	{ "Migrating", is_migrating },
	{ "Paused", is_paused },
	{ "Running", is_running },
	{ "ErrorPvcNotFound", lacks_claim },
	{ "ErrorUnschedulable", is_unschedulable },
	{ "Provisioning", is_provisioning },
	{ "WaitingForVolumeBinding", waits_for_binding },
	{ "ErrImagePull", cannot_pull },
	{ "ImagePullBackOff", waits_to_pull },
	{ "Starting", is_starting },
	{ "CrashLoopBackOff", is_crashing },
	{ "WaitingForReceiver", waits_as_receiver },
	{ "Stopped", is_stopped },
};

const char *
machine_printable(const struct machine_facts *facts)
{
	for (size_t i = 0; i < ARRAY_LEN(states); i++) {
		if (states[i].holds(facts))
			return states[i].text;
	}
	return "Unknown";
}
