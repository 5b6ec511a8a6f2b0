/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/control/follow.h"

#include <stdlib.h>

#include "base/err.h"
#include "base/mem.h"
#include "cluster/store/object.h"
#include "cluster/store/store.h"

struct follow {
	struct subscription *subscription;
};

struct follow *
follow_new(struct store *store, const char *group, const char *resource,
	   follow_fn *fn, void *arg)
{
	struct follow *follow = xmalloc0(sizeof(*follow));
	struct collection *c = NULL;
	uint64_t rv = store_durable_rv(store);
	struct object_list list = { 0 };
	bool too_old = false;
	struct err err;

	if (resource != NULL) {
		c = store_collection(store, group, resource);
		/* Cannot fail: the newest durable state is always known. */
		if (store_list_at(c, rv, &(struct list_range){ 0 }, &list,
				  &err) == -1)
			abort();
	}
	for (size_t i = 0; i < list.count; i++) {
		struct event event = {
			.type = EVENT_ADDED,
			.rv = list.objects[i]->rv,
			.object = list.objects[i],
		};

		fn(&event, arg);
	}
	objects_unref(list.objects, list.count);
	follow->subscription = subscribe(store, c, rv, fn, arg, &too_old);
	return follow;
}

void
follow_free(struct follow *follow)
{
	if (follow == NULL)
		return;
	unsubscribe(follow->subscription);
	free(follow);
}
