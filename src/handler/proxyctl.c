/* SPDX-License-Identifier: Apache-2.0 */
#include "handler/proxyctl.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "rpc/caller.h"
#include "rpc/client.h"
#include "version.h"

#define US_PER_MS 1000U
#define ALL_LISTED ((1U << PROXY_SIDE_COUNT) - 1)

struct proxyctl {
	struct proxyctl_config config;
	struct rpc_caller *caller;
	struct loop_timer *timer, *metrics_timer;
	char *metrics;                  /* NULL: not known */
	json_t *keys[PROXY_SIDE_COUNT]; /* objects: key to true */
	unsigned listed;                /* sides that are known, as bits */
	bool changed;                   /* keys are others than were told */
	bool settled, complained;
};

static const char *const side_names[PROXY_SIDE_COUNT] = {
	[PROXY_SOURCE] = "source",
	[PROXY_TARGET] = "target",
};

bool
proxyctl_is_up(const struct proxyctl *ctl)
{
	return ctl->caller != NULL && ctl->listed == ALL_LISTED;
}

bool
proxyctl_is_settled(const struct proxyctl *ctl)
{
	return ctl->settled;
}

bool
proxyctl_has(const struct proxyctl *ctl, enum proxy_side side, const char *key)
{
	return json_object_get(ctl->keys[side], key) != NULL;
}

void
proxyctl_each(const struct proxyctl *ctl, enum proxy_side side,
	      void (*fn)(const char *key, void *arg), void *arg)
{
	const char *key;
	json_t *value;

	json_object_foreach(ctl->keys[side], key, value)
	{
		fn(key, arg);
	}
}

const char *
proxyctl_metrics(const struct proxyctl *ctl)
{
	return ctl->metrics == NULL ? "" : ctl->metrics;
}

static void
set_metrics(struct proxyctl *ctl, const char *text)
{
	free(ctl->metrics);
	ctl->metrics = text == NULL ? NULL : xstrdup(text);
}

static void
lose(struct proxyctl *ctl, const struct err *err)
{
	rpc_caller_free(ctl->caller);
	ctl->caller = NULL;
	ctl->listed = 0;
	ctl->settled = true;
	loop_timer_stop(ctl->metrics_timer);
	set_metrics(ctl, NULL);
	for (size_t i = 0; i < PROXY_SIDE_COUNT; i++)
		json_object_clear(ctl->keys[i]);
	if (!ctl->complained)
		log_warning(NULL, "no way to ferry-proxy, trying on: %s",
			    err->text);
	ctl->complained = true;
	loop_timer_start(ctl->timer, PROXYCTL_RETRY_MS * US_PER_MS);
	ctl->config.changed(ctl->config.arg);
}

static void
came_up(struct proxyctl *ctl)
{
	ctl->settled = true;
	ctl->complained = false;
	ctl->changed = true;
	log_info(NULL, "ferry-proxy has %zu source and %zu target listeners",
		 json_object_size(ctl->keys[PROXY_SOURCE]),
		 json_object_size(ctl->keys[PROXY_TARGET]));
}

/* Calls are answered one after the other: what was started before this was
 * asked is in it, and what is started after it is added after it. */
static void
keep(struct proxyctl *ctl, enum proxy_side side, const json_t *list)
{
	json_t *keys = json_object();
	bool was_up = proxyctl_is_up(ctl);
	const json_t *item;
	size_t i;

	json_array_foreach(list, i, item)
		json_object_set_new(keys, js_str_at(item, "key"), json_true());
	ctl->changed |= !json_equal(keys, ctl->keys[side]);
	json_decref(ctl->keys[side]);
	ctl->keys[side] = keys;
	ctl->listed |= 1U << side;
	if (!was_up && proxyctl_is_up(ctl))
		came_up(ctl);
}

/* One that does not say what runs is of no use. */
static void
on_ended(void *ctx, const struct err *err)
{
	struct err copy = *err;

	lose(ctx, &copy);
}

static void
sources_listed(void *arg, const json_t *result, const struct err *err)
{
	if (err == NULL)
		keep(arg, PROXY_SOURCE, result);
	else
		on_ended(arg, err);
}

