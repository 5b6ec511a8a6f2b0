/* SPDX-License-Identifier: Apache-2.0 */
#include "webhook/sub.h"

#include <stdlib.h>
#include <string.h>

#include "api/kinds.h"
#include "api/names.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/str.h"
#include "http/server.h"
#include "kube/obj.h"
#include "meta/names.h"
#include "webhook/access.h"
#include "webhook/api.h"
#include "webhook/sub_steps.h"
#include "webhook/trust.h"

#define PREFIX "/apis/" SUB_GROUP "/"
#define VMS "virtualmachines"
#define VMIS "virtualmachineinstances"

const char *const sub_versions[] = { "v1", "v1alpha3", NULL };

const struct sub_route sub_routes[] = {
	{ VMS, "start", "VirtualMachine", plan_start, SUB_VM | SUB_MAYBE_VMI,
	  STAT_START },
	{ VMS, "stop", "VirtualMachine", plan_stop, SUB_VM | SUB_MAYBE_VMI,
	  STAT_STOP },
	{ VMS, "restart", "VirtualMachine", plan_restart,
	  SUB_VM | SUB_MAYBE_VMI | SUB_PODS, STAT_RESTART },
	{ VMS, "migrate", "VirtualMachine", plan_migrate, SUB_VM | SUB_VMI,
	  STAT_MIGRATE },
	{ VMS, "evacuate/cancel", "VirtualMachine", plan_evacuate_cancel,
	  SUB_VM | SUB_VMI | SUB_NODE, STAT_EVACUATE_CANCEL },
	{ VMIS, "pause", "VirtualMachineInstance", plan_pause, SUB_VMI,
	  STAT_PAUSE },
	{ VMIS, "unpause", "VirtualMachineInstance", plan_unpause,
	  SUB_MAYBE_VM | SUB_VMI, STAT_UNPAUSE },
	{ VMIS, "evacuate/cancel", "VirtualMachineInstance",
	  plan_evacuate_cancel, SUB_VMI | SUB_NODE, STAT_EVACUATE_CANCEL },
};
const size_t sub_route_count = ARRAY_LEN(sub_routes);

/* The places of what was read. */
enum {
	PLACE_VM,
	PLACE_VMI,
	PLACE_MORE
};

/* The segment that begins at *text, which moves behind its slash; NULL when
 * there is none. */
static char *
next_segment(const char **text)
{
	const char *end = strchr(*text, '/');
	char *segment;

	if (end == NULL || end == *text)
		return NULL;
	segment = xstrndup(*text, (size_t)(end - *text));
	*text = end + 1;
	return segment;
}

static bool
expect_segment(const char **text, const char *word)
{
	size_t len = strlen(word);

	if (strncmp(*text, word, len) != 0 || (*text)[len] != '/')
		return false;
	*text += len + 1;
	return true;
}

static const struct sub_route *
find_route(const char *resource, const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(sub_routes); i++) {
		if (strcmp(sub_routes[i].resource, resource) == 0 &&
		    strcmp(sub_routes[i].name, name) == 0)
			return &sub_routes[i];
	}
	return NULL;
}

bool
sub_parse(const char *path, struct sub_path *ret)
{
	struct sub_path found = { 0 };
	AUTO(free_ptr) char *ns = NULL;
	AUTO(free_ptr) char *resource = NULL;
	AUTO(free_ptr) char *name = NULL;

	if (!str_has_prefix(path, PREFIX))
		return false;
	path += strlen(PREFIX);
	for (size_t i = 0; sub_versions[i] != NULL && !found.version; i++) {
		if (expect_segment(&path, sub_versions[i]))
			found.version = sub_versions[i];
	}
	if (found.version == NULL || !expect_segment(&path, "namespaces"))
		return false;
	ns = next_segment(&path);
	resource = ns == NULL ? NULL : next_segment(&path);
	name = resource == NULL ? NULL : next_segment(&path);
	if (name == NULL || !name_ok(NAME_DNS1123_LABEL, ns) ||
	    !name_ok(NAME_DNS1123_SUBDOMAIN, name))
		return false;
	found.route = find_route(resource, path);
	if (found.route == NULL)
		return false;
	found.ns = TAKE_PTR(ns);
	found.name = TAKE_PTR(name);
	*ret = found;
	return true;
}

