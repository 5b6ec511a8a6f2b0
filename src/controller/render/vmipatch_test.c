/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/test.h"
#include "controller/render/testcase.h"
#include "controller/render/vmipatch.h"
#include "meta/patch.h"
#include "meta/status.h"
#include "meta/testyaml.h"

/* What becomes of the object, NULL when the patch does not apply. Takes
 * patch. */
static json_t *
apply(const char *object_text, json_t *patch)
{
	AUTO(js_unref) json_t *object = testyaml(object_text);
	AUTO(js_unref) json_t *owned = patch;
	struct status st = STATUS_INIT;
	json_t *result = patch_json(object, owned, &st);

	status_done(&st);
	return result;
}

static json_t *
handoff(const char *seen_text)
{
	AUTO(js_unref) json_t *seen = testyaml(seen_text);
	AUTO(js_unref) json_t *configuration = testyaml("{a: b}");
	const struct handoff h = {
		.state = js_obj_at(seen, "status.migrationState"),
		.labels = js_obj_at(seen, "metadata.labels"),
		.active_pods = js_obj_at(seen, "status.activePods"),
		.migration_uid = "m1",
		.source_node = "node-a",
		.source_pod = "pod-a",
		.target_node = "node-b",
		.target_pod = "pod-b",
		.target_pod_uid = "uid-b",
		.policy_name = "",
		.configuration = configuration,
		.cpu_limits = "4",
	};

	return vmipatch_handoff(&h);
}

#define FRESH "{metadata: {labels: {a: b}}, status: {phase: Running}}"
#define MOVED                                                    \
	"{metadata: {labels: {a: b}}, status: {migrationState: " \
	"{migrationUid: m0, completed: true, targetNodeAddress: 1.2.3.4}}}"

static void
test_a_handoff_sets_state_and_label_at_once(void **state)
{
	AUTO(js_unref) json_t *vmi = apply(FRESH, handoff(FRESH));

	(void)state;
	assert_yaml(vmi,
		    "{metadata: {labels: {a: b, "
		    "kubevirt.io/migrationTargetNodeName: node-b, "
		    "kubevirt.io/vmi-pod-cpu-resource-limits: '4'}}, status: "
		    "{phase: Running, activePods: {uid-b: node-b}, "
		    "migrationState: {migrationUid: m1, "
		    "sourceNode: node-a, sourcePod: pod-a, targetNode: node-b, "
		    "targetPod: pod-b, migrationConfiguration: {a: b}}}}");
}

static void
test_a_handoff_leaves_nothing_of_an_earlier_migration(void **state)
{
	AUTO(js_unref) json_t *vmi = apply(MOVED, handoff(MOVED));

	(void)state;
	assert_non_null(vmi);
	assert_string_equal(
		js_str_at(vmi, "status.migrationState.migrationUid"), "m1");
	assert_null(js_at(vmi, "status.migrationState.completed"));
	assert_null(js_at(vmi, "status.migrationState.targetNodeAddress"));
}

static void
test_a_handoff_lists_the_target_pod_beside_the_others(void **state)
{
	const char *seen = "{metadata: {}, status: {activePods: {uid-a: "
			   "node-a}}}";
	AUTO(js_unref) json_t *vmi = apply(seen, handoff(seen));
	AUTO(js_unref) json_t *late = NULL;

	(void)state;
	assert_yaml(js_obj_at(vmi, "status.activePods"),
		    "{uid-a: node-a, uid-b: node-b}");
	/* Others may list their own meanwhile. */
	late = apply("{metadata: {}, status: {activePods: {uid-c: node-c}}}",
		     handoff(seen));
	assert_yaml(js_obj_at(late, "status.activePods"),
		    "{uid-c: node-c, uid-b: node-b}");
}

static void
test_a_second_handoff_changes_nothing(void **state)
{
	(void)state;
	/* Another came first, where there was none and where there was one. */
	assert_null(apply(MOVED, handoff(FRESH)));
	assert_null(apply("{metadata: {labels: {a: b}}, status: "
			  "{migrationState: {migrationUid: m2}}}",
			  handoff(MOVED)));
	/* The label of another's target was set, or a label went away. */
	assert_null(apply("{metadata: {labels: {a: b, c: d}}, status: {}}",
			  handoff(FRESH)));
	assert_null(apply("{metadata: {}, status: {}}", handoff(FRESH)));
}

static void
test_an_instance_without_labels_can_be_handed_off(void **state)
{
	const char *bare = "{metadata: {name: x}, status: {}}";
	AUTO(js_unref) json_t *vmi = apply(bare, handoff(bare));

	(void)state;
	assert_int_equal(json_object_size(js_obj_at(vmi, "metadata.labels")),
			 2);
}

