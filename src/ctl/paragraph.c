/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/paragraph.h"

#include <string.h>

#include "base/buf.h"

#define BLANKS " \t\r\n"

void
paragraph_write(struct buf *out, int indent, const char *text)
{
	size_t column = 0;

	text += strspn(text, BLANKS);
	while (*text != '\0') {
		size_t len = strcspn(text, BLANKS);

		if (column > 0 && column + 1 + len > PARAGRAPH_WIDTH) {
			(void)buf_append_str(out, "\n");
			column = 0;
		}
		if (column == 0) {
			(void)buf_printf(out, "%*s", indent, "");
			column = (size_t)indent;
		} else {
			(void)buf_append_str(out, " ");
			column++;
		}
		(void)buf_append(out, text, len);
		column += len;
		text += len;
		text += strspn(text, BLANKS);
	}
	if (column > 0)
		(void)buf_append_str(out, "\n");
}
