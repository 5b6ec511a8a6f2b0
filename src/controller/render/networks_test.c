/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "api/names.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/test.h"
#include "controller/render/networks.h"
#include "controller/render/testcase.h"
#include "meta/testyaml.h"

/* What the pod is annotated with, as JSON; NULL for nothing. */
static json_t *
annotate(const char *vmi_text, bool ordinal, struct err *err)
{
	AUTO(js_unref) json_t *vmi = testyaml(vmi_text);
	AUTO(js_unref) json_t *annotations = json_object();
	const char *text;

	if (networks_annotate(vmi, ordinal, annotations, err) == -1)
		return NULL;
	text = json_string_value(
		json_object_get(annotations, ANNOTATION_NETWORKS));
	return text == NULL ? json_null() : js_parse(text, strlen(text), err);
}

static void
test_the_name_of_an_interface_is_made_of_the_network_s(void **state)
{
	char buf[NETWORKS_NAME_SIZE];

	(void)state;
	/* printf lan | sha256sum */
	assert_string_equal(networks_interface("lan", buf), "pod094a367b026");
}

static void
test_secondary_networks_are_asked_for_and_the_pod_s_is_not(void **state)
{
	struct err err;
	AUTO(js_unref)
	json_t *one = annotate("{metadata: {namespace: ns}, spec: {networks: "
			       "[{name: default, pod: {}}, {name: lan, multus: "
			       "{networkName: br}}]}}",
			       false, &err);
	AUTO(js_unref)
	json_t *none = annotate("{metadata: {namespace: ns}, spec: {networks: "
				"[{name: default, pod: {}}]}}",
				false, &err);

	(void)state;
	assert_yaml(one, "[{interface: pod094a367b026, name: br, "
			 "namespace: ns}]");
	assert_true(json_is_null(none));
}

static void
test_ordinal_names_count_networks_that_are_absent(void **state)
{
	struct err err;
	AUTO(js_unref)
	json_t *list =
		annotate("{metadata: {namespace: ns}, spec: {domain: {devices: "
			 "{interfaces: [{name: a, state: absent}, {name: b, "
			 "macAddress: '02:00:00:00:00:01'}]}}, networks: "
			 "[{name: a, multus: {networkName: x}}, {name: b, "
			 "multus: {networkName: other/far}}]}}",
			 true, &err);

	(void)state;
	assert_yaml(list, "[{interface: net2, name: far, namespace: "
			  "other, mac: '02:00:00:00:00:01'}]");
}

static void
test_a_network_without_a_definition_is_refused(void **state)
{
	struct err err;

	(void)state;
	assert_null(annotate("spec: {networks: [{name: a, multus: {}}]}", false,
			     &err));
	assert_string_equal(err.text, "spec.networks[0].multus.networkName: "
				      "is missing");
}

static bool
is_ordinal(const char *status)
{
	AUTO(js_unref)
	json_t *pod = json_pack("{s:{s:{s:s}}}", "metadata", "annotations",
				ANNOTATION_NETWORK_STATUS, status);

	return networks_are_ordinal(pod);
}

static void
test_old_interfaces_are_told_by_their_names(void **state)
{
	AUTO(js_unref) json_t *bare = json_object();

	(void)state;
	assert_true(is_ordinal("[{\"interface\":\"net1\"}]"));
	assert_false(is_ordinal("[{\"interface\":\"pod094a367b026\"}]"));
	assert_false(is_ordinal("[{\"interface\":\"net1\",\"default\":true}]"));
	assert_false(is_ordinal("[{\"interface\":\"net\"}]"));
	assert_false(is_ordinal("[{\"interface\":\"network\"}]"));
	assert_false(is_ordinal("not JSON"));
	assert_false(is_ordinal("{}"));
	assert_false(networks_are_ordinal(bare));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_the_name_of_an_interface_is_made_of_the_network_s),
		cmocka_unit_test(
			test_secondary_networks_are_asked_for_and_the_pod_s_is_not),
		cmocka_unit_test(
			test_ordinal_names_count_networks_that_are_absent),
		cmocka_unit_test(
			test_a_network_without_a_definition_is_refused),
		cmocka_unit_test(test_old_interfaces_are_told_by_their_names),
	};

	return cmocka_run_group_tests_name("networks", tests, NULL, NULL);
}
