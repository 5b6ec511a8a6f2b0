/* SPDX-License-Identifier: Apache-2.0 */
#include "api/check.h"

#include <stdio.h>

#include "api/names.h"
#include "api/testjson.h"
#include "base/array.h"
#include "base/cleanup.h"

/* Runs on n1 and is about to move to n2; n3 has nothing to do with it. */
static const char machine[] =
	"{'metadata': {'name': 'vm1', 'labels': {'kubevirt.io/nodeName': 'n1', "
	"'kubevirt.io/migrationTargetNodeName': 'n2'}, 'annotations': "
	"{'kubevirt.io/eviction-source': 'descheduler'}, 'finalizers': ['f']}, "
	"'spec': {'hostname': 'h'}, 'status': {'phase': 'Running', 'nodeName': "
	"'n1', 'evacuationNodeName': 'n1', 'activePods': {'u': 'n1'}, "
	"'launcherContainerImageVersion': 'image', "
	"'migrationState': {'migrationUid': 'm', 'sourceNode': 'n1', "
	"'targetNode': 'n2', 'targetPod': 'p', 'migrationConfiguration': {}}}}";

#define STATE "status.migrationState"

/* What changes: a member at a path; NULL removes it. */
struct change {
	const char *path, *name, *value;
};

static void
apply(json_t *object, const struct change *change)
{
	json_t *obj = js_obj_at(object, change->path);

	assert_non_null(obj);
	if (change->value == NULL)
		(void)json_object_del(obj, change->name);
	else
		(void)json_object_set_new(obj, change->name,
					  testjson(change->value));
}

/* A node changes one thing of the machine as it is after another change. */
static int
change_after(const struct change *first, const char *node,
	     const struct change *change, struct status *st)
{
	AUTO(js_unref) json_t *before = testjson(machine);
	AUTO(js_unref) json_t *now = NULL;

	apply(before, first);
	now = json_deep_copy(before);
	apply(now, change);
	return vmi_check_node_update(before, now, node, st);
}

/* Sets a member at a path of the machine (NULL removes it) as a node. */
static int
change(const char *node, const char *path, const char *name, const char *value,
       struct status *st)
{
	AUTO(js_unref) json_t *before = testjson(machine);
	AUTO(js_unref) json_t *now = testjson(machine);
	json_t *obj = js_obj_at(now, path);

	assert_non_null(obj);
	if (value == NULL)
		(void)json_object_del(obj, name);
	else
		(void)json_object_set_new(obj, name, testjson(value));
	return vmi_check_node_update(before, now, node, st);
}

/* What each side may change. */
static const struct {
	const char *path, *name, *value;
	bool source, target;
} cases[] = {
	{ STATE, "targetNodeAddress", "'1.2.3.4'", false, true },
	{ STATE, "targetDirectMigrationNodePorts", "{'1': 0}", false, true },
	{ STATE, "targetDirectMigrationNodePorts", "{'0': 0}", false, false },
	{ STATE, "targetDirectMigrationNodePorts", "{'65536': 0}", false,
	  false },
	{ STATE, "targetDirectMigrationNodePorts", "{'x': 0}", false, false },
	{ STATE, "targetDirectMigrationNodePorts", "{'1': -1}", false, false },
	{ STATE, "targetDirectMigrationNodePorts", "'x'", false, false },
	{ STATE, "targetNodeDomainDetected", "true", false, true },
	{ STATE, "startTimestamp", "'2026-01-01T00:00:00Z'", true, false },
	{ STATE, "mode", "'PreCopy'", true, false },
	{ STATE, "progress", "{'downtimeMs': 1}", true, true },
	{ STATE, "abortStatus", "'Succeeded'", true, false },
	{ STATE, "sourceWaitsFor", "'it'", true, false },
	{ STATE, "targetWaitsFor", "'it'", false, true },
	{ STATE, "targetListensAfterBreaks", "1", false, true },
	{ STATE, "endTimestamp", "'2026-01-01T00:00:00Z'", true, true },
	{ STATE, "completed", "true", true, true },
	{ STATE, "failed", "true", true, true },
	{ STATE, "targetNode", "'n3'", false, false },
	{ STATE, "targetNode", NULL, false, false },
	{ STATE, "targetPod", "'q'", false, false },
	{ STATE, "migrationUid", "'x'", false, false },
	{ STATE, "migrationConfiguration", "{'allowPostCopy': true}", false,
	  false },
	{ STATE, "abortRequested", "true", false, false },
	{ "status", "migrationState", NULL, false, false },
	{ "status", "phase", "'Failed'", true, false },
	{ "status", "guestOSInfo", "{'id': 'x'}", true, false },
	{ "status", "conditions", "[{'type': 'x'}]", true, false },
	{ "status", "interfaces", "[{'name': 'x'}]", true, false },
	{ "status", "migratedVolumes", "[{'volumeName': 'x'}]", true, false },
	{ "status", "launcherContainerImageVersion", NULL, false, true },
	{ "status", "launcherContainerImageVersion", "'other'", false, false },
	{ "status", "activePods", "{}", false, false },
	{ "status", "nodeName", "'n2'", false, true },
	{ "status", "nodeName", "'n3'", false, false },
	{ "status", "evacuationNodeName", NULL, false, true },
	{ "status", "evacuationNodeName", "'n2'", false, false },
	{ "metadata.labels", LABEL_NODE, "'n2'", false, true },
	{ "metadata.labels", LABEL_NODE, "'n3'", false, false },
	{ "metadata.labels", LABEL_MIGRATION_TARGET_NODE, NULL, false, true },
	{ "metadata.labels", LABEL_MIGRATION_TARGET_NODE, "'n1'", false,
	  false },
	{ "metadata.labels", LABEL_MIGRATION_TARGET_NODE, "''", false, false },
	{ "metadata.labels", LABEL_OUTDATED_IMAGE, "''", false, false },
	{ "metadata.labels", "app", "'x'", false, false },
	{ "metadata.labels", "app", "''", false, false },
	{ "metadata.annotations", ANNOTATION_EVICTION_SOURCE, NULL, false,
	  true },
	{ "metadata.annotations", ANNOTATION_EVICTION_SOURCE, "'me'", false,
	  false },
	{ "metadata.annotations", "ferry.io/x", "'y'", false, false },
	{ "metadata.annotations", ANNOTATION_VM_TEMPLATE, "'y'", false, false },
	{ "metadata.annotations", ANNOTATION_PAUSE_ANSWERED, "'y'", true,
	  false },
	{ "metadata.annotations", ANNOTATION_PAUSE_FAILURE, "'y'", true,
	  false },
	{ "metadata.annotations", ANNOTATION_PAUSE_REQUESTED, "'true'", false,
	  false },
	{ "metadata.annotations", ANNOTATION_LAUNCHER_VERSIONS, "'{}'", true,
	  false },
	{ "metadata.annotations", "other", "'y'", false, false },
	{ "metadata", "finalizers", "[]", false, false },
	{ "metadata", "resourceVersion", "'5'", true, true },
	{ "spec", "hostname", "'x'", false, false },
};

