/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/auth/follow.h"

#include <stdlib.h>

#include "base/err.h"
#include "cluster/store/object.h"
#include "cluster/store/store.h"

struct subscription *
follow(struct store *store, const char *group, const char *resource,
       void (*fn)(const struct event *event, void *arg), void *arg)
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
