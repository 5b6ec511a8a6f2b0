/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEBHOOK_DIFF_H
#define WEBHOOK_DIFF_H

/*
 * diff - the JSON patch (RFC 6902) that makes one value of another.
 *
 * Goes into objects, and into lists that did not become shorter; what else
 * differs is replaced as a whole. Neither value may be nested deeper than
 * JS_MAX_DEPTH. Threading: any thread, with values of its own.
 */

#include "base/js.h"

/* The operations, a new reference; empty when the values are equal. */
json_t *diff_patch(const json_t *before, const json_t *after);

#endif
