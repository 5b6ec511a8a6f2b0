/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/node.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/client.h"
#include "kube/obj.h"
#include "kubelet/cni.h"
#include "kubelet/kubelet.h"
#include "kubelet/nodeinfo.h"
#include "meta/status.h"
#include "meta/time.h"

#define LEASE_NAMESPACE "kube-node-lease"
#define RETRY_US (1000UL * 1000)

struct node {
	struct kubelet *kubelet;
	uint16_t port;
	struct loop_timer *lease_timer;
	struct loop_timer *status_timer;
	struct kube_call *lease_call;
	struct kube_call *node_call;
	json_t *status; /* as last written; NULL: never */
	bool labelled;
	bool ready; /* as last told */
};

static const char *
name_of(const struct node *node)
{
	return node->kubelet->settings->node_name;
}

static uint64_t
lease_pause_us(const struct node *node)
{
	return node->kubelet->settings->lease_ms * 1000 / 4;
}

static json_t *
lease_spec(const struct node *node)
{
	char now[TIME_TEXT_SIZE];

	return json_pack("{s:s, s:I, s:s}", "holderIdentity", name_of(node),
			 "leaseDurationSeconds",
			 (json_int_t)(node->kubelet->settings->lease_ms / 1000),
			 "renewTime", time_text_micro(time_now_us(), now));
}

static void
on_lease_made(const struct kube_result *result, void *arg)
{
	struct node *node = arg;

	node->lease_call = NULL;
	if (result->status->code != 0)
		log_warning(NULL, "cannot renew the lease of the node: %s",
			    result->status->message);
	loop_timer_start(node->lease_timer, result->status->code == 0
						    ? lease_pause_us(node)
						    : RETRY_US);
}

static void
make_lease(struct node *node)
{
	AUTO(js_unref)
	json_t *body = json_pack("{s:s, s:s, s:{s:s, s:s}, s:o}", "apiVersion",
				 "coordination.k8s.io/v1", "kind", "Lease",
				 "metadata", "name", name_of(node), "namespace",
				 LEASE_NAMESPACE, "spec", lease_spec(node));

	node->lease_call =
		kube_send(node->kubelet->client,
			  &(struct kube_request){ .verb = KUBE_CREATE,
						  .resource = &kube_leases,
						  .ns = LEASE_NAMESPACE,
						  .body = body,
						  .urgent = true },
			  on_lease_made, node);
}

static void
on_lease(const struct kube_result *result, void *arg)
{
	struct node *node = arg;

	if (kube_is_not_found(result))
		make_lease(node);
	else
		on_lease_made(result, arg);
}

static void
renew_lease(void *arg)
{
	struct node *node = arg;
	AUTO(js_unref)
	json_t *body = json_pack("{s:o}", "spec", lease_spec(node));

	node->lease_call = kube_send(
		node->kubelet->client,
		&(struct kube_request){
			.verb = KUBE_PATCH_MERGE,
			.resource = &kube_leases,
			.ns = LEASE_NAMESPACE,
			.name = name_of(node),
			.body = body,
			.repeatable = true,
			.urgent = true,
			.timeout_ms = (unsigned)(lease_pause_us(node) / 1000) },
		on_lease, node);
}

static void
on_written(const struct kube_result *result, void *arg)
{
	struct node *node = arg;
	bool failed = result->status->code != 0;

	node->node_call = NULL;
	if (failed) {
		log_warning(NULL, "cannot write the node: %s",
			    result->status->message);
		node->labelled = node->labelled && !kube_is_not_found(result);
		js_unref(&node->status);
	}
	/* What keeps it from being ready is looked at more often. */
	loop_timer_start(node->status_timer,
			 failed || !node->ready
				 ? RETRY_US
				 : NODE_STATUS_MS * UINT64_C(1000));
}

/* NULL: pods can have networks; else why not, to be freed. */
static char *
net_problem(const struct node *node)
{
	struct err err;
	json_t *list =
		cni_list_load(node->kubelet->settings->cni_conf_dir, &err);

	if (list == NULL)
		return xasprintf("container runtime network not ready: %s",
				 err.text);
	js_unref(&list);
	return NULL;
}

