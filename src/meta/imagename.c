/* SPDX-License-Identifier: Apache-2.0 */
#include "meta/imagename.h"

#include <ctype.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

#define HEX_BASE 16

int
imagename_escape(const char *name, char escaped[IMAGENAME_ESCAPED_MAX])
{
	size_t len = strlen(name), n = 0;

	if (len == 0 || len > IMAGENAME_MAX || name[0] == '.')
		return -1;
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)name[i];

		if (c <= ' ' || c >= 0x7f)
			return -1;
		if (isalnum(c) || strchr("._-", c) != NULL)
			escaped[n++] = (char)c;
		else
			n += (size_t)snprintf(escaped + n, 4, "%%%02X", c);
	}
	escaped[n] = '\0';
	return 0;
}

void
imagename_unescape(const char *escaped, char name[IMAGENAME_MAX + 1])
{
	size_t n = 0;

	while (*escaped != '\0' && n < IMAGENAME_MAX) {
		int high = -1, low = -1;

		if (escaped[0] == '%')
			high = str_hex_digit(escaped[1]);
		if (high != -1)
			low = str_hex_digit(escaped[2]);
		if (low != -1) {
			name[n++] = (char)(high * HEX_BASE + low);
			escaped += 3;
		} else {
			name[n++] = *escaped++;
		}
	}
	name[n] = '\0';
}
