/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_STORED_H
#define CLUSTER_STORED_H

/*
 * stored - objects as they come out of the store.
 *
 * What was stored under an earlier form of its definition is read as if it had
 * been written under the present one: with its version, without what it does
 * not know, and with its defaults.
 */

#include <stdbool.h>

#include "base/js.h"

struct kind_version;
struct object;

/* Whether the stored text is just what the version looks like. */
bool stored_is_plain(const struct kind_version *version,
		     const struct object *object);

/* The object as the version shows it; a new reference. */
json_t *stored_load(const struct kind_version *version,
		    const struct object *object);

#endif
