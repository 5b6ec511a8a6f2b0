/* SPDX-License-Identifier: Apache-2.0 */
#include "webhook/call.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/loop.h"
#include "base/mem.h"
#include "http/server.h"
#include "webhook/access.h"
#include "webhook/api.h"
#include "webhook/pause.h"
#include "webhook/plan.h"

#define NS_PER_US 1000
#define STATUS_SERVER_ERROR 500

struct call *
call_new(struct api *api, struct http_request *http, enum stat_route stat)
{
	struct call *call = xmalloc0(sizeof(*call));

	call->api = api;
	call->http = http;
	call->stat = stat;
	call->began_us = loop_now_ns() / NS_PER_US;
	call->next = api->calls;
	call->back = &api->calls;
	if (call->next != NULL)
		call->next->back = &call->next;
	api->calls = call;
	return call;
}

static void
call_free(struct call *call)
{
	*call->back = call->next;
	if (call->next != NULL)
		call->next->back = call->back;
	access_cancel(call->access);
	pause_free(call->pause);
	plan_free(call->plan);
	reads_done(&call->reads);
	review_done(&call->review);
	json_decref(call->options);
	free(call->user);
	free(call->ns);
	free(call->name);
	free(call);
}

void
call_abort(struct call *call)
{
	http_stream_abort(call->http);
	call_free(call);
}

size_t
call_send(struct call *call, struct kube_request request)
{
	request.timeout_ms = CALL_REQUEST_MS;
	return reads_send(&call->reads, call->api->client, &request);
}

static void
go_on(void *arg)
{
	struct call *call = arg;

	call->then(call);
}

void
call_then(struct call *call, call_fn *then)
{
	call->then = then;
	reads_wait(&call->reads, go_on, call);
}

static void
reply(struct call *call, int code, const json_t *body, enum stat_end end)
{
	static const struct http_header headers[] = {
		{ "Content-Type", "application/json" },
	};
	char *text = body == NULL ? NULL : js_text(body);

	stats_count(&call->api->stats, call->stat, end,
		    loop_now_ns() / NS_PER_US - call->began_us);
	if (text == NULL)
		http_reply(call->http, code, NULL, 0, NULL, 0);
	else
		http_reply_taking(call->http, code, headers, 1, text,
				  strlen(text));
	call_free(call);
}

static enum stat_end
end_of(int code)
{
	if (code >= STATUS_SERVER_ERROR)
		return STAT_FAILED;
	return code >= 400 ? STAT_REFUSED : STAT_OK;
}

void
call_allow(struct call *call, const json_t *patch)
{
	AUTO(js_unref) json_t *answer = review_allow(&call->review, patch);

	reply(call, 200, answer, STAT_OK);
}

void
call_deny(struct call *call, const struct status *st)
{
	AUTO(js_unref) json_t *answer = review_deny(&call->review, st);

	reply(call, 200, answer, end_of(st->code));
}

void
call_judge(struct call *call, const struct status *st)
{
	if (st->code != 0)
		call_deny(call, st);
	else
		call_allow(call, NULL);
}

void
call_deny_unread(struct call *call, size_t place, const char *what)
{
	AUTO(status_done) struct status st = STATUS_INIT;

	(void)status_internal(&st, "cannot read %s: %s", what,
			      call->reads.items[place].status.message);
	call_deny(call, &st);
}

const struct kubevirt_config *
call_config(struct call *call)
{
	const struct kubevirt_config *config = api_config(call->api);
	AUTO(status_done) struct status st = STATUS_INIT;

	if (config != NULL)
		return config;
	(void)status_unavailable(&st, "the KubeVirt object has not been read "
				      "yet");
	if (call->review.root != NULL)
		call_deny(call, &st);
	else
		call_reply_status(call, &st);
	return NULL;
}

void
call_reply(struct call *call, int code, const json_t *body)
{
	reply(call, code, body, end_of(code));
}

void
call_reply_status(struct call *call, const struct status *st)
{
	AUTO(js_unref) json_t *body = status_json(st);

	reply(call, st->code, body, end_of(st->code));
}
