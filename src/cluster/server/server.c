/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/array.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/str.h"
#include "cluster/admit/aggregate.h"
#include "cluster/auth/authn.h"
#include "cluster/auth/authz.h"
#include "cluster/auth/impersonate.h"
#include "cluster/auth/user.h"
#include "cluster/server/call.h"
#include "cluster/server/client.h"
#include "cluster/server/log.h"
#include "cluster/server/read.h"
#include "cluster/server/server_internal.h"
#include "cluster/store/object.h"
#include "cluster/store/store.h"
#include "http/server.h"

struct server {
	struct server_config config;
	struct watches *watches;
	struct logs *logs;
	struct deletions *deletions;
	struct subscription *definitions;
	struct server_stats stats;
	bool draining;
};

static bool
same_spec(const struct event *event)
{
	AUTO(js_unref) json_t *now = object_json(event->object);
	AUTO(js_unref) json_t *before = object_json(event->old);

	return json_equal(json_object_get(now, "spec"),
			  json_object_get(before, "spec"));
}

/* Who watches a kind that is gone or another now has to ask again. */
static void
on_definition(const struct event *event, void *arg)
{
	struct server *server = arg;

	if (event->type == EVENT_DELETED ||
	    (event->type == EVENT_MODIFIED && !same_spec(event)))
		watches_end_kind(server->watches, event->object->name);
}

struct server *
server_new(const struct server_config *config)
{
	struct server *server = xmalloc0(sizeof(*server));
	bool too_old;

	server->config = *config;
	server->watches = watches_new();
	server->definitions = subscribe(
		config->store,
		store_collection(config->store, "apiextensions.k8s.io",
				 "customresourcedefinitions"),
		store_rv(config->store), on_definition, server, &too_old);
	server->logs = logs_new();
	server->deletions = deletions_new();
	server->stats.started_ms = loop_now_ms();
	return server;
}

void
server_free(struct server *server)
{
	if (server == NULL)
		return;
	unsubscribe(server->definitions);
	watches_free(server->watches);
	logs_free(server->logs);
	deletions_free(server->deletions);
	free(server);
}

void
server_drain(struct server *server)
{
	server->draining = true;
	watches_end(server->watches);
	logs_end(server->logs);
}

struct watches *
server_watches(struct server *server)
{
	return server->watches;
}

struct logs *
server_logs(struct server *server)
{
	return server->logs;
}

struct deletions *
server_deletions(struct server *server)
{
	return server->deletions;
}

const struct server_stats *
server_stats(const struct server *server)
{
	return &server->stats;
}

void
server_count(struct server *server, int code)
{
	size_t class = (size_t)code / 100;

	if (class < ARRAY_LEN(server->stats.by_class))
		server->stats.by_class[class]++;
}

bool
server_is_draining(const struct server *server)
{
	return server->draining;
}

/* kubectl's own tests apart, only people with a terminal want line breaks. */
static bool
wants_pretty(const struct call *call)
{
	const char *pretty = query_get(&call->query, "pretty");
	const char *agent = http_header(call->http, "User-Agent");

	if (pretty != NULL)
		return query_bool(&call->query, "pretty");
	return agent != NULL && (str_has_prefix(agent, "curl") ||
				 str_has_prefix(agent, "Wget") ||
				 str_has_prefix(agent, "Mozilla/5.0"));
}

static struct call *
call_from_http(struct server *server, struct http_request *request)
{
	struct call *call = xmalloc0(sizeof(*call));
	const char *type = http_header(request, "Content-Type");

	call->server = server;
	call->parts = &server->config;
	call->http = request;
	call->content_type = type == NULL ? "" : type;
	call->data = request->body;
	call->len = request->body_len;
	return call;
}

static int
identify(struct call *call, struct http_request *request)
{
	if (authn_request(call->parts->authn, request->peer,
			  http_header(request, "Authorization"), &call->user,
			  &call->st) == -1)
		return -1;
	return impersonate(call->parts->authz, request->headers,
			   request->header_count, &call->user, &call->st);
}

