/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/admit/scope.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/testjson.h"

#define EMPTY "{'spec':{'containers':[{}]}}"
#define ENDING "{'spec':{'activeDeadlineSeconds':5,'containers':[{}]}}"
#define LIMITED                                           \
	"{'spec':{'containers':[{'resources':{'limits':{" \
	"'memory':'1Mi'}}}]}}"
#define HIGH "{'spec':{'priorityClassName':'high','containers':[{}]}}"
#define CROSSING                                             \
	"{'spec':{'affinity':{'podAntiAffinity':{"           \
	"'preferredDuringSchedulingIgnoredDuringExecution':" \
	"[{'podAffinityTerm':{'namespaces':['x']}}]}}}}"
#define CLASS(op, values)                                                  \
	"{'scopeSelector':{'matchExpressions':[{"                          \
	"'scopeName':'PriorityClass','operator':'" op "','values':" values \
	"}]}}"

static void
test_a_pod_is_in_all_scopes_or_not_counted(void **state)
{
	static const struct {
		const char *spec, *pod;
		bool matches;
	} rows[] = {
		{ "{'scopes':['Terminating']}", ENDING, true },
		{ "{'scopes':['Terminating']}", EMPTY, false },
		{ "{'scopes':['NotTerminating']}", EMPTY, true },
		{ "{'scopes':['NotTerminating']}", ENDING, false },
		{ "{'scopes':['BestEffort']}", EMPTY, true },
		{ "{'scopes':['BestEffort']}", LIMITED, false },
		{ "{'scopes':['NotBestEffort']}", LIMITED, true },
		{ "{'scopes':['NotBestEffort']}", EMPTY, false },
		{ "{'scopes':['BestEffort','Terminating']}", EMPTY, false },
		{ "{'scopes':['BestEffort','Terminating']}", ENDING, true },
		{ "{'scopes':['PriorityClass']}", HIGH, true },
		{ "{'scopes':['PriorityClass']}", EMPTY, false },
		{ CLASS("In", "['high','low']"), HIGH, true },
		{ CLASS("In", "['low']"), HIGH, false },
		{ CLASS("In", "['low']"), EMPTY, false },
		{ CLASS("NotIn", "['low']"), HIGH, true },
		{ CLASS("NotIn", "['high']"), HIGH, false },
		{ CLASS("NotIn", "['high']"), EMPTY, true },
		{ CLASS("Exists", "[]"), HIGH, true },
		{ CLASS("DoesNotExist", "[]"), HIGH, false },
		{ CLASS("DoesNotExist", "[]"), EMPTY, true },
		{ "{'scopes':['CrossNamespacePodAffinity']}", CROSSING, true },
		{ "{'scopes':['CrossNamespacePodAffinity']}", EMPTY, false },
		{ "{'scopes':['Unheard']}", EMPTY, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		AUTO(js_unref) json_t *spec = testjson(rows[i].spec);
		AUTO(js_unref) json_t *pod = testjson(rows[i].pod);

		assert_true(scope_has_any(spec));
		if (scope_matches(spec, pod) != rows[i].matches)
			fail_msg("%s: %s", rows[i].spec, rows[i].pod);
	}
}

static void
test_without_scopes_everything_counts(void **state)
{
	AUTO(js_unref) json_t *spec = testjson("{'hard':{},'scopes':[]}");
	AUTO(js_unref) json_t *pod = testjson(EMPTY);

	(void)state;
	assert_false(scope_has_any(spec));
	assert_true(scope_matches(spec, pod));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_pod_is_in_all_scopes_or_not_counted),
		cmocka_unit_test(test_without_scopes_everything_counts),
	};

	return cmocka_run_group_tests_name("scope", tests, NULL, NULL);
}
