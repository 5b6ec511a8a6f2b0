/* SPDX-License-Identifier: Apache-2.0 */
#ifndef META_GOJSON_H
#define META_GOJSON_H

/*
 * gojson - what Go's JSON decoder says about a text that is not JSON.
 *
 * Kubernetes passes these words on to its clients, so ours read them too.
 *
 * Threading: any thread.
 */

#include <stddef.h>

/*
 * "unexpected end of JSON input" or "invalid character 'x' after array
 * element" and the like, to be freed; NULL when the decoder would accept it, or
 * when it is nested deeper than JS_MAX_DEPTH before anything is wrong.
 */
char *gojson_fault(const char *text, size_t len);

#endif
