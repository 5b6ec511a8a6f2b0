/* SPDX-License-Identifier: Apache-2.0 */
#ifndef META_PATCH_INTERNAL_H
#define META_PATCH_INTERNAL_H

/*
 * patch_internal - what the kinds of patches share.
 */

#include "base/js.h"

struct status;

/* A merge patch that is no object is a BadRequest. */
int patch_check_object(const json_t *patch, struct status *st);

#endif
