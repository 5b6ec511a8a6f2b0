/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/preflight.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/test.h"
#include "ctl/checks.h"

static json_t *
parse(const char *text)
{
	struct err err;
	json_t *value = js_parse(text, strlen(text), &err);

	if (value == NULL)
		fail_msg("%s", err.text);
	return value;
}

#define VMI                                                                 \
	"{\"spec\": {\"domain\": {\"cpu\": {\"model\": \"host-model\"}}}, " \
	"\"status\": {\"phase\": \"Running\", \"nodeName\": \"a\", "        \
	"\"migrationMethod\": \"LiveMigration\", \"conditions\": "          \
	"[{\"type\": \"LiveMigratable\", \"status\": \"True\"}]}}"

#define POD                                                                 \
	"{\"spec\": {\"nodeSelector\": {\"zone\": \"x\"}, \"containers\": " \
	"[{\"resources\": {\"requests\": {\"cpu\": \"100m\", "              \
	"\"memory\": \"256Mi\"}}}, {\"resources\": {\"requests\": "         \
	"{\"memory\": \"256Mi\"}}}], \"tolerations\": [{\"key\": "          \
	"\"soft\", \"operator\": \"Exists\"}]}}"

/* more: members of the spec, with a comma in front of it. */
#define NODE(name, labels, ready, memory, spec)                            \
	"{\"metadata\": {\"name\": \"" name "\", \"labels\": {" labels     \
	"\"kubevirt.io/schedulable\": \"true\"}}, \"spec\": {" spec        \
	"}, \"status\": {\"allocatable\": {\"cpu\": \"2\", \"memory\": "   \
	"\"" memory                                                        \
	"\"}, \"conditions\": [{\"type\": \"Ready\", \"status\": \"" ready \
	"\", \"message\": \"kubelet is silent\"}]}}"

#define CPU_HAS "\"host-model-cpu.node.kubevirt.io/Skylake\": \"true\", "
#define CPU_CAN                                                        \
	"\"cpu-model-migration.node.kubevirt.io/Skylake\": \"true\", " \
	"\"zone\": \"x\", "

static void
test_every_node_is_judged_with_a_reason(void **state)
{
	static const char expected[] =
		"good\n"
		"  ok    ready               yes\n"
		"  ok    schedulable         yes\n"
		"  ok    labels              all that the pod asks for\n"
		"  ok    CPU                 can be what a is\n"
		"  ok    cpu                 needs 100m, 2 is free\n"
		"  ok    memory              needs 512Mi, 768Mi is free\n"
		"bad\n"
		"  FAIL  ready               kubelet is silent\n"
		"  FAIL  schedulable         it is cordoned\n"
		"  FAIL  taint               hard=:NoSchedule is not "
		"tolerated\n"
		"  FAIL  labels              the node lacks the label zone=x\n"
		"  FAIL  CPU                 lacks the model Skylake of a\n"
		"  ok    cpu                 needs 100m, 2 is free\n"
		"  FAIL  memory              needs 512Mi, 100Mi is free\n";
	AUTO(js_unref) json_t *vmi = parse(VMI);
	AUTO(js_unref) json_t *pod = parse(POD);
	AUTO(js_unref)
	json_t *nodes =
		parse("[" NODE("a", CPU_HAS, "True", "1Gi", "") ", " NODE(
			"good", CPU_CAN, "True", "1Gi",
			"\"taints\": [{\"key\": \"soft\", "
			"\"effect\": \"NoSchedule\"}]") ", " NODE("bad", "",
								  "False",
								  "100Mi",
								  "\"unschedula"
								  "ble\": "
								  "true, "
								  "\"taints\": "
								  "[{\"key\": "
								  "\"hard\", "
								  "\"effect\": "
								  "\"NoSchedule"
								  "\"}]") "]");
	AUTO(js_unref)
	json_t *pods = parse(
		"[{\"spec\": {\"nodeName\": \"good\", \"containers\": "
		"[{\"resources\": {\"requests\": {\"memory\": \"256Mi\"}}}]}}, "
		"{\"spec\": {\"nodeName\": \"bad\", \"containers\": "
		"[{\"resources\": {\"requests\": {\"memory\": \"1Gi\"}}}]}, "
		"\"status\": {\"phase\": \"Succeeded\"}}]");
	struct preflight_facts facts = {
		.vmi = vmi, .pod = pod, .nodes = nodes, .pods = pods
	};
	AUTO(js_unref) json_t *checks = json_array();
	AUTO(free_ptr) char *text = NULL;

	(void)state;
	assert_int_equal(preflight_nodes(&facts, checks), 1);
	text = checks_text(checks);
	assert_string_equal(text, expected);
}

