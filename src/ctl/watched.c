/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/watched.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/loop.h"
#include "base/mem.h"
#include "ctl/kubesync.h"
#include "kube/informer.h"

#define US_PER_MS UINT64_C(1000)
#define WHY_SIZE 512

struct watched_one {
	struct watched *of;
	struct informer *informer;
	bool optional;
	bool seen;
	char unseen[WHY_SIZE]; /* why it never was */
};

struct watched {
	const struct kubesync *kube;
	struct loop *loop;
	struct watched_one all[WATCHED_KINDS_MAX];
	size_t count;
	void (*changed)(void *arg);
	void *arg;
	struct loop_timer *first; /* how long the first look may take */
	bool waiting;
	char failure[WHY_SIZE]; /* of the first look */
};

static void
tell(struct watched *w)
{
	if (!w->waiting && w->changed != NULL)
		w->changed(w->arg);
}

static bool
all_seen(const struct watched *w)
{
	for (size_t i = 0; i < w->count; i++) {
		if (!w->all[i].seen)
			return false;
	}
	return true;
}

static void
end_waiting(struct watched *w)
{
	if (!w->waiting)
		return;
	w->waiting = false;
	loop_stop(w->loop);
}

static void
on_put(const struct cache_object *object, void *arg)
{
	struct watched_one *one = arg;

	(void)object;
	tell(one->of);
}

static void
on_updated(const struct cache_object *old, const struct cache_object *object,
	   void *arg)
{
	(void)old;
	on_put(object, arg);
}

static void
on_synced(void *arg)
{
	struct watched_one *one = arg;

	one->seen = true;
	one->unseen[0] = '\0';
	if (all_seen(one->of))
		end_waiting(one->of);
	tell(one->of);
}

static void
on_failed(const char *why, void *arg)
{
	struct watched_one *one = arg;
	struct watched *w = one->of;

	if (one->optional && !informer_has_synced(one->informer)) {
		(void)snprintf(one->unseen, sizeof(one->unseen), "%s", why);
		one->seen = true;
		if (all_seen(w))
			end_waiting(w);
	} else if (w->waiting) {
		(void)snprintf(w->failure, sizeof(w->failure), "%s", why);
		end_waiting(w);
	}
	tell(w);
}

static void
on_first_late(void *arg)
{
	struct watched *w = arg;

	(void)snprintf(w->failure, sizeof(w->failure),
		       "the API server has not answered for %u s",
		       WATCHED_FIRST_MS / 1000U);
	end_waiting(w);
}

struct watched *
watched_new(struct kubesync *ks, const struct watched_kind *kinds, size_t count,
	    void (*changed)(void *arg), void *arg)
{
	struct watched *w = xmalloc0(sizeof(*w));

	assert(count <= WATCHED_KINDS_MAX);
	w->kube = ks;
	w->loop = kubesync_loop(ks);
	w->count = count;
	w->changed = changed;
	w->arg = arg;
	w->first = loop_timer_new(w->loop, on_first_late, w);
	for (size_t i = 0; i < count; i++) {
		const struct informer_config config = {
			.client = kubesync_client(ks),
			.resource = *kinds[i].resource,
			.ns = kinds[i].ns,
			.field_selector = kinds[i].field_selector,
		};
		const struct informer_handler handler = {
			.added = on_put,
			.updated = on_updated,
			.deleted = on_put,
			.synced = on_synced,
			.failed = on_failed,
			.arg = &w->all[i],
		};

		w->all[i].of = w;
		w->all[i].optional = kinds[i].optional;
		w->all[i].informer = informer_new(&config);
		informer_add_handler(w->all[i].informer, &handler);
	}
	return w;
}

void
watched_free(struct watched *w)
{
	if (w == NULL)
		return;
	for (size_t i = 0; i < w->count; i++)
		informer_free(w->all[i].informer);
	loop_timer_free(w->first);
	free(w);
}

int
watched_wait(struct watched *w, struct err *err)
{
	w->waiting = true;
	for (size_t i = 0; i < w->count; i++)
		informer_start(w->all[i].informer);
	loop_timer_start(w->first, WATCHED_FIRST_MS * US_PER_MS);
	loop_run(w->loop);
	loop_timer_stop(w->first);
	if (w->failure[0] == '\0')
		return 0;
	(void)err_set(err, ERR_UNAVAILABLE, "%s", w->failure);
	return kubesync_blame(w->kube, err);
}

json_t *
watched_items(const struct watched *w, size_t kind)
{
	struct cache_walk walk =
		cache_all(informer_cache(w->all[kind].informer));
	json_t *items = json_array();
	const struct cache_object *object;

	while ((object = cache_walk_next(&walk)) != NULL)
		json_array_append(items, object->view);
	return items;
}

const char *
watched_unseen(const struct watched *w, size_t kind)
{
	return w->all[kind].unseen;
}

const char *
watched_trouble(const struct watched *w)
{
	for (size_t i = 0; i < w->count; i++) {
		const struct informer_stats *stats =
			informer_stats(w->all[i].informer);

		if (!stats->connected && stats->last_failure[0] != '\0' &&
		    informer_has_synced(w->all[i].informer))
			return stats->last_failure;
	}
	return "";
}
