/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CTL_PARAGRAPH_H
#define CTL_PARAGRAPH_H

/*
 * paragraph - text for a terminal, broken between words. Threading: any.
 */

struct buf;

#define PARAGRAPH_WIDTH 79

/* Each line begins with indent blanks and ends with a newline; a word that is
 * too long stands alone. Nothing for "". */
void paragraph_write(struct buf *out, int indent, const char *text);

#endif