/* The last that is asked for. */
static void
targets_listed(void *arg, const json_t *result, const struct err *err)
{
	struct proxyctl *ctl = arg;
	bool changed;

	if (err != NULL) {
		on_ended(ctl, err);
		return;
	}
	keep(ctl, PROXY_TARGET, result);
	changed = ctl->changed;
	ctl->changed = false;
	if (changed)
		ctl->config.changed(ctl->config.arg);
	ctl->config.listed(ctl->config.arg);
}

static void
counted(void *arg, const json_t *result, const struct err *err)
{
	struct proxyctl *ctl = arg;

	set_metrics(ctl, err == NULL ? js_str_at(result, "text") : NULL);
	loop_timer_start(ctl->metrics_timer, PROXYCTL_METRICS_MS * US_PER_MS);
}

/* A connection that has ended makes itself known. */
static void
ask_metrics(void *arg)
{
	struct proxyctl *ctl = arg;
	struct err err;

	if (rpc_caller_call(ctl->caller, "metrics", NULL, PROXYCTL_TIMEOUT_MS,
			    counted, ctl, &err) == -1)
		loop_timer_start(ctl->metrics_timer,
				 PROXYCTL_METRICS_MS * US_PER_MS);
}

static int
ask(struct proxyctl *ctl, struct err *err)
{
	if (rpc_caller_call(ctl->caller, "source.list", NULL,
			    PROXYCTL_LIST_TIMEOUT_MS, sources_listed, ctl,
			    err) == -1)
		return -1;
	return rpc_caller_call(ctl->caller, "target.list", NULL,
			       PROXYCTL_LIST_TIMEOUT_MS, targets_listed, ctl,
			       err);
}

void
proxyctl_list(struct proxyctl *ctl)
{
	struct err err;

	if (proxyctl_is_up(ctl) && ask(ctl, &err) == -1)
		log_debug(NULL,
			  "cannot ask ferry-proxy what runs, ignoring: %s",
			  err.text);
}

/* The operator's own path: nobody else can write there. */
static int
dial(const char *path, int *ret_fd, struct err *err)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	AUTO(close_fd) int fd = -1;

	if (strlen(path) >= sizeof(addr.sun_path))
		return err_set(err, ERR_INVALID, "'%s' is too long", path);
	memcpy(addr.sun_path, path, strlen(path));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd == -1 ||
	    connect(fd, (struct sockaddr *)&addr, sizeof(addr)) == -1)
		return err_errno(err, "cannot connect to '%s'", path);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

static void
connect_now(void *arg)
{
	struct proxyctl *ctl = arg;
	struct rpc_caller_config config = {
		.loop = ctl->config.loop,
		.self = { "ferry-handler", FERRY_VERSION },
		.ended = on_ended,
		.ctx = ctl,
	};
	struct err err;
	int fd = -1;

	if (dial(ctl->config.path, &fd, &err) == -1) {
		lose(ctl, &err);
		return;
	}
	ctl->caller = rpc_caller_new(&config, fd);
	if (ask(ctl, &err) == -1)
		lose(ctl, &err);
	else
		ask_metrics(ctl);
}

struct proxyctl *
proxyctl_new(const struct proxyctl_config *config)
{
	struct proxyctl *ctl = xmalloc0(sizeof(*ctl));

	ctl->config = *config;
	for (size_t i = 0; i < PROXY_SIDE_COUNT; i++)
		ctl->keys[i] = json_object();
	ctl->timer = loop_timer_new(config->loop, connect_now, ctl);
	ctl->metrics_timer = loop_timer_new(config->loop, ask_metrics, ctl);
	loop_timer_start(ctl->timer, 0);
	return ctl;
}

void
proxyctl_free(struct proxyctl *ctl)
{
	if (ctl == NULL)
		return;
	rpc_caller_free(ctl->caller);
	loop_timer_free(ctl->timer);
	loop_timer_free(ctl->metrics_timer);
	free(ctl->metrics);
	for (size_t i = 0; i < PROXY_SIDE_COUNT; i++)
		json_decref(ctl->keys[i]);
	free(ctl);
}

