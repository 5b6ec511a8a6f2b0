/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Event expiry: an Event that has not changed for an hour is deleted.
 */

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/scan.h"
#include "cluster/control/api.h"
#include "cluster/control/context.h"
#include "cluster/control/deadlines.h"
#include "cluster/control/task.h"
#include "cluster/store/follow.h"
#include "cluster/store/object.h"
#include "cluster/store/store.h"
#include "kube/worker.h"
#include "meta/time.h"

#define EXPIRY_USER "system:apiserver"
#define PARALLEL 32
#define TIME_MAX 64 /* of the text of a time, with its quotes */

struct expiry {
	struct loop *loop;
	uint64_t ttl_ms;
	bool reading; /* what was there before the start */
	struct deadlines deadlines;
	struct loop_timer *timer;
	struct api *api;
	struct worker *worker;
	struct subscription *following;
};

static void
plan(struct expiry *x)
{
	uint64_t next = deadlines_next(&x->deadlines);
	uint64_t now = loop_now_ms();

	if (next == DEADLINES_NEVER)
		loop_timer_stop(x->timer);
	else
		loop_timer_start(x->timer,
				 next <= now ? 0 : (next - now) * 1000);
}

static void
on_time(void *arg)
{
	struct expiry *x = arg;
	uint64_t now = loop_now_ms();
	char *key;

	while ((key = deadlines_take(&x->deadlines, now)) != NULL) {
		worker_add(x->worker, key);
		free(key);
	}
	plan(x);
}

static void
work(const char *key, void *arg)
{
	struct expiry *x = arg;
	const char *slash = strchr(key, '/');
	struct task *task = task_new(x->worker, x->api, key);
	AUTO(free_ptr) char *path = NULL;

	/* It may have changed meanwhile, and has its time again. */
	if (slash != NULL && !deadlines_has(&x->deadlines, key)) {
		path = xasprintf("/api/v1/namespaces/%.*s/events/%s",
				 (int)(slash - key), key, slash + 1);
		task_send(task, &(struct api_call){ .method = "DELETE",
						    .path = path });
	}
	task_close(task);
}

/* The time in a member of an object; false if there is none. */
static bool
time_in(struct span obj, const char *name, int64_t *ret_us)
{
	struct span value;
	char text[TIME_MAX];
	struct err err;

	return scan_member(obj, name, &value) && value.len <= sizeof(text) &&
	       scan_string(value, text) != -1 &&
	       time_parse(text, ret_us, &err) == 0;
}

/* How long ago an Event that was there before was last written. There may be
 * very many at the start, so none of them is parsed. */
static uint64_t
age_ms(const struct object *obj)
{
	struct span text = { obj->text, obj->len };
	struct span metadata;
	int64_t now = time_now_us();
	int64_t then = now;

	if (!time_in(text, "lastTimestamp", &then) &&
	    !time_in(text, "eventTime", &then) &&
	    scan_member(text, "metadata", &metadata))
		(void)time_in(metadata, "creationTimestamp", &then);
	return then < now ? (uint64_t)(now - then) / 1000 : 0;
}

static void
on_event(const struct event *event, void *arg)
{
	struct expiry *x = arg;
	AUTO(free_ptr) char *key = object_key(event->object);
	uint64_t age = 0;

	if (event->type == EVENT_DELETED) {
		deadlines_remove(&x->deadlines, key);
		return;
	}
	if (x->reading)
		age = age_ms(event->object);
	deadlines_set(&x->deadlines, key,
		      loop_now_ms() + (age < x->ttl_ms ? x->ttl_ms - age : 0));
	if (!loop_timer_running(x->timer))
		plan(x);
}

static void *
expiry_start(struct context *context)
{
	struct expiry *x = xmalloc0(sizeof(*x));

	x->loop = context->config.loop;
	x->ttl_ms = context->config.event_ttl_ms;
	x->timer = loop_timer_new(x->loop, on_time, x);
	x->api = api_new(context->config.server, EXPIRY_USER);
	x->worker = worker_new(&(struct worker_config){
		.loop = x->loop,
		.parallel = PARALLEL,
		.work = work,
		.arg = x,
	});
	x->reading = true;
	x->following = follow(context->config.store, "", "events", on_event, x);
	x->reading = false;
	plan(x);
	return x;
}

static void
expiry_stop(void *state)
{
	struct expiry *x = state;

	api_close(x->api);
	unsubscribe(x->following);
	worker_free(x->worker);
	api_free(x->api);
	loop_timer_free(x->timer);
	deadlines_done(&x->deadlines);
	free(x);
}

const struct controller expiry_controller = {
	.name = "event-expiry",
	.start = expiry_start,
	.stop = expiry_stop,
};
