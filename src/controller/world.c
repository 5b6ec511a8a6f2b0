/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/world.h"

#include <stdlib.h>
#include <sys/queue.h>

#include "base/err.h"
#include "base/jsat.h"
#include "base/log.h"
#include "base/mem.h"
#include "controller/worldkinds.h"
#include "meta/time.h"

/* Somebody who wants to know of changes. */
struct subscriber {
	TAILQ_ENTRY(subscriber) entry;
	struct informer_handler handler;
};
TAILQ_HEAD(subscribers, subscriber);

struct kind {
	struct world *world;
	enum world_kind which;
	struct informer *informer;
	struct subscribers subscribers;
};

struct metrics {
	TAILQ_ENTRY(metrics) entry;
	world_metrics_fn *write;
	void *arg;
};

struct world {
	struct loop *loop;
	struct kube_client *client;
	char *ns;
	char *launcher_image;
	char *launcher_command; /* NULL: as render.h says */
	struct kind kinds[WORLD_KIND_COUNT];
	struct kubevirt_config *config;
	json_t *configuration; /* NULL for none */
	TAILQ_HEAD(, metrics) metrics;
	void (*synced)(void *arg); /* NULL: told, or not started */
	void *synced_arg;
};

/* The configuration as the object has it; object may be NULL. */
static void
set_config(struct world *w, json_t *object)
{
	struct err err;
	struct kubevirt_config *config = kubevirt_config_decode(object, &err);
	json_t *configuration;

	if (config == NULL) {
		log_error(NULL,
			  "the KubeVirt object makes no sense, ignoring: %s",
			  err.text);
		return;
	}
	kubevirt_config_free(w->config);
	w->config = config;
	configuration = js_obj_at(object, "spec.configuration");
	json_decref(w->configuration);
	w->configuration = json_incref(configuration);
}

static void
kubevirt_changed(struct kind *kind, const struct cache_object *object)
{
	if (kind->which == WORLD_KUBEVIRTS)
		set_config(kind->world, object == NULL ? NULL : object->view);
}

static void
on_added(const struct cache_object *object, void *arg)
{
	struct kind *kind = arg;
	struct subscriber *s;

	kubevirt_changed(kind, object);
	TAILQ_FOREACH(s, &kind->subscribers, entry)
	{
		if (s->handler.added != NULL)
			s->handler.added(object, s->handler.arg);
	}
}

static void
on_updated(const struct cache_object *old, const struct cache_object *object,
	   void *arg)
{
	struct kind *kind = arg;
	struct subscriber *s;

	kubevirt_changed(kind, object);
	TAILQ_FOREACH(s, &kind->subscribers, entry)
	{
		if (s->handler.updated != NULL)
			s->handler.updated(old, object, s->handler.arg);
	}
}

static void
on_deleted(const struct cache_object *object, void *arg)
{
	struct kind *kind = arg;
	struct subscriber *s;

	kubevirt_changed(kind, NULL);
	TAILQ_FOREACH(s, &kind->subscribers, entry)
	{
		if (s->handler.deleted != NULL)
			s->handler.deleted(object, s->handler.arg);
	}
}

static void
on_synced(void *arg)
{
	struct kind *kind = arg;
	struct world *w = kind->world;
	void (*synced)(void *arg) = w->synced;

	if (synced == NULL || !world_has_synced(w))
		return;
	w->synced = NULL;
	synced(w->synced_arg);
}

static struct informer *
make_informer(struct world *w, struct kind *kind)
{
	struct informer_config config = {
		.client = w->client,
		.ns = kind->which == WORLD_KUBEVIRTS ? w->ns : NULL,
	};
	const struct informer_handler handler = {
		.added = on_added,
		.updated = on_updated,
		.deleted = on_deleted,
		.synced = on_synced,
		.arg = kind,
	};
	struct informer *informer;

	worldkinds_describe(kind->which, &config);
	informer = informer_new(&config);
	informer_add_handler(informer, &handler);
	return informer;
}

struct world *
world_new(const struct world_options *options)
{
	struct world *w = xmalloc0(sizeof(*w));

	w->loop = options->loop;
	w->client = options->client;
	w->ns = xstrdup(options->ns);
	w->launcher_image = xstrdup(options->launcher_image);
	if (options->launcher_command != NULL)
		w->launcher_command = xstrdup(options->launcher_command);
	TAILQ_INIT(&w->metrics);
	set_config(w, NULL);
	for (size_t i = 0; i < WORLD_KIND_COUNT; i++) {
		struct kind *kind = &w->kinds[i];

		kind->world = w;
		kind->which = (enum world_kind)i;
		TAILQ_INIT(&kind->subscribers);
		kind->informer = make_informer(w, kind);
	}
	return w;
}

static void
drop_subscribers(struct kind *kind, const void *arg)
{
	struct subscriber *s = TAILQ_FIRST(&kind->subscribers), *next;

	for (; s != NULL; s = next) {
		next = TAILQ_NEXT(s, entry);
		if (arg != NULL && s->handler.arg != arg)
			continue;
		TAILQ_REMOVE(&kind->subscribers, s, entry);
		free(s);
	}
}

