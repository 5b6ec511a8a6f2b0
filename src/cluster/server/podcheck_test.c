/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/array.h"
#include "base/test.h"
#include "cluster/server/podcheck.h"
#include "meta/causes.h"

static void
check(const char *pod, const char *wanted)
{
	struct causes causes = CAUSES_INIT;
	json_t *value = json_loads(pod, 0, NULL);
	char *text;

	assert_non_null(value);
	podcheck_containers(value, &causes);
	text = causes_text(&causes);
	assert_string_equal(causes_count(&causes) == 0 ? "" : text, wanted);
	free(text);
	causes_done(&causes);
	json_decref(value);
}

static void
test_a_right_pod_has_no_causes(void **state)
{
	(void)state;
	check("{\"spec\":{\"volumes\":[{\"name\":\"v\"}],\"containers\":[{"
	      "\"name\":\"a\",\"volumeMounts\":[{\"name\":\"v\"}],"
	      "\"resources\":{\"requests\":{\"cpu\":\"1000m\"},"
	      "\"limits\":{\"cpu\":\"1\"}}},{\"name\":\"b\"}]}}",
	      "");
	check("{}", "");
}

static void
test_names_are_given_once(void **state)
{
	(void)state;
	check("{\"spec\":{\"containers\":[{\"name\":\"a\"},{\"name\":\"b\"},"
	      "{\"name\":\"a\"}]}}",
	      "spec.containers[2].name: Duplicate value: \"a\"");
	check("{\"spec\":{\"volumes\":[{\"name\":\"v\"},{\"name\":\"v\"}]}}",
	      "spec.volumes[1].name: Duplicate value: \"v\"");
}

static void
test_only_volumes_of_the_pod_are_mounted(void **state)
{
	(void)state;
	check("{\"spec\":{\"volumes\":[{\"name\":\"v\"}],\"initContainers\":[{"
	      "\"name\":\"a\",\"volumeMounts\":[{\"name\":\"v\"},"
	      "{\"name\":\"w\"}]}]}}",
	      "spec.initContainers[0].volumeMounts[1].name: Not found: \"w\"");
}

static void
test_no_more_is_requested_than_is_allowed(void **state)
{
	(void)state;
	check("{\"spec\":{\"containers\":[{\"name\":\"a\",\"resources\":{"
	      "\"requests\":{\"cpu\":\"1001m\",\"memory\":\"1Gi\"},"
	      "\"limits\":{\"cpu\":\"1\"}}}]}}",
	      "spec.containers[0].resources.requests: Invalid value: "
	      "\"1001m\": must be less than or equal to cpu limit of 1");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_right_pod_has_no_causes),
		cmocka_unit_test(test_names_are_given_once),
		cmocka_unit_test(test_only_volumes_of_the_pod_are_mounted),
		cmocka_unit_test(test_no_more_is_requested_than_is_allowed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
