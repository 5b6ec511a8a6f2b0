/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/obj.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/resource.h"
#include "meta/time.h"

const char *
obj_name(const json_t *object)
{
	return js_str_at(object, "metadata.name");
}

const char *
obj_ns(const json_t *object)
{
	return js_str_at(object, "metadata.namespace");
}

const char *
obj_uid(const json_t *object)
{
	return js_str_at(object, "metadata.uid");
}

const char *
obj_version(const json_t *object)
{
	return js_str_at(object, "metadata.resourceVersion");
}

bool
obj_is_deleting(const json_t *object)
{
	return *js_str_at(object, "metadata.deletionTimestamp") != '\0';
}

int64_t
obj_created_us(const json_t *object)
{
	struct err err;
	int64_t us;

	if (time_parse(js_str_at(object, "metadata.creationTimestamp"), &us,
		       &err) == -1)
		return 0;
	return us;
}

const char *
obj_label(const json_t *object, const char *key)
{
	return json_string_value(
		json_object_get(js_obj_at(object, "metadata.labels"), key));
}

const char *
obj_annotation(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(
		js_obj_at(object, "metadata.annotations"), key));
}

static bool
set_text(json_t *object, const char *path, const char *key, const char *value)
{
	json_t *map = js_obj_at(object, path);
	const json_t *old = json_object_get(map, key);

	if (value == NULL)
		return json_object_del(map, key) == 0;
	if (json_is_string(old) && str_equal(json_string_value(old), value))
		return false;
	return json_object_set_new(js_make_obj_at(object, path), key,
				   json_string(value)) == 0;
}

bool
obj_set_label(json_t *object, const char *key, const char *value)
{
	return set_text(object, "metadata.labels", key, value);
}

bool
obj_set_annotation(json_t *object, const char *key, const char *value)
{
	return set_text(object, "metadata.annotations", key, value);
}

static size_t
find_text(const json_t *list, const char *text)
{
	size_t i;

	for (i = 0; i < json_array_size(list); i++) {
		if (str_equal(json_string_value(json_array_get(list, i)), text))
			break;
	}
	return i;
}

bool
obj_has_finalizer(const json_t *object, const char *finalizer)
{
	const json_t *list = js_arr_at(object, "metadata.finalizers");

	return find_text(list, finalizer) < json_array_size(list);
}

bool
obj_add_finalizer(json_t *object, const char *finalizer)
{
	json_t *list = js_arr_at(object, "metadata.finalizers");

	if (obj_has_finalizer(object, finalizer))
		return false;
	if (list == NULL) {
		list = json_array();
		(void)json_object_set_new(js_make_obj_at(object, "metadata"),
					  "finalizers", list);
	}
	return json_array_append_new(list, json_string(finalizer)) == 0;
}

bool
obj_remove_finalizer(json_t *object, const char *finalizer)
{
	json_t *list = js_arr_at(object, "metadata.finalizers");

	return json_array_remove(list, find_text(list, finalizer)) == 0;
}

const json_t *
obj_controller(const json_t *object)
{
	const json_t *list = js_arr_at(object, "metadata.ownerReferences");
	const json_t *ref;
	size_t i;

	json_array_foreach(list, i, ref)
	{
		if (js_bool_at(ref, "controller", false))
			return ref;
	}
	return NULL;
}

bool
obj_is_controlled_by(const json_t *object, const char *uid)
{
	const json_t *ref = obj_controller(object);

	return ref != NULL && str_equal(js_str_at(ref, "uid"), uid);
}

json_t *
obj_owner_ref(const struct kube_resource *resource, const char *name,
	      const char *uid)
{
	AUTO(free_ptr) char *version = kube_api_version(resource);

	return json_pack("{s:s,s:b,s:b,s:s,s:s,s:s}", "apiVersion", version,
			 "blockOwnerDeletion", 1, "controller", 1, "kind",
			 resource->kind, "name", name, "uid", uid);
}