static const char *
resource_word(const struct sub_route *route, unsigned reads)
{
	return strcmp(route->resource, VMS) == 0 && (reads & SUB_VM)
		       ? "virtualmachine"
		       : "virtualmachineinstance";
}

/* Whether what was read is there as the route needs it; answers if not. */
static bool
check_read(struct call *call, size_t place, unsigned needed, unsigned maybe,
	   const char *what)
{
	const struct gr gr = { "kubevirt.io",
			       resource_word(call->route, needed) };
	unsigned reads = call->route->reads;
	AUTO(status_done) struct status st = STATUS_INIT;

	if ((reads & (needed | maybe)) == 0 ||
	    reads_answer(&call->reads, place) != NULL ||
	    ((reads & maybe) && reads_is_missing(&call->reads, place)))
		return true;
	if (reads_is_missing(&call->reads, place))
		(void)status_not_found(&st, &gr, call->name);
	else
		(void)status_internal(&st, "unable to retrieve %s [%s]: %s",
				      what, call->name,
				      call->reads.items[place].status.message);
	call_reply_status(call, &st);
	return false;
}

static void
make_plan(struct call *call)
{
	const struct kubevirt_config *config = call_config(call);
	bool more = call->reads.count > PLACE_MORE;
	const json_t *extra =
		more ? reads_answer(&call->reads, PLACE_MORE) : NULL;
	bool pods = call->route->reads & SUB_PODS;
	const struct plan_facts facts = {
		.name = call->name,
		.options = call->options,
		.has_body = call->has_body,
		.vm = reads_answer(&call->reads, PLACE_VM),
		.vmi = reads_answer(&call->reads, PLACE_VMI),
		.pods = pods ? extra : NULL,
		.node = pods ? NULL : extra,
		.config = config,
	};
	AUTO(status_done) struct status st = STATUS_INIT;

	if (config == NULL)
		return;
	call->plan = call->route->plan(&facts, &st);
	if (call->plan == NULL)
		call_reply_status(call, &st);
	else
		sub_steps_run(call);
}

static void
more_read(struct call *call)
{
	AUTO(status_done) struct status st = STATUS_INIT;

	if (reads_answer(&call->reads, PLACE_MORE) == NULL) {
		(void)status_internal(
			&st, "%s",
			call->reads.items[PLACE_MORE].status.message);
		call_reply_status(call, &st);
		return;
	}
	make_plan(call);
}

static void
read_pods(struct call *call, const json_t *vmi)
{
	AUTO(free_ptr)
	char *selector =
		xasprintf(LABEL_APP "=" APP_LAUNCHER "," LABEL_CREATED_BY "=%s",
			  obj_uid(vmi));

	(void)call_send(call, (struct kube_request){
				      .verb = KUBE_GET,
				      .resource = &kube_pods,
				      .ns = call->ns,
				      .label_selector = selector,
				      .field_selector = "status.phase=Running",
			      });
	call_then(call, more_read);
}

static void
read_node(struct call *call, const char *node)
{
	(void)call_send(call, (struct kube_request){
				      .verb = KUBE_GET,
				      .resource = &kube_nodes,
				      .name = node,
			      });
	call_then(call, more_read);
}

static void
machines_read(struct call *call)
{
	const json_t *vmi;

	if (!check_read(call, PLACE_VM, SUB_VM, SUB_MAYBE_VM, "vm") ||
	    !check_read(call, PLACE_VMI, SUB_VMI, SUB_MAYBE_VMI, "vmi"))
		return;
	vmi = reads_answer(&call->reads, PLACE_VMI);
	if ((call->route->reads & SUB_PODS) && vmi != NULL &&
	    plan_is_forced(call->options))
		read_pods(call, vmi);
	else if ((call->route->reads & SUB_NODE) && plan_node(vmi)[0] != '\0')
		read_node(call, plan_node(vmi));
	else
		make_plan(call);
}

