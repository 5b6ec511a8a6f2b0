/* SPDX-License-Identifier: Apache-2.0 */
#include "api/policy.h"

#include "api/testjson.h"
#include "base/array.h"
#include "base/cleanup.h"

#define MAX 4

/* Policies of which one is chosen for a machine. */
struct world {
	struct policy *policies[MAX];
	size_t count;
};

static void
world_add(struct world *world, const char *name, const char *spec)
{
	AUTO(js_unref) json_t *object = testjson("{'metadata': {}}");
	struct err err;

	(void)json_object_set_new(json_object_get(object, "metadata"), "name",
				  json_string(name));
	(void)json_object_set_new(object, "spec", testjson(spec));
	world->policies[world->count] = policy_decode(object, &err);
	assert_non_null(world->policies[world->count]);
	world->count++;
}

static void
world_done(struct world *world)
{
	for (size_t i = 0; i < world->count; i++)
		policy_free(world->policies[i]);
}

/* The name of the one that is chosen; "" for none. NULL labels are none. */
static const char *
chosen(const struct world *world, const char *ns, const char *vmi)
{
	AUTO(js_unref) json_t *ns_labels = ns == NULL ? NULL : testjson(ns);
	AUTO(js_unref) json_t *vmi_labels = vmi == NULL ? NULL : testjson(vmi);
	const struct policy *policy =
		policy_match((const struct policy *const *)world->policies,
			     world->count, ns_labels, vmi_labels);

	return policy == NULL ? "" : policy->meta.name;
}

#define NS(labels) "{'selectors': {'namespaceSelector': " labels "}}"
#define VMI(labels) \
	"{'selectors': {'virtualMachineInstanceSelector': " labels "}}"

static void
test_a_policy_without_selectors_is_nobodys(void **state)
{
	AUTO(world_done) struct world world = { .count = 0 };

	(void)state;
	world_add(&world, "a", "{'allowPostCopy': true}");
	assert_string_equal(chosen(&world, "{}", "{'x': 'y'}"), "");
	assert_string_equal(chosen(&world, NULL, NULL), "");
}

static void
test_a_policy_with_empty_selectors_is_everybodys(void **state)
{
	AUTO(world_done) struct world world = { .count = 0 };

	(void)state;
	world_add(&world, "a", "{'selectors': {}}");
	assert_string_equal(chosen(&world, "{}", "{'x': 'y'}"), "a");
	assert_string_equal(chosen(&world, NULL, "{}"), "a");
}

static void
test_every_label_must_be_there_with_its_value(void **state)
{
	AUTO(world_done) struct world world = { .count = 0 };

	(void)state;
	world_add(&world, "a",
		  "{'selectors': {'namespaceSelector': {'n': '1'}, "
		  "'virtualMachineInstanceSelector': {'v': '1', 'w': '2'}}}");
	assert_string_equal(
		chosen(&world, "{'n': '1'}", "{'v': '1', 'w': '2'}"), "a");
	assert_string_equal(
		chosen(&world, "{'n': '2'}", "{'v': '1', 'w': '2'}"), "");
	assert_string_equal(chosen(&world, "{'n': '1'}", "{'v': '1'}"), "");
	assert_string_equal(chosen(&world, NULL, "{'v': '1', 'w': '2'}"), "");
}

static void
test_more_labels_win(void **state)
{
	AUTO(world_done) struct world world = { .count = 0 };

	(void)state;
	world_add(&world, "a", "{'selectors': {}}");
	world_add(&world, "b", VMI("{'v': '1'}"));
	world_add(&world, "c", NS("{'n': '1', 'm': '2'}"));
	assert_string_equal(
		chosen(&world, "{'n': '1', 'm': '2'}", "{'v': '1'}"), "c");
	assert_string_equal(chosen(&world, "{'n': '1'}", "{'v': '1'}"), "b");
	assert_string_equal(chosen(&world, "{'n': '1'}", "{'v': '2'}"), "a");
}

static void
test_of_equals_the_one_with_more_labels_of_the_machine_wins(void **state)
{
	AUTO(world_done) struct world world = { .count = 0 };

	(void)state;
	world_add(&world, "a", NS("{'n': '1'}"));
	world_add(&world, "z", VMI("{'v': '1'}"));
	assert_string_equal(chosen(&world, "{'n': '1'}", "{'v': '1'}"), "z");
}

static void
test_of_further_equals_the_first_name_wins(void **state)
{
	AUTO(world_done) struct world world = { .count = 0 };

	(void)state;
	world_add(&world, "m", VMI("{'v': '1'}"));
	world_add(&world, "b", VMI("{'w': '1'}"));
	world_add(&world, "c", VMI("{'v': '1'}"));
	assert_string_equal(chosen(&world, "{}", "{'v': '1', 'w': '1'}"), "b");
	assert_string_equal(chosen(&world, "{}", "{'v': '1'}"), "c");
}

static void
test_a_machine_without_labels_is_asked_for_none(void **state)
{
	AUTO(world_done) struct world world = { .count = 0 };

	(void)state;
	world_add(&world, "d", "{'allowPostCopy': true}");
	world_add(&world, "c", NS("{'n': '1', 'm': '1'}"));
	world_add(&world, "b", VMI("{'v': '1'}"));
	assert_string_equal(chosen(&world, "{}", NULL), "b");
}

