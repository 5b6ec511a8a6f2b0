/* SPDX-License-Identifier: Apache-2.0 */
#include "meta/nodesel.h"

#include "base/cleanup.h"
#include "base/testjson.h"

/* One expression, asked of a node with zone=a, cpus=8, offset=-3. */
static bool
holds(const char *expression)
{
	AUTO(free_ptr)
	char *text = xasprintf("{'matchExpressions':[%s]}", expression);
	AUTO(js_unref)
	json_t *labels =
		testjson("{'zone':'a','cpus':'8','offset':'-3','e':''}");
	AUTO(js_unref) json_t *term = testjson(text);

	return nodesel_term_matches(term, labels, "n1");
}

static void
test_every_operator_means_what_kubernetes_says(void **state)
{
	static const struct {
		const char *expression;
		bool expected;
	} table[] = {
		{ "{'key':'zone','operator':'In','values':['b','a']}", true },
		{ "{'key':'zone','operator':'In','values':['b']}", false },
		{ "{'key':'none','operator':'In','values':['a']}", false },
		{ "{'key':'zone','operator':'NotIn','values':['b']}", true },
		{ "{'key':'zone','operator':'NotIn','values':['a']}", false },
		{ "{'key':'none','operator':'NotIn','values':['a']}", true },
		{ "{'key':'zone','operator':'Exists'}", true },
		{ "{'key':'e','operator':'Exists'}", true },
		{ "{'key':'none','operator':'Exists'}", false },
		{ "{'key':'none','operator':'DoesNotExist'}", true },
		{ "{'key':'zone','operator':'DoesNotExist'}", false },
		{ "{'key':'cpus','operator':'Gt','values':['7']}", true },
		{ "{'key':'cpus','operator':'Gt','values':['8']}", false },
		{ "{'key':'cpus','operator':'Lt','values':['9']}", true },
		{ "{'key':'cpus','operator':'Lt','values':['8']}", false },
		{ "{'key':'offset','operator':'Lt','values':['-2']}", true },
		{ "{'key':'offset','operator':'Gt','values':['-2']}", false },
		{ "{'key':'zone','operator':'Gt','values':['1']}", false },
		{ "{'key':'none','operator':'Lt','values':['1']}", false },
		{ "{'key':'zone','operator':'Like','values':['a']}", false },
		{ "{'key':'zone','operator':'Exists'},"
		  "{'key':'cpus','operator':'In','values':['4']}",
		  false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		if (holds(table[i].expression) != table[i].expected)
			fail_msg("%s", table[i].expression);
	}
}

static void
test_an_empty_term_matches_nothing(void **state)
{
	(void)state;
	assert_false(holds(""));
}

static void
test_the_name_is_a_field(void **state)
{
	json_t *term = testjson("{'matchFields':[{'key':'metadata.name',"
				"'operator':'In','values':['n1']}]}");
	json_t *other = testjson("{'matchFields':[{'key':'metadata.uid',"
				 "'operator':'Exists'}]}");

	(void)state;
	assert_true(nodesel_term_matches(term, NULL, "n1"));
	assert_false(nodesel_term_matches(term, NULL, "n2"));
	assert_false(nodesel_term_matches(other, NULL, "n1"));
	json_decref(term);
	json_decref(other);
}

static void
test_one_of_the_terms_is_enough(void **state)
{
	json_t *labels = testjson("{'a':'1'}");
	json_t *sel = testjson("{'nodeSelectorTerms':[{'matchExpressions':"
			       "[{'key':'b','operator':'Exists'}]},"
			       "{'matchExpressions':[{'key':'a',"
			       "'operator':'Exists'}]}]}");
	json_t *none = testjson("{'nodeSelectorTerms':[]}");

	(void)state;
	assert_true(nodesel_matches(sel, labels, "n"));
	assert_false(nodesel_matches(sel, NULL, "n"));
	assert_false(nodesel_matches(none, labels, "n"));
	assert_true(nodesel_matches(NULL, labels, "n"));
	json_decref(labels);
	json_decref(sel);
	json_decref(none);
}

static void
test_a_map_matches_when_all_labels_are_there(void **state)
{
	json_t *labels = testjson("{'a':'1','b':'2'}");
	json_t *part = testjson("{'a':'1'}");
	json_t *wrong = testjson("{'a':'1','b':'3'}");

	(void)state;
	assert_true(nodesel_map_matches(part, labels));
	assert_false(nodesel_map_matches(wrong, labels));
	assert_false(nodesel_map_matches(part, NULL));
	assert_true(nodesel_map_matches(NULL, NULL));
	json_decref(labels);
	json_decref(part);
	json_decref(wrong);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_every_operator_means_what_kubernetes_says),
		cmocka_unit_test(test_an_empty_term_matches_nothing),
		cmocka_unit_test(test_the_name_is_a_field),
		cmocka_unit_test(test_one_of_the_terms_is_enough),
		cmocka_unit_test(test_a_map_matches_when_all_labels_are_there),
	};

	return cmocka_run_group_tests_name("nodesel", tests, NULL, NULL);
}
