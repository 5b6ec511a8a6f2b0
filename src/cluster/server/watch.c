/* SPDX-License-Identifier: Apache-2.0 */

/*
 * watch - streams of changes.
 *
 * A watch has no queue of its own. While the client takes what it is sent,
 * events go straight from the store to its connection; when more than its share
 * of bytes piles up there, the watch lets go of the store, remembers the
 * revision it came to, and takes up again from the store's history when the
 * client has caught up. Who is so slow that the history has gone on without
 * him gets 410 and has to list again, as everywhere in Kubernetes.
 */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/random.h"
#include "base/str.h"
#include "cluster/kinds/kind.h"
#include "cluster/server/call.h"
#include "cluster/server/objmeta.h"
#include "cluster/server/read.h"
#include "cluster/server/render.h"
#include "cluster/server/selection.h"
#include "cluster/server/server.h"
#include "cluster/server/server_internal.h"
#include "cluster/server/stored.h"
#include "cluster/store/object.h"
#include "cluster/store/store.h"
#include "http/server.h"

/* How far a client may be behind: its share of a sum, within bounds. */
#define WATCH_BEHIND_ALL (64UL * 1024 * 1024)
#define WATCH_BEHIND_MIN (32UL * 1024)
#define WATCH_BEHIND_MAX (1024UL * 1024)
#define WATCH_BOOKMARK_S 60
/* Without timeoutSeconds: somewhere from this to twice this. */
#define WATCH_TIMEOUT_S 1800
#define WATCH_TIMEOUT_MAX_S (365UL * 86400)
#define WATCH_EVENT_MAX (64UL * 1024 * 1024)
#define US_PER_S 1000000UL

struct watch {
	struct watches *all;
	struct watch *prev, *next;
	struct call *call;
	struct http_request *http;
	struct store *store;
	struct collection *collection;
	struct selection *selection;
	struct render render;
	struct list_options options;
	struct subscription *subscription;
	struct loop_timer *timeout;
	struct loop_timer *bookmark;
	uint64_t rv;       /* all events up to this one were looked at */
	bool columns_sent; /* the columns of a Table are told once */
	/* The objects there were at the start, while they are being sent. */
	struct object_list initial;
	size_t initial_next;
};

struct watches {
	struct watch *first;
	struct buf line; /* where an event is put together */
	struct watch_stats stats;
	/* The last event as text; many watches want the same one. */
	struct {
		uint64_t rv;
		const struct kind_version *version;
		enum accept_shape shape;
		enum render_include include;
		struct buf text;
	} last;
};

struct watches *
watches_new(void)
{
	struct watches *all = xmalloc0(sizeof(*all));

	all->last.text = BUF_INIT(WATCH_EVENT_MAX);
	all->line = BUF_INIT(WATCH_EVENT_MAX);
	return all;
}

const struct watch_stats *
watches_stats(const struct watches *watches)
{
	return &watches->stats;
}

static void
link_watch(struct watches *all, struct watch *watch)
{
	watch->all = all;
	watch->next = all->first;
	if (all->first != NULL)
		all->first->prev = watch;
	all->first = watch;
	all->stats.running++;
}

static void
watch_free(struct watch *watch)
{
	if (watch->prev != NULL)
		watch->prev->next = watch->next;
	else
		watch->all->first = watch->next;
	if (watch->next != NULL)
		watch->next->prev = watch->prev;
	watch->all->stats.running--;
	unsubscribe(watch->subscription);
	loop_timer_free(watch->timeout);
	loop_timer_free(watch->bookmark);
	objects_unref(watch->initial.objects, watch->initial.count);
	selection_free(watch->selection);
	call_free(watch->call);
	free(watch);
}

static void
watch_end(struct watch *watch)
{
	http_on_close(watch->http, NULL, NULL);
	http_stream_end(watch->http);
	watch_free(watch);
}

static void
client_gone(struct http_request *request, void *arg)
{
	http_stream_abort(request);
	watch_free(arg);
}

void
watches_end(struct watches *watches)
{
	struct watch *next;

	for (struct watch *watch = watches->first; watch != NULL;
	     watch = next) {
		next = watch->next;
		watch_end(watch);
	}
}

void
watches_end_kind(struct watches *watches, const char *crd)
{
	struct watch *next;

	for (struct watch *watch = watches->first; watch != NULL;
	     watch = next) {
		next = watch->next;
		if (str_equal(watch->call->kind->crd, crd))
			watch_end(watch);
	}
	/* The version it was made for may go, and another take its place. */
	watches->last.rv = 0;
}

void
watches_free(struct watches *watches)
{
	watches_end(watches);
	buf_done(&watches->last.text);
	buf_done(&watches->line);
	free(watches);
}

