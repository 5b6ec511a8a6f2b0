/* SPDX-License-Identifier: Apache-2.0 */

/* What has to be there before a pod's containers: objects and volumes. */

#include <string.h>

#include "base/cleanup.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/client.h"
#include "kube/obj.h"
#include "kubelet/env.h"
#include "kubelet/pod.h"
#include "kubelet/podrefs.h"
#include "kubelet/unsupported.h"
#include "kubelet/volume.h"
#include "meta/status.h"

#define TOKEN_SECONDS 3600

static void fetch_next(struct pod *pod);

static void
fail(struct pod *pod, const struct err *err)
{
	js_unref(&pod->have);
	pod->prepared = false;
	pod->prepared_ms = loop_now_ms();
	pod_step_done(pod, err, "FailedMount", "ContainerCreating");
}

static void
make_volumes(struct pod *pod)
{
	AUTO(js_unref) json_t *ips = pod_ips(pod);
	const char *ip = json_string_value(json_array_get(ips, 0));
	struct env_facts facts = {
		.host_ip = pod->kubelet->node_ip,
		.pod_ip = ip == NULL ? "" : ip,
		.node_name = pod->kubelet->settings->node_name,
	};
	struct err err;
	json_t *volumes = volume_make_all(
		&(struct volume_request){
			.pod = pod->object,
			.have = pod->have,
			.pod_dir = pod->dir,
			.image_dir = pod->kubelet->settings->image_dir,
			.facts = &facts,
		},
		&err);

	if (volumes == NULL) {
		fail(pod, &err);
		return;
	}
	js_unref(&pod->volumes);
	pod->volumes = volumes;
	pod->prepared = true;
	pod->prepared_ms = loop_now_ms();
	pod_step_done(pod, NULL, NULL, NULL);
}

static void
on_fetched(const struct kube_result *result, void *arg)
{
	struct pod *pod = arg;
	struct podref ref;
	struct err err;

	pod->call = NULL;
	/* What was asked for is still what is missing first. */
	if (podrefs_next(pod->object, pod->have, &ref, &err) != 0) {
		fetch_next(pod);
		return;
	}
	if (result->status->code != 0 &&
	    !(ref.optional && kube_is_not_found(result))) {
		(void)err_set(&err, ERR_NOT_FOUND, "%s",
			      result->status->message);
		fail(pod, &err);
		return;
	}
	(void)json_object_set_new(pod->have, ref.key,
				  result->answer == NULL ||
						  result->status->code != 0
					  ? json_null()
					  : json_incref(result->answer));
	fetch_next(pod);
}

static void
fetch_token(struct pod *pod, const struct podref *ref)
{
	const char *audience = js_str_at(ref->token, "audience");
	AUTO(js_unref)
	json_t *body =
		json_pack("{s:s, s:s, s:{s:I, s:{s:s, s:s, s:s, s:s}}}",
			  "apiVersion", "authentication.k8s.io/v1", "kind",
			  "TokenRequest", "spec", "expirationSeconds",
			  (json_int_t)js_int_at(ref->token, "expirationSeconds",
						TOKEN_SECONDS),
			  "boundObjectRef", "apiVersion", "v1", "kind", "Pod",
			  "name", pod->name, "uid", pod->uid);

	if (*audience != '\0')
		(void)json_object_set_new(js_obj_at(body, "spec"), "audiences",
					  json_pack("[s]", audience));
	pod->call = kube_send(pod->kubelet->client,
			      &(struct kube_request){
				      .verb = KUBE_CREATE,
				      .resource = ref->resource,
				      .ns = ref->ns,
				      .name = ref->name,
				      .subresource = "token",
				      .body = body,
				      .repeatable = true,
			      },
			      on_fetched, pod);
}

static void
fetch_next(struct pod *pod)
{
	struct podref ref;
	struct err err;
	int r = podrefs_next(pod->object, pod->have, &ref, &err);

	if (r == -1) {
		fail(pod, &err);
		return;
	}
	if (r == 1) {
		make_volumes(pod);
		return;
	}
	if (ref.token != NULL) {
		fetch_token(pod, &ref);
		return;
	}
	pod->call = kube_send(pod->kubelet->client,
			      &(struct kube_request){
				      .verb = KUBE_GET,
				      .resource = ref.resource,
				      .ns = *ref.ns == '\0' ? NULL : ref.ns,
				      .name = ref.name,
			      },
			      on_fetched, pod);
}

/* One that runs is not given up for it: it was begun by a kubelet that knew no
 * better. */
static bool
is_refused(struct pod *pod)
{
	struct err err;

	for (size_t i = 0; i < pod->count; i++) {
		if (pod->containers[i].phase == CONTAINER_RUNNING)
			return false;
	}
	if (unsupported_check(pod->object, &err) == 0)
		return false;
	pod_step_done(pod, &err, "Unsupported", "Unsupported");
	return true;
}

void
pod_prepare(struct pod *pod)
{
	if (is_refused(pod))
		return;
	js_unref(&pod->have);
	pod->have = json_object();
	fetch_next(pod);
}
