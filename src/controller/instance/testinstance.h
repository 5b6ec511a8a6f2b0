/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROLLER_INSTANCE_TESTINSTANCE_H
#define CONTROLLER_INSTANCE_TESTINSTANCE_H

/*
 * testinstance - facts out of short texts, for the unit tests of this
 * directory. Objects are written with ' for ".
 */

#include "controller/instance/facts.h"

#define TEST_NOW_US (INT64_C(1000) * 1000000)
#define TEST_PODS_MAX 4

struct testinstance {
	struct kubevirt_config *config;
	struct vmi *vmi;
	struct pod *pods[TEST_PODS_MAX];
	struct node *node;
	struct pvc *pvc;
	struct instance_claim claims[4];
	struct instance_facts facts;
};

/* An instance of this phase with a pod for each of pods up to NULL. spec and
 * status are members of the instance's objects beyond that ("'a': 1, "). */
void testinstance_open(struct testinstance *t, const char *phase,
		       const char *metadata, const char *status,
		       const char *const *pods);
void testinstance_close(struct testinstance *t);

/* Members of a pod's status. */
#define TEST_POD_READY                                                   \
	"'phase': 'Running', 'containerStatuses': [{'name': 'compute', " \
	"'state': {'running': {}}}], 'qosClass': 'Burstable', "          \
	"'conditions': [{'type': 'Ready', 'status': 'True', "            \
	"'lastTransitionTime': '1970-01-01T00:10:00Z'}]"
#define TEST_POD_PENDING "'phase': 'Pending'"

/* A pod of the instance: "NAME|NODE|METADATA|STATUS". */
#define TEST_POD(name, node, metadata, status) \
	name "|" node "|" metadata "|" status

#endif