static struct kubevirt_config *
config_of(const char *migrations)
{
	AUTO(js_unref)
	json_t *object = testjson("{'metadata': {'name': 'kubevirt'}, 'spec': "
				  "{'configuration': {}}}");
	struct kubevirt_config *config;
	struct err err;

	(void)json_object_set_new(js_obj_at(object, "spec.configuration"),
				  "migrations", testjson(migrations));
	config = kubevirt_config_decode(object, &err);
	assert_non_null(config);
	return config;
}

static void
resolve(const char *migrations, const char *spec, struct migration_config *ret)
{
	AUTO(kubevirt_config_unref)
	struct kubevirt_config *config = config_of(migrations);
	AUTO(world_done) struct world world = { .count = 0 };

	if (spec != NULL)
		world_add(&world, "p", spec);
	policy_resolve(world.policies[0], &config->migrations, ret);
}

static void
test_without_a_policy_the_cluster_says(void **state)
{
	AUTO(migration_config_done) struct migration_config config;

	(void)state;
	resolve("{'progressTimeout': 7, 'allowAutoConverge': true}", NULL,
		&config);
	assert_int_equal(config.progress_timeout_s, 7);
	assert_true(config.allow_auto_converge);
	assert_int_equal(config.completion_timeout_per_gib, 150);
}

static void
test_the_policy_goes_before_the_cluster(void **state)
{
	AUTO(migration_config_done) struct migration_config config;
	char text[QUANTITY_TEXT_SIZE];

	(void)state;
	resolve("{'bandwidthPerMigration': '1Mi', 'completionTimeoutPerGiB': "
		"1, "
		"'maxDowntimeMs': 5, 'allowAutoConverge': true, "
		"'experimental': {'compression': 'none'}}",
		"{'bandwidthPerMigration': '64Mi', 'completionTimeoutPerGiB': "
		"0, 'maxDowntimeMs': 6, 'allowAutoConverge': false, "
		"'experimental': {'compression': 'zstd'}}",
		&config);
	assert_string_equal(
		quantity_text(&config.bandwidth, text, sizeof(text)), "64Mi");
	assert_int_equal(config.completion_timeout_per_gib, 0);
	assert_int_equal(config.max_downtime_ms, 6);
	assert_false(config.allow_auto_converge);
	assert_string_equal(js_str_at(config.experimental, "compression"),
			    "zstd");
}

static void
test_disruption_follows_post_copy_unless_it_is_said(void **state)
{
	static const struct {
		const char *cluster, *policy;
		bool post_copy, disruption;
	} cases[] = {
		{ "{}", NULL, false, false },
		{ "{'allowPostCopy': true}", NULL, true, true },
		{ "{'allowPostCopy': true, 'allowWorkloadDisruption': false}",
		  NULL, true, false },
		{ "{'allowWorkloadDisruption': true}", NULL, false, true },
		{ "{}", "{'allowPostCopy': true}", true, true },
		{ "{'allowPostCopy': true}", "{'allowPostCopy': false}", false,
		  false },
		{ "{'allowWorkloadDisruption': true}",
		  "{'allowPostCopy': false}", false, false },
		{ "{}",
		  "{'allowPostCopy': true, 'allowWorkloadDisruption': false}",
		  true, false },
		{ "{'allowPostCopy': true}", "{'allowAutoConverge': true}",
		  true, true },
		{ "{}", "{'allowWorkloadDisruption': true}", false, true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(migration_config_done) struct migration_config config;

		resolve(cases[i].cluster, cases[i].policy, &config);
		assert_int_equal(config.allow_post_copy, cases[i].post_copy);
		assert_int_equal(config.allow_workload_disruption,
				 cases[i].disruption);
	}
}

static void
test_what_has_no_meaning_is_no_policy(void **state)
{
	static const char *const wrong[] = {
		"{'spec': {}}",
		"{'metadata': {'name': 'p'}, 'spec': "
		"{'bandwidthPerMigration': 'much'}}",
		"{'metadata': {'name': 'p'}, 'spec': "
		"{'bandwidthPerMigration': {}}}",
		"{'metadata': {'name': 'p'}, 'spec': "
		"{'completionTimeoutPerGiB': -1}}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		AUTO(js_unref) json_t *object = testjson(wrong[i]);
		struct err err;

		assert_null(policy_decode(object, &err));
		assert_int_equal(err.kind, ERR_INVALID);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_policy_without_selectors_is_nobodys),
		cmocka_unit_test(
			test_a_policy_with_empty_selectors_is_everybodys),
		cmocka_unit_test(test_every_label_must_be_there_with_its_value),
		cmocka_unit_test(test_more_labels_win),
		cmocka_unit_test(
			test_of_equals_the_one_with_more_labels_of_the_machine_wins),
		cmocka_unit_test(test_of_further_equals_the_first_name_wins),
		cmocka_unit_test(
			test_a_machine_without_labels_is_asked_for_none),
		cmocka_unit_test(test_without_a_policy_the_cluster_says),
		cmocka_unit_test(test_the_policy_goes_before_the_cluster),
		cmocka_unit_test(
			test_disruption_follows_post_copy_unless_it_is_said),
		cmocka_unit_test(test_what_has_no_meaning_is_no_policy),
	};

	return cmocka_run_group_tests_name("policy", tests, NULL, NULL);
}
