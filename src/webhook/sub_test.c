/* SPDX-License-Identifier: Apache-2.0 */
#include "webhook/sub.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/test.h"
#include "webhook/discovery.h"

#define BASE "/apis/subresources.kubevirt.io/"

static void
test_paths_of_subresources_are_taken_apart(void **state)
{
	struct sub_path path;

	(void)state;
	for (size_t i = 0; i < sub_route_count; i++) {
		AUTO(free_ptr)
		char *text =
			xasprintf(BASE "v1alpha3/namespaces/n-1/%s/a.b/%s",
				  sub_routes[i].resource, sub_routes[i].name);

		assert_true(sub_parse(text, &path));
		assert_ptr_equal(path.route, &sub_routes[i]);
		assert_string_equal(path.version, "v1alpha3");
		assert_string_equal(path.ns, "n-1");
		assert_string_equal(path.name, "a.b");
		free(path.ns);
		free(path.name);
	}
}

static void
test_other_paths_lead_nowhere(void **state)
{
	static const char *const paths[] = {
		"",
		"/",
		"/apis",
		BASE,
		BASE "v1",
		BASE "v1/",
		BASE "v1/namespaces",
		BASE "v1/namespaces/",
		BASE "v1/namespaces/n",
		BASE "v1/namespaces/n/virtualmachines/m",
		BASE "v1/namespaces/n/virtualmachines/m/",
		BASE "v1/namespaces/n/virtualmachines//start",
		BASE "v1/namespaces//virtualmachines/m/start",
		BASE "v2/namespaces/n/virtualmachines/m/start",
		BASE "v1x/namespaces/n/virtualmachines/m/start",
		BASE "v1/namespaces/n/virtualmachines/M/start",
		BASE "v1/namespaces/n.n/virtualmachines/m/start",
		BASE "v1/namespaces/n/virtualmachines/%2e/start",
		BASE "v1/namespaces/n/virtualmachines/m/start/",
		BASE "v1/namespaces/n/virtualmachines/m/evacuate",
		BASE "v1/namespaces/n/pods/m/start",
		"x" BASE "v1/namespaces/n/virtualmachines/m/start",
	};
	struct sub_path path;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(paths); i++)
		assert_false(sub_parse(paths[i], &path));
}

static void
test_discovery_has_a_document_for_each_version(void **state)
{
	static const char *const without[] = {
		"/",        "/apis/other",  BASE "v2",
		BASE "v1x", BASE "v1/none", "/openapi/v3"
	};
	AUTO(js_unref) json_t *group = discovery_document(BASE);

	(void)state;
	assert_string_equal(js_str_at(group, "kind"), "APIGroup");
	for (size_t i = 0; sub_versions[i] != NULL; i++) {
		AUTO(free_ptr)
		char *path = xasprintf(BASE "%s", sub_versions[i]);
		AUTO(js_unref) json_t *list = discovery_document(path);

		assert_int_equal(json_array_size(js_at(list, "resources")),
				 sub_route_count);
	}
	for (size_t i = 0; i < ARRAY_LEN(without); i++)
		assert_null(discovery_document(without[i]));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paths_of_subresources_are_taken_apart),
		cmocka_unit_test(test_other_paths_lead_nowhere),
		cmocka_unit_test(
			test_discovery_has_a_document_for_each_version),
	};

	js_init();
	return cmocka_run_group_tests_name("sub", tests, NULL, NULL);
}