void
sub_begin(struct call *call)
{
	const struct kube_resource *const resources[] = { &api_vms, &api_vmis };

	for (size_t i = 0; i < ARRAY_LEN(resources); i++) {
		(void)call_send(call, (struct kube_request){
					      .verb = KUBE_GET,
					      .resource = resources[i],
					      .ns = call->ns,
					      .name = call->name,
				      });
	}
	call_then(call, machines_read);
}

/* dryRun is a list of "All", or nothing. */
static int
read_dry_run(struct call *call, struct status *st)
{
	const json_t *list = js_at(call->options, "dryRun");
	size_t i;
	json_t *item;

	if (list != NULL && !json_is_array(list))
		return status_bad_request(st, "dryRun is no list");
	json_array_foreach(list, i, item)
	{
		if (!str_equal(json_string_value(item), "All"))
			return status_bad_request(
				st, "dryRun: only \"All\" is supported");
		call->dry_run = true;
	}
	return 0;
}

static int
read_body(struct call *call, struct status *st)
{
	const struct http_request *http = call->http;
	struct err err;

	if (http->too_large)
		return status_too_large(st, API_BODY_MAX);
	call->has_body = http->body != NULL && http->body_len > 0;
	call->options = call->has_body
				? js_parse_lenient(http->body, http->body_len,
						   NULL, NULL, &err)
				: json_object();
	if (json_is_null(call->options))
		call->options = json_object();
	if (call->options == NULL) {
		return status_bad_request(
			st,
			"Can not unmarshal Request body to struct, error: "
			"%s",
			err.text);
	}
	if (!json_is_object(call->options))
		return status_bad_request(
			st, "Can not unmarshal Request body to struct, error: "
			    "it is no object");
	return read_dry_run(call, st);
}

static void
access_known(enum access_answer answer, const char *text, void *arg)
{
	struct call *call = arg;
	const struct gr gr = { SUB_GROUP, call->route->resource };
	AUTO(status_done) struct status st = STATUS_INIT;

	call->access = NULL;
	switch (answer) {
	case ACCESS_ALLOWED:
		if (read_body(call, &st) == 0) {
			sub_begin(call);
			return;
		}
		break;
	case ACCESS_DENIED: {
		AUTO(free_ptr)
		char *why = xasprintf(
			"User \"%s\" cannot update resource \"%s/%s\" in API "
			"group "
			"\"" SUB_GROUP "\" in the namespace \"%s\"%s%s",
			call->user, call->route->resource, call->route->name,
			call->ns, text[0] == '\0' ? "" : ": ", text);

		(void)status_forbidden(&st, &gr, call->name, why);
		break;
	}
	case ACCESS_FAILED:
		(void)status_internal(&st, "cannot ask for permission: %s",
				      text);
		break;
	}
	call_reply_status(call, &st);
}

/* The answer may be there before access_ask() returns, and the call be gone:
 * its place is written only while it waits. */
static void
ask(struct call *call, const struct access_question *question)
{
	struct access_wait *wait =
		access_ask(call->api->access, question, access_known, call);

	if (wait != NULL)
		call->access = wait;
}

void
sub_handle(const struct sub_path *path, struct api *api,
	   struct http_request *http)
{
	struct call *call = call_new(api, http, path->route->stat);
	const struct gr gr = { SUB_GROUP, path->route->resource };
	AUTO(js_unref) json_t *user = trust_user(api->trust, http);
	AUTO(status_done) struct status st = STATUS_INIT;
	struct access_question question = {
		.user = user,
		.verb = "update",
		.group = SUB_GROUP,
		.version = path->version,
		.resource = path->route->resource,
		.subresource = path->route->name,
		.ns = path->ns,
		.name = path->name,
	};

	call->route = path->route;
	call->ns = path->ns;
	call->name = path->name;
	call->user = xstrdup(js_str_at(user, "user"));
	if (user == NULL)
		(void)status_unauthorized(&st);
	else if (strcmp(http->method, "PUT") != 0)
		(void)status_method_not_allowed(&st, &gr, http->method);
	if (st.code != 0)
		call_reply_status(call, &st);
	else
		ask(call, &question);
}
