/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/store/follow.h"

#include <stdlib.h>

#include "base/err.h"
#include "cluster/store/object.h"

struct subscription *
follow_changes(struct store *store, struct collection *c, follow_fn *fn,
	       void *arg)
{
	bool too_old; /* never: the newest durable state is always known */

	return subscribe(store, c, store_durable_rv(store), fn, arg, &too_old);
}

struct subscription *
follow(struct store *store, const char *group, const char *resource,
       follow_fn *fn, void *arg)
{
	struct collection *c = store_collection(store, group, resource);
	uint64_t rv = store_durable_rv(store);
	const struct list_range all = { 0 };
	struct object_list list;
	bool too_old;
	struct err err;

	/* The newest durable state is always within the history. */
	if (store_list_at(c, rv, &all, &list, &err) == -1)
		abort();
	for (size_t i = 0; i < list.count; i++) {
		const struct event event = { .type = EVENT_ADDED,
					     .rv = list.objects[i]->rv,
					     .object = list.objects[i] };

		fn(&event, arg);
	}
	objects_unref(list.objects, list.count);
	return subscribe(store, c, rv, fn, arg, &too_old);
}
