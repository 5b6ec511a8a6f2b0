/* SPDX-License-Identifier: Apache-2.0 */
#ifndef META_NODESEL_H
#define META_NODESEL_H

/*
 * nodesel - which nodes a pod or a volume may be on.
 *
 * Works on the JSON of the API: a NodeSelector is {nodeSelectorTerms}, of
 * which one must match; a term matches when all its matchExpressions (labels)
 * and matchFields (metadata.name) do. A term without any matches nothing, nor
 * does what is malformed. labels: an object of strings, or NULL.
 */

#include <stdbool.h>

#include "base/js.h"

bool nodesel_term_matches(const json_t *term, const json_t *labels,
			  const char *name);
/* NULL matches every node. */
bool nodesel_matches(const json_t *selector, const json_t *labels,
		     const char *name);
/* {"label":"value"}: all must be there. NULL matches every node. */
bool nodesel_map_matches(const json_t *map, const json_t *labels);

#endif
