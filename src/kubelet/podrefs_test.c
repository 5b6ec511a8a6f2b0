/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/podrefs.h"

#include "api/testjson.h"
#include "base/cleanup.h"

#define POD                                                           \
	"{'metadata':{'name':'p','namespace':'n','annotations':"      \
	"{'k8s.v1.cni.cncf.io/networks':'other/blue'}},'spec':{"      \
	"'serviceAccountName':'sa',"                                  \
	"'volumes':[{'name':'a','configMap':{'name':'m'}},"           \
	"{'name':'b','secret':{'secretName':'s','optional':true}},"   \
	"{'name':'c','persistentVolumeClaim':{'claimName':'claim'}}," \
	"{'name':'t','projected':{'sources':["                        \
	"{'serviceAccountToken':{'path':'token'}},"                   \
	"{'configMap':{'name':'root'}}]}}],"                          \
	"'containers':[{'name':'c','env':[{'name':'A','valueFrom':"   \
	"{'secretKeyRef':{'name':'e','key':'k'}}}],"                  \
	"'envFrom':[{'configMapRef':{'name':'f'}}]}]}}"

static void
test_all_that_a_pod_names_is_asked_for_once(void **state)
{
	static const char *const keys[] = {
		"configmaps/m",
		"secrets/s",
		"persistentvolumeclaims/claim",
		"persistentvolumes/pv1",
		"tokens/t/0",
		"configmaps/root",
		"secrets/e",
		"configmaps/f",
		"networks/other/blue",
	};
	AUTO(js_unref) json_t *pod = testjson(POD);
	AUTO(js_unref) json_t *have = json_object();
	struct podref ref;
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		assert_int_equal(podrefs_next(pod, have, &ref, &err), 0);
		assert_string_equal(ref.key, keys[i]);
		(void)json_object_set_new(
			have, ref.key,
			ref.optional
				? json_null()
				: testjson("{'spec':{'volumeName':'pv1'}}"));
	}
	assert_string_equal(ref.ns, "other");
	assert_string_equal(ref.name, "blue");
	assert_int_equal(podrefs_next(pod, have, &ref, &err), 1);
	assert_null(podrefs_get(have, "secrets", "s"));
	assert_non_null(podrefs_get(have, "configmaps", "m"));
	assert_non_null(podrefs_token(have, "t", 0));
	assert_non_null(podrefs_network(have, "other", "blue"));
	assert_true(podrefs_change(pod));
}

static void
test_a_claim_that_is_not_bound_is_an_error(void **state)
{
	AUTO(js_unref)
	json_t *pod = testjson(
		"{'metadata':{'name':'p','namespace':'n'},'spec':{'volumes':["
		"{'name':'c','persistentVolumeClaim':{'claimName':'x'}}]}}");
	AUTO(js_unref)
	json_t *have = testjson("{'persistentvolumeclaims/x':{'spec':{}}}");
	struct podref ref;
	struct err err;

	(void)state;
	assert_int_equal(podrefs_next(pod, have, &ref, &err), -1);
	assert_string_equal(err.text,
			    "persistentvolumeclaim \"x\" is not bound");
	assert_false(podrefs_change(pod));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_that_a_pod_names_is_asked_for_once),
		cmocka_unit_test(test_a_claim_that_is_not_bound_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
