/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/setup.h"

#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/test.h"

static void
test_kvm_is_used_where_it_works_and_nobody_minds(void **state)
{
	static const struct {
		enum setup_kvm wish;
		bool runs, vhost_net, uses;
		const char *why; /* it fails */
	} cases[] = {
		{ SETUP_KVM_AUTO, true, true, true, NULL },
		{ SETUP_KVM_AUTO, true, false, false, NULL },
		{ SETUP_KVM_AUTO, false, true, false, NULL },
		{ SETUP_KVM_NO, true, true, false, NULL },
		{ SETUP_KVM_NO, false, false, false, NULL },
		{ SETUP_KVM_YES, true, true, true, NULL },
		{ SETUP_KVM_YES, true, false, false, "/dev/vhost-net" },
		{ SETUP_KVM_YES, false, true, false, "no vCPU" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		bool uses = !cases[i].uses;
		struct err err;
		int r = setup_choose_kvm(cases[i].wish, cases[i].runs,
					 cases[i].vhost_net, &uses, &err);

		assert_int_equal(r, cases[i].why == NULL ? 0 : -1);
		if (cases[i].why == NULL)
			assert_int_equal(uses, cases[i].uses);
		else
			assert_non_null(strstr(err.text, cases[i].why));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_kvm_is_used_where_it_works_and_nobody_minds),
	};

	return cmocka_run_group_tests_name("setup", tests, NULL, NULL);
}
