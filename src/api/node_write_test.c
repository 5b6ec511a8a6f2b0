/* SPDX-License-Identifier: Apache-2.0 */
#include "api/check.h"
#include "api/testjson.h"
#include "base/array.h"
#include "base/cleanup.h"

#define NODE(labels, annotations, rest)                                  \
	"{'metadata': {'name': 'n1', 'resourceVersion': '7', 'labels': " \
	"{'zone': 'a'" labels "}, 'annotations': {'x': 'y'" annotations  \
	"}}" rest "}"
#define TAINTED ", 'spec': {'taints': [{'key': 'k', 'effect': 'NoSchedule'}]}"

struct change {
	const char *before, *now, *why, *field;
};

static void
check(const struct change *c)
{
	AUTO(js_unref) json_t *before = testjson(c->before);
	AUTO(js_unref) json_t *now = testjson(c->now);
	struct status st = STATUS_INIT;

	if (c->why == NULL) {
		assert_int_equal(node_check_update(before, now, "n1", &st), 0);
		return;
	}
	assert_int_equal(node_check_update(before, now, "n1", &st), -1);
	assert_denied(&st, c->why, "FieldValueInvalid", c->field);
}

static void
test_an_agent_writes_kubevirts_labels_and_annotations(void **state)
{
	static const struct change cases[] = {
		{ NODE("", "", ""), NODE("", "", ""), NULL, NULL },
		{ NODE("", "", ""),
		  NODE(", 'kubevirt.io/schedulable': 'true', "
		       "'cpu-model.node.kubevirt.io/Penryn': 'true'",
		       ", 'kubevirt.io/heartbeat': 't'", ""),
		  NULL, NULL },
		{ NODE(", 'kubevirt.io/schedulable': 'true'", "", TAINTED),
		  NODE("", "", TAINTED), NULL, NULL },
		{ "{'metadata': {'name': 'n1'}}",
		  "{'metadata': {'name': 'n1', 'resourceVersion': '9', "
		  "'managedFields': [{}], 'labels': "
		  "{'kubevirt.io/schedulable': 'true'}}}",
		  NULL, NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		check(&cases[i]);
}

static void
test_an_agent_writes_nothing_else(void **state)
{
#define LABELS "metadata.labels"
#define DENIED_KEY(key) "Node restriction, the agent may not change '" key "'"
#define DENIED_REST                                                      \
	"Node restriction, the agent may change labels and annotations " \
	"only"
	static const struct change cases[] = {
		{ NODE("", "", ""), NODE(", 'disk': 'ssd'", "", ""),
		  DENIED_KEY("disk"), LABELS },
		{ NODE("", "", ""),
		  NODE(", 'node-role.kubernetes.io/x': ''", "", ""),
		  DENIED_KEY("node-role.kubernetes.io/x"), LABELS },
		{ NODE("", "", ""),
		  NODE(", 'notkubevirt.io/schedulable': 'true'", "", ""),
		  DENIED_KEY("notkubevirt.io/schedulable"), LABELS },
		{ NODE("", "", ""), NODE(", 'kubevirt.io': 'true'", "", ""),
		  DENIED_KEY("kubevirt.io"), LABELS },
		{ NODE(", 'b': '1'", "", ""), NODE("", "", ""), DENIED_KEY("b"),
		  LABELS },
		{ NODE(", 'b': '1'", "", ""), NODE(", 'b': '2'", "", ""),
		  DENIED_KEY("b"), LABELS },
		{ NODE("", "", ""), NODE("", ", 'z': 'z'", ""), DENIED_KEY("z"),
		  "metadata.annotations" },
		{ NODE("", "", ""), NODE("", "", TAINTED), DENIED_REST, NULL },
		{ NODE("", "", TAINTED), NODE("", "", ""), DENIED_REST, NULL },
		{ NODE("", "", ""),
		  NODE("", "", ", 'spec': {'unschedulable': true}"),
		  DENIED_REST, NULL },
		{ "{'metadata': {'name': 'n1'}}",
		  "{'metadata': {'name': 'n1', 'finalizers': ['f']}}",
		  DENIED_REST, NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		check(&cases[i]);
}

static void
test_an_agent_has_one_node(void **state)
{
	AUTO(js_unref) json_t *node = testjson(NODE("", "", ""));
	struct status st = STATUS_INIT;

	(void)state;
	assert_int_equal(node_check_update(node, node, "n2", &st), -1);
	assert_denied(&st,
		      "Node restriction, the agent of 'n2' may change no other "
		      "node",
		      "FieldValueInvalid", NULL);
	assert_int_equal(node_check_update(node, node, "", &st), -1);
	status_done(&st);
	assert_int_equal(node_check_update(node, node, NULL, &st), -1);
	status_done(&st);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_an_agent_writes_kubevirts_labels_and_annotations),
		cmocka_unit_test(test_an_agent_writes_nothing_else),
		cmocka_unit_test(test_an_agent_has_one_node),
	};

	return cmocka_run_group_tests_name("node_write", tests, NULL, NULL);
}
