/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_TESTJSON_H
#define API_TESTJSON_H

/*
 * testjson - objects in the tests of this directory, and what checks say of
 * them.
 */

#include "base/jsat.h"
#include "base/testjson.h"
#include "meta/status.h"

/* What a check said: its code, message and the only cause's reason and field;
 * NULL for no field. Empties st. */
static inline void
assert_denied(struct status *st, const char *message, const char *reason,
	      const char *field)
{
	const json_t *causes = js_arr_at(st->details, "causes");
	const json_t *cause = json_array_get(causes, 0);

	assert_string_equal(st->message, message);
	assert_int_equal(st->code, 422);
	assert_string_equal(st->reason, "Invalid");
	assert_int_equal(json_array_size(causes), 1);
	assert_string_equal(js_str_at(cause, "message"), message);
	assert_string_equal(js_str_at(cause, "reason"), reason);
	assert_string_equal(js_str_at(cause, "field"),
			    field == NULL ? "" : field);
	status_done(st);
}

/* The same for one without causes. */
static inline void
assert_failed(struct status *st, const char *message)
{
	assert_string_equal(st->message, message);
	assert_int_equal(st->code, 400);
	assert_null(st->reason);
	assert_null(st->details);
	status_done(st);
}

#endif
