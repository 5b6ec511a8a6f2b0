/* SPDX-License-Identifier: Apache-2.0 */
#include "api/pathprobe.h"

#include "api/kinds.h"
#include "api/testjson.h"
#include "base/cleanup.h"

#define SPEC "'spec': {'sourceNode': 'a', 'targetNode': 'b'}"
#define OBJECT(status) \
	"{'metadata': {'name': 'p'}, " SPEC ", 'status': " status "}"

static void
test_a_question_is_understood_by_who_is_asked(void **state)
{
	static const struct pathprobe_question question = {
		.source = "a",
		.target = "b",
		.vmi_name = "vm1",
		.measure = PATHPROBE_THROUGHPUT,
		.guest = true,
	};
	AUTO(js_unref) json_t *object = pathprobe_new(&question);
	AUTO(pathprobe_unref) struct pathprobe *probe = NULL;
	struct err err = { .text = "" };

	(void)state;
	assert_string_equal(js_str_at(object, "apiVersion"),
			    "ferry.io/v1alpha1");
	assert_string_equal(js_str_at(object, "kind"), api_path_probes.kind);
	probe = pathprobe_decode(object, &err);
	assert_string_equal(err.text, "");
	assert_string_equal(probe->node[PATHPROBE_SOURCE], "a");
	assert_string_equal(probe->node[PATHPROBE_TARGET], "b");
	assert_string_equal(probe->vmi_name, "vm1");
	assert_int_equal(probe->measure, PATHPROBE_THROUGHPUT);
	assert_true(probe->guest);
	assert_null(probe->answer[PATHPROBE_SOURCE]);
	assert_null(probe->answer[PATHPROBE_TARGET]);
}

static void
test_what_is_left_out_of_a_question_is_not_there(void **state)
{
	static const struct pathprobe_question question = { .source = "a",
							    .target = "",
							    .vmi_name = "" };
	AUTO(js_unref) json_t *object = pathprobe_new(&question);

	(void)state;
	assert_null(js_at(object, "spec.targetNode"));
	assert_null(js_at(object, "spec.vmiName"));
	assert_string_equal(js_str_at(object, "spec.measure"), "None");
}

static void
test_nonsense_is_not_answered(void **state)
{
	static const struct {
		const char *text, *why;
	} cases[] = {
		{ "{'metadata': {'name': 'p'}}", "spec.sourceNode is missing" },
		{ "{'metadata': {'name': 'p'}, 'spec': {'sourceNode': 'a', "
		  "'targetNode': 'a'}}",
		  "spec.targetNode is the source node 'a'" },
		{ "{'metadata': {'name': 'p'}, 'spec': {'sourceNode': 'a', "
		  "'measure': 'All'}}",
		  "spec.measure is 'All'" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		AUTO(js_unref) json_t *object = testjson(cases[i].text);
		struct err err = { .text = "" };

		assert_null(pathprobe_decode(object, &err));
		assert_string_equal(err.text, cases[i].why);
	}
}

static void
test_each_node_writes_its_own_answer_only(void **state)
{
	AUTO(js_unref) json_t *before = testjson(OBJECT("{}"));
	AUTO(js_unref)
	json_t *target = testjson(OBJECT("{'target': {'x': 1}}"));
	AUTO(js_unref)
	json_t *both =
		testjson(OBJECT("{'target': {'x': 1}, 'source': {'y': 1}}"));
	struct status st = STATUS_INIT;

	(void)state;
	assert_int_equal(pathprobe_check_update(before, target, "b", &st), 0);
	assert_int_equal(pathprobe_check_update(target, both, "a", &st), 0);
	assert_int_equal(pathprobe_check_update(before, target, "a", &st), -1);
	assert_denied(&st,
		      "Node restriction, the answer of the target is not for "
		      "'a' to write",
		      "FieldValueInvalid", "status.target");
	assert_int_equal(pathprobe_check_update(before, both, "b", &st), -1);
	status_done(&st);
	assert_int_equal(pathprobe_check_update(before, target, "", &st), -1);
	status_done(&st);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_question_is_understood_by_who_is_asked),
		cmocka_unit_test(
			test_what_is_left_out_of_a_question_is_not_there),
		cmocka_unit_test(test_nonsense_is_not_answered),
		cmocka_unit_test(test_each_node_writes_its_own_answer_only),
	};

	return cmocka_run_group_tests_name("pathprobe", tests, NULL, NULL);
}
