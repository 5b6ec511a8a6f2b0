/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/resource.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/test.h"
#include "kube/url.h"

static void
path_is(char *path, const char *expected)
{
	assert_string_equal(path, expected);
	free(path);
}

static void
test_paths_lead_to_objects_lists_and_subresources(void **state)
{
	(void)state;
	path_is(kube_path(&kube_pods, NULL, NULL, NULL), "/api/v1/pods");
	path_is(kube_path(&kube_pods, "w", "", ""),
		"/api/v1/namespaces/w/pods");
	path_is(kube_path(&kube_nodes, "", "n.example", NULL),
		"/api/v1/nodes/n.example");
	path_is(kube_path(&kube_leases, "w", "l", "evacuate/cancel"),
		"/apis/coordination.k8s.io/v1/namespaces/w/leases/l/"
		"evacuate/cancel");
	path_is(kube_api_version(&kube_pods), "v1");
	path_is(kube_api_version(&kube_leases), "coordination.k8s.io/v1");
}

static void
test_a_name_cannot_lead_elsewhere(void **state)
{
	(void)state;
	path_is(kube_path(&kube_pods, "w", "..", NULL),
		"/api/v1/namespaces/w/pods/%2E%2E");
	path_is(kube_path(&kube_pods, "w", "a/b?c=d#e%", NULL),
		"/api/v1/namespaces/w/pods/a%2Fb%3Fc%3Dd%23e%25");
	path_is(kube_path(&kube_pods, "w/x", "\xc3\xa4", NULL),
		"/api/v1/namespaces/w%2Fx/pods/%C3%A4");
}

static void
test_parameters_follow_each_other(void **state)
{
	struct buf url = BUF_INIT(1000);

	(void)state;
	(void)buf_append_str(&url, "/p");
	url_add_param(&url, "a", NULL);
	url_add_param(&url, "b", "1=2");
	url_add_param(&url, "c", "");
	url_add_param(&url, "d", "&");
	assert_string_equal((const char *)url.data, "/p?b=1%3D2&d=%26");
	buf_done(&url);
}

static void
test_keys_come_apart_as_they_were_put_together(void **state)
{
	char key[KUBE_KEY_MAX];
	char buf[KUBE_KEY_MAX];
	char longest[2 * KUBE_KEY_MAX];
	const char *ns;
	const char *name;

	(void)state;
	assert_string_equal(kube_key("w", "a", key), "w/a");
	assert_int_equal(kube_key_split(key, buf, &ns, &name), 0);
	assert_string_equal(ns, "w");
	assert_string_equal(name, "a");
	assert_string_equal(kube_key(NULL, "n", key), "n");
	assert_int_equal(kube_key_split(key, buf, &ns, &name), 0);
	assert_string_equal(ns, "");
	assert_string_equal(name, "n");
	assert_int_equal(kube_key_split("", buf, &ns, &name), -1);
	assert_int_equal(kube_key_split("/a", buf, &ns, &name), -1);
	assert_int_equal(kube_key_split("a/", buf, &ns, &name), -1);
	assert_int_equal(kube_key_split("a/b/c", buf, &ns, &name), -1);
	memset(longest, 'x', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	assert_int_equal(kube_key_split(longest, buf, &ns, &name), -1);
	assert_int_equal(strlen(kube_key("w", longest, key)), KUBE_KEY_MAX - 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_paths_lead_to_objects_lists_and_subresources),
		cmocka_unit_test(test_a_name_cannot_lead_elsewhere),
		cmocka_unit_test(test_parameters_follow_each_other),
		cmocka_unit_test(
			test_keys_come_apart_as_they_were_put_together),
	};

	return cmocka_run_group_tests_name("resource", tests, NULL, NULL);
}
