/* SPDX-License-Identifier: Apache-2.0 */
#include "api/node.h"

#include "api/names.h"
#include "api/testjson.h"
#include "base/cleanup.h"

static struct node *
node_of(const char *text)
{
	AUTO(js_unref) json_t *object = testjson(text);
	struct err err = { .text = "" };
	struct node *node = node_decode(object, &err);

	assert_string_equal(err.text, "");
	return node;
}

static void
test_all_that_is_used_is_decoded(void **state)
{
	AUTO(node_unref)
	struct node *node = node_of(
		"{'metadata': {'name': 'n1', 'labels': "
		"{'kubevirt.io/schedulable': 'true', "
		"'cpu-vendor.node.kubevirt.io/Intel': 'true'}}, 'spec': "
		"{'unschedulable': true, 'taints': [{'key': "
		"'kubevirt.io/drain', 'effect': 'NoSchedule'}]}, 'status': "
		"{'conditions': [{'type': 'Ready', 'status': 'True'}]}}");

	(void)state;
	assert_true(node->unschedulable && node->ready && node->vm_schedulable);
	assert_true(node_has_taint(node, "kubevirt.io/drain", "NoSchedule"));
	assert_false(node_has_taint(node, "kubevirt.io/drain", "NoExecute"));
	assert_string_equal(node_label_suffix(node, LABEL_CPU_VENDOR_PREFIX),
			    "Intel");
	assert_null(node_label_suffix(node, LABEL_CPU_MODEL_PREFIX));
}

static void
test_a_bare_node_is_neither_ready_nor_for_machines(void **state)
{
	AUTO(node_unref)
	struct node *node = node_of("{'metadata': {'name': 'n1'}}");

	(void)state;
	assert_false(node->unschedulable || node->ready ||
		     node->vm_schedulable);
	assert_null(node->labels);
	assert_null(node_label_suffix(node, LABEL_CPU_VENDOR_PREFIX));
}

static void
test_of_a_flood_of_taints_only_some_are_kept(void **state)
{
	AUTO(js_unref)
	json_t *object = testjson("{'metadata': {'name': 'n'}, 'spec': "
				  "{'taints': []}}");
	AUTO(node_unref) struct node *node = NULL;
	struct err err;

	(void)state;
	for (int i = 0; i < 10 * NODE_TAINTS_MAX; i++)
		(void)json_array_append_new(js_arr_at(object, "spec.taints"),
					    json_object());
	node = node_decode(object, &err);
	assert_int_equal(node->taint_count, NODE_TAINTS_MAX);
}

static void
test_the_last_sign_of_its_agent_is_known(void **state)
{
	AUTO(node_unref)
	struct node *node =
		node_of("{'metadata': {'name': 'n', 'annotations': "
			"{'kubevirt.io/heartbeat': '1970-01-01T00:00:03Z'}}}");
	AUTO(node_unref)
	struct node *odd = node_of("{'metadata': {'name': 'n', 'annotations': "
				   "{'kubevirt.io/heartbeat': 'soon'}}}");

	(void)state;
	assert_int_equal(node->heartbeat_us, 3000000);
	assert_int_equal(odd->heartbeat_us, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_that_is_used_is_decoded),
		cmocka_unit_test(
			test_a_bare_node_is_neither_ready_nor_for_machines),
		cmocka_unit_test(test_of_a_flood_of_taints_only_some_are_kept),
		cmocka_unit_test(test_the_last_sign_of_its_agent_is_known),
	};

	return cmocka_run_group_tests_name("node", tests, NULL, NULL);
}
