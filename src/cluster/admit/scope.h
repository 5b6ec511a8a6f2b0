/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_ADMIT_SCOPE_H
#define CLUSTER_ADMIT_SCOPE_H

/*
 * scope - which pods a quota is about, by its scopes and scopeSelector.
 *
 * Threading: any thread, with values of its own.
 */

#include <stdbool.h>

#include "base/js.h"

/* spec is that of a ResourceQuota. Without scopes it is about everything;
 * with some, about no other kind than pods. */
bool scope_has_any(const json_t *spec);
bool scope_matches(const json_t *spec, const json_t *pod);

#endif
