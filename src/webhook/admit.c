/* SPDX-License-Identifier: Apache-2.0 */
#include "webhook/admit.h"

#include <string.h>

#include "api/check.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "http/server.h"
#include "webhook/api.h"

#define KUBEVIRT "kubevirt.io"
#define MIGRATIONS "virtualmachineinstancemigrations"
#define MACHINES "virtualmachineinstances"

const struct admit_route admit_routes[] = {
	{ .path = "/migration-mutate-create",
	  .group = KUBEVIRT,
	  .resource = MIGRATIONS,
	  .mutating = true,
	  .stat = STAT_MIGRATION_MUTATE,
	  .run = admit_migration_mutate,
	  .as = { { "migrations-mutator.kubevirt.io", "CREATE", NULL,
		    NULL } } },
	{ .path = "/virtualmachineinstances-mutate",
	  .group = KUBEVIRT,
	  .resource = MACHINES,
	  .mutating = true,
	  .stat = STAT_VMI_MUTATE,
	  .run = admit_vmi_mutate,
	  .as = { { "virtualmachineinstances-mutator.kubevirt.io",
		    "CREATE,UPDATE", NULL, NULL } } },
	{ .path = "/virtualmachines-mutate",
	  .group = KUBEVIRT,
	  .resource = "virtualmachines",
	  .mutating = true,
	  .stat = STAT_VM_MUTATE,
	  .run = admit_vm_mutate,
	  .as = { { "virtualmachines-mutator.kubevirt.io", "CREATE,UPDATE",
		    NULL, NULL } } },
	{ .path = "/pod-eviction-validate",
	  .group = "",
	  .resource = "pods",
	  .subresource = "eviction",
	  .writes = true,
	  .stat = STAT_EVICTION,
	  .run = admit_eviction,
	  .as = { { "virt-launcher-eviction-interceptor.kubevirt.io", "*",
		    "only-vms",
		    "object.metadata.name.startsWith(\"virt-launcher\")" },
		  { "hotplug-pod-eviction-interceptor.kubevirt.io", "*",
		    "only-hotplug-pods",
		    "object.metadata.name.startsWith(\"hp-volume-\")" } } },
	{ .path = "/virtualmachineinstances-validate-create",
	  .group = KUBEVIRT,
	  .resource = MACHINES,
	  .stat = STAT_VMI_CREATE,
	  .run = admit_vmi_create,
	  .as = { { "virtualmachineinstances-create-validator.kubevirt.io",
		    "CREATE", NULL, NULL } } },
	{ .path = "/virtualmachineinstances-validate-update",
	  .group = KUBEVIRT,
	  .resource = MACHINES,
	  .stat = STAT_VMI_UPDATE,
	  .run = admit_vmi_update,
	  .as = { { "virtualmachineinstances-update-validator.kubevirt.io",
		    "UPDATE", NULL, NULL } } },
	{ .path = "/virtualmachines-validate",
	  .group = KUBEVIRT,
	  .resource = "virtualmachines",
	  .stat = STAT_VM_VALIDATE,
	  .run = admit_vm_validate,
	  .as = { { "virtualmachine-validator.kubevirt.io", "CREATE,UPDATE",
		    NULL, NULL } } },
	{ .path = "/migration-validate-create",
	  .group = KUBEVIRT,
	  .resource = MIGRATIONS,
	  .stat = STAT_MIGRATION_CREATE,
	  .run = admit_migration_create,
	  .as = { { "migration-create-validator.kubevirt.io", "CREATE", NULL,
		    NULL } } },
	{ .path = "/migration-validate-update",
	  .group = KUBEVIRT,
	  .resource = MIGRATIONS,
	  .stat = STAT_MIGRATION_UPDATE,
	  .run = admit_migration_update,
	  .as = { { "migration-update-validator.kubevirt.io", "UPDATE", NULL,
		    NULL } } },
	{ .path = "/migration-policy-validate-create",
	  .group = "migrations.kubevirt.io",
	  .resource = "migrationpolicies",
	  .stat = STAT_POLICY,
	  .run = admit_policy,
	  .as = { { "migration-policy-validator.kubevirt.io", "CREATE,UPDATE",
		    NULL, NULL } } },
	{ .path = "/kubevirt-validate-create",
	  .group = KUBEVIRT,
	  .resource = "kubevirts",
	  .stat = STAT_KUBEVIRT,
	  .run = admit_kubevirt,
	  .as = { { "kubevirt-create-validator.kubevirt.io", "CREATE", NULL,
		    NULL } } },
	{ .path = "/kubevirt-validate-update",
	  .group = KUBEVIRT,
	  .resource = "kubevirts",
	  .stat = STAT_KUBEVIRT,
	  .run = admit_kubevirt,
	  .as = { { "kubevirt-update-validator.kubevirt.io", "UPDATE", NULL,
		    NULL } } },
	{ .path = "/pathprobes-validate-status",
	  .group = "ferry.io",
	  .resource = "pathprobes",
	  .subresource = "status",
	  .stat = STAT_PATH_PROBE,
	  .run = admit_path_probe,
	  .as = { { "pathprobes-validator.ferry.io", "UPDATE", NULL, NULL } } },
	{ .path = "/nodes-validate-update",
	  .group = "",
	  .resource = "nodes",
	  .shared = true,
	  .stat = STAT_NODE,
	  .run = admit_node,
	  .as = { { "nodes-validator.ferry.io", "UPDATE", "only-handlers",
		    "request.userInfo.username.startsWith("
		    "\"system:serviceaccount:\") && "
		    "request.userInfo.username.endsWith("
		    "\":kubevirt-handler\")" } } },
};
const size_t admit_route_count = ARRAY_LEN(admit_routes);

