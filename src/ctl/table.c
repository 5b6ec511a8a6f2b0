/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/table.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "ctl/screen.h"

#define GAP 2 /* blanks between columns */
#define INDENT 4

struct table {
	size_t columns;
	size_t width[TABLE_COLUMNS_MAX];
	char *(*rows)[TABLE_COLUMNS_MAX]; /* the first has the titles */
	size_t count;
	bool last_below;
};

/* Characters, not bytes. */
static size_t
width_of(const char *text)
{
	size_t width = 0;

	for (; *text != '\0'; text++)
		width += ((unsigned char)*text & 0xc0U) != 0x80U;
	return width;
}

struct table *
table_new(const char *const *titles, size_t columns)
{
	struct table *t = xmalloc0(sizeof(*t));

	assert(columns > 0 && columns <= TABLE_COLUMNS_MAX);
	t->columns = columns;
	table_add(t, titles);
	return t;
}

void
table_free(struct table *t)
{
	if (t == NULL)
		return;
	for (size_t r = 0; r < t->count; r++) {
		for (size_t c = 0; c < t->columns; c++)
			free(t->rows[r][c]);
	}
	free(t->rows);
	free(t);
}

void
table_unref(struct table **pointer)
{
	table_free(*pointer);
	*pointer = NULL;
}

void
table_add(struct table *t, const char *const *cells)
{
	t->rows = xrealloc(t->rows, (t->count + 1) * sizeof(*t->rows));
	for (size_t c = 0; c < t->columns; c++) {
		bool none = cells[c] == NULL || cells[c][0] == '\0';
		const char *text = !none                ? cells[c]
				   : c + 1 < t->columns ? "-"
							: "";
		size_t width;

		t->rows[t->count][c] = screen_clean(xstrdup(text), false);
		width = width_of(t->rows[t->count][c]);
		if (width > t->width[c])
			t->width[c] = width;
	}
	t->count++;
}

void
table_put_last_below(struct table *t)
{
	t->last_below = true;
}

/* How many columns are side by side. */
static size_t
beside(const struct table *t)
{
	return t->last_below ? t->columns - 1 : t->columns;
}

static bool
has_line_below(const struct table *t, size_t row)
{
	/* The title would say nothing there. */
	return t->last_below && row > 0 && t->rows[row][beside(t)][0] != '\0';
}

static size_t
height_of(const struct table *t, size_t row)
{
	return has_line_below(t, row) ? 2 : 1;
}

size_t
table_width(const struct table *t)
{
	size_t width = 0;

	for (size_t c = 0; c < beside(t); c++)
		width += t->width[c] + (c > 0 ? GAP : 0);
	return width;
}

size_t
table_lines(const struct table *t)
{
	size_t lines = 0;

	for (size_t r = 1; r < t->count; r++)
		lines += height_of(t, r);
	return lines;
}

static void
write_row(const struct table *t, size_t row, struct buf *out)
{
	size_t last = beside(t);

	while (last > 0 && t->rows[row][last - 1][0] == '\0')
		last--;
	for (size_t c = 0; c < last; c++) {
		const char *cell = t->rows[row][c];
		size_t pad = t->width[c] - width_of(cell) + GAP;

		(void)buf_append_str(out, cell);
		if (c + 1 < last)
			(void)buf_printf(out, "%*s", (int)pad, "");
	}
	(void)buf_append_str(out, "\n");
	if (has_line_below(t, row))
		(void)buf_printf(out, "%*s%s\n", INDENT, "",
				 t->rows[row][beside(t)]);
}

void
table_write(const struct table *t, size_t lines, struct buf *out)
{
	/* The line that says how many more takes the place of one. */
	size_t room = table_lines(t) <= lines ? lines
		      : lines > 0             ? lines - 1
					      : 0;
	size_t row = 1;

	write_row(t, 0, out);
	for (; row < t->count && height_of(t, row) <= room; row++) {
		room -= height_of(t, row);
		write_row(t, row, out);
	}
	if (row < t->count)
		(void)buf_printf(out, "... %zu more\n", t->count - row);
}
