/* SPDX-License-Identifier: Apache-2.0 */

/* Tells the API how a pod is. */

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/jsat.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/client.h"
#include "kube/obj.h"
#include "kubelet/attach.h"
#include "kubelet/network.h"
#include "kubelet/pod.h"
#include "kubelet/podstatus.h"
#include "meta/status.h"
#include "meta/time.h"

#define REPORT_RETRY_US (1000UL * 1000)

static void
on_reported(const struct kube_result *result, void *arg)
{
	struct pod *pod = arg;

	pod->status_call = NULL;
	if (result->status->code == 0)
		return;
	/* Not written, or nobody knows: it is tried again with the next look.
	 */
	free(TAKE_PTR(pod->sent));
	if (!kube_is_not_found(result) && !kube_is_conflict(result))
		log_warning(NULL, "cannot write the status of pod '%s/%s': %s",
			    pod->ns, pod->name, result->status->message);
	if (!pod->gone && !pod->busy)
		loop_timer_start(pod->timer, REPORT_RETRY_US);
}

static json_t *
make_patch(struct pod *pod, json_t *status)
{
	json_t *patch = json_pack("{s:{s:s}, s:O}", "metadata", "uid", pod->uid,
				  "status", status);
	AUTO(free_ptr) char *text = NULL;

	if (!network_is_up(pod->networks))
		return patch;
	text = attach_status(pod->networks);
	(void)json_object_set_new(js_make_obj_at(patch, "metadata.annotations"),
				  ATTACH_STATUS, json_string(text));
	return patch;
}

void
pod_report(struct pod *pod)
{
	struct plan_in in = pod_plan_in(pod);
	AUTO(js_unref) json_t *ips = pod_ips(pod);
	AUTO(js_unref) json_t *patch = NULL;
	AUTO(js_unref) json_t *status = NULL;
	AUTO(free_ptr) char *text = NULL;

	if (pod->vanished || pod->status_call != NULL)
		return;
	status = podstatus_make(&(struct podstatus_in){
		.pod = pod->object,
		.plan = &in,
		.host_ip = pod->kubelet->node_ip,
		.pod_ips = ips,
		.started_us = in.now_us,
		.waiting_reason = pod->waiting_reason,
		.waiting_message = pod->waiting_message,
		.waiting_container = pod->waiting_container,
		.now_us = in.now_us,
	});
	patch = make_patch(pod, status);
	text = js_text_sorted(patch, NULL);
	if (str_equal(text, pod->sent))
		return;
	free(pod->sent);
	pod->sent = TAKE_PTR(text);
	(void)json_object_set(pod->object, "status", status);
	pod->status_call =
		kube_send(pod->kubelet->client,
			  &(struct kube_request){ .verb = KUBE_PATCH_STRATEGIC,
						  .resource = &kube_pods,
						  .ns = pod->ns,
						  .name = pod->name,
						  .subresource = "status",
						  .body = patch,
						  .repeatable = true },
			  on_reported, pod);
}
