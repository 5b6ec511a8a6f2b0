/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/js.h"
#include "cluster/kinds/kind.h"
#include "cluster/kinds/registry.h"
#include "cluster/kinds/schema.h"
#include "meta/causes.h"

/*
 * The input is a schema and an object, each as JSON, with a NUL in between.
 * The object is also tried against a built-in kind, and a schema that is a
 * whole CustomResourceDefinition (it has a spec) is defined.
 */

static struct registry *registry;

static void
try_object(const struct schema *schema, const json_t *from)
{
	struct causes causes = CAUSES_INIT, again = CAUSES_INIT;
	struct unknown unknown = { 0 };
	json_t *obj = json_deep_copy(from);

	free(schema_check_types(schema, "Pod", obj));
	schema_prune(schema, obj, &unknown);
	unknown_sort(&unknown);
	schema_default(schema, obj);
	/* Valid or not is the same the second time. */
	if (schema_validate(schema, obj, &causes) !=
	    schema_validate(schema, obj, &again))
		abort();
	if (unknown.count > SCHEMA_CAUSES_MAX)
		abort();
	unknown_done(&unknown);
	/* Nothing is left to prune. */
	schema_prune(schema, obj, &unknown);
	if (unknown.count > 0)
		abort();
	causes_done(&causes);
	causes_done(&again);
	json_decref(obj);
}

static void
try_schema(const json_t *openapi, const json_t *obj)
{
	struct causes causes = CAUSES_INIT;
	struct schema_options options = {
		.metadata = registry_metadata_schema(registry),
	};
	struct schema *schema =
		schema_compile(openapi, "schema", &options, &causes);

	if ((schema == NULL) != (causes_count(&causes) > 0))
		abort();
	if (schema != NULL)
		try_object(schema, obj);
	schema_unref(schema);
	causes_done(&causes);
}

static void
try_definition(const json_t *from)
{
	struct causes causes = CAUSES_INIT;
	json_t *crd = json_deep_copy(from);

	if (registry_prepare_crd(registry, crd, NULL, "2026-01-01T00:00:00Z",
				 &causes) == 0 &&
	    registry_set_crd(registry, crd, &causes) == -1)
		abort();
	registry_remove_crd(registry,
			    json_string_value(json_object_get(
				    json_object_get(crd, "metadata"), "name"))
				    ?: "");
	causes_done(&causes);
	json_decref(crd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *middle = size > 0 ? memchr(data, 0, size) : NULL;
	struct kind_version *pods;
	json_t *openapi, *obj;
	struct err err;

	if (registry == NULL) {
		js_init();
		registry = registry_new(NULL, NULL, &err);
	}
	if (middle == NULL || registry == NULL)
		return 0;
	openapi = js_parse((const char *)data, (size_t)(middle - data), &err);
	obj = js_parse((const char *)middle + 1,
		       size - (size_t)(middle - data) - 1, &err);
	if (json_is_object(openapi) && json_is_object(obj)) {
		try_schema(openapi, obj);
		if (json_object_get(openapi, "spec") != NULL)
			try_definition(openapi);
	}
	if (json_is_object(obj) &&
	    registry_find(registry, "", "v1", "pods", NULL, &pods) == 0)
		try_object(pods->schema, obj);
	json_decref(openapi);
	json_decref(obj);
	return 0;
}
