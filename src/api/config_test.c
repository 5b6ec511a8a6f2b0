/* SPDX-License-Identifier: Apache-2.0 */
#include "api/config.h"

#include "api/names.h"
#include "api/testjson.h"
#include "base/array.h"
#include "base/cleanup.h"

static struct kubevirt_config *
config_of(const char *text)
{
	AUTO(js_unref) json_t *object = testjson(text);
	struct err err = { .text = "" };
	struct kubevirt_config *config = kubevirt_config_decode(object, &err);

	assert_string_equal(err.text, "");
	assert_non_null(config);
	return config;
}

static void
test_without_an_object_all_is_as_by_default(void **state)
{
	struct err err;
	AUTO(kubevirt_config_unref)
	struct kubevirt_config *config = kubevirt_config_decode(NULL, &err);

	(void)state;
	assert_non_null(config);
	assert_string_equal(config->migrations.node_drain_taint_key,
			    "kubevirt.io/drain");
	assert_int_equal(config->migrations.parallel_cluster, 5);
	assert_int_equal(config->migrations.parallel_outbound, 2);
	assert_int_equal(config->migrations.completion_timeout_per_gib, 150);
	assert_int_equal(config->migrations.progress_timeout_s, 150);
	assert_int_equal(config->migrations.utility_timeout_s, 150);
	assert_int_equal(config->migrations.max_downtime_ms, 900);
	assert_true(quantity_is_zero(&config->migrations.bandwidth));
	assert_int_equal(config->deadlines.unschedulable_s, 300);
	assert_int_equal(config->deadlines.pending_s, 900);
	assert_true(config->deadlines.running_s > 0);
	assert_int_equal(config->parallel_inbound, 0);
	assert_int_equal(config->eviction, EVICTION_NONE);
	assert_int_equal(config->cpu_allocation_ratio, 10);
	assert_int_equal(config->memory_overcommit, 100);
	assert_false(config->methods_live_migrate);
}

static void
test_what_the_object_says_is_taken(void **state)
{
	AUTO(kubevirt_config_unref)
	struct kubevirt_config *config = config_of(
		"{'metadata': {'name': 'kubevirt', 'annotations': {"
		"'ferry.io/parallelInboundMigrationsPerNode': '3', "
		"'ferry.io/migrationPreparingTargetTimeoutSeconds': '60'}}, "
		"'spec': {'workloadUpdateStrategy': "
		"{'workloadUpdateMethods': ['Evict', 'LiveMigrate']}, "
		"'configuration': {'evictionStrategy': 'LiveMigrate', "
		"'cpuModel': 'Haswell', "
		"'additionalGuestMemoryOverheadRatio': '1.5', "
		"'developerConfiguration': {'useEmulation': true, "
		"'cpuAllocationRatio': 4}, "
		"'migrations': {'parallelMigrationsPerCluster': 100, "
		"'parallelOutboundMigrationsPerNode': 0, "
		"'bandwidthPerMigration': 1048576, 'disableTLS': true, "
		"'network': 'mig', 'matchSELinuxLevelOnMigration': false}}}}");

	(void)state;
	assert_int_equal(config->parallel_inbound, 3);
	assert_int_equal(config->deadlines.preparing_s, 60);
	assert_int_equal(config->eviction, EVICTION_LIVE_MIGRATE);
	assert_string_equal(config->cpu_model, "Haswell");
	assert_true(config->memory_overhead_ratio == 1.5);
	assert_true(config->use_emulation);
	assert_int_equal(config->cpu_allocation_ratio, 4);
	assert_true(config->methods_evict && config->methods_live_migrate);
	assert_int_equal(config->migrations.parallel_cluster, 100);
	assert_int_equal(config->migrations.parallel_outbound, 0);
	assert_int_equal(quantity_value(&config->migrations.bandwidth),
			 1048576);
	assert_int_equal(config->migrations.disable_tls, TRISTATE_TRUE);
	assert_string_equal(config->migrations.network, "mig");
	assert_int_equal(config->migrations.match_selinux_level,
			 TRISTATE_FALSE);
}

static void
test_gates_are_on_when_listed_and_off_when_disabled(void **state)
{
	AUTO(kubevirt_config_unref)
	struct kubevirt_config *config = config_of(
		"{'metadata': {'name': 'kubevirt'}, 'spec': {'configuration': "
		"{'developerConfiguration': {'featureGates': ['A', 'B'], "
		"'disabledFeatureGates': ['B', 'NodeRestriction']}}}}");
	AUTO(kubevirt_config_unref)
	struct kubevirt_config *plain =
		config_of("{'metadata': {'name': 'kubevirt'}}");

	(void)state;
	assert_true(kubevirt_config_gate(config, "A"));
	assert_false(kubevirt_config_gate(config, "B"));
	assert_false(kubevirt_config_gate(config, "C"));
	assert_true(kubevirt_config_gate(config, "LiveMigration"));
	assert_false(kubevirt_config_gate(config, GATE_NODE_RESTRICTION));
	assert_true(kubevirt_config_gate(plain, GATE_NODE_RESTRICTION));
	assert_false(kubevirt_config_gate(plain, GATE_DECENTRALIZED));
}

