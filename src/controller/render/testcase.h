/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROLLER_RENDER_TESTCASE_H
#define CONTROLLER_RENDER_TESTCASE_H

/*
 * testcase - what tests of rendering share: manifests, and a cluster's settings
 * that need no cluster.
 *
 * Only for unit tests.
 */

#include "api/config.h"
#include "base/js.h"
#include "controller/render/render.h"

struct testcase {
	struct kubevirt_config *config;
	json_t *kubevirt;
	json_t *block_claims; /* names of claims that are block devices */
	struct render_env env;
};

/* kubevirt and block_claims may be NULL. What is no KubeVirt object fails the
 * test. */
void testcase_open(struct testcase *tc, json_t *kubevirt, json_t *block_claims);
void testcase_close(struct testcase *tc);

#endif
