/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/instance/naming.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/test.h"
#include "meta/names.h"

static void
test_the_same_cause_has_the_same_name(void **state)
{
	AUTO(free_ptr) char *a = naming_derive("virt-launcher-vm-", "u1", 0);
	AUTO(free_ptr) char *b = naming_derive("virt-launcher-vm-", "u1", 0);

	(void)state;
	assert_string_equal(a, b);
	assert_int_equal(strlen(a), strlen("virt-launcher-vm-") + 5);
	assert_true(name_ok(NAME_DNS1123_LABEL, a));
}

static void
test_other_causes_and_attempts_have_other_names(void **state)
{
	AUTO(free_ptr) char *a = naming_derive("x-", "u1", 0);
	AUTO(free_ptr) char *b = naming_derive("x-", "u2", 0);
	AUTO(free_ptr) char *c = naming_derive("x-", "u1", 1);

	(void)state;
	assert_string_not_equal(a, b);
	assert_string_not_equal(a, c);
}

static void
test_long_names_are_cut_to_what_a_host_can_be_called(void **state)
{
	char base[200];
	AUTO(free_ptr) char *name = NULL;

	(void)state;
	memset(base, 'a', sizeof(base) - 1);
	base[sizeof(base) - 1] = '\0';
	name = naming_derive(base, "u1", 0);
	assert_int_equal(strlen(name), NAME_LABEL_MAX);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_same_cause_has_the_same_name),
		cmocka_unit_test(
			test_other_causes_and_attempts_have_other_names),
		cmocka_unit_test(
			test_long_names_are_cut_to_what_a_host_can_be_called),
	};

	return cmocka_run_group_tests_name("naming", tests, NULL, NULL);
}
