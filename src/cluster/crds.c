/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "cluster/crds.h"
#include "cluster/kinds/registry.h"
#include "cluster/server/objmeta.h"
#include "cluster/store/follow.h"
#include "cluster/store/object.h"
#include "meta/causes.h"
#include "meta/names.h"
#include "meta/time.h"

/* The generation that the program wrote: a later one is somebody else's. */
#define BUNDLED_ANNOTATION "ferry.io/bundled-generation"

#define GROUP "apiextensions.k8s.io"
#define RESOURCE "customresourcedefinitions"

struct crds {
	struct store *store;
	struct registry *registry;
	struct collection *collection;
	struct subscription *subscription;
};

static void
serve(struct crds *crds, const struct object *object)
{
	struct causes causes = CAUSES_INIT;
	json_t *crd = object_json(object);
	char *text;

	if (registry_set_crd(crds->registry, crd, &causes) == -1) {
		text = causes_text(&causes);
		log_error(NULL, "the definition %s is not served: %s",
			  object->name, text);
		free(text);
	}
	causes_done(&causes);
	json_decref(crd);
}

static void
on_event(const struct event *event, void *arg)
{
	struct crds *crds = arg;

	if (event->type == EVENT_DELETED)
		registry_remove_crd(crds->registry, event->object->name);
	else
		serve(crds, event->object);
}

/* Metadata of a definition that is not there yet. */
static void
begin_metadata(json_t *crd)
{
	json_t *meta = objmeta_get(crd);
	char uid[NAME_UUID_SIZE], now[TIME_TEXT_SIZE];

	json_object_set_new(meta, "uid", json_string(name_uuid(uid)));
	json_object_set_new(meta, "creationTimestamp",
			    json_string(time_now_text(now)));
	json_object_set_new(meta, "generation", json_integer(1));
}

static char *
generation_text(const json_t *crd)
{
	const json_t *meta = json_object_get(crd, "metadata");

	return xasprintf("%lld", (long long)json_integer_value(
					 json_object_get(meta, "generation")));
}

static void
mark_bundled(json_t *crd)
{
	AUTO(free_ptr) char *text = generation_text(crd);
	json_t *meta = objmeta_get(crd);
	json_t *annotations = json_object_get(meta, "annotations");

	if (!json_is_object(annotations)) {
		annotations = json_object();
		json_object_set_new(meta, "annotations", annotations);
	}
	json_object_set_new(annotations, BUNDLED_ANNOTATION, json_string(text));
}

static bool
is_bundled(const json_t *crd)
{
	AUTO(free_ptr) char *text = generation_text(crd);
	const json_t *annotations = json_object_get(
		json_object_get(crd, "metadata"), "annotations");

	return str_equal(json_string_value(json_object_get(annotations,
							   BUNDLED_ANNOTATION)),
			 text);
}

static int
put(struct crds *crds, json_t *crd, const json_t *old, struct err *err)
{
	struct store *store = crds->store;
	uint64_t rv = store_next_rv(store);
	struct causes causes = CAUSES_INIT;
	char now[TIME_TEXT_SIZE];
	char *text;
	size_t len;

	if (registry_prepare_crd(crds->registry, crd, old, time_now_text(now),
				 &causes) == -1) {
		text = causes_text(&causes);
		(void)err_set(err, ERR_INTERNAL, "bundled definition %s: %s",
			      objmeta_str(crd, "name"), text);
		free(text);
		causes_done(&causes);
		return -1;
	}
	objmeta_set_rv(crd, rv);
	text = js_text_sorted(crd, &len);
	store_put(crds->collection,
		  object_new(crds->collection, rv, text, len));
	return 0;
}

/* Whether the one in the store is as it would be written now. */
static bool
is_current(const json_t *stored, const json_t *bundled)
{
	const json_t *was = json_object_get(stored, "spec");
	const json_t *is = json_object_get(bundled, "spec");

	return json_equal(was, is);
}

/* Writes one of the program's own if it is missing, or old and unchanged. */
static int
bring(struct crds *crds, json_t *crd, struct err *err)
{
	const char *name = objmeta_str(crd, "name");
	struct object *object = store_get(crds->collection, "", name);
	struct causes causes = CAUSES_INIT;
	char now[TIME_TEXT_SIZE];
	json_t *old;
	int r = 0;

	if (object == NULL) {
		begin_metadata(crd);
		mark_bundled(crd);
		return put(crds, crd, NULL, err);
	}
	old = object_json(object);
	if (!is_bundled(old)) {
		log_info(NULL, "the definition %s was changed, and is kept",
			 name);
		json_decref(old);
		return 0;
	}
	json_object_set(crd, "metadata", json_object_get(old, "metadata"));
	/* Compared with the defaults in, as the stored one has them. */
	(void)registry_prepare_crd(crds->registry, crd, old, time_now_text(now),
				   &causes);
	causes_done(&causes);
	if (!is_current(old, crd)) {
		objmeta_bump_generation(crd);
		mark_bundled(crd);
		r = put(crds, crd, old, err);
	}
	json_decref(old);
	return r;
}

static int
bring_bundled(struct crds *crds, struct err *err)
{
	json_t *crd;

	for (size_t i = 0; (crd = registry_bundled_crd(i)) != NULL; i++) {
		int r = bring(crds, crd, err);

		json_decref(crd);
		if (r == -1)
			return -1;
	}
	return store_flush(crds->store, err);
}

struct crds *
crds_new(struct store *store, struct registry *registry, struct err *err)
{
	struct crds *crds = xmalloc0(sizeof(*crds));

	crds->store = store;
	crds->registry = registry;
	crds->collection = store_collection(store, GROUP, RESOURCE);
	if (bring_bundled(crds, err) == -1) {
		free(crds);
		return NULL;
	}
	crds->subscription = follow(store, GROUP, RESOURCE, on_event, crds);
	return crds;
}

void
crds_free(struct crds *crds)
{
	if (crds == NULL)
		return;
	unsubscribe(crds->subscription);
	free(crds);
}
