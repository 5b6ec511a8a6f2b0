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
size_t table_rows(const struct table *table);

/* The titles and the first rows, at most so many; says how many more there
 * are where that is not all. */
void table_write(const struct table *table, size_t rows, struct buf *out);

#endif
