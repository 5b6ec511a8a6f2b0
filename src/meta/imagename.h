/* SPDX-License-Identifier: Apache-2.0 */
#ifndef META_IMAGENAME_H
#define META_IMAGENAME_H

/*
 * imagename - the name of an image as the name of a directory, and back.
 *
 * Every character but [A-Za-z0-9._-] is written as % and two hexadecimal
 * digits in capitals: "%2F" for a slash, "%3A" for a colon. So whoever puts
 * images into a node's directory and whoever looks them up mean the same.
 *
 * Threading: pure functions, any thread.
 */

#define IMAGENAME_MAX 512
#define IMAGENAME_ESCAPED_MAX (3 * IMAGENAME_MAX + 1)

/* -1 for what is no name: empty, too long, with characters that are not to be
 * seen, or with a leading dot, which is for what is being written. */
int imagename_escape(const char *name, char escaped[IMAGENAME_ESCAPED_MAX]);

/* What is no escape stays as it is. */
void imagename_unescape(const char *escaped, char name[IMAGENAME_MAX + 1]);

#endif