static void
write_status(struct node *node, const json_t *old)
{
	AUTO(free_ptr) char *problem = net_problem(node);
	AUTO(js_unref) json_t *body = NULL;
	json_t *status = nodeinfo_status(
		&(struct nodeinfo){ .settings = node->kubelet->settings,
				    .node_ip = node->kubelet->node_ip,
				    .port = node->port,
				    .net_problem = problem,
				    .now_us = time_now_us() },
		old);

	if (problem != NULL && node->ready)
		log_warning(NULL, "node is not ready: %s", problem);
	node->ready = problem == NULL;
	js_unref(&node->status);
	node->status = status;
	body = json_pack("{s:O}", "status", status);
	node->node_call =
		kube_send(node->kubelet->client,
			  &(struct kube_request){ .verb = KUBE_PATCH_STRATEGIC,
						  .resource = &kube_nodes,
						  .name = name_of(node),
						  .subresource = "status",
						  .body = body,
						  .repeatable = true },
			  on_written, node);
}

static void
on_labelled(const struct kube_result *result, void *arg)
{
	struct node *node = arg;

	if (result->status->code != 0) {
		on_written(result, arg);
		return;
	}
	node->labelled = true;
	write_status(node, js_obj_at(result->answer, "status"));
}

static void
on_created(const struct kube_result *result, void *arg)
{
	struct node *node = arg;

	if (result->status->code != 0) {
		on_written(result, arg);
		return;
	}
	log_info(NULL, "registered as node '%s'", name_of(node));
	node->labelled = true;
	write_status(node, NULL);
}

static void
create(struct node *node)
{
	AUTO(js_unref)
	json_t *body = json_pack(
		"{s:s, s:s, s:{s:s, s:o}, s:{}}", "apiVersion", "v1", "kind",
		"Node", "metadata", "name", name_of(node), "labels",
		nodeinfo_labels(node->kubelet->settings), "spec");

	node->node_call =
		kube_send(node->kubelet->client,
			  &(struct kube_request){ .verb = KUBE_CREATE,
						  .resource = &kube_nodes,
						  .body = body },
			  on_created, node);
}

static void
on_looked(const struct kube_result *result, void *arg)
{
	struct node *node = arg;
	AUTO(js_unref) json_t *body = NULL;

	if (kube_is_not_found(result)) {
		create(node);
		return;
	}
	if (result->status->code != 0) {
		on_written(result, arg);
		return;
	}
	body = json_pack("{s:{s:o}}", "metadata", "labels",
			 nodeinfo_labels(node->kubelet->settings));
	node->node_call =
		kube_send(node->kubelet->client,
			  &(struct kube_request){ .verb = KUBE_PATCH_MERGE,
						  .resource = &kube_nodes,
						  .name = name_of(node),
						  .body = body,
						  .repeatable = true },
			  on_labelled, node);
}

static void
update(void *arg)
{
	struct node *node = arg;
	AUTO(js_unref) json_t *old = NULL;

	if (node->labelled && node->status != NULL) {
		old = json_incref(node->status);
		write_status(node, old);
		return;
	}
	node->node_call =
		kube_send(node->kubelet->client,
			  &(struct kube_request){ .verb = KUBE_GET,
						  .resource = &kube_nodes,
						  .name = name_of(node) },
			  on_looked, node);
}

struct node *
node_start(struct kubelet *kubelet, uint16_t port)
{
	struct node *node = xmalloc0(sizeof(*node));

	node->kubelet = kubelet;
	node->port = port;
	node->ready = true;
	node->lease_timer = loop_timer_new(kubelet->loop, renew_lease, node);
	node->status_timer = loop_timer_new(kubelet->loop, update, node);
	loop_timer_start(node->lease_timer, 0);
	loop_timer_start(node->status_timer, 0);
	return node;
}

void
node_free(struct node *node)
{
	if (node == NULL)
		return;
	kube_cancel(node->lease_call);
	kube_cancel(node->node_call);
	loop_timer_free(node->lease_timer);
	loop_timer_free(node->status_timer);
	js_unref(&node->status);
	free(node);
}
