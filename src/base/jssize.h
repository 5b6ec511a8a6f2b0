/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_JSSIZE_H
#define BASE_JSSIZE_H

/*
 * jssize - how much there is of a JSON value, before it is copied, or handed to
 * what recurses. Does not recurse itself. Threading: any thread.
 */

#include <stddef.h>

#include "base/js.h"

struct js_size {
	size_t nodes; /* values */
	size_t bytes; /* of strings and names */
	size_t depth; /* of containers: 0 for a scalar, 1 for [] */
};

struct js_size js_size(const json_t *value);

#endif
