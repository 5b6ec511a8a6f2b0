/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cleanup.h"
#include "base/err.h"
#include "base/test.h"
#include "controller/render/placement.h"
#include "controller/render/testcase.h"

static void
assert_selector(const char *vmi_text, const char *configuration,
		const char *wanted)
{
	AUTO(js_unref) json_t *vmi = testcase_yaml(vmi_text);
	AUTO(js_unref) json_t *kubevirt = testcase_yaml(configuration);
	AUTO(js_unref) json_t *selector = NULL;
	struct testcase tc;

	testcase_open(&tc, kubevirt, NULL);
	selector = placement_selector(vmi, &tc.env);
	testcase_assert_yaml(selector, wanted);
	testcase_close(&tc);
}

#define CLUSTER(configuration) \
	"{metadata: {name: a}, spec: {configuration: {" configuration "}}}"

static void
test_a_machine_s_labels_win_over_the_cluster_s(void **state)
{
	(void)state;
	assert_selector("spec: {nodeSelector: {zone: b}}",
			CLUSTER("developerConfiguration: {nodeSelectors: "
				"{zone: a, disk: ssd}}"),
			"{kubevirt.io/schedulable: 'true', zone: b, disk: "
			"ssd}");
}

static void
test_only_named_cpu_models_are_looked_for(void **state)
{
	(void)state;
	assert_selector("spec: {domain: {cpu: {model: host-model}}}",
			CLUSTER(""), "{kubevirt.io/schedulable: 'true'}");
	assert_selector("spec: {domain: {cpu: {model: host-passthrough}}}",
			CLUSTER(""), "{kubevirt.io/schedulable: 'true'}");
	assert_selector("spec: {domain: {cpu: {model: Penryn}}}", CLUSTER(""),
			"{kubevirt.io/schedulable: 'true', "
			"cpu-model.node.kubevirt.io/Penryn: 'true'}");
	assert_selector("spec: {}", CLUSTER("cpuModel: Haswell"),
			"{kubevirt.io/schedulable: 'true', "
			"cpu-model.node.kubevirt.io/Haswell: 'true'}");
}

static void
test_only_required_cpu_features_are_looked_for(void **state)
{
	(void)state;
	assert_selector("spec: {domain: {cpu: {features: [{name: a}, {name: b, "
			"policy: require}, {name: c, policy: optional}]}}}",
			CLUSTER(""),
			"{kubevirt.io/schedulable: 'true', "
			"cpu-feature.node.kubevirt.io/a: 'true', "
			"cpu-feature.node.kubevirt.io/b: 'true'}");
}

/* The selector of a target; NULL when there is none. */
static json_t *
narrow(const char *model, const char *added_text, const char *pod_text,
       const char *node_text, struct err *err)
{
	AUTO(js_unref)
	json_t *vmi = json_pack("{s:{s:{s:{s:s}}}}", "spec", "domain", "cpu",
				"model", model);
	AUTO(js_unref) json_t *added = testcase_yaml(added_text);
	AUTO(js_unref) json_t *pod = testcase_yaml(pod_text);
	AUTO(js_unref) json_t *node = testcase_yaml(node_text);
	AUTO(js_unref) json_t *selector = testcase_yaml("{zone: mine}");
	struct render_migration migration = {
		.added_node_selector = added,
		.source_pod = pod,
		.source_node = json_is_null(node) ? NULL : node,
	};
	struct testcase tc;
	int result;

	testcase_open(&tc, NULL, NULL);
	result = placement_narrow(vmi, &tc.env, &migration, selector, err);
	testcase_close(&tc);
	return result == 0 ? TAKE_PTR(selector) : NULL;
}

static void
test_a_migration_s_labels_only_narrow(void **state)
{
	struct err err;
	AUTO(js_unref)
	json_t *selector = narrow("Penryn", "{zone: theirs, rack: r1}", "{}",
				  "null", &err);

	(void)state;
	testcase_assert_yaml(selector, "{zone: mine, rack: r1}");
}

