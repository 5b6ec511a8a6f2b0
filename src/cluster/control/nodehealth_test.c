/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/control/nodehealth.h"

#include "base/buf.h"
#include "base/jsat.h"
#include "base/test.h"
#include "cluster/control/testjson.h"

#define NOW "2026-11-16T04:00:00Z"

static void
test_a_silent_node_becomes_unknown(void **state)
{
	json_t *node = testjson(
		"{'status':{'conditions':[{'type':'Ready','status':'True',"
		"'lastHeartbeatTime':'2026-11-16T03:00:00Z'},"
		"{'type':'DiskPressure','status':'Unknown'},"
		"{'type':'Other','status':'True'}]},'metadata':"
		"{'creationTimestamp':'2026-11-16T02:00:00Z'}}");
	json_t *changes = nodehealth_silent(node, NOW);
	const json_t *ready = js_find(changes, "type", "Ready");
	const json_t *memory = js_find(changes, "type", "MemoryPressure");

	(void)state;
	assert_int_equal(json_array_size(changes), 3);
	assert_string_equal(js_str_at(ready, "status"), "Unknown");
	assert_string_equal(js_str_at(ready, "reason"), "NodeStatusUnknown");
	assert_string_equal(js_str_at(ready, "message"),
			    "Kubelet stopped posting node status.");
	assert_string_equal(js_str_at(ready, "lastHeartbeatTime"),
			    "2026-11-16T03:00:00Z");
	assert_string_equal(js_str_at(ready, "lastTransitionTime"), NOW);
	assert_string_equal(js_str_at(memory, "reason"),
			    "NodeStatusNeverUpdated");
	assert_string_equal(js_str_at(memory, "message"),
			    "Kubelet never posted node status.");
	assert_string_equal(js_str_at(memory, "lastHeartbeatTime"),
			    "2026-11-16T02:00:00Z");
	json_decref(changes);
	json_decref(node);
}

static void
test_what_is_unknown_already_is_not_written_again(void **state)
{
	json_t *node = testjson(
		"{'status':{'conditions':[{'type':'Ready','status':'Unknown'},"
		"{'type':'MemoryPressure','status':'Unknown'},"
		"{'type':'DiskPressure','status':'Unknown'},"
		"{'type':'PIDPressure','status':'Unknown'}]}}");

	(void)state;
	assert_null(nodehealth_silent(node, NOW));
	json_decref(node);
}

/* The taints of a node, "key:effect" in one text; "same" if unchanged. */
static void
expect_taints(const char *node_text, const char *expected)
{
	json_t *node = testjson("%s", node_text);
	json_t *taints = nodehealth_taints(node, NOW);
	struct buf text = BUF_INIT(512);
	size_t i;
	json_t *each;

	(void)buf_append_str(&text, "");
	json_array_foreach(taints, i, each)(void)
		buf_printf(&text, "%s:%s ", js_str_at(each, "key"),
			   js_str_at(each, "effect"));
	assert_string_equal(taints == NULL ? "same" : (char *)text.data,
			    expected);
	buf_done(&text);
	json_decref(taints);
	json_decref(node);
}

static void
test_taints_follow_the_conditions(void **state)
{
	(void)state;
	expect_taints("{'status':{'conditions':[{'type':'Ready',"
		      "'status':'Unknown'}]}}",
		      "node.kubernetes.io/unreachable:NoSchedule "
		      "node.kubernetes.io/unreachable:NoExecute ");
	expect_taints("{'status':{'conditions':[{'type':'Ready',"
		      "'status':'False'},{'type':'DiskPressure',"
		      "'status':'True'}]}}",
		      "node.kubernetes.io/not-ready:NoSchedule "
		      "node.kubernetes.io/not-ready:NoExecute "
		      "node.kubernetes.io/disk-pressure:NoSchedule ");
	expect_taints("{'spec':{'unschedulable':true}}",
		      "node.kubernetes.io/unschedulable:NoSchedule ");
	expect_taints("{'status':{'conditions':[{'type':'Ready',"
		      "'status':'True'}]}}",
		      "same");
}

static void
test_a_node_that_comes_back_loses_only_our_taints(void **state)
{
	(void)state;
	expect_taints("{'spec':{'taints':["
		      "{'key':'node.kubernetes.io/unreachable',"
		      "'effect':'NoSchedule'},"
		      "{'key':'node.kubernetes.io/unreachable',"
		      "'effect':'NoExecute'},"
		      "{'key':'mine','effect':'NoExecute'},"
		      "{'key':'node.kubernetes.io/disk-pressure',"
		      "'effect':'NoExecute'}]},"
		      "'status':{'conditions':[{'type':'Ready',"
		      "'status':'True'}]}}",
		      "mine:NoExecute "
		      "node.kubernetes.io/disk-pressure:NoExecute ");
}

static void
test_from_unreachable_to_not_ready_one_replaces_the_other(void **state)
{
	(void)state;
	expect_taints("{'spec':{'taints':["
		      "{'key':'node.kubernetes.io/unreachable',"
		      "'effect':'NoSchedule'},"
		      "{'key':'node.kubernetes.io/unreachable',"
		      "'effect':'NoExecute'}]},"
		      "'status':{'conditions':[{'type':'Ready',"
		      "'status':'False'}]}}",
		      "node.kubernetes.io/not-ready:NoSchedule "
		      "node.kubernetes.io/not-ready:NoExecute ");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_silent_node_becomes_unknown),
		cmocka_unit_test(
			test_what_is_unknown_already_is_not_written_again),
		cmocka_unit_test(test_taints_follow_the_conditions),
		cmocka_unit_test(
			test_a_node_that_comes_back_loses_only_our_taints),
		cmocka_unit_test(
			test_from_unreachable_to_not_ready_one_replaces_the_other),
	};

	return cmocka_run_group_tests_name("nodehealth", tests, NULL, NULL);
}
