/* SPDX-License-Identifier: Apache-2.0 */
#include "api/check.h"

#include <stdio.h>

#include "api/config.h"
#include "api/testjson.h"
#include "base/array.h"
#include "base/cleanup.h"

#define GATES(list)                                                     \
	"{'metadata': {'name': 'kubevirt'}, 'spec': {'configuration': " \
	"{'developerConfiguration': {'featureGates': [" list "]}}}}"

/* before may be NULL. */
static int
check(const char *gates, const char *before, const char *now, struct status *st)
{
	AUTO(js_unref) json_t *object = testjson(gates);
	struct err err;
	AUTO(kubevirt_config_unref)
	struct kubevirt_config *config = kubevirt_config_decode(object, &err);
	AUTO(js_unref)
	json_t *old_object = before == NULL ? NULL : testjson(before);
	AUTO(js_unref) json_t *new_object = testjson(now);

	return policy_check(old_object, new_object, config, st);
}

static void
test_policies_with_negative_numbers_are_refused(void **state)
{
	struct status st = STATUS_INIT;

	(void)state;
	assert_int_equal(check(GATES(""), NULL,
			       "{'spec': {'completionTimeoutPerGiB': -1}}",
			       &st),
			 -1);
	assert_denied(&st, "must not be negative", "FieldValueInvalid",
		      "spec.completionTimeoutPerGiB");
	assert_int_equal(check(GATES(""), NULL,
			       "{'spec': {'bandwidthPerMigration': '-1Mi'}}",
			       &st),
			 -1);
	assert_denied(&st, "must not be negative", "FieldValueInvalid",
		      "spec.bandwidthPerMigration");
	assert_int_equal(check(GATES(""), NULL,
			       "{'spec': {'bandwidthPerMigration': -1, "
			       "'completionTimeoutPerGiB': -1}}",
			       &st),
			 -1);
	assert_string_equal(st.message,
			    "must not be negative, must not be negative");
	status_done(&st);
	assert_int_equal(check(GATES(""), NULL,
			       "{'spec': {'bandwidthPerMigration': 0, "
			       "'completionTimeoutPerGiB': 0}}",
			       &st),
			 0);
}

static void
test_the_downtime_of_a_policy_changes_behind_a_gate(void **state)
{
	static const char now[] = "{'spec': {'maxDowntimeMs': 500}}";
	struct status st = STATUS_INIT;

	(void)state;
	assert_int_equal(check(GATES(""), NULL, now, &st), -1);
	assert_denied(&st,
		      "maxDowntimeMs cannot be modified without enabling the "
		      "MigrationStallDetection or MigrationDowntimeTuning "
		      "feature gate",
		      "FieldValueInvalid", "spec.maxDowntimeMs");
	assert_int_equal(check(GATES(""), now, now, &st), 0);
	assert_int_equal(
		check(GATES("'MigrationDowntimeTuning'"), NULL, now, &st), 0);
	assert_int_equal(
		check(GATES("'MigrationStallDetection'"), NULL, now, &st), 0);
}

