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
	"'migrationState': {'migrationUid': 'm', 'sourceNode': 'n1', "
	"'targetNode': 'n2', 'targetPod': 'p', 'migrationConfiguration': {}}}}";

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

#define STATE "status.migrationState"

static void
test_each_side_changes_what_it_owns(void **state)
{
	static const struct {
		const char *path, *name, *value;
		bool source, target;
	} cases[] = {
		{ STATE, "targetNodeAddress", "'1.2.3.4'", false, true },
		{ STATE, "targetDirectMigrationNodePorts", "{'1': 0}", false,
		  true },
		{ STATE, "targetDirectMigrationNodePorts", "{'0': 0}", false,
		  false },
		{ STATE, "targetDirectMigrationNodePorts", "{'65536': 0}",
		  false, false },
		{ STATE, "targetDirectMigrationNodePorts", "{'x': 0}", false,
		  false },
		{ STATE, "targetDirectMigrationNodePorts", "{'1': -1}", false,
		  false },
		{ STATE, "targetDirectMigrationNodePorts", "'x'", false,
		  false },
		{ STATE, "targetNodeDomainDetected", "true", false, true },
		{ STATE, "startTimestamp", "'2026-01-01T00:00:00Z'", true,
		  false },
		{ STATE, "mode", "'PreCopy'", true, false },
		{ STATE, "progress", "{'downtimeMs': 1}", true, true },
		{ STATE, "abortStatus", "'Succeeded'", true, false },
		{ STATE, "sourceWaitsFor", "'it'", true, false },
		{ STATE, "targetWaitsFor", "'it'", false, true },
		{ STATE, "endTimestamp", "'2026-01-01T00:00:00Z'", true, true },
		{ STATE, "completed", "true", true, true },
		{ STATE, "failed", "true", true, true },
		{ STATE, "targetNode", "'n3'", false, false },
		{ STATE, "targetNode", NULL, false, false },
		{ STATE, "targetPod", "'q'", false, false },
		{ STATE, "migrationUid", "'x'", false, false },
		{ STATE, "migrationConfiguration", "{'allowPostCopy': true}",
		  false, false },
		{ STATE, "abortRequested", "true", false, false },
		{ "status", "migrationState", NULL, false, false },
		{ "status", "phase", "'Failed'", true, false },
		{ "status", "guestOSInfo", "{'id': 'x'}", true, false },
		{ "status", "conditions", "[{'type': 'x'}]", true, true },
		{ "status", "activePods", "{}", false, false },
		{ "status", "nodeName", "'n2'", false, true },
		{ "status", "nodeName", "'n3'", false, false },
		{ "status", "evacuationNodeName", NULL, false, true },
		{ "status", "evacuationNodeName", "'n2'", false, false },
		{ "metadata.labels", LABEL_NODE, "'n2'", false, true },
		{ "metadata.labels", LABEL_NODE, "'n3'", false, false },
		{ "metadata.labels", LABEL_MIGRATION_TARGET_NODE, NULL, false,
		  true },
		{ "metadata.labels", "app", "'x'", false, false },
		{ "metadata.annotations", ANNOTATION_EVICTION_SOURCE, NULL,
		  false, true },
		{ "metadata.annotations", "ferry.io/x", "'y'", true, true },
		{ "metadata.annotations", "other", "'y'", false, false },
		{ "metadata", "finalizers", "[]", false, false },
		{ "metadata", "resourceVersion", "'5'", true, true },
		{ "spec", "hostname", "'x'", false, false },
	};

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
		cmocka_unit_test(test_other_nodes_change_nothing),
		cmocka_unit_test(test_no_node_chooses_the_target),
		cmocka_unit_test(
			test_a_machine_that_waits_for_its_node_is_nobodys),
	};

	return cmocka_run_group_tests_name("node_check", tests, NULL, NULL);
}
