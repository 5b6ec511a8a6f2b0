/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/control/feed.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "cluster/control/view.h"
#include "cluster/store/follow.h"
#include "cluster/store/object.h"

#define LISTENERS_MAX 16

static const struct {
	const char *group, *resource;
} resources[FEED_WHAT_COUNT] = {
	[FEED_NAMESPACE] = { "", "namespaces" },
	[FEED_NODE] = { "", "nodes" },
	[FEED_CLASS] = { "storage.k8s.io", "storageclasses" },
	[FEED_VOLUME] = { "", "persistentvolumes" },
	[FEED_CLAIM] = { "", "persistentvolumeclaims" },
	[FEED_POD] = { "", "pods" },
};

struct source {
	struct feed *feed;
	enum feed_what what;
	struct subscription *following;
};

struct feed {
	struct store *store;
	struct view *view;
	struct source sources[FEED_WHAT_COUNT];
	struct {
		feed_fn *fn;
		void *arg;
	} listeners[LISTENERS_MAX];
	size_t count;
};

static void
set(struct feed *feed, struct feed_change *change, struct pod **ret_old)
{
	switch (change->what) {
	case FEED_NAMESPACE:
		view_set_namespace(feed->view, change->json);
		break;
	case FEED_NODE:
		(void)view_set_node(feed->view, change->json);
		break;
	case FEED_CLASS:
		view_set_class(feed->view, change->json);
		break;
	case FEED_VOLUME:
		(void)view_set_volume(feed->view, change->json);
		break;
	case FEED_CLAIM:
		(void)view_set_claim(feed->view, change->json);
		break;
	case FEED_POD:
		change->pod = view_swap_pod(feed->view, change->json,
					    change->object->rv, ret_old);
		break;
	case FEED_WHAT_COUNT:
		break;
	}
}

static void
clear(struct feed *feed, const struct feed_change *change, struct pod **ret_old)
{
	switch (change->what) {
	case FEED_NAMESPACE:
		view_remove_namespace(feed->view, change->key);
		break;
	case FEED_NODE:
		view_remove_node(feed->view, change->key);
		break;
	case FEED_CLASS:
		view_remove_class(feed->view, change->key);
		break;
	case FEED_VOLUME:
		view_remove_volume(feed->view, change->key);
		break;
	case FEED_CLAIM:
		view_remove_claim(feed->view, change->key);
		break;
	case FEED_POD:
		*ret_old = view_take_pod(feed->view, change->key);
		break;
	case FEED_WHAT_COUNT:
		break;
	}
}

static void
on_event(const struct event *event, void *arg)
{
	struct source *source = arg;
	struct feed *feed = source->feed;
	AUTO(free_ptr) char *key = object_key(event->object);
	AUTO(js_unref) json_t *json = NULL;
	struct pod *old = NULL;
	struct feed_change change = {
		.what = source->what,
		.type = event->type,
		.key = key,
		.object = event->object,
	};

	if (event->type == EVENT_DELETED) {
		clear(feed, &change, &old);
	} else {
		json = object_json(event->object);
		change.json = json;
		set(feed, &change, &old);
	}
	change.old_pod = old;
	for (size_t i = 0; i < feed->count; i++)
		feed->listeners[i].fn(&change, feed->listeners[i].arg);
	if (old != NULL)
		pod_free(old);
}

struct feed *
feed_new(struct store *store, struct view *view)
{
	struct feed *feed = xmalloc0(sizeof(*feed));

	feed->store = store;
	feed->view = view;
	return feed;
}

void
feed_listen(struct feed *feed, feed_fn *fn, void *arg)
{
	if (feed->count == LISTENERS_MAX)
		abort();
	feed->listeners[feed->count].fn = fn;
	feed->listeners[feed->count++].arg = arg;
}

void
feed_start(struct feed *feed)
{
	for (int what = 0; what < FEED_WHAT_COUNT; what++) {
		struct source *source = &feed->sources[what];

		source->feed = feed;
		source->what = (enum feed_what)what;
		source->following =
			follow(feed->store, resources[what].group,
			       resources[what].resource, on_event, source);
	}
}

void
feed_free(struct feed *feed)
{
	if (feed == NULL)
		return;
	for (int what = 0; what < FEED_WHAT_COUNT; what++)
		unsubscribe(feed->sources[what].following);
	free(feed);
}