static void
test_each_side_changes_what_it_owns(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct status st = STATUS_INIT;

		if ((change("n1", cases[i].path, cases[i].name, cases[i].value,
			    &st) == 0) != cases[i].source)
			fail_msg("source, %s.%s", cases[i].path, cases[i].name);
		status_done(&st);
		if ((change("n2", cases[i].path, cases[i].name, cases[i].value,
			    &st) == 0) != cases[i].target)
			fail_msg("target, %s.%s", cases[i].path, cases[i].name);
		status_done(&st);
	}
}

/* All that a target could want. */
static const struct change wishes[] = {
	{ "status", "nodeName", "'n2'" },
	{ "metadata.labels", LABEL_NODE, "'n2'" },
	{ "status", "conditions", "[{'type': 'x'}]" },
	{ "status", "evacuationNodeName", NULL },
	{ "status", "launcherContainerImageVersion", NULL },
	{ "status", "activePods", "{'t': 'n2'}" },
	{ "metadata.annotations", ANNOTATION_EVICTION_SOURCE, NULL },
	{ "metadata.labels", LABEL_MIGRATION_TARGET_NODE, "'n1'" },
	{ STATE, "targetNodeAddress", "'1.2.3.4'" },
	{ STATE, "targetDirectMigrationNodePorts", "{'1': 0}" },
	{ STATE, "failed", "false" },
	{ STATE, "failed", NULL },
	{ STATE, "completed", "true" },
	{ STATE, "failureReason", "'x'" },
};

static void
test_a_target_of_a_failed_migration_only_tidies_up(void **state)
{
	static const struct change failed = { STATE, "failed", "true" };
	static const struct change tidy = { "metadata.labels",
					    LABEL_MIGRATION_TARGET_NODE, NULL };
	struct status st = STATUS_INIT;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(wishes); i++) {
		if (change_after(&failed, "n2", &wishes[i], &st) == 0)
			fail_msg("%s.%s", wishes[i].path, wishes[i].name);
		status_done(&st);
	}
	assert_int_equal(change_after(&failed, "n2", &tidy, &st), 0);
	/* Not the source either takes it back. */
	assert_int_equal(
		change_after(&failed, "n1",
			     &(struct change){ STATE, "failed", "false" }, &st),
		-1);
	assert_denied(&st,
		      "Node restriction, virt-handler is not allowed to take "
		      "back a failure",
		      "FieldValueInvalid", "status.migrationState");
}

