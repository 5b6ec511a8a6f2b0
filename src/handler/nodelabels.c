/* SPDX-License-Identifier: Apache-2.0 */
#include "handler/nodelabels.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/js.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "handler/host.h"
#include "kube/client.h"
#include "meta/time.h"

#define HEARTBEAT "kubevirt.io/heartbeat"
#define US_PER_MS 1000U

struct nodelabels {
	struct nodelabels_config config;
	struct loop_timer *timer;
	struct kube_call *call;
};

static void
written(const struct kube_result *result, void *arg)
{
	struct nodelabels *l = arg;
	bool failed = result->status->code != 0;

	l->call = NULL;
	if (failed)
		log_warning(NULL, "cannot label node %s, trying on: %s",
			    l->config.node, result->status->message);
	loop_timer_start(l->timer,
			 (failed ? NODELABELS_RETRY_MS : NODELABELS_BEAT_MS) *
				 US_PER_MS);
}

static void
beat(void *arg)
{
	struct nodelabels *l = arg;
	char now[TIME_TEXT_SIZE];
	AUTO(js_unref)
	json_t *patch = json_pack("{s:{s:o, s:{s:s}}}", "metadata", "labels",
				  host_labels(l->config.host), "annotations",
				  HEARTBEAT, time_now_text(now));
	struct kube_request request = {
		.verb = KUBE_PATCH_MERGE,
		.resource = &kube_nodes,
		.name = l->config.node,
		.body = patch,
		.repeatable = true,
	};

	l->call = kube_send(l->config.client, &request, written, l);
}

struct nodelabels *
nodelabels_new(const struct nodelabels_config *config)
{
	struct nodelabels *l = xmalloc0(sizeof(*l));

	l->config = *config;
	l->timer = loop_timer_new(config->loop, beat, l);
	loop_timer_start(l->timer, 0);
	return l;
}

void
nodelabels_free(struct nodelabels *l)
{
	if (l == NULL)
		return;
	kube_cancel(l->call);
	loop_timer_free(l->timer);
	free(l);
}
