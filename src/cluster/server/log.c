/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/server/log.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/str.h"
#include "cluster/admit/clienterror.h"
#include "cluster/kinds/kind.h"
#include "cluster/server/call.h"
#include "cluster/server/logwhere.h"
#include "cluster/server/server_internal.h"
#include "cluster/store/object.h"
#include "cluster/store/store.h"
#include "http/server.h"
#include "kube/fetch.h"

/* What a slow client may leave with us before the kubelet has to wait. */
#define BACKLOG_HIGH (256 * 1024)
#define BACKLOG_LOW (64 * 1024)
/* Of an error that the kubelet tells, as in Kubernetes. */
#define ERROR_MAX 50000

struct log_stream {
	struct logs *all;
	struct log_stream *prev, *next;
	struct call *call;
	struct fetch *fetch;
	bool begun;       /* the answer's head went out */
	struct buf error; /* the body of an answer that is none */
};

struct logs {
	struct log_stream *first;
};

struct logs *
logs_new(void)
{
	return xmalloc0(sizeof(struct logs));
}

/* Unlinks and frees; the call is not touched. */
static void
stream_free(struct log_stream *s)
{
	if (s->prev != NULL)
		s->prev->next = s->next;
	else
		s->all->first = s->next;
	if (s->next != NULL)
		s->next->prev = s->prev;
	buf_done(&s->error);
	free(s);
}

static void
stream_cut(struct log_stream *s)
{
	struct call *call = s->call;

	fetch_cancel(s->fetch);
	http_on_close(call->http, NULL, NULL);
	http_stream_abort(call->http);
	stream_free(s);
	call_free(call);
}

void
logs_end(struct logs *logs)
{
	struct log_stream *next;

	for (struct log_stream *s = logs->first; s != NULL; s = next) {
		next = s->next;
		stream_cut(s);
	}
}

void
logs_free(struct logs *logs)
{
	if (logs == NULL)
		return;
	logs_end(logs);
	free(logs);
}

static void
on_close(struct http_request *request, void *arg)
{
	(void)request;
	stream_cut(arg);
}

static void
on_drain(struct http_request *request, void *arg)
{
	const struct log_stream *s = arg;

	(void)request;
	fetch_pause(s->fetch, false);
}

static bool
is_success(const struct fetch_result *result)
{
	return result->code >= 200 && result->code < 300;
}

static void
on_head(const struct fetch_result *head, void *arg)
{
	struct log_stream *s = arg;

	if (!is_success(head))
		return;
	s->begun = true;
	call_stream_begin(s->call, "text/plain");
}

static void
on_data(const void *data, size_t len, void *arg)
{
	struct log_stream *s = arg;
	struct http_request *http = s->call->http;

	if (!s->begun) {
		size_t room = s->error.limit - s->error.len;

		(void)buf_append(&s->error, data, len < room ? len : room);
		return;
	}
	http_stream_write(http, data, len);
	if (http_stream_backlog(http) <= BACKLOG_HIGH)
		return;
	fetch_pause(s->fetch, true);
	http_stream_on_drain(http, BACKLOG_LOW, on_drain, s);
}

static const char *
reason_of(int code)
{
	switch (code) {
	case 401:
		return "Unauthorized";
	case 403:
		return "Forbidden";
	case 404:
		return "NotFound";
	case 503:
		return "ServiceUnavailable";
	default:
		return code >= 500 ? "InternalError" : NULL;
	}
}

/* What the kubelet answered instead of a log, in the words of Kubernetes. */
static int
explain(struct call *call, const struct fetch_result *result, struct buf *body)
{
	struct fetch_result whole = *result;
	AUTO(free_ptr) char *text = NULL;

	(void)buf_reserve(body, 1); /* the NUL */
	whole.body = (const char *)body->data;
	whole.body_len = body->len;
	if (result->error != FETCH_OK)
		return status_set(&call->st, 500, NULL, "%s", result->text);
	if (result->code == 400)
		return status_bad_request(&call->st, "%s", whole.body);
	if (result->code == 500)
		return status_internal(&call->st, "%s", whole.body);
	text = clienterror_text(&whole);
	return status_set(&call->st, result->code < 400 ? 500 : result->code,
			  reason_of(result->code), "%s ( pods/log %s)",
			  text == NULL ? "" : text, call->info.name);
}

static void
on_done(const struct fetch_result *result, void *arg)
{
	struct log_stream *s = arg;
	struct call *call = s->call;
	bool begun = s->begun;

	http_on_close(call->http, NULL, NULL);
	if (!begun)
		(void)explain(call, result, &s->error);
	stream_free(s);
	if (!begun) {
		call_fail(call);
		return;
	}
	/* The client must not take a part for the whole. */
	if (result->error == FETCH_OK)
		http_stream_end(call->http);
	else
		http_stream_abort(call->http);
	call_free(call);
}

static void
start(struct call *call, const struct log_where *where)
{
	const struct server_config *parts = call->parts;
	const struct fetch_request request = {
		.method = "GET",
		.url = where->url,
		.ca_pem = parts->kubelet_ca_pem,
		.cert_pem = parts->kubelet_cert_pem,
		.key_pem = parts->kubelet_key_pem,
		.insecure = where->insecure,
		.on_head = on_head,
		.on_data = on_data,
	};
	struct log_stream *s = xmalloc0(sizeof(*s));

	s->all = server_logs(call->server);
	s->call = call;
	s->error = BUF_INIT(ERROR_MAX);
	s->next = s->all->first;
	if (s->next != NULL)
		s->next->prev = s;
	s->all->first = s;
	http_on_close(call->http, on_close, s);
	s->fetch = fetch_start(parts->fetcher, &request, on_done, s);
}

/* The object, decoded; NULL when it is not there. */
static json_t *
load(struct call *call, const char *resource, const char *ns, const char *name)
{
	const struct object *object = store_get(
		store_collection(call->parts->store, "", resource), ns, name);
	struct gr gr = { "", resource };

	if (object != NULL)
		return object_json(object);
	(void)status_not_found(&call->st, &gr, name);
	return NULL;
}

void
log_run(struct call *call)
{
	AUTO(js_unref)
	json_t *pod =
		load(call, "pods", call->info.namespace_, call->info.name);
	AUTO(js_unref) json_t *node = NULL;
	AUTO(log_where_done) struct log_where where = { 0 };
	const char *node_name = js_str_at(pod, "spec.nodeName");

	if (pod == NULL ||
	    log_where_options(&call->query, pod, &where, &call->st) == -1) {
		call_fail(call);
		return;
	}
	/* Nobody has written anything yet. */
	if (*node_name == '\0') {
		call_reply_text(call, 204, "text/plain", "", 0);
		return;
	}
	node = load(call, "nodes", "", node_name);
	if (node == NULL ||
	    log_where_node(node, pod, &where, &call->st) == -1) {
		call_fail(call);
	} else if (call->http == NULL || call->parts->fetcher == NULL) {
		(void)status_unavailable(&call->st,
					 "there is no way to the kubelet");
		call_fail(call);
	} else {
		start(call, &where);
	}
}