/* The state stays for as long as there is no other migration. */
static void
test_a_node_without_the_label_is_no_target(void **state)
{
	static const struct change gone = { "metadata.labels",
					    LABEL_MIGRATION_TARGET_NODE, NULL };
	static const struct change other = { "metadata.labels",
					     LABEL_MIGRATION_TARGET_NODE,
					     "'n3'" };
	const struct change *const without[] = { &gone, &other };
	struct status st = STATUS_INIT;

	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(without); k++) {
		for (size_t i = 0; i < ARRAY_LEN(wishes); i++) {
			assert_int_equal(
				change_after(without[k], "n2", &wishes[i], &st),
				-1);
			status_done(&st);
		}
	}
}

static int
arrive_with(const char *name, const char *value)
{
	AUTO(js_unref) json_t *before = testjson(machine);
	AUTO(js_unref) json_t *now = testjson(machine);
	AUTO(status_done) struct status st = STATUS_INIT;
	json_t *status = js_obj_at(now, "status");

	(void)json_object_set_new(status, "nodeName", json_string("n2"));
	(void)json_object_set_new(status, name, testjson(value));
	return vmi_check_node_update(before, now, "n2", &st);
}

static void
test_what_a_node_knows_of_a_machine_it_tells_with_its_arrival(void **state)
{
	(void)state;
	assert_int_equal(arrive_with("conditions", "[{'type': 'x'}]"), 0);
	assert_int_equal(arrive_with("interfaces", "[{'name': 'x'}]"), 0);
	assert_int_equal(arrive_with("migrationTransport", "'Unix'"), 0);
	assert_int_equal(arrive_with("launcherContainerImageVersion", "'i'"),
			 0);
	assert_int_equal(arrive_with("phase", "'Failed'"), -1);
}

/* Arrives at n2, with these pods. */
static int
arrive(const char *pods, struct status *st)
{
	AUTO(js_unref) json_t *before = testjson(machine);
	AUTO(js_unref) json_t *now = testjson(machine);
	json_t *status = js_obj_at(now, "status");

	(void)json_object_set_new(status, "nodeName", json_string("n2"));
	(void)json_object_set_new(status, "activePods", testjson(pods));
	return vmi_check_node_update(before, now, "n2", st);
}

static void
test_who_receives_a_machine_lists_its_own_pod_alone(void **state)
{
	struct status st = STATUS_INIT;

	(void)state;
	assert_int_equal(arrive("{'t': 'n2'}", &st), 0);
	assert_int_equal(arrive("{'t': 'n2', 'u': 'n1'}", &st), 0);
	assert_int_equal(arrive("{}", &st), 0);
	assert_int_equal(arrive("{'t': 'n2', 'x': 'n3'}", &st), -1);
	assert_denied(&st,
		      "Node restriction, virt-handler is only allowed to list "
		      "its own pods of VMIs that it has received",
		      "FieldValueInvalid", "status.activePods");
	assert_int_equal(arrive("{'u': 'n3'}", &st), -1);
	status_done(&st);
	assert_int_equal(arrive("{'u': 5}", &st), -1);
	status_done(&st);
}

static void
test_other_nodes_change_nothing(void **state)
{
	struct status st = STATUS_INIT;

	(void)state;
	assert_int_equal(
		change("n3", "metadata", "resourceVersion", "'5'", &st), -1);
	assert_denied(&st,
		      "Node restriction, virt-handler is only allowed to "
		      "modify VMIs it owns",
		      "FieldValueInvalid", NULL);
	assert_int_equal(change("", "metadata", "resourceVersion", "'5'", &st),
			 -1);
	assert_denied(&st,
		      "Node restriction failed, virt-handler service account "
		      "is missing node name",
		      "FieldValueInvalid", NULL);
}

static void
test_no_node_chooses_the_target(void **state)
{
	struct status st = STATUS_INIT;

	(void)state;
	assert_int_equal(change("n1", STATE, "targetNode", "'n1'", &st), -1);
	assert_denied(&st,
		      "Node restriction, virt-handler is not allowed to set "
		      "target node",
		      "FieldValueInvalid", NULL);
}

static void
test_a_machine_that_waits_for_its_node_is_nobodys(void **state)
{
	AUTO(js_unref) json_t *before = testjson("{'status': {}}");
	AUTO(js_unref)
	json_t *now = testjson("{'status': {'nodeName': 'n1'}}");
	struct status st = STATUS_INIT;

	(void)state;
	assert_int_equal(vmi_check_node_update(before, now, "n1", &st), -1);
	status_done(&st);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_side_changes_what_it_owns),
		cmocka_unit_test(
			test_who_receives_a_machine_lists_its_own_pod_alone),
		cmocka_unit_test(
			test_a_target_of_a_failed_migration_only_tidies_up),
		cmocka_unit_test(test_a_node_without_the_label_is_no_target),
		cmocka_unit_test(
			test_what_a_node_knows_of_a_machine_it_tells_with_its_arrival),
		cmocka_unit_test(test_other_nodes_change_nothing),
		cmocka_unit_test(test_no_node_chooses_the_target),
		cmocka_unit_test(
			test_a_machine_that_waits_for_its_node_is_nobodys),
	};

	return cmocka_run_group_tests_name("node_check", tests, NULL, NULL);
}
