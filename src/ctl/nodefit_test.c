/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/nodefit.h"

#include <stdlib.h>
#include <string.h>

#include "api/config.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/test.h"
#include "ctl/checks.h"
#include "ctl/preflight.h"
#include "meta/testyaml.h"

#define VMI                                                       \
	"{spec: {nodeSelector: {zone: x}, domain: {cpu: {model: " \
	"host-model}}}, status: {nodeName: a}}"

#define POD(selector)                                                 \
	"{metadata: {name: p}, spec: {nodeSelector: {" selector       \
	"}, containers: [{resources: {requests: {cpu: 100m, memory: " \
	"256Mi, devices.kubevirt.io/kvm: '1'}}}, {resources: "        \
	"{requests: {memory: 256Mi}}}], tolerations: [{key: soft, "   \
	"operator: Exists}]}}"

#define NODE(name, labels, ready, room, spec)                       \
	"{metadata: {name: " name ", labels: {" labels              \
	"kubevirt.io/schedulable: 'true'}}, spec: {" spec           \
	"}, status: {allocatable: {" room "}, conditions: [{type: " \
	"Ready, status: '" ready "', message: kubelet is silent}]}}"
#define LARGE "cpu: '2', memory: 1Gi, pods: '2', devices.kubevirt.io/kvm: '9'"
#define SMALL "cpu: '2', memory: 100Mi, pods: '1'"

#define IS(model)                                             \
	"host-model-cpu.node.kubevirt.io/" model ": 'true', " \
	"cpu-vendor.node.kubevirt.io/V: 'true', zone: x, "
#define CAN(model)                                                 \
	"cpu-model-migration.node.kubevirt.io/" model ": 'true', " \
	"cpu-vendor.node.kubevirt.io/V: 'true', zone: x, "

#define SOURCE NODE("a", IS("Skylake"), "True", LARGE, "")
#define SOFT "taints: [{key: soft, effect: NoSchedule}]"
#define GOOD NODE("good", CAN("Skylake"), "True", LARGE, SOFT)
#define HARD "unschedulable: true, taints: [{key: hard, effect: NoSchedule}]"
#define BAD NODE("bad", "", "False", SMALL, HARD)

/* What is said about nodes; how many fit. */
struct told {
	char *text;
	size_t fit;
};

struct asked {
	const char *pod, *nodes, *pods, *vmims, *vmis, *only, *kubevirt;
};

static void
told_done(struct told *told)
{
	free(told->text);
}

static struct told
judge(const struct asked *asked)
{
	AUTO(js_unref) json_t *vmi = testyaml(VMI);
	AUTO(js_unref)
	json_t *pod = testyaml(asked->pod != NULL ? asked->pod : POD(""));
	AUTO(js_unref) json_t *nodes = testyaml(asked->nodes);
	AUTO(js_unref)
	json_t *pods = asked->pods == NULL ? NULL : testyaml(asked->pods);
	AUTO(js_unref)
	json_t *vmims = asked->vmims == NULL ? NULL : testyaml(asked->vmims);
	AUTO(js_unref)
	json_t *vmis = asked->vmis == NULL ? NULL : testyaml(asked->vmis);
	AUTO(js_unref)
	json_t *kubevirt =
		asked->kubevirt == NULL ? NULL : testyaml(asked->kubevirt);
	AUTO(js_unref) json_t *checks = json_array();
	struct err err;
	AUTO(kubevirt_config_unref)
	struct kubevirt_config *config = kubevirt_config_decode(kubevirt, &err);
	const struct preflight_facts facts = {
		.vmi = vmi,
		.pod = pod,
		.nodes = json_is_null(nodes) ? NULL : nodes,
		.pods = pods,
		.others = vmims,
		.machines = vmis,
		.config = config,
		.only = asked->only,
	};

	nodefit_judge(&facts, checks);
	return (struct told){ .text = checks_text(checks),
			      .fit = nodefit_count(&facts, checks) };
}

