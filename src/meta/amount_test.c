/* SPDX-License-Identifier: Apache-2.0 */
#include "meta/amount.h"

#include "base/cleanup.h"
#include "base/testjson.h"

static void
assert_pod(const char *text, const char *list, const char *resource,
	   const char *expected)
{
	AUTO(js_unref) json_t *pod = testjson(text);
	char number[QUANTITY_TEXT_SIZE];
	struct quantity q;
	bool found = amount_of_pod(pod, list, resource, &q);

	assert_string_equal(found ? quantity_text(&q, number, sizeof(number))
				  : "none",
			    expected);
}

static void
test_containers_add_up(void **state)
{
	static const char pod[] =
		"{'spec':{'containers':["
		"{'resources':{'requests':{'cpu':'100m','memory':'1Gi'}}},"
		"{'resources':{'requests':{'cpu':1},'limits':{'cpu':'2'}}},"
		"{}]}}";

	(void)state;
	assert_pod(pod, "requests", "cpu", "1100m");
	assert_pod(pod, "requests", "memory", "1Gi");
	assert_pod(pod, "limits", "cpu", "2");
	assert_pod(pod, "limits", "memory", "none");
}

static void
test_init_containers_count_by_their_largest(void **state)
{
	static const char larger[] =
		"{'spec':{'containers':[{'resources':{'requests':{'cpu':'1'}}}]"
		","
		"'initContainers':[{'resources':{'requests':{'cpu':'3'}}},"
		"{'resources':{'requests':{'cpu':'2'}}}]}}";
	static const char smaller[] =
		"{'spec':{'containers':[{'resources':{'requests':{'cpu':'4'}}}]"
		","
		"'initContainers':[{'resources':{'requests':{'cpu':'3'}}}]}}";

	(void)state;
	assert_pod(larger, "requests", "cpu", "3");
	assert_pod(smaller, "requests", "cpu", "4");
}

static void
test_init_containers_that_stay_count_beside_the_others(void **state)
{
	static const char pod[] = "{'spec':{'containers':[{'resources':{'"
				  "requests':{'cpu':'1'}}}],"
				  "'initContainers':["
				  "{'restartPolicy':'Always',"
				  "'resources':{'requests':{'cpu':'2'}}},"
				  "{'resources':{'requests':{'cpu':'4'}}}]}}";

	(void)state;
	/* 2 + 4 while starting, 1 + 2 afterwards. */
	assert_pod(pod, "requests", "cpu", "6");
}

static void
test_overhead_adds_to_requests_and_to_limits_that_are_set(void **state)
{
	static const char pod[] =
		"{'spec':{'overhead':{'cpu':'250m','memory':'1Mi'},"
		"'containers':[{'resources':{'limits':{'cpu':'1'}}}]}}";

	(void)state;
	assert_pod(pod, "requests", "cpu", "250m");
	assert_pod(pod, "limits", "cpu", "1250m");
	assert_pod(pod, "limits", "memory", "none");
}

static void
test_what_is_no_quantity_counts_as_nothing(void **state)
{
	static const char pod[] =
		"{'spec':{'containers':["
		"{'resources':{'requests':{'cpu':'much','memory':[]}}}]}}";

	(void)state;
	assert_pod(pod, "requests", "cpu", "none");
	assert_pod(pod, "requests", "memory", "none");
	assert_pod("{}", "requests", "cpu", "none");
	assert_pod("{'spec':{'containers':{}}}", "requests", "cpu", "none");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_containers_add_up),
		cmocka_unit_test(test_init_containers_count_by_their_largest),
		cmocka_unit_test(
			test_init_containers_that_stay_count_beside_the_others),
		cmocka_unit_test(
			test_overhead_adds_to_requests_and_to_limits_that_are_set),
		cmocka_unit_test(test_what_is_no_quantity_counts_as_nothing),
	};

	return cmocka_run_group_tests_name("amount", tests, NULL, NULL);
}