static void
test_only_the_node_that_is_asked_for_is_judged(void **state)
{
	AUTO(js_unref) json_t *vmi = parse(VMI);
	AUTO(js_unref) json_t *pod = parse(POD);
	AUTO(js_unref)
	json_t *nodes =
		parse("[" NODE("a", CPU_HAS, "True", "1Gi", "") ", " NODE(
			"b", CPU_CAN, "True", "1Gi", "") "]");
	struct preflight_facts facts = {
		.vmi = vmi, .pod = pod, .nodes = nodes, .only = "a"
	};
	AUTO(js_unref) json_t *checks = json_array();

	(void)state;
	assert_int_equal(preflight_nodes(&facts, checks), 0);
	assert_int_equal(checks_count(checks, "a", CHECK_FAIL), 1);
	assert_int_equal(checks_count(checks, "b", CHECK_OK), 0);
}

static void
test_a_machine_that_cannot_move_says_everything_at_once(void **state)
{
	static const char expected[] =
		"machine\n"
		"  FAIL  running             it is Scheduling: only what runs "
		"can move\n"
		"  FAIL  migratable          DisksNotLiveMigratable: not "
		"shared\n"
		"  FAIL  other migrations    m1 is not over\n"
		"  FAIL  admission           no\n"
		"  FAIL  storage             the claim one is not "
		"ReadWriteMany\n"
		"  ok    storage             the claim two is shared "
		"(ReadWriteMany)\n"
		"  FAIL  storage             the claim three is gone\n"
		"  FAIL  network             the NetworkAttachmentDefinition "
		"lan does not exist\n"
		"  FAIL  quota               small: the target pod needs 1 "
		"pods, 0 is left\n"
		"  FAIL  quota               small: the target pod needs 512Mi "
		"requests.memory, 256Mi is left\n";
	AUTO(js_unref)
	json_t *vmi = parse(
		"{\"status\": {\"phase\": \"Scheduling\", \"conditions\": "
		"[{\"type\": \"LiveMigratable\", \"status\": \"False\", "
		"\"reason\": \"DisksNotLiveMigratable\", \"message\": \"not "
		"shared\"}]}}");
	AUTO(js_unref) json_t *pod = parse(POD);
	AUTO(js_unref)
	json_t *vmims = parse("[{\"metadata\": {\"name\": \"m0\"}, "
			      "\"status\": {\"phase\": \"Failed\"}}, "
			      "{\"metadata\": {\"name\": \"m1\"}, \"status\": "
			      "{\"phase\": \"Running\"}}]");
	AUTO(js_unref)
	json_t *claims = parse(
		"{\"one\": {\"spec\": {\"accessModes\": [\"ReadWriteOnce\"]}}, "
		"\"two\": {\"spec\": {\"accessModes\": [\"ReadWriteMany\"]}}, "
		"\"three\": null}");
	AUTO(js_unref) json_t *nets = parse("{\"lan\": false}");
	AUTO(js_unref)
	json_t *quotas = parse(
		"[{\"metadata\": {\"name\": \"small\"}, \"spec\": {\"hard\": "
		"{\"pods\": \"1\", \"requests.memory\": \"1Gi\", "
		"\"requests.cpu\": \"4\"}}, \"status\": {\"used\": {\"pods\": "
		"\"1\", \"requests.memory\": \"768Mi\"}}}]");
	struct preflight_facts facts = {
		.vmi = vmi,
		.pod = pod,
		.vmims = vmims,
		.claims = claims,
		.nets = nets,
		.quotas = quotas,
		.refusal = "no",
	};
	AUTO(js_unref) json_t *checks = json_array();
	AUTO(free_ptr) char *text = NULL;

	(void)state;
	preflight_machine(&facts, checks);
	text = checks_text(checks);
	assert_string_equal(text, expected);
}

static void
test_what_may_not_be_read_is_not_known(void **state)
{
	AUTO(js_unref) json_t *vmi = parse(VMI);
	AUTO(js_unref) json_t *pod = parse(POD);
	AUTO(js_unref)
	json_t *nodes = parse("[" NODE("b", CPU_CAN, "True", "1Gi", "") "]");
	struct preflight_facts facts = { .vmi = vmi,
					 .pod = pod,
					 .nodes = nodes };
	AUTO(js_unref) json_t *checks = json_array();

	(void)state;
	preflight_machine(&facts, checks);
	assert_int_equal(preflight_nodes(&facts, checks), 1);
	assert_int_equal(checks_count(checks, NULL, CHECK_UNKNOWN), 3);
	assert_int_equal(checks_count(checks, NULL, CHECK_FAIL), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_node_is_judged_with_a_reason),
		cmocka_unit_test(
			test_only_the_node_that_is_asked_for_is_judged),
		cmocka_unit_test(
			test_a_machine_that_cannot_move_says_everything_at_once),
		cmocka_unit_test(test_what_may_not_be_read_is_not_known),
	};

	js_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
