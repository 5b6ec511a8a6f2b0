/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/informer.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/random.h"
#include "base/str.h"
#include "kube/lister.h"
#include "kube/obj.h"

#define US_PER_MS UINT64_C(1000)
/* A watch that ends earlier and without an event counts as a failure: a server
 * that takes and drops watches must not be asked without pause. */
#define SHORT_WATCH_MS 1000

/*
 * Either something is under way (lister or watch), or the timer runs that
 * begins it; nothing of these while it is stopped.
 */
struct informer {
	struct kube_client *client;
	struct kube_resource resource;
	char *ns;
	char *label_selector;
	char *field_selector;
	unsigned page;
	struct cache *cache;
	struct informer_handler handlers[INFORMER_HANDLERS_MAX];
	size_t handler_count;
	struct loop_timer *timer;
	struct lister *lister;
	struct kube_watch *watch;
	uint64_t watch_began_ms;
	bool watch_had_event;
	char *version; /* where the next watch begins; NULL: list first */
	bool running;
	bool synced;
	unsigned failures; /* in a row */
	struct informer_stats stats;
};

static void step(void *arg);

static char *
copy(const char *text)
{
	return text != NULL ? xstrdup(text) : NULL;
}

struct informer *
informer_new(const struct informer_config *config)
{
	struct informer *inf = xmalloc0(sizeof(*inf));

	inf->client = config->client;
	inf->resource = config->resource;
	inf->ns = copy(config->ns);
	inf->label_selector = copy(config->label_selector);
	inf->field_selector = copy(config->field_selector);
	inf->page = config->page;
	inf->cache = cache_new(&config->cache);
	inf->timer = loop_timer_new(kube_client_loop(inf->client), step, inf);
	return inf;
}

void
informer_free(struct informer *inf)
{
	if (inf == NULL)
		return;
	informer_stop(inf);
	loop_timer_free(inf->timer);
	cache_free(inf->cache);
	free(inf->ns);
	free(inf->label_selector);
	free(inf->field_selector);
	free(inf->version);
	free(inf);
}

bool
informer_has_synced(const struct informer *inf)
{
	return inf->synced;
}

const struct cache *
informer_cache(const struct informer *inf)
{
	return inf->cache;
}

const struct informer_stats *
informer_stats(const struct informer *inf)
{
	return &inf->stats;
}

void
informer_add_handler(struct informer *inf,
		     const struct informer_handler *handler)
{
	struct cache_walk walk = cache_all(inf->cache);
	const struct cache_object *object;

	assert(inf->handler_count < INFORMER_HANDLERS_MAX);
	while (handler->added != NULL &&
	       (object = cache_walk_next(&walk)) != NULL)
		handler->added(object, handler->arg);
	if (inf->synced && handler->synced != NULL)
		handler->synced(handler->arg);
	inf->handlers[inf->handler_count++] = *handler;
}

/* Tells the handlers, unless one of them has stopped it. */
static void
on_changed(const struct cache_object *old, const struct cache_object *object,
	   void *arg)
{
	struct informer *inf = arg;

	for (size_t i = 0; i < inf->handler_count && inf->running; i++) {
		const struct informer_handler *h = &inf->handlers[i];

		if (old == NULL && h->added != NULL)
			h->added(object, h->arg);
		else if (old != NULL && object == NULL && h->deleted != NULL)
			h->deleted(old, h->arg);
		else if (old != NULL && object != NULL && h->updated != NULL)
			h->updated(old, object, h->arg);
	}
}

static void
set_version(struct informer *inf, const char *version)
{
	free(inf->version);
	inf->version = copy(version);
}

/* Half of it for certain, the rest by chance. */
static uint64_t
pause_ms(unsigned failures)
{
	uint32_t pause = INFORMER_PAUSE_MIN_MS;

	while (--failures > 0 && pause < INFORMER_PAUSE_MAX_MS)
		pause *= 2;
	if (pause > INFORMER_PAUSE_MAX_MS)
		pause = INFORMER_PAUSE_MAX_MS;
	return pause / 2 + random_below(pause / 2 + 1);
}

static void
fail(struct informer *inf, const char *what, const char *why)
{
	inf->failures++;
	inf->stats.failures++;
	(void)snprintf(inf->stats.last_failure, sizeof(inf->stats.last_failure),
		       "cannot %s %s: %s", what, inf->resource.plural, why);
	log_debug(NULL, "%s, trying again", inf->stats.last_failure);
	loop_timer_start(inf->timer, pause_ms(inf->failures) * US_PER_MS);
	for (size_t i = 0; i < inf->handler_count && inf->running; i++) {
		if (inf->handlers[i].failed != NULL)
			inf->handlers[i].failed(inf->stats.last_failure,
						inf->handlers[i].arg);
	}
}

