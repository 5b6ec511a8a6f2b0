/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_STR_H
#define BASE_STR_H

/*
 * str - text to numbers and back, and tests on text.
 *
 * Parsers take the whole text or fail: no leading blanks, no trailing bytes,
 * no sign where none is allowed, no silent overflow. Errors name the text.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

bool str_equal(const char *a, const char *b); /* NULL equals NULL only */
bool str_has_prefix(const char *s, const char *prefix);
bool str_has_suffix(const char *s, const char *suffix);

/* Decimal, within [min, max]. what is named in the error ("--port"). */
int str_to_u64(const char *s, const char *what, uint64_t min, uint64_t max,
	       uint64_t *ret_value, struct err *err);

/* Bytes: a number with an optional K, M, G, T or Ki, Mi, Gi, Ti suffix. */
int str_to_bytes(const char *s, const char *what, uint64_t *ret_bytes,
		 struct err *err);

/* A duration to milliseconds: 250ms, 10s, 2m, 1h; a bare number is seconds. */
int str_to_ms(const char *s, const char *what, uint64_t *ret_ms,
	      struct err *err);

/*
 * Whether s can be part of a file name: 1 to max characters of
 * [A-Za-z0-9._-], not starting with a dot or a dash.
 */
bool str_is_name(const char *s, size_t max);

/* A copy with A to Z in lower case. */
char *str_lower(const char *s);

/* 0 to 15, or -1 for what is no hexadecimal digit. */
int str_hex_digit(char c);

/*
 * The length of the well-formed UTF-8 sequence at text, or 0: overlong forms,
 * surrogates and what lies beyond U+10FFFF are not well-formed. The NUL at its
 * end counts as a character, and nothing behind it is read.
 */
size_t str_utf8_len(const char *text);

/* A copy in which U+FFFD stands for each byte that is no UTF-8. */
char *str_to_utf8(const char *s);

/* "1.5 GiB", "17 KiB", "12 B" into buf; returns buf. */
const char *str_from_bytes(uint64_t bytes, char *buf, size_t size);

#endif