static void
test_numbers_that_cannot_be_are_refused_by_name(void **state)
{
	static const char *const wrong[] = {
		"{'parallelMigrationsPerCluster': -1}",
		"{'parallelMigrationsPerCluster': 4294967296}",
		"{'progressTimeout': 'x'}",
		"{'completionTimeoutPerGiB': -5}",
		"{'bandwidthPerMigration': '1Q'}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		AUTO(js_unref) json_t *obj = testjson(wrong[i]);
		AUTO(migration_config_done) struct migration_config config;
		struct err err;

		migration_config_init(&config);
		assert_int_equal(migration_config_overlay(&config, obj, &err),
				 -1);
		assert_non_null(strstr(
			err.text, json_object_iter_key(json_object_iter(obj))));
	}
}

static void
test_the_settings_of_a_migration_are_read_as_they_were_written(void **state)
{
	AUTO(js_unref)
	json_t *obj = testjson(
		"{'nodeDrainTaintKey': 'k', 'parallelMigrationsPerCluster': "
		"9, 'parallelOutboundMigrationsPerNode': 4, "
		"'bandwidthPerMigration': '64Mi', 'completionTimeoutPerGiB': "
		"20, 'progressTimeout': 3, 'utilityVolumesTimeout': 4, "
		"'maxDowntimeMs': 300, 'allowAutoConverge': true, "
		"'allowPostCopy': true, 'allowWorkloadDisruption': false, "
		"'unsafeMigrationOverride': true, 'disableTLS': false, "
		"'matchSELinuxLevelOnMigration': true, 'network': 'n', "
		"'experimental': {'compression': 'zstd'}}");
	AUTO(js_unref) json_t *back = NULL;
	AUTO(migration_config_done) struct migration_config config;
	struct err err;

	(void)state;
	migration_config_init(&config);
	assert_int_equal(migration_config_overlay(&config, obj, &err), 0);
	back = migration_config_json(&config);
	assert_true(json_equal(obj, back));
}

static void
test_settings_that_nobody_made_are_written_with_their_defaults(void **state)
{
	AUTO(js_unref)
	json_t *expected = testjson(
		"{'nodeDrainTaintKey': 'kubevirt.io/drain', "
		"'parallelMigrationsPerCluster': 5, "
		"'parallelOutboundMigrationsPerNode': 2, "
		"'bandwidthPerMigration': '0', 'completionTimeoutPerGiB': "
		"150, 'progressTimeout': 150, 'utilityVolumesTimeout': 150, "
		"'maxDowntimeMs': 900, 'allowAutoConverge': false, "
		"'allowPostCopy': false, 'allowWorkloadDisruption': false, "
		"'unsafeMigrationOverride': false}");
	AUTO(js_unref) json_t *obj = NULL;
	AUTO(migration_config_done) struct migration_config config;

	(void)state;
	migration_config_init(&config);
	obj = migration_config_json(&config);
	assert_true(json_equal(obj, expected));
}

static void
test_eviction_strategies_have_names(void **state)
{
	(void)state;
	for (enum eviction_strategy s = 0; s < EVICTION_STRATEGY_COUNT; s++)
		assert_int_equal(
			eviction_strategy_parse(eviction_strategy_name(s)), s);
	assert_int_equal(eviction_strategy_parse("fantasy"), EVICTION_UNSET);
}

static void
test_how_machines_are_updated_is_decoded(void **state)
{
	static const struct {
		const char *interval;
		int64_t seconds;
	} cases[] = {
		{ "", 60 },     { "90s", 90 },      { "1m30s", 90 },
		{ "2h", 7200 }, { "1m30", 60 },     { "m", 60 },
		{ "-1s", 60 },  { "1h1m1s", 3661 },
	};
	AUTO(kubevirt_config_unref)
	struct kubevirt_config *plain =
		config_of("{'metadata': {'name': 'kubevirt'}}");

	(void)state;
	assert_true(plain->deployed);
	assert_int_equal(plain->evict_batch, 10);
	assert_int_equal(plain->outdated, -1);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(js_unref)
		json_t *object = testjson(
			"{'metadata': {'name': 'kubevirt'}, 'spec': "
			"{'workloadUpdateStrategy': {'batchEvictionSize': 3}}, "
			"'status': {'phase': 'Deployed', "
			"'observedDeploymentID': 'a', 'targetDeploymentID': "
			"'b', 'outdatedVirtualMachineInstanceWorkloads': 4}}");
		struct err err;
		struct kubevirt_config *config;

		(void)json_object_set_new(
			js_obj_at(object, "spec.workloadUpdateStrategy"),
			"batchEvictionInterval",
			json_string(cases[i].interval));
		config = kubevirt_config_decode(object, &err);
		assert_false(config->deployed);
		assert_int_equal(config->evict_batch, 3);
		assert_int_equal(config->outdated, 4);
		assert_int_equal(config->evict_interval_s, cases[i].seconds);
		kubevirt_config_free(config);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_without_an_object_all_is_as_by_default),
		cmocka_unit_test(test_what_the_object_says_is_taken),
		cmocka_unit_test(
			test_gates_are_on_when_listed_and_off_when_disabled),
		cmocka_unit_test(
			test_numbers_that_cannot_be_are_refused_by_name),
		cmocka_unit_test(
			test_the_settings_of_a_migration_are_read_as_they_were_written),
		cmocka_unit_test(
			test_settings_that_nobody_made_are_written_with_their_defaults),
		cmocka_unit_test(test_eviction_strategies_have_names),
		cmocka_unit_test(test_how_machines_are_updated_is_decoded),
	};

	return cmocka_run_group_tests_name("config", tests, NULL, NULL);
}
