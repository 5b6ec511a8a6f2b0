/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_SCAN_H
#define BASE_SCAN_H

/*
 * scan - looking into JSON text without parsing it.
 *
 * For text that is known to be valid, as what was written by js_text(): a
 * member is found by skipping those before it, and nothing is allocated. Text
 * that is damaged nevertheless is never read beyond its end; what is found in
 * it has no meaning, and mostly nothing is.
 *
 * Threading: any thread.
 */

#include <stdbool.h>
#include <stddef.h>

/* Some text inside a longer one; no NUL byte at its end. */
struct span {
	const char *text;
	size_t len;
};

/* A place between the members of an object or the elements of an array. */
struct scan {
	const char *at;
	const char *end;
};

/* Starts before the first member of an object, or element of an array. False
 * when the value is something else. */
bool scan_object(struct span value, struct scan *ret_scan);
bool scan_array(struct span value, struct scan *ret_scan);

/*
 * The next member or element; false when there is none. ret_key is the string
 * with its quotes and escapes, as are strings in ret_value; see
 * scan_string().
 */
bool scan_next_member(struct scan *scan, struct span *ret_key,
		      struct span *ret_value);
bool scan_next_element(struct scan *scan, struct span *ret_value);

/* The value of the first member of this name; name must need no escapes. False
 * when value is no object or has no such member. */
bool scan_member(struct span value, const char *name, struct span *ret_value);

/* Whether value is a string, with its quotes, of exactly this content; text
 * must need no escapes. */
bool scan_is(struct span value, const char *text);

/*
 * The content of a string, without quotes and escapes, followed by a NUL byte,
 * into out, which has room for value.len bytes. Returns its length, or -1 when
 * value is no string, has a broken escape or a NUL inside.
 */
long scan_string(struct span value, char *out);

#endif
