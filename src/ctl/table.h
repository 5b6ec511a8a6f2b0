/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CTL_TABLE_H
#define CTL_TABLE_H

/*
 * table - columns for people, as wide as what is in them.
 *
 * Threading: one thread.
 */

#include <stddef.h>

#define TABLE_COLUMNS_MAX 16

struct buf;
struct table;

/* titles as in a row of table_add(). */
struct table *table_new(const char *const *titles, size_t columns);
void table_free(struct table *table);
void table_unref(struct table **pointer); /* for AUTO() */

/* A row; cells are copied, NULL and "" are "-", but "" for the last one.
 * Control characters are replaced. */
void table_add(struct table *table, const char *const *cells);

/* For a window that is too narrow: puts what the last column has into a line of
 * its own, below the rest of its row. */
void table_put_last_below(struct table *table);
/* Of the columns that are side by side. */
size_t table_width(const struct table *table);
/* Without the titles. */
size_t table_lines(const struct table *table);

/* The titles and the first rows, in at most so many lines; says how many more
 * there are where that is not all. */
void table_write(const struct table *table, size_t lines, struct buf *out);

#endif