const struct admit_route *
admit_find(const char *path)
{
	for (size_t i = 0; i < ARRAY_LEN(admit_routes); i++) {
		if (strcmp(admit_routes[i].path, path) == 0)
			return &admit_routes[i];
	}
	return NULL;
}

/* What the route is not about would be checked by the wrong rules. */
static int
check_resource(const struct admit_route *route, const struct review *review,
	       struct status *st)
{
	const char *sub = route->subresource == NULL ? "" : route->subresource;

	if (strcmp(review->group, route->group) != 0 ||
	    strcmp(review->resource, route->resource) != 0 ||
	    strcmp(review->subresource, sub) != 0)
		return check_fail(st, "expect resource to be '%s'",
				  route->resource);
	if (review->object == NULL)
		return check_fail(st, "the request has no object");
	if (review->operation == REVIEW_UPDATE && review->old_object == NULL)
		return check_fail(st, "the request has no old object");
	return 0;
}

static void
refuse(struct call *call, int code, const char *why)
{
	AUTO(status_done) struct status st = STATUS_INIT;

	(void)status_set(&st, code, code == 400 ? "BadRequest" : NULL, "%s",
			 why);
	call_reply_status(call, &st);
}

void
admit_handle(const struct admit_route *route, struct api *api,
	     struct http_request *http)
{
	struct call *call = call_new(api, http, route->stat);
	AUTO(status_done) struct status st = STATUS_INIT;
	struct err err;

	if (api->webhook_ca != NULL && !http->peer->is_caller)
		refuse(call, 403,
		       "a review is asked for with a certificate of the CA of "
		       "--webhook-client-ca");
	else if (strcmp(http->method, "POST") != 0)
		refuse(call, 405, "a review is sent with POST");
	else if (http->too_large)
		refuse(call, 413, "the review is too large");
	else if (http->body == NULL)
		refuse(call, 400, "there is no review");
	else if (review_decode(http->body, http->body_len, &call->review,
			       &err) == -1)
		refuse(call, 400, err.text);
	else if (check_resource(route, &call->review, &st) == -1)
		call_deny(call, &st);
	else
		route->run(call);
}