static void
on_list_begin(void *arg)
{
	struct informer *inf = arg;

	cache_sweep_begin(inf->cache);
}

static void
on_list_item(json_t *object, void *arg)
{
	struct informer *inf = arg;

	(void)cache_put(inf->cache, object, on_changed, inf);
}

static void
tell_synced(struct informer *inf)
{
	if (inf->synced)
		return;
	inf->synced = true;
	for (size_t i = 0; i < inf->handler_count && inf->running; i++) {
		if (inf->handlers[i].synced != NULL)
			inf->handlers[i].synced(inf->handlers[i].arg);
	}
}

static void
on_list_done(const struct status *st, const char *version, void *arg)
{
	struct informer *inf = arg;

	inf->lister = NULL;
	if (version == NULL) {
		fail(inf, "list", st->message);
		return;
	}
	set_version(inf, version);
	cache_sweep_end(inf->cache, on_changed, inf);
	tell_synced(inf);
	if (inf->running)
		loop_timer_start(inf->timer, 0);
}

static void
on_event(const char *type, json_t *object, void *arg)
{
	struct informer *inf = arg;

	inf->failures = 0;
	inf->watch_had_event = true;
	/* First: a handler may stop this, and the cache is then as new. */
	if (*obj_version(object) != '\0')
		set_version(inf, obj_version(object));
	if (str_equal(type, "BOOKMARK"))
		return;
	inf->stats.events++;
	if (str_equal(type, "DELETED"))
		(void)cache_remove(inf->cache, obj_ns(object), obj_name(object),
				   on_changed, inf);
	else
		(void)cache_put(inf->cache, object, on_changed, inf);
}

static void
on_watch_end(const struct status *st, void *arg)
{
	struct informer *inf = arg;
	bool was_short = loop_now_ms() - inf->watch_began_ms < SHORT_WATCH_MS &&
			 !inf->watch_had_event;

	inf->watch = NULL;
	inf->stats.connected = false;
	if (!was_short)
		inf->failures = 0;
	if (st->code == 410)
		set_version(inf, NULL);
	/* The first list after a 410 comes at once; a server that says so all
	 * the time is not asked without pause. */
	if (st->code == 410 && inf->failures == 0) {
		inf->failures += was_short;
		log_debug(NULL, "listing %s again: %s", inf->resource.plural,
			  st->message);
		loop_timer_start(inf->timer, 0);
	} else if (st->code != 0) {
		fail(inf, "watch", st->message);
	} else if (was_short) {
		fail(inf, "watch", "the server ended it at once");
	} else {
		loop_timer_start(inf->timer, 0);
	}
}

static void
start_list(struct informer *inf)
{
	struct lister_request request = {
		.client = inf->client,
		.resource = &inf->resource,
		.ns = inf->ns,
		.label_selector = inf->label_selector,
		.field_selector = inf->field_selector,
		.page = inf->page,
		.begin = on_list_begin,
		.item = on_list_item,
		.done = on_list_done,
		.arg = inf,
	};

	inf->stats.lists++;
	inf->lister = lister_start(&request);
}

static void
start_watch(struct informer *inf)
{
	struct kube_watch_request request = {
		.resource = &inf->resource,
		.ns = inf->ns,
		.label_selector = inf->label_selector,
		.field_selector = inf->field_selector,
		.resource_version = inf->version,
		/* Not all end at the same time. */
		.timeout_s = INFORMER_WATCH_MIN_S +
			     random_below(INFORMER_WATCH_MIN_S),
		.event = on_event,
		.ended = on_watch_end,
		.arg = inf,
	};

	inf->stats.watches++;
	inf->stats.connected = true;
	inf->watch_began_ms = loop_now_ms();
	inf->watch_had_event = false;
	inf->watch = kube_watch_start(inf->client, &request);
}

static void
step(void *arg)
{
	struct informer *inf = arg;

	if (inf->version == NULL)
		start_list(inf);
	else
		start_watch(inf);
}

void
informer_start(struct informer *inf)
{
	if (inf->running)
		return;
	inf->running = true;
	loop_timer_start(inf->timer, 0);
}

void
informer_stop(struct informer *inf)
{
	inf->running = false;
	inf->stats.connected = false;
	loop_timer_stop(inf->timer);
	lister_cancel(inf->lister);
	inf->lister = NULL;
	kube_watch_cancel(inf->watch);
	inf->watch = NULL;
}
