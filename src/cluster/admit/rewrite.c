/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/admit/rewrite.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/jsat.h"
#include "cluster/store/object.h"
#include "cluster/store/store.h"

void
rewrite(struct collection *collection, json_t *obj)
{
	uint64_t rv = store_next_rv(collection_store(collection));
	struct object *object;
	char number[32];
	size_t len;
	char *text;

	(void)snprintf(number, sizeof(number), "%" PRIu64, rv);
	(void)json_object_set_new(js_make_obj_at(obj, "metadata"),
				  "resourceVersion", json_string(number));
	text = js_text_sorted(obj, &len);
	object = object_new(collection, rv, text, len);
	if (object != NULL)
		store_put(collection, object);
}
