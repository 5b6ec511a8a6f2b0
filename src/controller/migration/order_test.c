/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/migration/order.h"

#include <string.h>

#include "api/names.h"
#include "base/jsat.h"
#include "base/test.h"
#include "controller/migration/decide.h"
#include "controller/migration/testfacts.h"

static struct testfacts t;
static struct decision d;
static struct note note;
static struct order order;

static int
set_up(void **state)
{
	(void)state;
	testfacts_init(&t);
	memset(&note, 0, sizeof(note));
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	order_done(&order);
	return 0;
}

static void
test_a_migration_has_one_name_for_its_pod(void **state)
{
	char a[ORDER_POD_NAME_MAX], b[ORDER_POD_NAME_MAX];
	char c[ORDER_POD_NAME_MAX];

	(void)state;
	(void)order_pod_name("virt-launcher-vm-", "uid-1", a);
	(void)order_pod_name("virt-launcher-vm-", "uid-1", b);
	(void)order_pod_name("virt-launcher-vm-", "uid-2", c);
	assert_string_equal(a, b);
	assert_string_not_equal(a, c);
	assert_int_equal(strlen(a), strlen("virt-launcher-vm-") + 8);
	assert_memory_equal(a, "virt-launcher-vm-", 17);
}

static void
test_a_long_name_keeps_what_tells_pods_apart(void **state)
{
	static const char base[] = "virt-launcher-a-machine-whose-name-has-"
				   "more-characters-than-a-host-name-may-have-";
	char a[ORDER_POD_NAME_MAX], b[ORDER_POD_NAME_MAX];

	(void)state;
	(void)order_pod_name(base, "uid-1", a);
	(void)order_pod_name(base, "uid-2", b);
	assert_int_equal(strlen(a), 63);
	assert_string_not_equal(a, b);
}

static json_t *
status_of(const struct facts *facts)
{
	decide(facts, &d);
	order_status(facts, &d, &note, NULL, &order);
	return js_obj_at(order.body, "status");
}

static void
test_the_status_has_all_phases_and_their_times(void **state)
{
	json_t *status, *times;

	(void)state;
	testfacts_in(&t, MIGRATION_SCHEDULED);
	t.vmi.migration = &t.state;
	t.f.target_pod = &t.target;
	testfacts_in(&t, MIGRATION_PREPARING_TARGET);
	t.vmim.phase = MIGRATION_SCHEDULING;
	note.entered_us[MIGRATION_SCHEDULED] = TESTFACTS_NOW_US - 5000000;
	status = status_of(&t.f);
	assert_string_equal(js_str_at(status, "phase"), "PreparingTarget");
	times = js_arr_at(status, "phaseTransitionTimestamps");
	assert_non_null(js_find(times, "phase", "Scheduled"));
	assert_string_equal(js_str_at(js_find(times, "phase", "Scheduled"),
				      "phaseTransitionTimestamp"),
			    "1970-01-12T13:46:35Z");
	assert_string_equal(
		js_str_at(js_find(times, "phase", "PreparingTarget"),
			  "phaseTransitionTimestamp"),
		"1970-01-12T13:46:40Z");
	assert_string_equal(order.request.subresource, "status");
	assert_int_equal(order.request.verb, KUBE_PATCH_MERGE);
}

static void
test_the_status_depends_on_what_was_seen(void **state)
{
	static char version[] = "42";

	(void)state;
	t.vmim.meta.version = version;
	(void)status_of(&t.f);
	assert_string_equal(js_str_at(order.body, "metadata.resourceVersion"),
			    "42");
}

static void
test_conditions_of_others_stay(void **state)
{
	json_t *conditions;

	(void)state;
	testfacts_in(&t, MIGRATION_PENDING);
	testfacts_cond(&t, "example.com/other", "Because");
	t.f.slot = SLOT_CLUSTER_FULL;
	conditions = js_arr_at(status_of(&t.f), "conditions");
	assert_non_null(js_find(conditions, "type", "example.com/other"));
	assert_string_equal(
		js_str_at(js_find(conditions, "type", COND_WAITING), "reason"),
		WAITING_CLUSTER_SLOT);
}

