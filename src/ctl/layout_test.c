/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/layout.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/test.h"

static void
test_a_cgroup_is_of_the_cluster_that_its_whole_name_says(void **state)
{
	static const struct {
		const char *name, *cgroups;
		bool has;
	} cases[] = {
		{ "a", "0::/ferry-a-node1\n", true },
		{ "a", "0::/ferry-a-node12", true },
		{ "a", "0::/ferry-a-node2/podu/c-0\n", true },
		{ "a", "0::/outer/ferry-a-node2/podu/c-0\n", true },
		{ "a", "4:cpu:/\n3:pids:/ferry-a-node1/podu\n0::/x\n", true },
		{ "a", "0::/ferry-a-node2-node1/podu/c-0\n", false },
		{ "a-node2", "0::/ferry-a-node2-node1/podu/c-0\n", true },
		{ "a-node2", "0::/ferry-a-node2/podu/c-0\n", false },
		{ "a", "0::/ferry-a-nodes\n", false },
		{ "a", "0::/ferry-a-node\n", false },
		{ "a", "0::/ferry-a-node/1\n", false },
		{ "a", "0::/ferry-b-node1\n", false },
		{ "a", "0::/xferry-a-node1\n", false },
		{ "a", "", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(layout_done) struct layout layout = { 0 };
		struct err err;

		assert_int_equal(
			layout_init(&layout, "/d", cases[i].name, 2, &err), 0);
		if (layout_has_cgroup(&layout, cases[i].cgroups) !=
		    cases[i].has)
			fail_msg("cluster '%s', '%s'", cases[i].name,
				 cases[i].cgroups);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_a_cgroup_is_of_the_cluster_that_its_whole_name_says),
	};

	return cmocka_run_group_tests_name("layout", tests, NULL, NULL);
}