static void
write_event(struct watch *watch, const char *type, const void *object,
	    size_t len)
{
	struct buf *line = &watch->all->line;

	/* In one piece: each write is a chunk of its own. */
	buf_clear(line);
	(void)buf_append_str(line, "{\"type\":\"");
	(void)buf_append_str(line, type);
	(void)buf_append_str(line, "\",\"object\":");
	(void)buf_append(line, object, len);
	(void)buf_append_str(line, "}\n");
	http_stream_write(watch->http, line->data, line->len);
	watch->all->stats.events++;
}

static void
send_object(struct watch *watch, const char *type, const struct object *object)
{
	struct watches *all = watch->all;
	bool columns = !watch->columns_sent;

	watch->columns_sent = true;
	/* The object's text is the event's, when nothing has to be made of it.
	 */
	if (watch->render.shape == ACCEPT_OBJECT &&
	    stored_is_plain(watch->render.version, object)) {
		write_event(watch, type, object->text, object->len);
		return;
	}
	if (all->last.rv != object->rv ||
	    all->last.version != watch->render.version ||
	    all->last.shape != watch->render.shape ||
	    all->last.include != watch->render.include ||
	    (columns && watch->render.shape == ACCEPT_TABLE)) {
		buf_clear(&all->last.text);
		render_one(&watch->render, object, columns, &all->last.text);
		all->last.version = watch->render.version;
		all->last.shape = watch->render.shape;
		all->last.include = watch->render.include;
		/* With its columns it is not what the others want. */
		all->last.rv = columns ? 0 : object->rv;
	}
	write_event(watch, type, all->last.text.data, all->last.text.len);
}

/* What left the selection is shown as it was, with the revision of now. */
static void
send_left(struct watch *watch, const struct event *event)
{
	struct buf out = BUF_INIT(WATCH_EVENT_MAX);
	json_t *json = stored_load(watch->render.version, event->old);

	objmeta_set_rv(json, event->rv);
	render_one_json(&watch->render, json, !watch->columns_sent, &out);
	watch->columns_sent = true;
	write_event(watch, "DELETED", out.data, out.len);
	json_decref(json);
	buf_done(&out);
}

static void resume(struct http_request *request, void *arg);

/* Many that do not read must not cost more than a few that do not. */
static size_t
high_mark(const struct watches *all)
{
	size_t share = WATCH_BEHIND_ALL / (all->stats.running + 1);

	if (share > WATCH_BEHIND_MAX)
		return WATCH_BEHIND_MAX;
	return share < WATCH_BEHIND_MIN ? WATCH_BEHIND_MIN : share;
}

static bool
has_fallen_behind(const struct watch *watch)
{
	return http_stream_backlog(watch->http) > high_mark(watch->all);
}

/* Lets go of the store until the client has taken what is there. */
static bool
is_behind(struct watch *watch)
{
	if (!has_fallen_behind(watch))
		return false;
	unsubscribe(watch->subscription);
	watch->subscription = NULL;
	http_stream_on_drain(watch->http, high_mark(watch->all) / 4, resume,
			     watch);
	return true;
}

static bool
is_in_namespace(const struct watch *watch, const struct object *object)
{
	const char *ns = watch->call->info.namespace_;

	return !watch->call->kind->namespaced || *ns == '\0' ||
	       str_equal(ns, object->namespace_);
}

static void
on_event(const struct event *event, void *arg)
{
	struct watch *watch = arg;
	bool now, before;

	if (event->rv <= watch->rv || http_is_gone(watch->http))
		return;
	/* Too much of the history at once: the rest when this is taken. */
	if (watch->subscription == NULL && has_fallen_behind(watch))
		return;
	watch->rv = event->rv;
	if (!is_in_namespace(watch, event->object))
		return;
	now = event->type != EVENT_DELETED &&
	      selection_matches(watch->selection, event->object);
	before = event->old != NULL &&
		 selection_matches(watch->selection, event->old);
	if (now)
		send_object(watch, before ? "MODIFIED" : "ADDED",
			    event->object);
	else if (before && event->type == EVENT_DELETED)
		send_object(watch, "DELETED", event->object);
	else if (before)
		send_left(watch, event);
	else
		return;
	if (watch->subscription != NULL)
		(void)is_behind(watch);
}

static void
send_too_old(struct watch *watch)
{
	struct status st = STATUS_INIT;
	json_t *value;
	char *text;

	(void)status_expired(
		&st, "too old resource version: %" PRIu64 " (%" PRIu64 ")",
		watch->rv, store_oldest_rv(watch->store));
	value = status_json(&st);
	text = js_text(value);
	write_event(watch, "ERROR", text, strlen(text));
	free(text);
	json_decref(value);
	status_done(&st);
}

