/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_MEM_H
#define BASE_MEM_H

/*
 * mem - memory that is there or the program ends.
 *
 * Running out of memory aborts; therefore every size that comes from a peer is
 * limited before anything is allocated. All return zeroed memory except
 * xrealloc()'s grown part.
 */

#include <stdarg.h>
#include <stddef.h>

void *xmalloc0(size_t size) __attribute__((returns_nonnull));
void *xcalloc(size_t count, size_t size) __attribute__((returns_nonnull));
void *xrealloc(void *p, size_t size) __attribute__((returns_nonnull));
char *xstrdup(const char *s) __attribute__((returns_nonnull));
char *xstrndup(const char *s, size_t max) __attribute__((returns_nonnull));
char *xasprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
char *xvasprintf(const char *fmt, va_list ap)
	__attribute__((format(printf, 1, 0)));

/* For AUTO(free_ptr): releases what a pointer variable owns. */
void free_ptr(void *pointer_to_pointer);

#endif