static void
test_every_node_is_judged_with_a_reason(void **state)
{
	static const char expected[] =
		"good\n"
		"  ok    ready               yes\n"
		"  ok    schedulable         yes\n"
		"  ok    labels              all that the pod asks for\n"
		"  ok    CPU                 can be what the guest has\n"
		"  ok    cpu                 needs 100m, 2 is free\n"
		"  ok    memory              needs 512Mi, 768Mi is free\n"
		"  ok    devices.kubevirt.io/kvm  needs 1, 9 is free\n"
		"  ok    pods                1 of 2 are there\n"
		"bad\n"
		"  FAIL  ready               kubelet is silent\n"
		"  FAIL  schedulable         it is cordoned\n"
		"  FAIL  taint               hard=:NoSchedule is not "
		"tolerated\n"
		"  FAIL  labels              lacks zone=x\n"
		"  FAIL  CPU                 lacks "
		"cpu-model-migration.node.kubevirt.io/Skylake=true\n"
		"  FAIL  CPU                 lacks "
		"cpu-vendor.node.kubevirt.io/V=true\n"
		"  ok    cpu                 needs 100m, 2 is free\n"
		"  FAIL  memory              needs 512Mi, 100Mi is free\n"
		"  FAIL  devices.kubevirt.io/kvm  needs 1, 0 is free\n"
		"  FAIL  pods                1 of 1 are there\n";
	const struct asked asked = {
		.nodes = "[" SOURCE ", " GOOD ", " BAD "]",
		.pods = "[{spec: {nodeName: good, containers: [{resources: "
			"{requests: {memory: 256Mi}}}]}}, {spec: {nodeName: "
			"bad, containers: [{resources: {requests: {memory: "
			"1Gi}}}]}, status: {phase: Succeeded}}, {spec: "
			"{nodeName: bad}}]",
	};
	AUTO(told_done) struct told told = judge(&asked);

	(void)state;
	assert_string_equal(told.text, expected);
	assert_int_equal(told.fit, 1);
}

/* One that has moved has the CPU of the node it started on, and may go back
 * there; the labels of an earlier migration are not asked for again. */
static void
test_a_machine_that_has_moved_is_asked_about_as_the_controller_does(
	void **state)
{
	const struct asked asked = {
		.pod = POD("cpu-model-migration.node.kubevirt.io/Old: "
			   "'true', kubernetes.io/hostname: a"),
		.nodes = "[" NODE("a", IS("New"), "True", LARGE, "") ", " NODE(
			"b", CAN("Old"), "True", LARGE, "") "]",
		.pods = "[]",
	};
	AUTO(told_done) struct told told = judge(&asked);

	(void)state;
	assert_int_equal(told.fit, 1);
	assert_null(strstr(told.text, "FAIL"));
}

static void
test_a_source_that_does_not_say_its_cpu_is_said(void **state)
{
	const struct asked asked = {
		.nodes = "[" NODE("a", "", "True", LARGE, "") "]",
		.pods = "[]",
	};
	AUTO(told_done) struct told told = judge(&asked);

	(void)state;
	assert_non_null(strstr(told.text,
			       "FAIL  CPU                 node 'a' has no "
			       "label host-model-cpu"));
}

static void
test_only_the_node_that_is_asked_for_is_judged(void **state)
{
	const struct asked asked = {
		.nodes = "[" NODE("a", IS("S"), "True", LARGE, "") ", " NODE(
			"b", CAN("S"), "True", LARGE, "") "]",
		.pods = "[]",
		.only = "a",
	};
	AUTO(told_done) struct told told = judge(&asked);

	(void)state;
	assert_string_equal(
		told.text, "a\n"
			   "  FAIL  node                it is there already\n");
	assert_int_equal(told.fit, 0);
}

static void
test_nodes_or_pods_that_may_not_be_read_are_not_known(void **state)
{
	const struct asked nodes = { .nodes = "null" };
	const struct asked pods = {
		.nodes = "[" NODE("a", IS("S"), "True", LARGE, "") ", " NODE(
			"b", CAN("S"), "True", LARGE, "") "]",
	};
	AUTO(told_done) struct told no_nodes = judge(&nodes);
	AUTO(told_done) struct told no_pods = judge(&pods);

	(void)state;
	assert_string_equal(no_nodes.text, "machine\n"
					   "  ?     nodes               may "
					   "not be looked at\n");
	assert_non_null(strstr(no_pods.text, "?     room "));
	assert_int_equal(no_pods.fit, 1);
}

