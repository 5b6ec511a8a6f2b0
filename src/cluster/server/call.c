/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "cluster/auth/user.h"
#include "cluster/kinds/kind.h"
#include "cluster/server/call.h"
#include "cluster/server/objmeta.h"
#include "cluster/server/render.h"
#include "cluster/server/server.h"
#include "cluster/server/server_internal.h"
#include "cluster/store/object.h"
#include "cluster/store/store.h"
#include "http/server.h"
#include "meta/yaml.h"

/* An answer about one object is never larger than this. */
#define ANSWER_MAX (64U * 1024 * 1024)
#define HEADERS_MAX (CALL_WARNINGS_MAX + 8)

struct call *
call_child(struct call *parent, unsigned verb,
	   void (*done)(int code, const json_t *answer, void *arg), void *arg)
{
	struct call *call = xmalloc0(sizeof(*call));

	call->server = parent->server;
	call->parts = parent->parts;
	call->done = done;
	call->done_arg = arg;
	call->info = parent->info;
	call->info.storage = NULL;
	call->info.verb = verb;
	call->info.subresource = "";
	call->accept.version = "v1";
	call->user = user_ref(parent->user);
	call->kind = kind_ref(parent->kind);
	call->version = parent->version;
	call->content_type = "";
	return call;
}

void
call_warn(struct call *call, const char *fmt, ...)
{
	char *text;
	va_list ap;

	if (call->warnings == CALL_WARNINGS_MAX)
		return;
	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) == -1)
		abort();
	va_end(ap);
	call->warning[call->warnings++] = text;
}

struct gr
call_gr(const struct call *call)
{
	return (struct gr){ call->info.group, call->info.resource };
}

const char *
call_name(const struct call *call)
{
	return *call->info.name != '\0' ? call->info.name
					: objmeta_str(call->object, "name");
}

struct attributes
call_attributes(const struct call *call)
{
	return (struct attributes){
		.is_resource = call->info.is_resource,
		.verb = verb_name(call->info.verb),
		.group = call->info.group,
		.version = call->info.version,
		.resource = call->info.resource,
		.subresource = call->info.subresource,
		.namespace_ = call->info.namespace_,
		.name = call_name(call),
		.path = call->info.path,
	};
}

const char *
call_api_version(const struct call *call)
{
	return call->version->api_version;
}

void
call_free(struct call *call)
{
	info_done(&call->info);
	query_done(&call->query);
	user_unref(call->user);
	json_decref(call->body);
	json_decref(call->object);
	json_decref(call->old_json);
	json_decref(call->admit.warnings);
	json_decref(call->admit.options);
	object_unref(call->old);
	object_unref(call->result);
	kind_unref(call->kind);
	status_done(&call->st);
	for (size_t i = 0; i < call->warnings; i++)
		free(call->warning[i]);
	free(call);
}

/* 299 - "text", with what would end the quotes escaped. */
static char *
warning_value(const char *text)
{
	char *value = xmalloc0(2 * strlen(text) + 10);
	char *at = value + sprintf(value, "299 - \"");

	for (; *text != '\0'; text++) {
		if (*text == '"' || *text == '\\')
			*at++ = '\\';
		*at++ = (unsigned char)*text < ' ' ? ' ' : *text;
	}
	*at = '"';
	return value;
}

static void
adopt_webhook_warnings(struct call *call)
{
	const json_t *item;
	size_t i;

	json_array_foreach(call->admit.warnings, i,
			   item) if (json_is_string(item))
		call_warn(call, "%s", json_string_value(item));
}

/* The head of an answer. */
struct head {
	struct http_header headers[HEADERS_MAX];
	size_t count;
	char retry[16];
	char *warnings[CALL_WARNINGS_MAX];
};

static void
add_header(struct head *head, const char *name, const char *value)
{
	head->headers[head->count++] = (struct http_header){ name, value };
}

static void
head_init(struct head *head, struct call *call, const char *content_type)
{
	head->count = 0;
	adopt_webhook_warnings(call);
	add_header(head, "Content-Type", content_type);
	add_header(head, "Cache-Control", "no-cache, private");
	if (call->st.retry_after > 0) {
		(void)snprintf(head->retry, sizeof(head->retry), "%u",
			       call->st.retry_after);
		add_header(head, "Retry-After", head->retry);
	}
	for (size_t i = 0; i < call->warnings; i++) {
		head->warnings[i] = warning_value(call->warning[i]);
		add_header(head, "Warning", head->warnings[i]);
	}
}

static void
head_done(struct head *head, const struct call *call)
{
	for (size_t i = 0; i < call->warnings; i++)
		free(head->warnings[i]);
}

void
call_stream_begin(struct call *call, const char *content_type)
{
	struct head head;

	head_init(&head, call, content_type);
	http_stream_begin(call->http, 200, head.headers, head.count);
	server_count(call->server, 200);
	head_done(&head, call);
}

