/* SPDX-License-Identifier: Apache-2.0 */
/* Answers to PathProbes. */
#include "api/config.h"
#include "api/names.h"
#include "api/pathprobe.h"
#include "base/cleanup.h"
#include "webhook/admit.h"
#include "webhook/api.h"
#include "webhook/who.h"

/* Others are held by their roles. */
void
admit_path_probe(struct call *call)
{
	const struct review *review = &call->review;
	const struct kubevirt_config *config = call_config(call);
	AUTO(status_done) struct status st = STATUS_INIT;

	if (config == NULL)
		return;
	if (who_is(review->user, call->api->ns) == WHO_HANDLER &&
	    kubevirt_config_gate(config, GATE_NODE_RESTRICTION))
		(void)pathprobe_check_update(
			review->old_object, review->object,
			review_extra(review, WHO_EXTRA_NODE), &st);
	call_judge(call, &st);
}
