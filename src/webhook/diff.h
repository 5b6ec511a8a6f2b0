/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEBHOOK_DIFF_H
#define WEBHOOK_DIFF_H

/*
 * diff - the JSON patch (RFC 6902) that makes one value of another.
 *
 * Goes into objects, and into lists that did not become shorter; what else
 * differs is replaced as a whole. Threading: any thread, with values of its
 * own.
 */

#include "base/js.h"

/* The operations, a new reference; empty when the values are equal. They share
 * values with after. */
json_t *diff_patch(const json_t *before, json_t *after);

#endif
