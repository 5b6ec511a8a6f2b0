/* SPDX-License-Identifier: Apache-2.0 */
#include "webhook/who.h"

#include "base/array.h"
#include "base/test.h"

static void
test_only_the_accounts_of_the_namespace_are_ours(void **state)
{
	static const struct {
		const char *user;
		enum who who;
	} cases[] = {
		{ "system:serviceaccount:kv:kubevirt-api", WHO_API },
		{ "system:serviceaccount:kv:kubevirt-controller",
		  WHO_CONTROLLER },
		{ "system:serviceaccount:kv:kubevirt-handler", WHO_HANDLER },
		{ "system:serviceaccount:kv:kubevirt-operator", WHO_OPERATOR },
		{ "system:serviceaccount:kv:kubevirt-api2", WHO_OTHER },
		{ "system:serviceaccount:kv:kubevirt", WHO_OTHER },
		{ "system:serviceaccount:kv:", WHO_OTHER },
		{ "system:serviceaccount:kv", WHO_OTHER },
		{ "system:serviceaccount:k:kubevirt-api", WHO_OTHER },
		{ "system:serviceaccount:kv2:kubevirt-api", WHO_OTHER },
		{ "system:serviceaccount:other:kubevirt-api", WHO_OTHER },
		{ "system:serviceaccount:", WHO_OTHER },
		{ "kubevirt-api", WHO_OTHER },
		{ "", WHO_OTHER },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct check_user user = who_check_user(cases[i].user, "kv");

		assert_int_equal(who_is(cases[i].user, "kv"), cases[i].who);
		assert_int_equal(user.internal, cases[i].who != WHO_OTHER);
		assert_int_equal(user.controller,
				 cases[i].who == WHO_CONTROLLER);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_only_the_accounts_of_the_namespace_are_ours),
	};

	return cmocka_run_group_tests_name("who", tests, NULL, NULL);
}