static void
drop_metrics(struct world *w, const void *arg)
{
	struct metrics *m = TAILQ_FIRST(&w->metrics), *next;

	for (; m != NULL; m = next) {
		next = TAILQ_NEXT(m, entry);
		if (arg != NULL && m->arg != arg)
			continue;
		TAILQ_REMOVE(&w->metrics, m, entry);
		free(m);
	}
}

void
world_free(struct world *w)
{
	if (w == NULL)
		return;
	for (size_t i = 0; i < WORLD_KIND_COUNT; i++) {
		informer_free(w->kinds[i].informer);
		drop_subscribers(&w->kinds[i], NULL);
	}
	drop_metrics(w, NULL);
	kubevirt_config_free(w->config);
	json_decref(w->configuration);
	free(w->ns);
	free(w->launcher_image);
	free(w->launcher_command);
	free(w);
}

void
world_start(struct world *w, void (*synced)(void *arg), void *arg)
{
	w->synced = synced;
	w->synced_arg = arg;
	for (size_t i = 0; i < WORLD_KIND_COUNT; i++)
		informer_start(w->kinds[i].informer);
}

bool
world_has_synced(const struct world *w)
{
	for (size_t i = 0; i < WORLD_KIND_COUNT; i++) {
		if (!informer_has_synced(w->kinds[i].informer) &&
		    !worldkinds_is_optional(w->kinds[i].which))
			return false;
	}
	return true;
}

struct loop *
world_loop(const struct world *w)
{
	return w->loop;
}

struct kube_client *
world_client(const struct world *w)
{
	return w->client;
}

const char *
world_ns(const struct world *w)
{
	return w->ns;
}

const char *
world_launcher_image(const struct world *w)
{
	return w->launcher_image;
}

int64_t
world_now_us(const struct world *w)
{
	(void)w;
	return time_now_us();
}

const struct kubevirt_config *
world_config(const struct world *w)
{
	return w->config;
}

const json_t *
world_configuration(const struct world *w)
{
	return w->configuration;
}

const struct cache *
world_cache(const struct world *w, enum world_kind kind)
{
	return informer_cache(w->kinds[kind].informer);
}

const void *
world_get(const struct world *w, enum world_kind kind, const char *ns,
	  const char *name)
{
	const struct cache_object *object =
		cache_get(world_cache(w, kind), ns, name);

	return object == NULL ? NULL : object->view;
}

const void *
world_get_key(const struct world *w, enum world_kind kind, const char *key)
{
	const struct cache_object *object =
		cache_get_key(world_cache(w, kind), key);

	return object == NULL ? NULL : object->view;
}

const void *
world_find(const struct world *w, enum world_kind kind, size_t index,
	   const char *key)
{
	struct cache_walk walk = cache_find(world_cache(w, kind), index, key);

	return world_next(&walk);
}

const void *
world_next(struct cache_walk *walk)
{
	const struct cache_object *object;

	while ((object = cache_walk_next(walk)) != NULL) {
		if (object->view != NULL)
			return object->view;
	}
	return NULL;
}

void
world_subscribe(struct world *w, enum world_kind kind,
		const struct informer_handler *handler)
{
	struct subscriber *s = xmalloc0(sizeof(*s));
	struct cache_walk walk = cache_all(world_cache(w, kind));
	const struct cache_object *object;

	s->handler = *handler;
	TAILQ_INSERT_TAIL(&w->kinds[kind].subscribers, s, entry);
	while (handler->added != NULL &&
	       (object = cache_walk_next(&walk)) != NULL)
		handler->added(object, handler->arg);
}

void
world_unsubscribe(struct world *w, const void *arg)
{
	for (size_t i = 0; i < WORLD_KIND_COUNT; i++)
		drop_subscribers(&w->kinds[i], arg);
}

static bool
claim_is_block(void *arg, const char *claim)
{
	const struct world_render *render = arg;
	const struct pvc *pvc =
		world_get(render->world, WORLD_PVCS, render->ns, claim);

	return pvc != NULL && pvc->block;
}

void
world_render_env(const struct world *w, const char *ns,
		 struct world_render *ret_render)
{
	*ret_render = (struct world_render){
		.env = {
			.config = w->config,
			.configuration = w->configuration,
			.launcher_image = w->launcher_image,
			.launcher_command = w->launcher_command,
			.claim_is_block = claim_is_block,
			.arg = ret_render,
		},
		.world = w,
		.ns = ns,
	};
}

struct events_ref
world_ref(const struct kube_resource *resource, const struct objmeta *meta)
{
	return (struct events_ref){
		.api_version = worldkinds_api_version(resource),
		.kind = resource->kind,
		.ns = meta->ns,
		.name = meta->name,
		.uid = meta->uid,
	};
}

void
world_add_metrics(struct world *w, world_metrics_fn *write, void *arg)
{
	struct metrics *m = xmalloc0(sizeof(*m));

	m->write = write;
	m->arg = arg;
	TAILQ_INSERT_TAIL(&w->metrics, m, entry);
}

void
world_remove_metrics(struct world *w, const void *arg)
{
	drop_metrics(w, arg);
}

int
world_write_metrics(const struct world *w, struct buf *buf)
{
	const struct metrics *m;

	TAILQ_FOREACH(m, &w->metrics, entry)
	{
		if (m->write(buf, m->arg) == -1)
			return -1;
	}
	return 0;
}
