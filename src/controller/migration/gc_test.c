/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/migration/gc.h"

#include "base/test.h"
#include "controller/migration/testfacts.h"

static struct testfacts t;

/* Ended at the same second as the migration itself, with this version. */
static struct vmim *
other_of(char *version)
{
	struct vmim *other = testfacts_other(&t, 0, MIGRATION_SUCCEEDED, 0);

	other->meta.created_us = t.vmim.meta.created_us;
	other->meta.version = version;
	return other;
}

static void
test_of_one_second_those_are_kept_that_ended_last(void **state)
{
	static char own[] = "100", before[] = "99", after[] = "101";

	(void)state;
	testfacts_in(&t, MIGRATION_SUCCEEDED);
	t.vmim.meta.version = own;
	for (unsigned i = 0; i < GC_KEPT; i++)
		(void)other_of(before);
	assert_false(gc_is_surplus(&t.f));

	testfacts_in(&t, MIGRATION_SUCCEEDED);
	t.vmim.meta.version = own;
	for (unsigned i = 0; i < GC_KEPT - 1; i++)
		(void)other_of(after);
	assert_false(gc_is_surplus(&t.f));
	(void)other_of(after);
	assert_true(gc_is_surplus(&t.f));
}

/* Its version is that of its deletion, and it is not kept anyway. */
static void
test_one_that_is_being_deleted_takes_no_place(void **state)
{
	static char own[] = "100", after[] = "101";

	(void)state;
	testfacts_in(&t, MIGRATION_SUCCEEDED);
	t.vmim.meta.version = own;
	for (unsigned i = 0; i < GC_KEPT - 1; i++)
		(void)other_of(after);
	other_of(after)->meta.deleted_us = 1;
	assert_false(gc_is_surplus(&t.f));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_of_one_second_those_are_kept_that_ended_last),
		cmocka_unit_test(test_one_that_is_being_deleted_takes_no_place),
	};

	return cmocka_run_group_tests_name("gc", tests, NULL, NULL);
}
