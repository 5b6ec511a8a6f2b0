/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/client_internal.h"
#include "kube/config.h"
#include "kube/url.h"

/* How much longer than it asked for a watch may take to end. */
#define GRACE_S 30
/* Of an answer that is no stream of events. */
#define REFUSAL_MAX (64UL * 1024)

struct kube_watch {
	struct kube_client *client;
	LIST_ENTRY(kube_watch) entry;
	struct fetch *fetch;
	int code;
	struct buf in;  /* what has not made a line yet, or a refusal */
	size_t scanned; /* of it, without a line end */
	bool inside;    /* somebody is being called */
	bool over;      /* cancelled, or ended has been called */
	void (*event)(const char *type, json_t *object, void *arg);
	void (*ended)(const struct status *status, void *arg);
	void *arg;
};

static void
watch_free(struct kube_watch *w)
{
	LIST_REMOVE(w, entry);
	w->client->stats.watches--;
	fetch_cancel(w->fetch);
	buf_done(&w->in);
	free(w);
}

void
kube_watches_free(struct kube_client *c)
{
	struct kube_watch *w;

	while ((w = LIST_FIRST(&c->watches)) != NULL)
		watch_free(w);
}

void
kube_watch_cancel(struct kube_watch *w)
{
	if (w == NULL || w->over)
		return;
	w->over = true;
	if (!w->inside)
		watch_free(w);
}

/* Tells the end, once. */
static void
end(struct kube_watch *w, const struct status *st)
{
	if (w->over)
		return;
	w->over = true;
	w->ended(st, w->arg);
}

static void
end_with(struct kube_watch *w, int code, const char *reason, const char *text)
{
	struct status st = STATUS_INIT;

	(void)status_set(&st, code, reason, "%s", text);
	end(w, &st);
	status_done(&st);
}

static void
on_line(struct kube_watch *w, const char *line, size_t len)
{
	AUTO(js_unref) json_t *event = NULL;
	struct status st = STATUS_INIT;
	struct err err;
	const char *type;
	json_t *object;

	event = js_parse(line, len, &err);
	type = js_str_at(event, "type");
	object = js_obj_at(event, "object");
	if (*type == '\0' || object == NULL) {
		end_with(w, 500, "InternalError",
			 "a line of the watch is no event");
		return;
	}
	if (str_equal(type, "ERROR")) {
		(void)status_from_json(&st, object, 500);
		end(w, &st);
		status_done(&st);
		return;
	}
	w->client->stats.events++;
	w->event(type, object, w->arg);
}

/* All whole lines; what is behind them stays. */
static void
take_lines(struct kube_watch *w)
{
	const char *text = (const char *)w->in.data;
	size_t at = 0;
	const char *line_end;

	while (!w->over &&
	       (line_end = memchr(text + w->scanned, '\n',
				  w->in.len - w->scanned)) != NULL) {
		size_t len = (size_t)(line_end - text) - at;

		if (len > 0)
			on_line(w, text + at, len);
		at += len + 1;
		w->scanned = at;
	}
	buf_consume(&w->in, at);
	w->scanned = w->in.len;
}

static void
on_head(const struct fetch_result *head, void *arg)
{
	struct kube_watch *w = arg;

	w->code = head->code;
	if (w->code != 200)
		w->in.limit = REFUSAL_MAX;
}

static void
on_data(const void *data, size_t len, void *arg)
{
	struct kube_watch *w = arg;
	int room = buf_append(&w->in, data, len);

	if (w->code != 200 || w->in.len == 0)
		return;
	w->inside = true;
	if (room == -1)
		end_with(w, 500, "InternalError",
			 "an event of the watch is too large");
	else
		take_lines(w);
	w->inside = false;
	if (w->over)
		watch_free(w);
}

static void
on_done(const struct fetch_result *r, void *arg)
{
	struct kube_watch *w = arg;
	struct status st = STATUS_INIT;

	w->fetch = NULL;
	w->inside = true;
	if (r->error != FETCH_OK)
		(void)kube_status_of_failure(&st, r);
	else if (w->code != 200)
		(void)kube_status_of_answer(
			&st, w->code, r,
			w->in.len > 0 ? (const char *)w->in.data : "",
			w->in.len);
	end(w, &st);
	status_done(&st);
	watch_free(w);
}

static char *
make_url(const struct kube_client *c, const struct kube_watch_request *r)
{
	struct buf url = BUF_INIT(BUF_UNLIMITED);
	AUTO(free_ptr) char *path = kube_path(r->resource, r->ns, NULL, NULL);
	char timeout[16];

	(void)snprintf(timeout, sizeof(timeout), "%u", r->timeout_s);
	(void)buf_append_str(&url, c->config->server);
	(void)buf_append_str(&url, path);
	url_add_param(&url, "watch", "true");
	url_add_param(&url, "allowWatchBookmarks", "true");
	url_add_param(&url, "labelSelector", r->label_selector);
	url_add_param(&url, "fieldSelector", r->field_selector);
	url_add_param(&url, "resourceVersion", r->resource_version);
	url_add_param(&url, "timeoutSeconds", timeout);
	return (char *)url.data;
}

struct kube_watch *
kube_watch_start(struct kube_client *c, const struct kube_watch_request *r)
{
	struct kube_watch *w = xmalloc0(sizeof(*w));
	AUTO(free_ptr) char *url = make_url(c, r);
	struct kube_wire wire;

	w->client = c;
	w->in = BUF_INIT(KUBE_EVENT_MAX);
	w->event = r->event;
	w->ended = r->ended;
	w->arg = r->arg;
	LIST_INSERT_HEAD(&c->watches, w, entry);
	c->stats.watches++;
	kube_wire_begin(&wire, c, NULL);
	wire.fetch.method = "GET";
	wire.fetch.url = url;
	wire.fetch.timeout_ms = (r->timeout_s + GRACE_S) * 1000;
	/* A server that has nothing to tell says at least that. */
	wire.fetch.head_ms = c->timeout_ms;
	wire.fetch.on_head = on_head;
	wire.fetch.on_data = on_data;
	w->fetch = fetch_start(c->fetcher, &wire.fetch, on_done, w);
	kube_wire_done(&wire);
	return w;
}
