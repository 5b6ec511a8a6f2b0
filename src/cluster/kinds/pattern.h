/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_KINDS_PATTERN_H
#define CLUSTER_KINDS_PATTERN_H

/*
 * pattern - regular expressions of schemas.
 *
 * They are written for RE2 or ECMAScript; PCRE understands what both have in
 * common the same way. Look-around and back references, which RE2 refuses,
 * are refused here too. A text that takes too many steps does not match, so
 * that no pattern can hold the server up.
 */

#include <stdbool.h>
#include <stddef.h>

struct err;
struct pattern;

#define PATTERN_MAX_BYTES 16384

struct pattern *pattern_compile(const char *text, struct err *err);
void pattern_free(struct pattern *pattern); /* NULL is fine */

/* Whether it occurs anywhere in the text. */
bool pattern_matches(const struct pattern *pattern, const char *text,
		     size_t len);

const char *pattern_text(const struct pattern *pattern);

#endif
