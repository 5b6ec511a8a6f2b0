/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/control/api.h"

#include <stdlib.h>

#include "base/mem.h"
#include "cluster/kinds/kind.h"
#include "cluster/server/client.h"

/* A request in flight. It outlives its api when that is freed meanwhile. */
struct flight {
	struct api *api; /* NULL: nobody waits any more */
	struct flight *next, *prev;
	api_done_fn *done;
	void *arg;
};

struct api {
	struct server *server;
	char *user;
	struct flight *flights;
	bool closed;
};

struct api *
api_new(struct server *server, const char *user)
{
	struct api *api = xmalloc0(sizeof(*api));

	api->server = server;
	api->user = xstrdup(user);
	return api;
}

static void
end_flight(struct api *api, struct flight *f, int code, const json_t *answer)
{
	if (f->prev != NULL)
		f->prev->next = f->next;
	else
		api->flights = f->next;
	if (f->next != NULL)
		f->next->prev = f->prev;
	f->api = NULL;
	if (f->done != NULL)
		f->done(code, answer, f->arg);
}

void
api_close(struct api *api)
{
	api->closed = true;
	while (api->flights != NULL)
		end_flight(api, api->flights, 0, NULL);
}

void
api_free(struct api *api)
{
	if (api == NULL)
		return;
	free(api->user);
	free(api);
}

static void
landed(int code, const json_t *answer, void *arg)
{
	struct flight *f = arg;

	if (f->api != NULL)
		end_flight(f->api, f, code, answer);
	free(f);
}

void
api_send(struct api *api, const struct api_call *call)
{
	struct flight *f;
	struct client_call request = {
		.user = api->user,
		.method = call->method,
		.path = call->path,
		.body = call->body,
		.content_type = call->content_type,
	};

	if (api->closed) {
		json_decref(call->body);
		if (call->done != NULL)
			call->done(0, NULL, call->arg);
		return;
	}
	f = xmalloc0(sizeof(*f));
	f->api = api;
	f->done = call->done;
	f->arg = call->arg;
	f->next = api->flights;
	if (f->next != NULL)
		f->next->prev = f;
	api->flights = f;
	client_request(api->server, &request, landed, f);
	json_decref(call->body);
}

char *
api_path(const struct kind *kind, const char *ns, const char *name)
{
	bool in_ns = kind->namespaced && ns != NULL && *ns != '\0';
	bool named = name != NULL && *name != '\0';

	return xasprintf("/%s%s%s/%s%s%s/%s%s%s",
			 *kind->group == '\0' ? "api" : "apis",
			 *kind->group == '\0' ? "" : "/", kind->group,
			 kind->storage->name, in_ns ? "/namespaces/" : "",
			 in_ns ? ns : "", kind->plural, named ? "/" : "",
			 named ? name : "");
}

bool
api_ok(int code)
{
	return code >= 200 && code < 300;
}

bool
api_stale(int code)
{
	return code == 0 || code == 404 || code == 409;
}
