/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROLLER_EVACUATION_TESTEVACUATION_H
#define CONTROLLER_EVACUATION_TESTEVACUATION_H

/*
 * testevacuation - objects out of short texts, for the unit tests of this
 * directory. Members are written with ' for " and a comma behind each.
 */

#include "api/config.h"
#include "api/node.h"
#include "api/vmi.h"
#include "api/vmim.h"

#define TEST_NOW_US (INT64_C(1000) * 1000000)
#define TEST_MIGRATABLE \
	"'conditions': [{'type': 'LiveMigratable', 'status': 'True'}], "

struct vmi *test_vmi(const char *metadata, const char *spec,
		     const char *status);
struct vmim *test_vmim(const char *name, const char *created,
		       const char *phase);
struct node *test_node(const char *taints);
/* spec is of the KubeVirt object; NULL: there is none. */
struct kubevirt_config *test_config(const char *spec, const char *status);

#endif