static int
authorize(struct call *call)
{
	const struct info *info = &call->info;
	const char *fields = query_get(&call->query, "fieldSelector");
	/* Rules speak of "proxy", whatever path comes after it. */
	AUTO(free_ptr)
	char *subresource =
		xstrndup(info->subresource, strcspn(info->subresource, "/"));
	struct attributes attr = {
		.is_resource = info->is_resource,
		.verb = info->is_resource ? verb_name(info->verb)
					  : info->method,
		.group = info->group,
		.version = info->version,
		.resource = info->resource,
		.subresource = subresource,
		.namespace_ = info->namespace_,
		.name = info->name,
		.path = info->path,
		.field_selector = fields,
	};

	if (info->is_resource && info->verb == 0)
		return status_method_not_allowed(&call->st, NULL, NULL);
	return authz_require(call->parts->authz, call->user, &attr, &call->st);
}

/* Groups that another server answers for. */
static bool
pass_on(struct call *call)
{
	struct aggregate *aggregate = call->parts->aggregate;
	const char *group = call->info.group;
	const char *version = call->info.version;
	char *words = NULL;
	bool owned;

	if (aggregate == NULL || call->http == NULL)
		return false;
	if (!call->info.is_resource) {
		/* /apis/GROUP/VERSION itself, and nothing above it */
		char *slash;

		if (!str_has_prefix(call->info.path, "/apis/"))
			return false;
		words = xstrdup(call->info.path + strlen("/apis/"));
		slash = strchr(words, '/');
		if (slash != NULL) {
			*slash = '\0';
			group = words;
			version = slash + 1;
		}
	}
	owned = *group != '\0' && *version != '\0' &&
		aggregate_owns(aggregate, group, version);
	if (owned) {
		aggregate_handle(aggregate, group, version, call->http,
				 call->user);
	}
	free(words);
	if (owned)
		call_free(call);
	return owned;
}

/* Text, whatever the client says it takes. */
static bool
is_log(const struct call *call)
{
	return *call->info.group == '\0' &&
	       str_equal(call->info.resource, "pods") &&
	       str_equal(call->info.subresource, "log");
}

/* The user is known; everything after is the same for all callers. */
static void
run(struct call *call)
{
	const char *header =
		call->http == NULL ? NULL : http_header(call->http, "Accept");

	if (authorize(call) == -1) {
		call_fail(call);
		return;
	}
	if (pass_on(call))
		return;
	if (!call->info.is_resource) {
		call->accept.version = "v1";
		path_run(call);
	} else if (!is_log(call) &&
		   accept_parse(header, true, &call->accept, &call->st) == -1) {
		call_fail(call);
	} else {
		resource_run(call);
	}
}

void
server_handle(struct http_request *request, void *arg)
{
	struct server *server = arg;
	struct call *call = call_from_http(server, request);

	call->accept.version = "v1";
	if (server->draining) {
		(void)status_unavailable(&call->st, "the server is stopping");
		call_fail(call);
		return;
	}
	if (query_parse(request->query, &call->query, &call->st) == -1 ||
	    info_parse(request->method, request->path,
		       query_bool(&call->query, "watch"), &call->info,
		       &call->st) == -1 ||
	    identify(call, request) == -1) {
		call_fail(call);
		return;
	}
	call->pretty = wants_pretty(call);
	if (request->too_large) {
		(void)status_too_large(&call->st, SERVER_BODY_MAX);
		call_fail(call);
		return;
	}
	run(call);
}

static struct user *
make_user(const struct client_call *request)
{
	static const char *const masters[] = { USER_MASTERS, NULL };
	const char *const *groups =
		request->groups == NULL ? masters : request->groups;
	size_t n = 0;

	while (groups[n] != NULL)
		n++;
	return user_authenticated(request->user, NULL, groups, n);
}

void
client_request(struct server *server, const struct client_call *what,
	       void (*done)(int code, const json_t *answer, void *arg),
	       void *arg)
{
	struct call *call = xmalloc0(sizeof(*call));
	const char *mark = strchr(what->path, '?');
	char *path = mark == NULL ? xstrdup(what->path)
				  : xstrndup(what->path,
					     (size_t)(mark - what->path));

	call->server = server;
	call->parts = &server->config;
	call->done = done;
	call->done_arg = arg;
	call->accept.version = "v1";
	/* Static in all callers; the call outlives the request otherwise. */
	call->content_type =
		what->content_type == NULL ? "" : what->content_type;
	call->body = what->body == NULL ? NULL : json_deep_copy(what->body);
	call->user = make_user(what);
	if (query_parse(mark == NULL ? NULL : mark + 1, &call->query,
			&call->st) == -1 ||
	    info_parse(what->method, path, false, &call->info, &call->st) == -1)
		call_fail(call);
	else
		run(call);
	free(path);
}
