/* SPDX-License-Identifier: Apache-2.0 */

/* list - get and list. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "cluster/kinds/kind.h"
#include "cluster/server/call.h"
#include "cluster/server/read.h"
#include "cluster/server/render.h"
#include "cluster/server/selection.h"
#include "cluster/server/server.h"
#include "cluster/store/object.h"
#include "cluster/store/store.h"
#include "http/server.h"
#include "meta/selector.h"

/* A list of more text than this is written piece by piece. */
#define STREAM_ABOVE (256U * 1024)
#define STREAM_PIECE (256U * 1024)
/* Rows of a Table are short, and work: no more of them in one turn. */
#define STREAM_ITEMS 256
/* With a selector, so many objects are looked at in one go. */
#define SCAN_CHUNK 1000
/* Of older revisions everything is gone through: so is what was written since
 * when a label is looked for. */
#define RECENT_WRITES 2000
#define ANSWER_MAX (1UL << 32)
#define CONTINUE_MAX 4096

static int
too_new(struct call *call, uint64_t rv)
{
	(void)status_timeout(&call->st,
			     "Too large resource version: %" PRIu64
			     ", current: %" PRIu64,
			     rv, store_durable_rv(call->parts->store));
	status_add_cause(&call->st, "ResourceVersionTooLarge",
			 "Too large resource version", NULL);
	return -1;
}

void
get_run(struct call *call)
{
	struct store *store = call->parts->store;
	struct gr gr = call_gr(call);
	struct list_options options;
	struct object *object;

	if (query_list_options(&call->query, false, &options, &call->st) ==
		    -1 ||
	    (options.rv > store_durable_rv(store) &&
	     too_new(call, options.rv) == -1)) {
		call_fail(call);
		return;
	}
	object = store_get_at(call->kind->collection, call->info.namespace_,
			      call->info.name, store_durable_rv(store));
	if (object == NULL) {
		(void)status_not_found(&call->st, &gr, call->info.name);
		call_fail(call);
		return;
	}
	call_reply_object(call, 200, object);
}

/* A list on its way. */
struct list {
	struct call *call;
	struct selection *selection;
	struct render render;
	struct list_options options;
	uint64_t rv; /* of the state it shows */
	char *after; /* the key it goes on behind; NULL: from the start */
	struct object **objects;
	size_t count;
	bool more; /* there are further pages */
	size_t remaining;
	size_t next; /* to be written */
};

static void
list_free(struct list *list)
{
	objects_unref(list->objects, list->count);
	selection_free(list->selection);
	free(list->after);
	free(list);
}

static void
fail(struct list *list)
{
	struct call *call = list->call;

	list_free(list);
	call_fail(call);
}

/* {"v":"meta.k8s.io/v1","rv":650,"start":"name\u0000"} */
static char *
make_token(uint64_t rv, const char *key)
{
	json_t *token = json_object();
	char *text, *encoded;
	size_t len = strlen(key);

	json_object_set_new(token, "v", json_string("meta.k8s.io/v1"));
	json_object_set_new(token, "rv", json_integer((json_int_t)rv));
	/* The NUL: behind this key, and before every longer one. */
	json_object_set_new(token, "start", json_stringn(key, len + 1));
	text = js_text(token);
	encoded = base64_encode(BASE64_URL, text, strlen(text));
	free(text);
	json_decref(token);
	return encoded;
}

static int
bad_token(struct list *list, const char *why)
{
	return status_bad_request(&list->call->st,
				  "invalid continue token: continue key is not "
				  "valid: %s",
				  why);
}

static json_t *
parse_token(const char *text)
{
	size_t len;
	uint8_t *data;
	struct err err;
	json_t *token;

	if (strlen(text) > CONTINUE_MAX ||
	    base64_decode(BASE64_URL, text, strlen(text), &data, &len, &err) ==
		    -1)
		return NULL;
	token = json_loadb((const char *)data, len, JSON_ALLOW_NUL, NULL);
	free(data);
	return token;
}

/* The state and the place that an earlier page ended at. */
static int
read_token(struct list *list)
{
	json_t *token = parse_token(list->options.continue_);
	const json_t *rv = json_object_get(token, "rv");
	const json_t *start = json_object_get(token, "start");
	int r = 0;

	if (token == NULL)
		return bad_token(list, "it cannot be decoded");
	if (!str_equal(json_string_value(json_object_get(token, "v")),
		       "meta.k8s.io/v1") ||
	    !json_is_integer(rv) || !json_is_string(start) ||
	    json_string_length(start) == 0) {
		r = bad_token(list, "it has members missing");
	} else {
		list->after = xstrdup(json_string_value(start));
		/* -1: whatever the state is now. */
		if (json_integer_value(rv) > 0)
			list->rv = (uint64_t)json_integer_value(rv);
	}
	json_decref(token);
	return r;
}

