/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CTL_CHECKS_H
#define CTL_CHECKS_H

/*
 * checks - what was looked at, with a result and a reason each.
 *
 * A JSON array of {"where", "what", "result", "detail"}, in the order in which
 * it was looked at; result is "ok", "fail", "note" or "unknown".
 *
 * Threading: one thread.
 */

#include <stddef.h>

#include "base/js.h"

enum check_result {
	CHECK_OK,
	CHECK_FAIL,
	CHECK_NOTE,    /* neither good nor bad */
	CHECK_UNKNOWN, /* could not be looked at */
	CHECK_RESULT_COUNT,
};

/* where groups them: a node's name, or "machine". */
void checks_add(json_t *checks, const char *where, enum check_result result,
		const char *what, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));

/* How many have this result; of one place, or of all for NULL. */
size_t checks_count(const json_t *checks, const char *where,
		    enum check_result result);

/* The same with those of one place together, in the order in which places came
 * up; a new reference. */
json_t *checks_grouped(const json_t *checks);

/* A table for people, grouped by where, without what would steer a terminal; to
 * be freed. */
char *checks_text(const json_t *checks);

#endif
