/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/auth/aggregation.h"

#include "base/cleanup.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/test.h"
#include "cluster/auth/testauth.h"
#include "cluster/store/store.h"

static const char parts[] =
	"kind: ClusterRole\n"
	"metadata: {name: b, labels: {to: sum}}\n"
	"rules: [{apiGroups: [''], resources: [b], verbs: [get]}]\n"
	"---\n"
	"kind: ClusterRole\n"
	"metadata: {name: a, labels: {to: sum}}\n"
	"rules:\n"
	"- {apiGroups: [''], resources: [a], verbs: [get]}\n"
	"- {apiGroups: [''], resources: [b], verbs: [get]}\n"
	"---\n"
	"kind: ClusterRole\n"
	"metadata: {name: c, labels: {to: other}}\n"
	"rules: [{apiGroups: [''], resources: [c], verbs: [get]}]\n"
	"---\n"
	"kind: ClusterRole\n"
	"metadata: {name: sum, labels: {to: top}}\n"
	"aggregationRule:\n"
	"  clusterRoleSelectors: [{matchLabels: {to: sum}}]\n"
	"rules: [{apiGroups: [''], resources: [old], verbs: [get]}]\n"
	"---\n"
	"kind: ClusterRole\n"
	"metadata: {name: top}\n"
	"aggregationRule:\n"
	"  clusterRoleSelectors: [{matchLabels: {to: top}}]\n"
	"rules: []\n";

/* "a b" for the resources of the rules of a role, in order. To be freed. */
static char *
resources_of(struct testauth *t, const char *name)
{
	AUTO(js_unref)
	json_t *role = testauth_get(t, "ClusterRole", "", name);
	char *text = xstrdup("");
	size_t i;
	json_t *rule;

	json_array_foreach(js_arr_at(role, "rules"), i, rule)
	{
		const json_t *list = js_arr_at(rule, "resources");
		char *longer =
			xasprintf("%s%s%s", text, i ? " " : "",
				  json_string_value(json_array_get(list, 0)));

		free_ptr((void *)&text);
		text = longer;
	}
	return text;
}

static void
assert_resources(struct testauth *t, const char *name, const char *expected)
{
	AUTO(free_ptr) char *text = resources_of(t, name);

	assert_string_equal(text, expected);
}

static void
test_rules_are_gathered_in_order_and_once(void **state)
{
	struct testauth *t = *state;

	testauth_put(t, parts);
	assert_resources(t, "sum", "a b");
}

static void
test_who_gathers_can_be_gathered(void **state)
{
	struct testauth *t = *state;

	testauth_put(t, parts);
	assert_resources(t, "top", "a b");
	testauth_remove(t, "ClusterRole", "", "a");
	assert_resources(t, "sum", "b");
	assert_resources(t, "top", "b");
}

static void
test_a_label_decides(void **state)
{
	struct testauth *t = *state;

	testauth_put(t, parts);
	testauth_put(t, "kind: ClusterRole\n"
			"metadata: {name: c, labels: {to: sum}}\n"
			"rules: [{apiGroups: [''], resources: [c], verbs: "
			"[get]}]\n"
			"---\n"
			"kind: ClusterRole\n"
			"metadata: {name: a}\n"
			"rules: [{apiGroups: [''], resources: [a], verbs: "
			"[get]}]\n");
	assert_resources(t, "sum", "b c");
	assert_resources(t, "top", "b c");
}

static void
test_rules_written_by_hand_are_replaced(void **state)
{
	struct testauth *t = *state;

	testauth_put(t, parts);
	testauth_put(t, "kind: ClusterRole\n"
			"metadata: {name: sum, labels: {to: top}}\n"
			"aggregationRule:\n"
			"  clusterRoleSelectors: [{matchLabels: {to: sum}}]\n"
			"rules: [{apiGroups: [''], resources: [mine], verbs: "
			"[get]}]\n");
	assert_resources(t, "sum", "a b");
}

static void
test_a_role_that_no_longer_gathers_keeps_its_rules(void **state)
{
	struct testauth *t = *state;

	testauth_put(t, parts);
	testauth_put(t, "kind: ClusterRole\n"
			"metadata: {name: sum}\n"
			"rules: [{apiGroups: [''], resources: [mine], verbs: "
			"[get]}]\n");
	assert_resources(t, "sum", "mine");
	assert_resources(t, "top", "");
}

static void
test_two_that_gather_each_other_come_to_rest(void **state)
{
	struct testauth *t = *state;
	uint64_t rv;

	testauth_put(t,
		     "kind: ClusterRole\n"
		     "metadata: {name: first, labels: {is: one}}\n"
		     "aggregationRule: {clusterRoleSelectors: [{matchLabels: "
		     "{is: two}}]}\n"
		     "rules: [{apiGroups: [''], resources: [a], verbs: "
		     "[get]}]\n"
		     "---\n"
		     "kind: ClusterRole\n"
		     "metadata: {name: second, labels: {is: two}}\n"
		     "aggregationRule: {clusterRoleSelectors: [{matchLabels: "
		     "{is: one}}]}\n"
		     "rules: [{apiGroups: [''], resources: [b], verbs: "
		     "[get]}]\n");
	rv = store_rv(t->store);
	testauth_settle(t);
	assert_int_equal(store_rv(t->store), rv);
}

int
main(void)
{
#define CASE(test)                                             \
	cmocka_unit_test_setup_teardown(test, testauth_set_up, \
					testauth_tear_down)
	const struct CMUnitTest tests[] = {
		CASE(test_rules_are_gathered_in_order_and_once),
		CASE(test_who_gathers_can_be_gathered),
		CASE(test_a_label_decides),
		CASE(test_rules_written_by_hand_are_replaced),
		CASE(test_a_role_that_no_longer_gathers_keeps_its_rules),
		CASE(test_two_that_gather_each_other_come_to_rest),
	};

	return cmocka_run_group_tests_name("aggregation", tests, NULL, NULL);
}
