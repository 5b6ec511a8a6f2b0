/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEBHOOK_EVICT_H
#define WEBHOOK_EVICT_H

/*
 * evict - what an eviction of a machine's pod means. The texts are KubeVirt's;
 * the descheduler reads one of them.
 *
 * Pure. Threading: any thread.
 */

#include <stdbool.h>

#include "base/js.h"

struct kubevirt_config;
struct pod;
struct status;
struct vmi;

/* Namespace and name. */
#define EVICT_TRIGGERED "Eviction triggered evacuation of VMI \"%s/%s\""

/* An annotation of the Eviction, and its value. */
#define EVICT_REQUESTED_BY "requested-by"
#define EVICT_DESCHEDULER "sigs.k8s.io/descheduler"

enum evict {
	EVICT_ALLOW,
	EVICT_REFUSE, /* st says why */
	EVICT_MARK,   /* the machine is to be marked, and this refused */
};

/* Of a pod that runs the machine or is to receive it. */
enum evict evict_decide(const struct pod *pod, const struct vmi *vmi,
			const struct kubevirt_config *config,
			struct status *st);

/* Marks a machine, as long as it is on the node that it is on now; a new
 * reference. */
json_t *evict_patch(const json_t *vmi, bool from_descheduler);

#endif