static void
test_a_named_model_only_needs_the_vendor(void **state)
{
	struct err err;
	AUTO(js_unref)
	json_t *selector =
		narrow("Penryn", "{}", "{}",
		       "metadata: {labels: {cpu-vendor.node.kubevirt.io/AMD: "
		       "'true', host-model-cpu.node.kubevirt.io/EPYC: "
		       "'true'}}",
		       &err);

	(void)state;
	testcase_assert_yaml(selector, "{zone: mine, "
				       "cpu-vendor.node.kubevirt.io/AMD: "
				       "'true'}");
}

static void
test_a_vendor_that_is_asked_for_stays_the_only_one(void **state)
{
	struct err err;
	AUTO(js_unref)
	json_t *selector = narrow(
		"Penryn", "{cpu-vendor.node.kubevirt.io/Intel: 'true'}", "{}",
		"metadata: {labels: {cpu-vendor.node.kubevirt.io/AMD: "
		"'true'}}",
		&err);

	(void)state;
	testcase_assert_yaml(selector, "{zone: mine, "
				       "cpu-vendor.node.kubevirt.io/Intel: "
				       "'true'}");
}

static void
test_a_guest_that_has_moved_keeps_the_cpu_it_started_with(void **state)
{
	struct err err;
	/* The node it is on now is another, and may even be gone. */
	AUTO(js_unref)
	json_t *selector =
		narrow("host-model", "{}",
		       "spec: {nodeSelector: "
		       "{cpu-model-migration.node.kubevirt.io/A: 'true', "
		       "cpu-feature.node.kubevirt.io/f: 'true', rack: old}}",
		       "null", &err);

	(void)state;
	testcase_assert_yaml(selector,
			     "{zone: mine, "
			     "cpu-model-migration.node.kubevirt.io/A: 'true', "
			     "cpu-feature.node.kubevirt.io/f: 'true'}");
}

static void
test_an_unknown_host_model_is_an_error(void **state)
{
	struct err err;

	(void)state;
	assert_null(narrow("host-model", "{}", "{}", "null", &err));
	assert_int_equal(err.kind, ERR_CONFLICT);
	assert_null(
		narrow("host-model", "{}", "{}", "metadata: {name: n}", &err));
	assert_int_equal(err.kind, ERR_CONFLICT);
}

static void
test_a_target_keeps_apart_besides_what_the_machine_says(void **state)
{
	AUTO(js_unref)
	json_t *spec = testcase_yaml(
		"affinity: {podAntiAffinity: "
		"{requiredDuringSchedulingIgnoredDuringExecution: "
		"[{topologyKey: zone}]}}");

	(void)state;
	placement_keep_apart(spec, "u1");
	testcase_assert_yaml(
		spec, "affinity: {podAntiAffinity: "
		      "{requiredDuringSchedulingIgnoredDuringExecution: "
		      "[{topologyKey: zone}, {topologyKey: "
		      "kubernetes.io/hostname, labelSelector: {matchLabels: "
		      "{kubevirt.io/created-by: u1}}}]}}");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_a_machine_s_labels_win_over_the_cluster_s),
		cmocka_unit_test(test_only_named_cpu_models_are_looked_for),
		cmocka_unit_test(
			test_only_required_cpu_features_are_looked_for),
		cmocka_unit_test(test_a_migration_s_labels_only_narrow),
		cmocka_unit_test(test_a_named_model_only_needs_the_vendor),
		cmocka_unit_test(
			test_a_vendor_that_is_asked_for_stays_the_only_one),
		cmocka_unit_test(
			test_a_guest_that_has_moved_keeps_the_cpu_it_started_with),
		cmocka_unit_test(test_an_unknown_host_model_is_an_error),
		cmocka_unit_test(
			test_a_target_keeps_apart_besides_what_the_machine_says),
	};

	return cmocka_run_group_tests_name("placement", tests, NULL, NULL);
}
