/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROLLER_INSTANCE_FACTS_H
#define CONTROLLER_INSTANCE_FACTS_H

/*
 * facts - all that is known about one instance (VMI) and its pods at one
 * moment.
 *
 * Whoever fills it in borrows everything to it for as long as it is used.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/config.h"
#include "api/node.h"
#include "api/pod.h"
#include "api/storage.h"
#include "api/vmi.h"

/* A claim that a volume of the instance needs; pvc is NULL when it is not
 * there. */
struct instance_claim {
	const struct vmi_volume *volume;
	const struct pvc *pvc;
};

/* Why something could not be done, and when it may be tried again. */
struct instance_failure {
	const char *reason; /* NULL: nothing has failed */
	const char *message;
	int64_t retry_us;
};

struct instance_facts {
	int64_t now_us;
	/*
	 * The instance and its pods were read from the server just now. What
	 * is read from caches may be older, each by a different amount: there
	 * a pod may be missing that is there. What follows from its absence
	 * waits until this is true; see instance_decision.confirm.
	 */
	bool confirmed;
	const struct kubevirt_config *config;
	const char *launcher_image; /* of pods that are made now */
	const struct vmi *vmi;
	/* Those that the instance owns, in any order; ended ones too. */
	const struct pod *const *pods;
	size_t pod_count;
	const struct instance_claim *claims;
	size_t claim_count;
	const struct node *node; /* that it runs on; NULL: gone, or none */
	bool has_owner;          /* its VirtualMachine exists */
	bool migrates;           /* a migration of its name has not ended */
	struct instance_failure failure; /* of making its pod */
};

/* How long a node may be silent before its machines are given up. */
#define INSTANCE_HEARTBEAT_S 300
/* How long after the end of a pod its node has to say what became of the
 * machine. */
#define INSTANCE_ENDED_S 60
/* How long after the end of an instance its pod may go on. */
#define INSTANCE_LINGER_S 60

/*
 * The pod that the machine is in, or is to be in: the newest on its node, or
 * the newest of all as long as it has no node. NULL: none.
 */
const struct pod *instance_pod(const struct instance_facts *facts);

/* It is on its way to another node, and the pod there is alive: what becomes of
 * it is for the nodes to say, and the migration has deadlines. */
bool instance_is_moving(const struct instance_facts *facts);

/* Its node is gone, or its agent has not been heard of for long. */
bool instance_is_stranded(const struct instance_facts *facts);

/* The instance waits for its pod to be made. */
static inline bool
instance_is_unprocessed(const struct vmi *vmi)
{
	return vmi->phase == VMI_UNSET || vmi->phase == VMI_PENDING;
}

#endif
