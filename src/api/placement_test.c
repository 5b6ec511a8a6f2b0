/* SPDX-License-Identifier: Apache-2.0 */
#include "api/placement.h"

#include <stdlib.h>

#include "api/config.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/test.h"
#include "meta/testyaml.h"

static struct kubevirt_config *
config_of(const json_t *kubevirt)
{
	struct err err;
	struct kubevirt_config *config = kubevirt_config_decode(kubevirt, &err);

	if (config == NULL)
		fail_msg("%s", err.text);
	return config;
}

static void
assert_selector(const char *vmi_text, const char *configuration,
		const char *wanted)
{
	AUTO(js_unref) json_t *vmi = testyaml(vmi_text);
	AUTO(js_unref) json_t *kubevirt = testyaml(configuration);
	AUTO(kubevirt_config_unref)
	struct kubevirt_config *config = config_of(kubevirt);
	AUTO(js_unref)
	json_t *selector = placement_selector(
		vmi, config, js_obj_at(kubevirt, "spec.configuration"));

	assert_yaml(selector, wanted);
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
	AUTO(js_unref) json_t *added = testyaml(added_text);
	AUTO(js_unref) json_t *pod = testyaml(pod_text);
	AUTO(js_unref) json_t *node = testyaml(node_text);
	AUTO(js_unref) json_t *selector = testyaml("{zone: mine}");
	AUTO(kubevirt_config_unref)
	struct kubevirt_config *config = config_of(NULL);
	const struct placement_source source = {
		.added_selector = added,
		.pod = pod,
		.node = json_is_null(node) ? NULL : node,
	};

	if (placement_narrow(vmi, config, &source, selector, err) == -1)
		return NULL;
	return TAKE_PTR(selector);
}

static void
test_a_migration_s_labels_only_narrow(void **state)
{
	struct err err;
	AUTO(js_unref)
	json_t *selector = narrow("Penryn", "{zone: theirs, rack: r1}", "{}",
				  "null", &err);

	(void)state;
	assert_yaml(selector, "{zone: mine, rack: r1}");
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
	assert_yaml(selector, "{zone: mine, "
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
	assert_yaml(selector, "{zone: mine, "
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
	assert_yaml(selector, "{zone: mine, "
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
	};

	return cmocka_run_group_tests_name("placement", tests, NULL, NULL);
}
