/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_KINDS_OPENAPI_PATHS_H
#define CLUSTER_KINDS_OPENAPI_PATHS_H

/*
 * openapi_paths - the paths of a kind in OpenAPI documents.
 *
 * kubectl looks there for whether a kind can be tried out (dryRun) and
 * validated by the server (fieldValidation), and for which kind is behind a
 * resource.
 */

#include "base/js.h"

struct kind_version;
struct openapi_schemas;

/* Adds the paths of a kind to an object of paths. */
void openapi_add_paths(json_t *paths, const struct openapi_schemas *schemas,
		       const struct kind_version *version);

#endif
