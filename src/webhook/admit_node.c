/* SPDX-License-Identifier: Apache-2.0 */
/* What agents write to Nodes. */
#include "api/check.h"
#include "api/config.h"
#include "api/names.h"
#include "base/cleanup.h"
#include "webhook/admit.h"
#include "webhook/api.h"
#include "webhook/who.h"

/* Others are not asked for more than their roles say: not even the KubeVirt
 * object has to be known for them. */
void
admit_node(struct call *call)
{
	const struct review *review = &call->review;
	const struct kubevirt_config *config;
	AUTO(status_done) struct status st = STATUS_INIT;

	if (who_is(review->user, call->api->ns) == WHO_HANDLER) {
		config = call_config(call);
		if (config == NULL)
			return;
		if (kubevirt_config_gate(config, GATE_NODE_RESTRICTION))
			(void)node_check_update(
				review->old_object, review->object,
				review_extra(review, WHO_EXTRA_NODE), &st);
	}
	call_judge(call, &st);
}
