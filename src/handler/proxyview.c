/* SPDX-License-Identifier: Apache-2.0 */
#include "handler/proxyview.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/path.h"
#include "rpc/caller.h"
#include "rpc/endpoint.h"
#include "version.h"

/* What is asked for, in this order, and where it stands in the view. */
static const struct {
	const char *method, *member;
} parts[] = {
	{ "status", "status" },
	{ "source.list", "source" },
	{ "target.list", "target" },
};

struct proxyview {
	struct rpc_caller *caller;
	struct loop_timer *timer; /* ends it, from the loop */
	char *key;
	json_t *json;
	size_t count; /* parts that are there */
	void (*done)(void *arg, json_t *view);
	void *arg;
};

static void
finish(void *arg)
{
	struct proxyview *view = arg;

	view->done(view->arg, TAKE_PTR(view->json));
}

static void
fail(struct proxyview *view, const char *why)
{
	json_object_clear(view->json);
	json_object_set_new(view->json, "error", json_string(why));
	loop_timer_start(view->timer, 0);
}

static bool
is_over(const struct proxyview *view)
{
	return view->json == NULL || loop_timer_running(view->timer);
}

/* Of a list only what is of the key: the rest is others' business. */
static json_t *
part_of(const struct proxyview *view, const json_t *result)
{
	json_t *list, *item;

	if (!json_is_array(result))
		return json_deep_copy(result);
	list = json_array();
	item = js_find(result, "key", view->key);
	if (item != NULL)
		json_array_append_new(list, json_deep_copy(item));
	return list;
}

static void
answered(void *arg, const json_t *result, const struct err *err)
{
	struct proxyview *view = arg;

	if (is_over(view))
		return;
	if (err != NULL) {
		fail(view, err->text);
		return;
	}
	json_object_set_new(view->json, parts[view->count].member,
			    part_of(view, result));
	if (++view->count == ARRAY_LEN(parts))
		loop_timer_start(view->timer, 0);
}

static void
on_ready(void *ctx, const json_t *hello)
{
	struct proxyview *view = ctx;

	json_object_set_new(view->json, "version",
			    json_string(js_str_at(hello, "version")));
}

static void
on_ended(void *ctx, const struct err *err)
{
	struct proxyview *view = ctx;

	if (!is_over(view))
		fail(view, err->text);
}

static int
dial(const char *control, int *ret_fd, struct err *err)
{
	AUTO(free_ptr) char *dir = NULL;
	AUTO(close_fd) int dir_fd = -1;
	const char *name;

	if (path_split(control, &dir, &name, err) == -1 ||
	    path_open_dir(dir, &dir_fd, err) == -1)
		return -1;
	return endpoint_connect(dir_fd, name, ret_fd, err);
}

static int
ask(struct proxyview *view, struct err *err)
{
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		if (rpc_caller_call(view->caller, parts[i].method, NULL,
				    PROXYVIEW_TIMEOUT_MS, answered, view,
				    err) == -1)
			return -1;
	}
	return 0;
}

struct proxyview *
proxyview_new(struct loop *loop, const char *control, const char *key,
	      void (*done)(void *arg, json_t *view), void *arg)
{
	struct proxyview *view = xmalloc0(sizeof(*view));
	const struct rpc_caller_config config = {
		.loop = loop,
		.self = { "ferry-handler", FERRY_VERSION },
		.ready = on_ready,
		.ended = on_ended,
		.ctx = view,
	};
	struct err err;
	int fd;

	view->key = xstrdup(key);
	view->json = json_object();
	view->done = done;
	view->arg = arg;
	view->timer = loop_timer_new(loop, finish, view);
	if (dial(control, &fd, &err) == -1) {
		fail(view, err.text);
		return view;
	}
	view->caller = rpc_caller_new(&config, fd);
	if (ask(view, &err) == -1)
		fail(view, err.text);
	return view;
}

void
proxyview_free(struct proxyview *view)
{
	if (view == NULL)
		return;
	rpc_caller_free(view->caller);
	loop_timer_free(view->timer);
	json_decref(view->json);
	free(view->key);
	free(view);
}