/* Which state is asked for. */
static int
choose_state(struct list *list)
{
	const struct list_options *options = &list->options;
	uint64_t now = list->rv;

	if (*options->continue_ != '\0')
		return read_token(list);
	if (!options->has_rv || options->rv == 0) {
		if (options->has_rv)
			list->options.limit = 0; /* as from a cache */
		return 0;
	}
	if (options->rv_match == RV_MATCH_EXACT ||
	    (options->rv_match == RV_MATCH_UNSET && options->limit > 0)) {
		list->rv = options->rv;
		if (options->rv > now)
			return status_set(&list->call->st, 500, NULL,
					  "etcdserver: mvcc: required revision "
					  "is a future revision");
		return 0;
	}
	return options->rv > now ? too_new(list->call, options->rv) : 0;
}

static int
expired(struct list *list)
{
	struct status *st = &list->call->st;

	if (*list->options.continue_ == '\0')
		return status_expired(st, "The resourceVersion for the "
					  "provided list is too old.");
	(void)status_expired(
		st,
		"The provided continue parameter is too old to display a "
		"consistent list result. You can start a new list without the "
		"continue parameter, or use the continue token in this "
		"response to retrieve the remainder of the results. "
		"Continuing with the provided token results in an "
		"inconsistent list - objects that were created, modified, or "
		"deleted between the time the first chunk was returned and "
		"now may show up in the list.");
	st->continue_token = make_token(UINT64_MAX, list->after);
	return -1;
}

static const char *
namespace_of(const struct call *call)
{
	if (!call->kind->namespaced || *call->info.namespace_ == '\0')
		return NULL;
	return call->info.namespace_;
}

/* One look into the store. */
static int
fetch(struct list *list, struct list_range range, struct object_list *ret)
{
	struct err err;

	range.ns = namespace_of(list->call);
	if (store_list_at(list->call->kind->collection, list->rv, &range, ret,
			  &err) == 0)
		return 0;
	if (err.kind == ERR_NOT_FOUND)
		return expired(list);
	return status_from_err(&list->call->st, &err);
}

static void
keep(struct list *list, struct object *object, size_t *size)
{
	if (list->count == *size) {
		*size = *size == 0 ? 64 : 2 * *size;
		list->objects = xrealloc(list->objects,
					 *size * sizeof(struct object *));
	}
	list->objects[list->count++] = object_ref(object);
}

/* Takes what is selected out of one look; false when the page is full. */
static bool
sift(struct list *list, const struct object_list *seen, size_t *size)
{
	size_t limit = list->options.limit;

	for (size_t i = 0; i < seen->count; i++) {
		if (!selection_matches(list->selection, seen->objects[i]))
			continue;
		if (limit > 0 && list->count == limit) {
			list->more = true;
			return false;
		}
		keep(list, seen->objects[i], size);
	}
	return true;
}

/* All that have one label, in one look, when these are few. */
static int
collect_labelled(struct list *list, const struct label *label)
{
	const struct list_range range = { .after = list->after,
					  .label = label };
	struct object_list seen;
	size_t size = 0;

	if (fetch(list, range, &seen) == -1)
		return -1;
	(void)sift(list, &seen, &size);
	objects_unref(seen.objects, seen.count);
	return 0;
}

/* Through all that there are, in pieces. */
static int
collect_selected(struct list *list)
{
	size_t size = 0;
	char *after = list->after == NULL ? NULL : xstrdup(list->after);
	bool go_on;

	do {
		const struct list_range range = { .after = after,
						  .limit = SCAN_CHUNK };
		struct object_list seen;

		if (fetch(list, range, &seen) == -1) {
			free(after);
			return -1;
		}
		go_on = sift(list, &seen, &size) && seen.remaining > 0;
		free(after);
		after = go_on ? object_key(seen.objects[seen.count - 1]) : NULL;
		objects_unref(seen.objects, seen.count);
	} while (go_on);
	free(after);
	return 0;
}

/* One name in one namespace: no need to look at the others. */
static bool
collect_named(struct list *list)
{
	const struct call *call = list->call;
	const char *name = selection_name(list->selection);
	struct object *object;
	size_t size = 0;

	if (name == NULL || list->rv < store_oldest_rv(call->parts->store) ||
	    (call->kind->namespaced && *call->info.namespace_ == '\0'))
		return false;
	object = store_get_at(call->kind->collection, call->info.namespace_,
			      name, list->rv);
	if (object != NULL && selection_matches(list->selection, object))
		keep(list, object, &size);
	return true;
}

/* Whether little was written since the revision that is listed. */
static bool
is_recent(const struct list *list)
{
	return store_rv(list->call->parts->store) - list->rv <= RECENT_WRITES;
}

