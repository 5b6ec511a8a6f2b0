/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CTL_SCREEN_H
#define CTL_SCREEN_H

/*
 * screen - a terminal that is drawn on again and again.
 *
 * With the few sequences of ECMA-48 that every terminal has which a kubectl
 * user may sit at (and xterm's for the other screen, which those that lack it
 * ignore); a library for terminals that are different would be more than there
 * is to do.
 *
 * What is shown comes from objects that anybody may have written: what would
 * steer the terminal is replaced first.
 *
 * Threading: one thread.
 */

#include <stdbool.h>
#include <stddef.h>

#define SCREEN_COLUMNS_DEFAULT 80U
#define SCREEN_ROWS_DEFAULT 24U

struct loop;
struct screen;

/* Whether standard output is a terminal that can be drawn on. */
bool screen_is_there(void);
/* Of the terminal, as it is now; the defaults where it does not say. */
void screen_size(unsigned *ret_columns, unsigned *ret_rows);

/* Replaces control characters by '?', in place, but for the end of a line
 * where lines are wanted. Returns text. */
char *screen_clean(char *text, bool lines);
/* How many bytes of a text of one line fit into so many columns; a character
 * counts as one column. */
size_t screen_fit(const char *text, unsigned columns);

/* How many bytes of it go into the first line if it is broken between words;
 * a word that is too long for a line is cut. */
size_t screen_break(const char *text, unsigned columns);

/*
 * Text in place of the one that was there, in as many lines as it needs; what
 * does not fit on the screen is cut off. *above is how many lines the one
 * before has above that of the cursor: 0 at first, and after something else was
 * written.
 */
void screen_rewrite(const char *text, unsigned *above);

/*
 * The whole screen, and the keyboard: pressed is told each key, resized that
 * the size has changed. The terminal is as it was before after screen_close(),
 * also when a signal ends the program in between.
 */
struct screen_callbacks {
	void (*pressed)(char key, void *arg);
	void (*resized)(void *arg);
	void *arg;
};
struct screen *screen_open(struct loop *loop,
			   const struct screen_callbacks *callbacks);
void screen_close(struct screen *screen); /* NULL is fine */
/* Draws lines; what does not fit is cut off. */
void screen_draw(struct screen *screen, const char *text);

#endif
