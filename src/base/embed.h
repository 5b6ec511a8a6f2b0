/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_EMBED_H
#define BASE_EMBED_H

/*
 * embed - files that are part of the program; tools/embed makes them.
 *
 * A list ends with one whose name is NULL.
 */

#include <stddef.h>

struct embed_file {
	const char *name; /* without directories */
	const char *data; /* followed by a NUL that does not count */
	size_t len;
};

#endif