static void
test_the_limit_of_a_target_node_is_told(void **state)
{
	struct asked asked = {
		.nodes = "[" NODE("a", IS("S"), "True", LARGE, "") ", " NODE(
			"b", CAN("S"), "True", LARGE, "") "]",
		.pods = "[]",
		.kubevirt = "{metadata: {name: k, annotations: "
			    "{ferry.io/parallelInboundMigrationsPerNode: "
			    "'1'}}}",
		.vmims = "[{metadata: {name: m, namespace: n, uid: u}, spec: "
			 "{vmiName: v}, status: {phase: Running}}]",
		.vmis = "[{metadata: {name: v, namespace: n}, status: "
			"{nodeName: a, migrationState: {migrationUid: u, "
			"targetNode: b}}}]",
	};
	AUTO(told_done) struct told full = judge(&asked);
	struct told unknown;

	(void)state;
	assert_non_null(strstr(full.text, "note  limit               1 of 1 "
					  "come here: it would wait\n"));
	assert_int_equal(full.fit, 1);
	asked.vmis = NULL;
	unknown = judge(&asked);
	assert_non_null(strstr(unknown.text, "?     limit               "
					     "machines of other namespaces"));
	told_done(&unknown);
}

#define ASKS(spec) "{metadata: {name: p}, spec: {" spec "}}"
#define AFFINE(term)                                             \
	ASKS("affinity: {nodeAffinity: "                         \
	     "{requiredDuringSchedulingIgnoredDuringExecution: " \
	     "{nodeSelectorTerms: [" term "]}}}")
#define BIG NODE("big", CAN("Skylake") "cpus: '16', ", "True", LARGE, "")

/* As the scheduler reads it, and not only what label selectors have. */
static void
test_affinity_is_that_of_the_scheduler(void **state)
{
	static const struct {
		const char *pod;
		size_t fit;
	} cases[] = {
		{ AFFINE("{matchExpressions: [{key: cpus, operator: Gt, "
			 "values: ['8']}]}"),
		  1 },
		{ AFFINE("{matchExpressions: [{key: cpus, operator: Lt, "
			 "values: ['8']}]}"),
		  0 },
		{ AFFINE("{matchFields: [{key: metadata.name, operator: In, "
			 "values: [big]}]}"),
		  1 },
		{ AFFINE("{matchFields: [{key: metadata.name, operator: In, "
			 "values: [a]}]}"),
		  0 },
		{ AFFINE("{}"), 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct asked asked = { .pod = cases[i].pod,
					     .nodes = "[" SOURCE ", " BIG "]",
					     .pods = "[]" };
		AUTO(told_done) struct told told = judge(&asked);

		if (told.fit != cases[i].fit)
			fail_msg("%s: %s", cases[i].pod, told.text);
	}
}

/* What a container that stays beside the others needs, and the pod itself. */
static void
test_all_that_the_scheduler_counts_is_needed(void **state)
{
	const struct asked asked = {
		.pod = ASKS("containers: [{resources: {requests: {cpu: 1}}}], "
			    "initContainers: [{restartPolicy: Always, "
			    "resources: {requests: {cpu: 250m}}}], overhead: "
			    "{cpu: 500m, memory: 1Mi}"),
		.nodes = "[" SOURCE ", " BIG "]",
		.pods = "[]",
	};
	AUTO(told_done) struct told told = judge(&asked);

	(void)state;
	assert_non_null(strstr(told.text, "needs 1750m, 2 is free"));
	assert_non_null(strstr(told.text, "needs 1Mi, 1Gi is free"));
	assert_int_equal(told.fit, 1);
}

static void
test_a_taint_that_keeps_nobody_away_is_no_obstacle(void **state)
{
	const struct asked asked = {
		.nodes = "[" SOURCE ", " NODE(
			"soft", CAN("Skylake"), "True", LARGE,
			"taints: [{key: a, effect: PreferNoSchedule}, {key: b, "
			"effect: Other}]") "]",
		.pods = "[]",
	};
	AUTO(told_done) struct told told = judge(&asked);

	(void)state;
	assert_int_equal(told.fit, 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_node_is_judged_with_a_reason),
		cmocka_unit_test(
			test_a_machine_that_has_moved_is_asked_about_as_the_controller_does),
		cmocka_unit_test(
			test_a_source_that_does_not_say_its_cpu_is_said),
		cmocka_unit_test(
			test_only_the_node_that_is_asked_for_is_judged),
		cmocka_unit_test(
			test_nodes_or_pods_that_may_not_be_read_are_not_known),
		cmocka_unit_test(test_the_limit_of_a_target_node_is_told),
		cmocka_unit_test(test_affinity_is_that_of_the_scheduler),
		cmocka_unit_test(test_all_that_the_scheduler_counts_is_needed),
		cmocka_unit_test(
			test_a_taint_that_keeps_nobody_away_is_no_obstacle),
	};

	js_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
