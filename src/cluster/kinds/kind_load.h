/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_KINDS_KIND_LOAD_H
#define CLUSTER_KINDS_KIND_LOAD_H

/*
 * kind_load - a kind from its definition: a CustomResourceDefinition, or the
 * file of a built-in kind, which has the same shape and a little more.
 *
 * What only built-in kinds have, in spec: verbs (a list), actions (further
 * subresources: name, group, version, kind, verbs), bodyOnly, generation,
 * unconditionalUpdate; and a column may have compute instead of jsonPath.
 */

#include <stdbool.h>

#include "base/js.h"

struct causes;
struct kind;
struct schema;
struct schema_pool;

struct kind_source {
	const json_t *definition;
	struct schema *metadata;  /* of every object */
	struct schema_pool *pool; /* of built-in kinds, else NULL */
	bool builtin;
};

/* A reference with collection still NULL, or NULL and causes. */
struct kind *kind_load(const struct kind_source *source, struct causes *causes);

#endif
