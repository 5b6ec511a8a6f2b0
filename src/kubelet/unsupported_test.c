/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/unsupported.h"

#include <string.h>

#include "base/err.h"
#include "base/test.h"

static void
expect(const char *text, const char *path)
{
	struct err err = { .text = "" };
	json_t *pod = js_parse(text, strlen(text), &err);

	assert_non_null(pod);
	if (path == NULL) {
		assert_int_equal(unsupported_check(pod, &err), 0);
	} else {
		assert_int_equal(unsupported_check(pod, &err), -1);
		assert_non_null(strstr(err.text, path));
		assert_int_equal(err.kind, ERR_INVALID);
	}
	json_decref(pod);
}

static void
test_what_would_be_ignored_is_named_by_its_path(void **state)
{
	(void)state;
	expect("{\"spec\":{\"containers\":[{},{\"livenessProbe\":"
	       "{\"exec\":{}}}]}}",
	       "spec.containers[1].livenessProbe");
	expect("{\"spec\":{\"containers\":[{\"volumeDevices\":[{}]}]}}",
	       "spec.containers[0].volumeDevices");
	expect("{\"spec\":{\"initContainers\":[{\"restartPolicy\":"
	       "\"Always\"}]}}",
	       "spec.initContainers[0].restartPolicy");
	expect("{\"spec\":{\"activeDeadlineSeconds\":5}}",
	       "spec.activeDeadlineSeconds");
	expect("{\"spec\":{\"containers\":[{\"lifecycle\":{\"preStop\":{}}}]}}",
	       "spec.containers[0].lifecycle");
}

static void
test_what_says_nothing_is_nothing(void **state)
{
	(void)state;
	expect("{}", NULL);
	expect("{\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{"
	       "\"name\":\"c\"}]}}",
	       NULL);
	expect("{\"spec\":{\"shareProcessNamespace\":false,\"containers\":[{"
	       "\"livenessProbe\":null,\"lifecycle\":{},\"volumeDevices\":[]"
	       "}]}}",
	       NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_what_would_be_ignored_is_named_by_its_path),
		cmocka_unit_test(test_what_says_nothing_is_nothing),
	};

	return cmocka_run_group_tests_name("unsupported", tests, NULL, NULL);
}