static void
test_an_abort_is_for_its_own_migration_only(void **state)
{
	const char *busy = "status: {progress: 3, migrationState: "
			   "{migrationUid: m1, startTimestamp: t}}";
	AUTO(js_unref) json_t *vmi = apply(busy, vmipatch_abort("m1"));

	(void)state;
	assert_yaml(vmi, "status: {progress: 3, migrationState: "
			 "{migrationUid: m1, startTimestamp: t, "
			 "abortRequested: true}}");
	assert_null(apply(busy, vmipatch_abort("m2")));
	assert_null(apply("status: {}", vmipatch_abort("m1")));
	/* Asked twice, it is asked. */
	js_unref(&vmi);
	vmi = apply("status: {migrationState: {migrationUid: m1, "
		    "abortRequested: true}}",
		    vmipatch_abort("m1"));
	assert_non_null(vmi);
}

static void
test_a_source_that_is_gone_has_left(void **state)
{
	const char *begun = "metadata: {resourceVersion: '7'}\n"
			    "status: {migrationState: {migrationUid: m1}}";
	AUTO(js_unref)
	json_t *vmi = apply(begun, vmipatch_left("m1", "7", "t"));

	(void)state;
	assert_yaml(vmi, "metadata: {resourceVersion: '7'}\n"
			 "status: {migrationState: {migrationUid: m1, "
			 "endTimestamp: t}}");
	/* Something has been written since it was seen. */
	assert_null(apply(begun, vmipatch_left("m1", "6", "t")));
	assert_null(apply(begun, vmipatch_left("m2", "7", "t")));
}

static void
test_a_failure_keeps_the_times_there_are(void **state)
{
	struct failure failure = {
		.migration_uid = "m1",
		.version = "7",
		.reason = "Target pod is down",
		.now = "2026-11-16T05:00:00Z",
		.has_start = true,
	};
	const char *begun = "metadata: {resourceVersion: '7'}\n"
			    "status: {migrationState: {migrationUid: m1, "
			    "startTimestamp: t}}";
	AUTO(js_unref) json_t *vmi = apply(begun, vmipatch_fail(&failure));

	(void)state;
	assert_yaml(vmi,
		    "metadata: {resourceVersion: '7'}\n"
		    "status: {migrationState: {migrationUid: m1, "
		    "startTimestamp: t, endTimestamp: '2026-11-16T05:00:00Z', "
		    "failed: true, completed: true, failureReason: Target pod "
		    "is down}}");
	failure.has_start = false;
	failure.has_end = true;
	js_unref(&vmi);
	vmi = apply("metadata: {resourceVersion: '7'}\n"
		    "status: {migrationState: {migrationUid: m1}}",
		    vmipatch_fail(&failure));
	assert_string_equal(
		js_str_at(vmi, "status.migrationState.startTimestamp"),
		failure.now);
	assert_null(js_at(vmi, "status.migrationState.endTimestamp"));
	/* Something has been written since it was seen. */
	failure.version = "6";
	assert_null(apply(begun, vmipatch_fail(&failure)));
	failure.version = "7";
	failure.migration_uid = "m2";
	assert_null(apply(begun, vmipatch_fail(&failure)));
}

static void
test_a_mark_is_set_once_and_taken_away_by_its_node(void **state)
{
	const char *marked = "status: {evacuationNodeName: node-a}";
	AUTO(js_unref)
	json_t *set = apply("status: {}", vmipatch_evacuate("node-a"));
	AUTO(js_unref)
	json_t *cleared = apply(marked, vmipatch_evacuate_cancel("node-a"));

	(void)state;
	assert_yaml(set, marked);
	assert_yaml(cleared, "status: {}");
	assert_null(apply(marked, vmipatch_evacuate("node-b")));
	assert_null(apply(marked, vmipatch_evacuate_cancel("node-b")));
	assert_null(apply("status: {}", vmipatch_evacuate_cancel("node-a")));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_handoff_sets_state_and_label_at_once),
		cmocka_unit_test(
			test_a_handoff_leaves_nothing_of_an_earlier_migration),
		cmocka_unit_test(
			test_a_handoff_lists_the_target_pod_beside_the_others),
		cmocka_unit_test(test_a_second_handoff_changes_nothing),
		cmocka_unit_test(
			test_an_instance_without_labels_can_be_handed_off),
		cmocka_unit_test(test_an_abort_is_for_its_own_migration_only),
		cmocka_unit_test(test_a_source_that_is_gone_has_left),
		cmocka_unit_test(test_a_failure_keeps_the_times_there_are),
		cmocka_unit_test(
			test_a_mark_is_set_once_and_taken_away_by_its_node),
	};

	return cmocka_run_group_tests_name("vmipatch", tests, NULL, NULL);
}
