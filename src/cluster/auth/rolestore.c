/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/auth/rolestore.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/jsat.h"
#include "cluster/store/object.h"
#include "cluster/store/store.h"
#include "meta/names.h"
#include "meta/time.h"

/* The next state of the object, with the revision it will have. */
static struct object *
next_state(struct collection *c, json_t *obj)
{
	uint64_t rv = store_next_rv(collection_store(c));
	json_t *meta = js_make_obj_at(obj, "metadata");
	struct object *object;
	char number[24];
	size_t len;
	char *text;

	(void)snprintf(number, sizeof(number), "%" PRIu64, rv);
	(void)json_object_set_new(meta, "resourceVersion", json_string(number));
	text = js_text_sorted(obj, &len);
	object = object_new(c, rv, text, len);
	if (!object)
		abort();
	return object;
}

void
rolestore_put(struct collection *c, json_t *obj)
{
	json_t *meta = js_make_obj_at(obj, "metadata");
	char now[TIME_TEXT_SIZE];
	char uid[NAME_UUID_SIZE];

	if (!*js_str_at(meta, "uid")) {
		(void)json_object_set_new(meta, "uid",
					  json_string(name_uuid(uid)));
		(void)json_object_set_new(meta, "creationTimestamp",
					  json_string(time_now_text(now)));
	}
	store_put(c, next_state(c, obj));
}

void
rolestore_remove(struct collection *c, const char *ns, const char *name)
{
	AUTO(js_unref) json_t *obj = object_json(store_get(c, ns, name));

	store_remove(c, next_state(c, obj));
}