/* Takes the events up from watch->rv on; may end the watch. */
static void
follow(struct watch *watch)
{
	bool too_old = false;
	struct subscription *subscription =
		subscribe(watch->store, watch->collection, watch->rv, on_event,
			  watch, &too_old);

	if (too_old) {
		watch->all->stats.too_slow++;
		send_too_old(watch);
		watch_end(watch);
		return;
	}
	watch->subscription = subscription;
	(void)is_behind(watch);
}

static void
send_bookmark(struct watch *watch, bool initial)
{
	struct buf out = BUF_INIT(WATCH_EVENT_MAX);

	render_bookmark(&watch->render, watch->rv, initial, &out);
	write_event(watch, "BOOKMARK", out.data, out.len);
	buf_done(&out);
}

/* Sends what there was at the start, as fast as it is taken. */
static void
send_initial(struct watch *watch)
{
	while (watch->initial_next < watch->initial.count) {
		struct object *object =
			watch->initial.objects[watch->initial_next++];

		if (selection_matches(watch->selection, object))
			send_object(watch, "ADDED", object);
		if (is_behind(watch))
			return;
	}
	objects_unref(watch->initial.objects, watch->initial.count);
	watch->initial = (struct object_list){ 0 };
	watch->initial_next = 0;
	if (watch->options.send_initial_events && watch->options.bookmarks)
		send_bookmark(watch, true);
	follow(watch);
}

static void
resume(struct http_request *request, void *arg)
{
	struct watch *watch = arg;

	(void)request;
	if (watch->initial.objects != NULL)
		send_initial(watch);
	else
		follow(watch);
}

static void
time_is_up(void *arg)
{
	watch_end(arg);
}

static void
bookmark_due(void *arg)
{
	struct watch *watch = arg;

	loop_timer_start(watch->bookmark, WATCH_BOOKMARK_S * US_PER_S);
	if (watch->subscription == NULL)
		return;
	/* Nothing of this kind has happened between the two. */
	if (store_durable_rv(watch->store) > watch->rv)
		watch->rv = store_durable_rv(watch->store);
	send_bookmark(watch, false);
}

static void
start_timers(struct watch *watch)
{
	struct loop *loop = watch->call->parts->loop;
	uint64_t timeout = watch->options.timeout_s;

	if (timeout == 0)
		timeout = WATCH_TIMEOUT_S + random_below(WATCH_TIMEOUT_S);
	if (timeout > WATCH_TIMEOUT_MAX_S)
		timeout = WATCH_TIMEOUT_MAX_S;
	watch->timeout = loop_timer_new(loop, time_is_up, watch);
	loop_timer_start(watch->timeout, timeout * US_PER_S);
	watch->bookmark = loop_timer_new(loop, bookmark_due, watch);
	if (watch->options.bookmarks)
		loop_timer_start(watch->bookmark, WATCH_BOOKMARK_S * US_PER_S);
}

static void
start_initial(struct watch *watch)
{
	struct call *call = watch->call;
	const char *ns = call->info.namespace_;
	const struct list_range range = {
		.ns = call->kind->namespaced && *ns != '\0' ? ns : NULL,
	};
	struct err err;

	watch->rv = store_durable_rv(watch->store);
	if (store_list_at(watch->collection, watch->rv, &range, &watch->initial,
			  &err) == -1) {
		send_too_old(watch);
		watch_end(watch);
		return;
	}
	send_initial(watch);
}

static void
start(struct watch *watch)
{
	call_stream_begin(watch->call, "application/json");
	http_on_close(watch->http, client_gone, watch);
	start_timers(watch);
	watch->rv = watch->options.rv;
	if (!watch->options.has_rv || watch->options.rv == 0 ||
	    watch->options.send_initial_events)
		start_initial(watch);
	else
		follow(watch);
}

void
watch_run(struct call *call)
{
	struct watch *watch = xmalloc0(sizeof(*watch));
	struct status *st = &call->st;

	watch->call = call;
	watch->http = call->http;
	watch->store = call->parts->store;
	watch->collection = call->kind->collection;
	if (call->http == NULL ||
	    query_list_options(&call->query, true, &watch->options, st) == -1 ||
	    render_init(&call->accept, call->version, &call->query,
			&watch->render, st) == -1 ||
	    (watch->selection = selection_new(
		     call->kind, watch->options.label_selector,
		     watch->options.field_selector, st)) == NULL) {
		free(watch);
		if (call->http == NULL)
			(void)status_method_not_allowed(st, NULL, NULL);
		call_fail(call);
		return;
	}
	link_watch(server_watches(call->server), watch);
	start(watch);
}
