/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/url.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "base/str.h"

void
url_escape(struct buf *buf, const char *text, const char *extra)
{
	static const char hex[] = "0123456789ABCDEF";
	bool dots = str_equal(text, ".") || str_equal(text, "..");

	for (const char *p = text; *p != '\0'; p++) {
		unsigned char c = (unsigned char)*p;
		char code[3] = { '%', hex[c >> 4], hex[c & 15] };
		bool plain = c < 0x80 &&
			     (isalnum(c) || strchr("-_~", c) != NULL ||
			      (c == '.' && !dots) || strchr(extra, c) != NULL);

		(void)buf_append(buf, plain ? p : code, plain ? 1 : 3);
	}
}

void
url_add_param(struct buf *url, const char *name, const char *value)
{
	bool first;

	if (value == NULL || *value == '\0')
		return;
	first = memchr(url->data, '?', url->len) == NULL;
	(void)buf_printf(url, "%c%s=", first ? '?' : '&', name);
	url_escape(url, value, "");
}
