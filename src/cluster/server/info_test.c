/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/mem.h"
#include "base/test.h"
#include "cluster/server/info.h"
#include "meta/status.h"

static const struct {
	const char *method;
	const char *path;
	bool watch;
	unsigned verb;
	const char *group, *version, *ns, *resource, *name, *sub;
} resources[] = {
	{ "GET", "/api/v1/pods", false, VERB_LIST, "", "v1", "", "pods", "",
	  "" },
	{ "GET", "/api/v1/pods", true, VERB_WATCH, "", "v1", "", "pods", "",
	  "" },
	{ "GET", "/api/v1/watch/pods", false, VERB_WATCH, "", "v1", "", "pods",
	  "", "" },
	{ "GET", "/api/v1/namespaces/w/pods/a", true, VERB_GET, "", "v1", "w",
	  "pods", "a", "" },
	{ "GET", "/api/v1/namespaces", false, VERB_LIST, "", "v1", "",
	  "namespaces", "", "" },
	{ "DELETE", "/api/v1/namespaces/w", false, VERB_DELETE, "", "v1", "w",
	  "namespaces", "w", "" },
	{ "PUT", "/api/v1/namespaces/w/finalize", false, VERB_UPDATE, "", "v1",
	  "w", "namespaces", "w", "finalize" },
	{ "PUT", "/api/v1/namespaces/w/status", false, VERB_UPDATE, "", "v1",
	  "w", "namespaces", "w", "status" },
	{ "POST", "/api/v1/namespaces/w/pods/p/eviction", false, VERB_CREATE,
	  "", "v1", "w", "pods", "p", "eviction" },
	{ "PATCH",
	  "/apis/kubevirt.io/v1/namespaces/w/virtualmachineinstances/vm", false,
	  VERB_PATCH, "kubevirt.io", "v1", "w", "virtualmachineinstances", "vm",
	  "" },
	{ "DELETE", "/apis/kubevirt.io/v1/namespaces/w/kubevirts", false,
	  VERB_DELETECOLLECTION, "kubevirt.io", "v1", "w", "kubevirts", "",
	  "" },
	{ "GET", "/api/v1/namespaces/w/services/s/proxy/a/b/c", false, VERB_GET,
	  "", "v1", "w", "services", "s", "proxy/a/b/c" },
	{ "GET", "//api//v1//nodes/n%31", false, VERB_GET, "", "v1", "",
	  "nodes", "n1", "" },
	{ "BREW", "/api/v1/nodes", false, 0, "", "v1", "", "nodes", "", "" },
};

static void
test_reads_what_a_path_is_about(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(resources); i++) {
		struct status st = STATUS_INIT;
		struct info info;

		assert_int_equal(info_parse(resources[i].method,
					    resources[i].path,
					    resources[i].watch, &info, &st),
				 0);
		assert_true(info.is_resource);
		assert_int_equal(info.verb, resources[i].verb);
		assert_string_equal(info.group, resources[i].group);
		assert_string_equal(info.version, resources[i].version);
		assert_string_equal(info.namespace_, resources[i].ns);
		assert_string_equal(info.resource, resources[i].resource);
		assert_string_equal(info.name, resources[i].name);
		assert_string_equal(info.subresource, resources[i].sub);
		info_done(&info);
	}
}

static void
test_leaves_other_paths_as_paths(void **state)
{
	static const char *const paths[] = {
		"/",          "/version", "/api",
		"/api/v1",    "/apis",    "/apis/g",
		"/apis/g/v1", "/healthz", "/openapi/v3/api/v1"
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		struct status st = STATUS_INIT;
		struct info info;

		assert_int_equal(info_parse("GET", paths[i], false, &info, &st),
				 0);
		assert_false(info.is_resource);
		assert_string_equal(info.path, paths[i]);
		assert_string_equal(info.method, "get");
		info_done(&info);
	}
}

static void
test_refuses_broken_and_endless_paths(void **state)
{
	struct status st = STATUS_INIT;
	char *longer = xmalloc0(INFO_PATH_MAX + 3);
	char *deep = xmalloc0(INFO_PATH_MAX + 1);
	struct info info;

	(void)state;
	memset(longer, '/', INFO_PATH_MAX + 2);
	for (size_t i = 0; i + 2 < INFO_PATH_MAX; i += 2)
		memcpy(deep + i, "/a", 3);
	assert_int_equal(info_parse("GET", longer, false, &info, &st), -1);
	info_done(&info);
	assert_int_equal(info_parse("GET", deep, false, &info, &st), -1);
	info_done(&info);
	assert_int_equal(info_parse("GET", "/api/%zz", false, &info, &st), -1);
	info_done(&info);
	assert_int_equal(info_parse("GET", "/api/%00", false, &info, &st), -1);
	info_done(&info);
	assert_int_equal(st.code, 400);
	status_done(&st);
	free(longer);
	free(deep);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reads_what_a_path_is_about),
		cmocka_unit_test(test_leaves_other_paths_as_paths),
		cmocka_unit_test(test_refuses_broken_and_endless_paths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
