/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/migration/testdecide.h"

#include <string.h>

#include "base/test.h"

struct testfacts t;
struct decision d;

void
run(void)
{
	decide(&t.f, &d);
}

void
cancel(void)
{
	t.vmim.meta.deleted_us = TESTFACTS_NOW_US;
}

void
later(int64_t seconds)
{
	t.f.now_us += seconds * SECOND;
}

const struct decision_cond *
find_cond(const char *type)
{
	for (size_t i = 0; i < d.cond_count; i++) {
		if (strcmp(d.conds[i].type, type) == 0)
			return &d.conds[i];
	}
	return NULL;
}

void
expect_cond(const char *type, const char *reason)
{
	const struct decision_cond *cond = find_cond(type);

	assert_non_null(cond);
	assert_false(cond->remove);
	assert_string_equal(cond->reason, reason);
}

void
expect_event(size_t i, bool on_vmi, const char *reason, const char *text)
{
	assert_true(i < d.event_count);
	assert_int_equal(d.events[i].on_vmi, on_vmi);
	assert_string_equal(d.events[i].reason, reason);
	assert_string_equal(d.events[i].text, text);
}
