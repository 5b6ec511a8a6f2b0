/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/server/stored.h"

#include "cluster/kinds/kind.h"
#include "cluster/kinds/schema.h"
#include "cluster/store/object.h"

static bool
is_outdated(const struct kind_version *version, const struct object *object)
{
	return object->rv < version->kind->since_rv;
}

bool
stored_is_plain(const struct kind_version *version, const struct object *object)
{
	return version == version->kind->storage_kind->storage &&
	       !is_outdated(version, object);
}

json_t *
stored_load(const struct kind_version *version, const struct object *object)
{
	const struct kind_version *storage =
		version->kind->storage_kind->storage;
	json_t *json = object_json(object);

	if (is_outdated(version, object)) {
		json_object_set_new(json, "apiVersion",
				    json_string(storage->api_version));
		schema_prune(storage->schema, json, NULL);
		schema_default(storage->schema, json);
	}
	if (version != storage)
		kind_convert(storage, version, json);
	return json;
}
