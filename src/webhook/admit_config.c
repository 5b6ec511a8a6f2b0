/* SPDX-License-Identifier: Apache-2.0 */
/* Settings: MigrationPolicy and the KubeVirt object. */
#include "api/check.h"
#include "base/cleanup.h"
#include "webhook/admit.h"

void
admit_policy(struct call *call)
{
	const struct kubevirt_config *config = call_config(call);
	AUTO(status_done) struct status st = STATUS_INIT;

	if (config == NULL)
		return;
	(void)policy_check(call->review.old_object, call->review.object, config,
			   &st);
	call_judge(call, &st);
}

void
admit_kubevirt(struct call *call)
{
	AUTO(status_done) struct status st = STATUS_INIT;

	(void)kubevirt_check(call->review.old_object, call->review.object, &st);
	call_judge(call, &st);
}
