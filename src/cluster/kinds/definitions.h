/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_KINDS_DEFINITIONS_H
#define CLUSTER_KINDS_DEFINITIONS_H

/*
 * definitions - the types that built-in kinds share: ObjectMeta, PodSpec, ...
 *
 * They are written down once (builtin/types-*.yaml) and referred to as
 * {$ref: PodSpec}. Here each reference is replaced by the definition itself,
 * the same json_t everywhere, so that nothing has to follow references later
 * and each type is in memory once. A reference that has a description or a
 * default of its own becomes a copy of the definition's outermost level.
 *
 * Threading: the main loop's thread.
 */

#include <stdbool.h>

#include "base/js.h"

struct definitions;
struct err;

/* From the embedded files; NULL on failure, which is a bug. */
struct definitions *definitions_new(struct err *err);
void definitions_free(struct definitions *definitions);

/* Replaces the references in node, in place. */
int definitions_resolve(struct definitions *definitions, json_t *node,
			struct err *err);

/* By its short name ("ObjectMeta"); borrowed, NULL if there is none. */
json_t *definitions_find(const struct definitions *definitions,
			 const char *name);

/*
 * "io.k8s.api.core.v1.PodSpec" if node is a definition or a copy with words of
 * its own (*ret_own), else NULL.
 */
const char *definitions_name(const struct definitions *definitions,
			     const json_t *node, bool *ret_own);

#endif