/* Sends and frees; body is taken. */
static void
send_http(struct call *call, int code, const char *content_type, char *body,
	  size_t len)
{
	struct head head;

	head_init(&head, call, content_type);
	http_reply_taking(call->http, code, head.headers, head.count, body,
			  len);
	server_count(call->server, code);
	head_done(&head, call);
	call_free(call);
}

/* Whoever asked from inside gets the value itself. */
static void
send_inside(struct call *call, int code, const json_t *value)
{
	void (*done)(int, const json_t *, void *) = call->done;
	void *arg = call->done_arg;

	/* The callee may make requests of its own: free first what is held. */
	json_t *kept = json_incref((json_t *)value);

	call_free(call);
	done(code, kept, arg);
	json_decref(kept);
}

/* JSON text, compact, to what was asked for. text is taken. */
static void
send_json_text(struct call *call, int code, char *text, size_t len)
{
	struct err err;
	json_t *value;

	if (call->http == NULL) {
		value = js_parse(text, len, &err);
		free(text);
		send_inside(call, code, value);
		json_decref(value);
		return;
	}
	if (call->accept.format == ACCEPT_YAML || call->pretty) {
		value = js_parse(text, len, &err);
		free(text);
		text = call->accept.format == ACCEPT_YAML
			       ? yaml_from_json(value)
			       : json_dumps(value, JSON_INDENT(2));
		json_decref(value);
		len = strlen(text);
	}
	send_http(call, code,
		  call->accept.format == ACCEPT_YAML ? "application/yaml"
						     : "application/json",
		  text, len);
}

void
call_reply_plain(struct call *call, int code, const json_t *value)
{
	size_t len;
	char *text;

	if (call->http == NULL) {
		send_inside(call, code, value);
		return;
	}
	text = js_text_sorted(value, &len);
	text = xrealloc(text, len + 2);
	memcpy(text + len, "\n", 2);
	send_json_text(call, code, text, len + 1);
}

void
call_reply_text(struct call *call, int code, const char *content_type,
		const char *text, size_t len)
{
	char *copy;

	if (call->http == NULL) {
		send_inside(call, code, NULL);
		return;
	}
	copy = xmalloc0(len + 1);
	memcpy(copy, text, len);
	send_http(call, code,
		  content_type == NULL ? "application/json" : content_type,
		  copy, len);
}

static void
send_failure(struct call *call)
{
	json_t *value = status_json(&call->st);

	call->accept.shape = ACCEPT_OBJECT;
	call_reply_plain(call, call->st.code, value);
	json_decref(value);
}

static bool
is_write(const struct call *call)
{
	return call->info.is_resource && call->kind != NULL &&
	       (call->info.verb & (VERB_GET | VERB_LIST | VERB_WATCH)) == 0;
}

void
call_fail(struct call *call)
{
	if (is_write(call))
		call_when_durable(call, send_failure);
	else
		send_failure(call);
}

void
call_reply_success(struct call *call, int code, const char *name,
		   const char *uid)
{
	json_t *details = NULL, *value;

	if (name != NULL) {
		details = json_pack("{s:s, s:s}", "name", name, "kind",
				    call->info.resource);
		if (*call->info.group != '\0')
			json_object_set_new(details, "group",
					    json_string(call->info.group));
		json_object_set_new(details, "uid", json_string(uid));
	}
	value = status_success_json(name == NULL ? code : 0, details);
	call_reply_plain(call, code, value);
	json_decref(value);
}

/* Fills out; false after a failure, when the call has ended. */
static bool
begin_answer(struct call *call, struct render *render)
{
	if (render_init(&call->accept, call->version, &call->query, render,
			&call->st) == 0)
		return true;
	call_fail(call);
	return false;
}

static void
end_answer(struct call *call, int code, struct buf *out)
{
	(void)buf_append_str(out, "\n");
	send_json_text(call, code, (char *)out->data, out->len);
}

void
call_reply_object(struct call *call, int code, struct object *object)
{
	struct buf out = BUF_INIT(ANSWER_MAX);
	struct render render;

	if (!begin_answer(call, &render))
		return;
	(void)buf_reserve(&out, object->len + 2);
	render_one(&render, object, true, &out);
	end_answer(call, code, &out);
}

void
call_reply_json(struct call *call, int code, json_t *object)
{
	struct buf out = BUF_INIT(ANSWER_MAX);
	struct render render;

	if (!begin_answer(call, &render))
		return;
	render_one_json(&render, object, true, &out);
	end_answer(call, code, &out);
}

struct waiting {
	struct call *call;
	void (*fn)(struct call *call);
};

static void
durable(const struct err *err, void *arg)
{
	struct waiting waiting = *(struct waiting *)arg;

	free(arg);
	if (err == NULL) {
		waiting.fn(waiting.call);
		return;
	}
	status_internal(&waiting.call->st, "the store cannot write: %s",
			err->text);
	send_failure(waiting.call);
}

void
call_when_durable(struct call *call, void (*fn)(struct call *call))
{
	struct waiting *waiting = xmalloc0(sizeof(*waiting));

	*waiting = (struct waiting){ call, fn };
	store_when_durable(call->parts->store, durable, waiting);
}