struct pending {
	struct proxyctl *ctl;
	enum proxy_side side;
	bool stop;
	char *key;
	proxyctl_done_fn *fn;
	void *arg;
};

static void
answered(void *arg, const json_t *result, const struct err *err)
{
	struct pending pending = *(struct pending *)arg;
	json_t *keys = pending.ctl->keys[pending.side];

	free(arg);
	/* What was to be stopped and is not there is stopped. */
	if (pending.stop && err != NULL && err->kind == ERR_NOT_FOUND)
		err = NULL;
	if (err == NULL && pending.stop)
		(void)json_object_del(keys, pending.key);
	else if (err == NULL)
		json_object_set_new(keys, pending.key, json_true());
	pending.fn(pending.arg, result, err);
	free(pending.key);
}

static int
call(struct pending what, const struct rpc_call *rpc, struct err *err)
{
	struct pending *pending;

	if (!proxyctl_is_up(what.ctl))
		return err_set(err, ERR_UNAVAILABLE,
			       "ferry-proxy does not answer");
	pending = xmalloc0(sizeof(*pending));
	*pending = what;
	pending->key = xstrdup(what.key);
	if (rpc_caller_send(what.ctl->caller, rpc, answered, pending, err) == 0)
		return 0;
	free(pending->key);
	free(pending);
	return -1;
}

int
proxyctl_start(struct proxyctl *ctl, const struct proxyctl_start *start,
	       proxyctl_done_fn *fn, void *arg, struct err *err)
{
	AUTO(free_ptr)
	char *method = xasprintf("%s.start", side_names[start->side]);
	struct rpc_call rpc = {
		.method = method,
		.params = start->params,
		.fds = start->fds,
		.n_fds = start->fd_count,
		.timeout_ms = PROXYCTL_TIMEOUT_MS,
	};
	AUTO(free_ptr) char *key = xstrdup(js_str_at(start->params, "key"));

	return call((struct pending){ ctl, start->side, false, key, fn, arg },
		    &rpc, err);
}

int
proxyctl_stop(struct proxyctl *ctl, const struct proxyctl_end *end,
	      proxyctl_done_fn *fn, void *arg, struct err *err)
{
	AUTO(free_ptr)
	char *method = xasprintf("%s.stop", side_names[end->side]);
	AUTO(free_ptr) char *key = xstrdup(end->key);
	AUTO(js_unref) json_t *params = json_pack("{s:s}", "key", key);
	struct rpc_call rpc = {
		.method = method,
		.params = params,
		.timeout_ms = PROXYCTL_TIMEOUT_MS,
	};

	/* Only where it is meant: an earlier ferry-proxy does not know it. */
	if (end->finish)
		json_object_set_new(params, "finish", json_true());
	return call((struct pending){ ctl, end->side, true, key, fn, arg },
		    &rpc, err);
}

static void
blamed(void *arg, const json_t *result, const struct err *err)
{
	struct pending pending = *(struct pending *)arg;
	const json_t *item = js_find(result, "key", pending.key);

	free(arg);
	pending.fn(pending.arg,
		   err == NULL ? js_obj_at(item, "lastFailure") : NULL, err);
	free(pending.key);
}

int
proxyctl_blame(struct proxyctl *ctl, enum proxy_side side, const char *key,
	       proxyctl_done_fn *fn, void *arg, struct err *err)
{
	AUTO(free_ptr) char *method = xasprintf("%s.list", side_names[side]);
	struct pending *pending;

	if (!proxyctl_is_up(ctl))
		return err_set(err, ERR_UNAVAILABLE,
			       "ferry-proxy does not answer");
	pending = xmalloc0(sizeof(*pending));
	*pending = (struct pending){
		.key = xstrdup(key),
		.fn = fn,
		.arg = arg,
	};
	if (rpc_caller_call(ctl->caller, method, NULL, PROXYCTL_TIMEOUT_MS,
			    blamed, pending, err) == 0)
		return 0;
	free(pending->key);
	free(pending);
	return -1;
}
