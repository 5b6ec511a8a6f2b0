/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROLLER_MIGRATION_HINDSIGHT_H
#define CONTROLLER_MIGRATION_HINDSIGHT_H

/*
 * hindsight - what was predicted of a migration, beside what came of it. Pure.
 */

#include <stdbool.h>

#include "base/js.h"

/* Adds "actual" to state's prediction, where there is one and the machine has
 * moved: {"mode", "copyMs", "downtimeMs" if that is known}. */
void hindsight_add(json_t *state);

/* How far off the predicted time was, as a share of the actual one. False when
 * nothing was predicted, or it did not come to that. */
bool hindsight_error(const json_t *state, double *ret_ratio);

#endif