static void
test_the_end_takes_the_state_along(void **state)
{
	static char text[] = "{\"migrationUid\":\"m\",\"completed\":true}";
	json_t *status;

	(void)state;
	testfacts_in(&t, MIGRATION_RUNNING);
	t.state.completed = true;
	t.state.text = text;
	status = status_of(&t.f);
	assert_string_equal(js_str_at(status, "phase"), "Succeeded");
	assert_string_equal(js_str_at(status, "migrationState.migrationUid"),
			    "m");
}

static void
test_progress_is_written_without_claiming_the_end(void **state)
{
	json_t *progress = json_pack("{s:i}", "percent", 7);

	(void)state;
	testfacts_in(&t, MIGRATION_RUNNING);
	decide(&t.f, &d);
	order_status(&t.f, &d, &note, progress, &order);
	assert_int_equal(js_int_at(order.body,
				   "status.migrationState.progress.percent", 0),
			 7);
	assert_null(js_at(order.body, "status.migrationState.migrationUid"));
	json_decref(progress);
}

static void
test_a_finalizer_is_taken_away_by_its_place(void **state)
{
	struct reading reading = { .vmim = &t.vmim };

	(void)state;
	reading.vmim_json =
		json_pack("{s:{s:[s, s]}}", "metadata", "finalizers",
			  "example.com/other", FINALIZER_MIGRATION);
	order_drop_finalizer(&reading, &order);
	/* Not of another one that has the name now. */
	assert_string_equal(js_str_at(json_array_get(order.body, 0), "op"),
			    "test");
	assert_string_equal(js_str_at(json_array_get(order.body, 0), "value"),
			    t.vmim.meta.uid);
	assert_string_equal(js_str_at(json_array_get(order.body, 1), "op"),
			    "test");
	assert_string_equal(js_str_at(json_array_get(order.body, 2), "op"),
			    "remove");
	assert_string_equal(js_str_at(json_array_get(order.body, 2), "path"),
			    "/metadata/finalizers/1");
	json_decref(reading.vmim_json);
}

static void
test_a_finalizer_that_is_gone_is_not_asked_for(void **state)
{
	struct reading reading = { .vmim = &t.vmim };

	(void)state;
	reading.vmim_json = json_pack("{s:{s:[s]}}", "metadata", "finalizers",
				      "example.com/other");
	order_drop_finalizer(&reading, &order);
	assert_null(order.request.resource);
	json_decref(reading.vmim_json);
}

static void
test_one_that_goes_on_says_which_pod_it_leaves(void **state)
{
	struct decision going = { .phase = MIGRATION_SCHEDULING };
	static char told[] = "pod-a";

	(void)state;
	testfacts_in(&t, MIGRATION_PENDING);
	going.passed[going.passed_count++] = MIGRATION_SCHEDULING;
	order_status(&t.f, &going, &note, NULL, &order);
	assert_string_equal(
		js_str_at(order.body, "status.migrationState.sourcePod"),
		"pod-a");
	order_done(&order);
	t.vmim.source_pod = told;
	order_status(&t.f, &going, &note, NULL, &order);
	assert_null(js_at(order.body, "status.migrationState"));
}

static void
test_what_is_deleted_is_named_by_its_uid(void **state)
{
	(void)state;
	order_delete_pod(&t.target, &order);
	assert_string_equal(js_str_at(order.body, "preconditions.uid"),
			    t.target.meta.uid);
	assert_int_equal(order.request.verb, KUBE_DELETE);
	assert_true(order.request.repeatable);
}

int
main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		CASE(test_a_migration_has_one_name_for_its_pod),
		CASE(test_a_long_name_keeps_what_tells_pods_apart),
		CASE(test_the_status_has_all_phases_and_their_times),
		CASE(test_the_status_depends_on_what_was_seen),
		CASE(test_conditions_of_others_stay),
		CASE(test_the_end_takes_the_state_along),
		CASE(test_progress_is_written_without_claiming_the_end),
		CASE(test_a_finalizer_is_taken_away_by_its_place),
		CASE(test_what_is_deleted_is_named_by_its_uid),
		CASE(test_a_finalizer_that_is_gone_is_not_asked_for),
		CASE(test_one_that_goes_on_says_which_pod_it_leaves),
	};

	js_init();
	return cmocka_run_group_tests_name("order", tests, NULL, NULL);
}
