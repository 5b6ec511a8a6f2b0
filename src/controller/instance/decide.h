/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROLLER_INSTANCE_DECIDE_H
#define CONTROLLER_INSTANCE_DECIDE_H

/*
 * decide - what is to be done about an instance follows from what is known.
 *
 * Pure: asks nobody, remembers nothing, has no clock. docs/machines.md has it
 * in prose.
 *
 * How a decision is carried out:
 *  1. confirm: read the instance and its pods from the server, decide again.
 *     Nothing else is in such a decision.
 *  2. finalize: write the instance's finalizers, with or without its own and
 *     the machine's; patch goes with it. Only in confirmed decisions, which
 *     know the others that are in the list.
 *  3. remove[]: delete these pods. create: render and create the pod, under
 *     the name of names.h. annotate: podpatch_descheduler() for this pod.
 *  4. patch, a merge patch: on condition that the instance is still of the
 *     version that was seen.
 *  5. The event, once that was written.
 *  6. Again at again_us at the latest.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/js.h"
#include "controller/instance/facts.h"

#define INSTANCE_REMOVES_MAX 16
#define INSTANCE_NEVER INT64_MAX
#define INSTANCE_TEXT_SIZE 320

enum finalize {
	FINALIZE_NOTHING,
	FINALIZE_ADD,  /* the instance's own */
	FINALIZE_DROP, /* it: all pods are gone */
};

struct instance_decision {
	const char *rule; /* that decided on the phase, for logs and tests */
	bool confirm;
	enum vmi_phase phase; /* the one there is, or the new one */
	enum finalize finalize;
	bool drop_vm_finalizer; /* there is no machine to look at its end */
	const struct pod *remove[INSTANCE_REMOVES_MAX];
	size_t remove_count;
	bool create;
	const struct pod *annotate;
	json_t *patch; /* owned; NULL: nothing to write */
	/* An event about the instance; reason NULL: none. */
	const char *event_reason;
	bool event_warning;
	char event_text[INSTANCE_TEXT_SIZE];
	int64_t again_us;
};

void instance_decide(const struct instance_facts *facts,
		     struct instance_decision *ret_decision);
void instance_decision_done(struct instance_decision *decision);

/* Reasons and texts that the loop needs as well. */
#define INSTANCE_CREATED_FORMAT "Created virtual machine pod %s"
#define INSTANCE_CREATE_FAILED_FORMAT "Error creating pod: %s"
#define INSTANCE_DELETED_FORMAT "Deleted virtual machine pod %s"
#define INSTANCE_DELETE_FAILED_FORMAT "Failed to delete virtual machine pod %s"
#define INSTANCE_RENDER_FAILED_FORMAT "failed to render launch manifest: %s"
#define INSTANCE_FAILURE_FORMAT "failed to create virtual machine pod: %s"
#define REASON_PVC_NOT_FOUND "FailedPvcNotFound"
#define REASON_ERR_IMAGE_PULL "ErrImagePull"
#define REASON_IMAGE_BACKOFF "ImagePullBackOff"
#define REASON_NODE_UNRESPONSIVE "NodeUnresponsive"

#endif