static int
collect(struct list *list)
{
	const struct list_range range = { .after = list->after,
					  .limit = list->options.limit };
	struct object_list all;
	struct label label;

	if (!selection_is_all(list->selection)) {
		if (collect_named(list))
			return 0;
		if (is_recent(list) &&
		    selection_rare_label(list->selection,
					 list->call->kind->collection, &label))
			return collect_labelled(list, &label);
		return collect_selected(list);
	}
	if (fetch(list, range, &all) == -1)
		return -1;
	list->objects = all.objects;
	list->count = all.count;
	list->remaining = all.remaining;
	list->more = list->options.limit > 0 && list->remaining > 0;
	return 0;
}

static void
write_head(struct list *list, struct buf *out)
{
	struct render_list head = { .rv = list->rv, .continue_ = "" };
	char *token = NULL;
	char *key;

	if (list->more && list->count > 0) {
		key = object_key(list->objects[list->count - 1]);
		token = make_token(list->rv, key);
		free(key);
		head.continue_ = token;
		head.has_remaining = selection_is_all(list->selection);
		head.remaining = list->remaining;
	}
	render_list_head(&list->render, &head, out);
	free(token);
}

/* Items up to this many, or bytes; whether that was all. */
static bool
write_items(struct list *list, struct buf *out, size_t items, size_t bytes)
{
	size_t end = list->count - list->next > items ? list->next + items
						      : list->count;

	while (list->next < list->count) {
		if (list->next == end || out->len >= bytes)
			return false;
		if (list->next > 0)
			(void)buf_append_str(out, ",");
		render_item(&list->render, list->objects[list->next++], out);
	}
	render_list_tail(out);
	return true;
}

static void
stream_gone(struct http_request *request, void *arg)
{
	struct list *list = arg;
	struct call *call = list->call;

	http_stream_abort(request);
	list_free(list);
	call_free(call);
}

static void
stream_more(struct http_request *request, void *arg)
{
	struct list *list = arg;
	struct call *call = list->call;
	struct buf out = BUF_INIT(ANSWER_MAX);
	bool done;

	if (list->next == 0)
		write_head(list, &out);
	done = write_items(list, &out, STREAM_ITEMS, STREAM_PIECE);
	http_stream_write(request, out.data, out.len);
	buf_done(&out);
	if (!done) {
		http_stream_on_drain(request, STREAM_PIECE / 2, stream_more,
				     list);
		return;
	}
	http_on_close(request, NULL, NULL);
	http_stream_end(request);
	list_free(list);
	call_free(call);
}

static void
stream_list(struct list *list)
{
	struct http_request *request = list->call->http;

	call_stream_begin(list->call, "application/json");
	http_on_close(request, stream_gone, list);
	stream_more(request, list);
}

static bool
is_long(const struct list *list)
{
	size_t total = 0;

	for (size_t i = 0; i < list->count && total <= STREAM_ABOVE; i++)
		total += list->objects[i]->len;
	return total > STREAM_ABOVE;
}

static void
reply(struct list *list)
{
	struct call *call = list->call;
	struct buf out = BUF_INIT(ANSWER_MAX);
	struct err err;
	json_t *value;

	/* Line breaks take the whole list in decoded form: not a long one. */
	if (call->http != NULL && call->accept.format == ACCEPT_JSON &&
	    is_long(list)) {
		stream_list(list);
		return;
	}
	write_head(list, &out);
	(void)write_items(list, &out, SIZE_MAX, SIZE_MAX);
	list_free(list);
	if (call->http != NULL && !call->pretty &&
	    call->accept.format == ACCEPT_JSON) {
		call_reply_text(call, 200, NULL, (const char *)out.data,
				out.len);
	} else {
		value = js_parse((const char *)out.data, out.len, &err);
		call_reply_plain(call, 200, value);
		json_decref(value);
	}
	buf_done(&out);
}

void
list_reply(struct call *call, struct object **objects, size_t count)
{
	struct list *list = xmalloc0(sizeof(*list));

	list->call = call;
	list->rv = store_durable_rv(call->parts->store);
	list->objects = objects;
	list->count = count;
	if (render_init(&call->accept, call->version, &call->query,
			&list->render, &call->st) == -1)
		fail(list);
	else
		reply(list);
}

void
list_run(struct call *call)
{
	struct list *list = xmalloc0(sizeof(*list));
	struct status *st = &call->st;

	list->call = call;
	list->rv = store_durable_rv(call->parts->store);
	if (query_list_options(&call->query, false, &list->options, st) == -1 ||
	    render_init(&call->accept, call->version, &call->query,
			&list->render, st) == -1 ||
	    choose_state(list) == -1) {
		fail(list);
		return;
	}
	list->selection =
		selection_new(call->kind, list->options.label_selector,
			      list->options.field_selector, st);
	if (list->selection == NULL || collect(list) == -1)
		fail(list);
	else
		reply(list);
}
