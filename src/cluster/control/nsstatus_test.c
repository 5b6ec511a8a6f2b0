/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/control/nsstatus.h"

#include "base/jsat.h"
#include "base/test.h"
#include "cluster/control/testjson.h"

static void
test_what_remains_is_named_in_order(void **state)
{
	json_t *remaining = testjson("{'pods.':2,'configmaps.':1,"
				     "'widgets.example.com':3}");
	json_t *finalizers = testjson("{'example.com/x':4}");
	json_t *conditions = nsstatus_conditions(remaining, finalizers, "now");
	const json_t *content =
		js_find(conditions, "type", "NamespaceContentRemaining");
	const json_t *waits =
		js_find(conditions, "type", "NamespaceFinalizersRemaining");

	(void)state;
	assert_int_equal(json_array_size(conditions), 5);
	assert_string_equal(js_str_at(content, "status"), "True");
	assert_string_equal(js_str_at(content, "reason"),
			    "SomeResourcesRemain");
	assert_string_equal(
		js_str_at(content, "message"),
		"Some resources are remaining: configmaps. has 1 resource "
		"instances, pods. has 2 resource instances, "
		"widgets.example.com has 3 resource instances");
	assert_string_equal(js_str_at(waits, "status"), "True");
	assert_string_equal(js_str_at(waits, "message"),
			    "Some content in the namespace has finalizers "
			    "remaining: example.com/x in 4 resource instances");
	json_decref(remaining);
	json_decref(finalizers);
	json_decref(conditions);
}

static void
test_an_empty_namespace_has_nothing_to_complain(void **state)
{
	json_t *conditions = nsstatus_conditions(NULL, NULL, "now");
	size_t i;
	json_t *each;

	(void)state;
	json_array_foreach(conditions, i, each)
		assert_string_equal(js_str_at(each, "status"), "False");
	json_decref(conditions);
}

static void
test_only_what_differs_in_substance_is_written(void **state)
{
	json_t *remaining = testjson("{'pods.':2}");
	json_t *old = nsstatus_conditions(remaining, NULL, "before");
	json_t *same = nsstatus_conditions(remaining, NULL, "later");
	json_t *other = nsstatus_conditions(NULL, NULL, "later");
	json_t *ns = json_pack("{s:{s:o}}", "status", "conditions", old);

	(void)state;
	assert_true(nsstatus_is_current(ns, same));
	assert_false(nsstatus_is_current(ns, other));
	assert_false(nsstatus_is_current(remaining, same));
	json_decref(remaining);
	json_decref(same);
	json_decref(other);
	json_decref(ns);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_remains_is_named_in_order),
		cmocka_unit_test(
			test_an_empty_namespace_has_nothing_to_complain),
		cmocka_unit_test(
			test_only_what_differs_in_substance_is_written),
	};

	return cmocka_run_group_tests_name("nsstatus", tests, NULL, NULL);
}