static void
test_experiments_have_gates_and_bounds(void **state)
{
	static const struct {
		const char *gates, *experimental, *text, *field;
	} cases[] = {
		{ GATES(""), "{'downtimeTuning': {'steps': 3}}",
		  "experimental.downtimeTuning cannot be modified without "
		  "enabling the MigrationDowntimeTuning feature gate",
		  "spec.experimental.downtimeTuning" },
		{ GATES(""), "{'stallDetector': {'stallMargin': 3}}",
		  "experimental.stallDetector cannot be modified without "
		  "enabling the MigrationStallDetection feature gate",
		  "spec.experimental.stallDetector" },
		{ GATES("'MigrationStallDetection'"),
		  "{'stallDetector': {'ewmaAlpha': '0'}}",
		  "must be greater than 0",
		  "spec.experimental.stallDetector.ewmaAlpha" },
		{ GATES("'MigrationStallDetection'"),
		  "{'stallDetector': {'ewmaAlpha': '1.1'}}",
		  "must be less than or equal to 1",
		  "spec.experimental.stallDetector.ewmaAlpha" },
		{ GATES("'MigrationStallDetection'"),
		  "{'stallDetector': {'precopyPossibleFactor': '0.5'}}",
		  "must be greater than or equal to 1",
		  "spec.experimental.stallDetector.precopyPossibleFactor" },
		{ GATES("'MigrationStallDetection'"),
		  "{'stallDetector': {'completionTimeoutFactor': 'much'}}",
		  "must be a number in quotes",
		  "spec.experimental.stallDetector.completionTimeoutFactor" },
		{ GATES("'MigrationStallDetection', 'MigrationDowntimeTuning'"),
		  "{'stallDetector': {'stallMargin': 3}, 'downtimeTuning': "
		  "{'steps': 3}}",
		  "stallDetector and downtimeTuning are mutually exclusive",
		  "spec.experimental" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct status st = STATUS_INIT;
		char text[256];

		(void)snprintf(text, sizeof(text),
			       "{'spec': {'experimental': %s}}",
			       cases[i].experimental);
		assert_int_equal(check(cases[i].gates, NULL, text, &st), -1);
		assert_denied(&st, cases[i].text, "FieldValueInvalid",
			      cases[i].field);
	}
}

static int
check_kubevirt(const char *before, const char *now, struct status *st)
{
	AUTO(js_unref)
	json_t *old_object = before == NULL ? NULL : testjson(before);
	AUTO(js_unref) json_t *new_object = testjson(now);

	return kubevirt_check(old_object, new_object, st);
}

#define KUBEVIRT(gates, migrations)                                     \
	"{'metadata': {'name': 'kubevirt'}, 'spec': {'configuration': " \
	"{'developerConfiguration': {'featureGates': [" gates           \
	"]}, 'migrations': " migrations "}}}"

static void
test_the_downtime_of_the_cluster_changes_behind_a_gate(void **state)
{
	struct status st = STATUS_INIT;

	(void)state;
	assert_int_equal(check_kubevirt(KUBEVIRT("", "{}"),
					KUBEVIRT("", "{'maxDowntimeMs': 5}"),
					&st),
			 -1);
	assert_denied(&st,
		      "maxDowntimeMs cannot be modified without enabling the "
		      "MigrationStallDetection or MigrationDowntimeTuning "
		      "feature gate",
		      "FieldValueInvalid",
		      "spec.configuration.migrationConfiguration."
		      "maxDowntimeMs");
	/* The gates of the new object count. */
	assert_int_equal(check_kubevirt(KUBEVIRT("", "{}"),
					KUBEVIRT("'MigrationStallDetection'",
						 "{'maxDowntimeMs': 5}"),
					&st),
			 0);
	assert_int_equal(check_kubevirt(KUBEVIRT("", "{'maxDowntimeMs': 5}"),
					KUBEVIRT("", "{'maxDowntimeMs': 5, "
						     "'progressTimeout': 1}"),
					&st),
			 0);
}

static void
test_settings_without_meaning_are_refused(void **state)
{
	struct status st = STATUS_INIT;

	(void)state;
	assert_int_equal(check_kubevirt(NULL,
					KUBEVIRT("", "{'progressTimeout': -1}"),
					&st),
			 -1);
	assert_denied(&st, "must not be negative", "FieldValueInvalid",
		      "spec.configuration.migrations.progressTimeout");
	assert_int_equal(
		check_kubevirt(NULL,
			       KUBEVIRT("", "{'bandwidthPerMigration': '-1'}"),
			       &st),
		-1);
	status_done(&st);
	assert_int_equal(
		check_kubevirt(
			NULL,
			"{'metadata': {'name': 'kubevirt', 'annotations': "
			"{'ferry.io/parallelInboundMigrationsPerNode': "
			"'some'}}}",
			&st),
		-1);
	assert_string_equal(
		js_str_at(json_array_get(js_arr_at(st.details, "causes"), 0),
			  "field"),
		"metadata.annotations[ferry.io/"
		"parallelInboundMigrationsPerNode]");
	status_done(&st);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_policies_with_negative_numbers_are_refused),
		cmocka_unit_test(
			test_the_downtime_of_a_policy_changes_behind_a_gate),
		cmocka_unit_test(test_experiments_have_gates_and_bounds),
		cmocka_unit_test(
			test_the_downtime_of_the_cluster_changes_behind_a_gate),
		cmocka_unit_test(test_settings_without_meaning_are_refused),
	};

	return cmocka_run_group_tests_name("config_check", tests, NULL, NULL);
}
