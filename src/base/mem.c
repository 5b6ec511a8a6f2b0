/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Without stdio or the log: both may want memory. */
static _Noreturn void
out_of_memory(void)
{
	static const char text[] = "out of memory\n";

	if (write(STDERR_FILENO, text, sizeof(text) - 1) == -1) {
		/* There is nothing left to tell anybody. */
	}
	abort();
}

static void *
or_abort(void *p)
{
	if (p == NULL)
		out_of_memory();
	return p;
}

void *
xmalloc0(size_t size)
{
	return xcalloc(1, size);
}

void *
xcalloc(size_t count, size_t size)
{
	/* calloc(0) may return NULL, which would look like a failure. */
	if (count == 0 || size == 0)
		return or_abort(calloc(1, 1));
	return or_abort(calloc(count, size));
}

void *
xrealloc(void *p, size_t size)
{
	return or_abort(realloc(p, size > 0 ? size : 1));
}

char *
xstrdup(const char *s)
{
	return or_abort(strdup(s));
}

char *
xstrndup(const char *s, size_t max)
{
	return or_abort(strndup(s, max));
}

char *
xasprintf(const char *fmt, ...)
{
	va_list ap;
	char *text;

	va_start(ap, fmt);
	text = xvasprintf(fmt, ap);
	va_end(ap);
	return text;
}

char *
xvasprintf(const char *fmt, va_list ap)
{
	char *text;

	if (vasprintf(&text, fmt, ap) == -1)
		out_of_memory();
	return text;
}

void
free_ptr(void *pointer_to_pointer)
{
	void *p;

	/* Not through a void **: that would alias the pointer's own type. */
	memcpy(&p, pointer_to_pointer, sizeof(p));
	free(p);
	p = NULL;
	memcpy(pointer_to_pointer, &p, sizeof(p));
}
