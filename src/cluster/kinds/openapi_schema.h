/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_KINDS_OPENAPI_SCHEMA_H
#define CLUSTER_KINDS_OPENAPI_SCHEMA_H

/*
 * openapi_schema - schemas as OpenAPI documents show them.
 *
 * Definitions become references again, each of which is written down once.
 * Version 2 knows less: what it cannot say is left open, so that old kubectls
 * do not refuse what the server would take.
 */

#include <stdbool.h>

#include "base/js.h"

struct definitions;
struct kind_version;

struct openapi_schemas {
	const struct definitions *definitions;
	bool v2;
	json_t *out; /* by name; what has been written down so far */
};

/* "#/components/schemas/" or "#/definitions/" and name; {"$ref": ...}. */
json_t *openapi_ref(const struct openapi_schemas *schemas, const char *name);

/* "io.kubevirt.v1.VirtualMachine"; to be freed. suffix is "" or "List". */
char *openapi_name(const struct kind_version *version, const char *suffix);

/* Writes down a kind and its list, and whatever they refer to. */
void openapi_add_kind(struct openapi_schemas *schemas,
		      const struct kind_version *version);

#endif
