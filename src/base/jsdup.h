/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_JSDUP_H
#define BASE_JSDUP_H

/*
 * jsdup - finds the members of the same name in JSON text.
 *
 * For js_parse_lenient(): the parser says that there are some, not which.
 */

#include <stddef.h>

/*
 * Calls duplicate with the path of each name that its object has more than
 * once, once per name and object, in order of the text, at most max times. The
 * text must be valid JSON and nested at most JS_MAX_DEPTH deep.
 */
void jsdup_find(const char *text, size_t len, size_t max,
		void (*duplicate)(void *arg, const char *path), void *arg);

#endif
