/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/env.h"

#include <stdlib.h>

#include "api/testjson.h"
#include "base/cleanup.h"

static const struct env_facts facts = { .host_ip = "10.0.0.1",
					.pod_ip = "10.1.0.2",
					.node_name = "n1" };

#define POD                                                   \
	"{'metadata':{'name':'p','namespace':'ns','uid':'u'," \
	"'labels':{'b':'2','a.x/y':'1'}},"                    \
	"'spec':{'serviceAccountName':'sa'}}"

static void
field(const json_t *pod, const char *path, const char *expected)
{
	struct err err;
	char *value = env_field(pod, &facts, path, &err);

	if (value == NULL)
		fail_msg("%s", err.text);
	assert_string_equal(value, expected);
	free(value);
}

static void
test_a_pod_knows_its_fields(void **state)
{
	AUTO(js_unref) json_t *pod = testjson(POD);
	struct err err;

	(void)state;
	field(pod, "metadata.name", "p");
	field(pod, "metadata.uid", "u");
	field(pod, "metadata.labels['a.x/y']", "1");
	field(pod, "metadata.labels['none']", "");
	field(pod, "metadata.annotations", "");
	field(pod, "metadata.labels", "a.x/y=\"1\"\nb=\"2\"");
	field(pod, "spec.nodeName", "n1");
	field(pod, "status.podIP", "10.1.0.2");
	assert_null(env_field(pod, &facts, "spec.x", &err));
	assert_string_equal(err.text, "fieldPath 'spec.x' is not known");
}

static void
test_resources_are_divided_and_rounded_up(void **state)
{
	AUTO(js_unref)
	json_t *container = testjson(
		"{'resources':{'limits':{'cpu':'1500m','memory':'64Mi'}}}");
	struct err err;
	char *value = env_resource(container, "limits.cpu", "", &err);

	(void)state;
	assert_string_equal(value, "2");
	free(value);
	value = env_resource(container, "limits.cpu", "1m", &err);
	assert_string_equal(value, "1500");
	free(value);
	value = env_resource(container, "limits.memory", "1Mi", &err);
	assert_string_equal(value, "64");
	free(value);
	assert_null(env_resource(container, "cpu", "", &err));
}

static void
test_the_environment_is_put_together_in_order(void **state)
{
	AUTO(js_unref) json_t *pod = testjson(POD);
	AUTO(js_unref)
	json_t *have = testjson(
		"{'configmaps/m':{'kind':'ConfigMap','data':{'k':'v','l':'w'}},"
		"'secrets/s':{'kind':'Secret','data':{'k':'aHVzaA=='}},"
		"'configmaps/none':null}");
	AUTO(js_unref) json_t *image = testjson("{'env':['I=image','L=lang']}");
	AUTO(js_unref)
	json_t *container = testjson(
		"{'envFrom':[{'configMapRef':{'name':'m'},'prefix':'P_'},"
		"{'configMapRef':{'name':'none','optional':true}}],'env':["
		"{'name':'I','value':'own'},"
		"{'name':'X','value':'$(I)-$(P_k)-$(NO)-$$(I)'},"
		"{'name':'S','valueFrom':{'secretKeyRef':{'name':'s','key':'k'}"
		"}},"
		"{'name':'O','valueFrom':{'configMapKeyRef':"
		"{'name':'m','key':'zz','optional':true}}}]}");
	struct err err;
	AUTO(js_unref)
	json_t *env = env_make(pod, container, image, have, &facts, &err);
	AUTO(free_ptr) char *text = NULL;

	(void)state;
	if (env == NULL)
		fail_msg("%s", err.text);
	text = js_text(env);
	assert_non_null(strstr(text, "\"HOSTNAME=p\",\"L=lang\",\"P_k=v\","
				     "\"P_l=w\",\"I=own\","
				     "\"X=own-v-$(NO)-$(I)\",\"S=hush\"]"));
}

static void
test_a_key_that_is_missing_is_named(void **state)
{
	AUTO(js_unref) json_t *pod = testjson(POD);
	AUTO(js_unref) json_t *have = testjson("{'configmaps/m':{'data':{}}}");
	AUTO(js_unref)
	json_t *container =
		testjson("{'env':[{'name':'A','valueFrom':{'configMapKeyRef':"
			 "{'name':'m','key':'k'}}}]}");
	struct err err;

	(void)state;
	assert_null(env_make(pod, container, NULL, have, &facts, &err));
	assert_string_equal(err.text, "couldn't find key k in configmaps m");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_pod_knows_its_fields),
		cmocka_unit_test(test_resources_are_divided_and_rounded_up),
		cmocka_unit_test(test_the_environment_is_put_together_in_order),
		cmocka_unit_test(test_a_key_that_is_missing_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
