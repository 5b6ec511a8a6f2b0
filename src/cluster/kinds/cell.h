/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_KINDS_CELL_H
#define CLUSTER_KINDS_CELL_H

/*
 * cell - the values in the rows of a Table.
 *
 * Columns of CustomResourceDefinitions are a JSONPath; built-in kinds also have
 * computed ones (a pod's "READY"). The texts are those kubectl's users know.
 */

#include <stdint.h>

#include "base/js.h"

#include "cluster/kinds/kind.h"

/* The computation of that name; NULL if there is none. */
cell_fn *cell_find(const char *name);

/* A new reference: a value of the column's type, or null where the object has
 * none. now_s (seconds since 1970) is what ages are counted to. */
json_t *cell_value(const struct column *column, const json_t *obj,
		   int64_t now_s);

#endif
