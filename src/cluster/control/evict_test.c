/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/control/evict.h"

#include "base/test.h"
#include "cluster/control/model.h"
#include "cluster/control/testjson.h"
#include "cluster/control/view.h"
#include "meta/time.h"

#define NOW (INT64_C(1000000000) * TIME_US_PER_SECOND) /* 2001-09-09 */

/* Seconds from NOW until the pod goes; -1: never. */
static int64_t
seconds_when(const char *tolerations, const char *taints, bool cut_off)
{
	json_t *obj = testjson("{'metadata':{'name':'p','namespace':'w'},"
			       "'spec':{'tolerations':%s}}",
			       tolerations);
	json_t *list = testjson("%s", taints);
	struct pod *pod = pod_new(obj, 1);
	int64_t at = evict_time(pod, list, cut_off, NOW);

	pod_free(pod);
	json_decref(obj);
	json_decref(list);
	return at == EVICT_NEVER ? -1 : (at - NOW) / TIME_US_PER_SECOND;
}

static int64_t
seconds(const char *tolerations, const char *taints)
{
	return seconds_when(tolerations, taints, false);
}

#define MINE "[{'key':'k','value':'v','effect':'NoExecute'}]"
#define GONE "[{'key':'node.kubernetes.io/unreachable','effect':'NoExecute'}]"

static void
test_what_is_not_tolerated_evicts_at_once(void **state)
{
	(void)state;
	assert_int_equal(seconds("[]", MINE), 0);
	assert_int_equal(seconds("[{'key':'k','value':'w'}]", MINE), 0);
	assert_int_equal(seconds("[{'key':'k','operator':'Exists',"
				 "'effect':'NoSchedule'}]",
				 MINE),
			 0);
}

static void
test_what_is_tolerated_does_not_evict(void **state)
{
	(void)state;
	assert_int_equal(seconds("[{'key':'k','value':'v'}]", MINE), -1);
	assert_int_equal(seconds("[{'operator':'Exists'}]", MINE), -1);
	assert_int_equal(seconds("[]", "[]"), -1);
	assert_int_equal(seconds("[]", "[{'key':'k','effect':'NoSchedule'}]"),
			 -1);
}

static void
test_the_shortest_toleration_counts(void **state)
{
	(void)state;
	assert_int_equal(seconds("[{'key':'k','operator':'Exists',"
				 "'tolerationSeconds':60},"
				 "{'operator':'Exists',"
				 "'tolerationSeconds':20}]",
				 MINE),
			 20);
	assert_int_equal(seconds("[{'operator':'Exists',"
				 "'tolerationSeconds':-5}]",
				 MINE),
			 0);
}

static void
test_a_silent_node_is_borne_for_a_while_by_default(void **state)
{
	(void)state;
	assert_int_equal(seconds("[]", GONE), EVICT_DEFAULT_SECONDS);
	assert_int_equal(seconds("[{'key':'node.kubernetes.io/unreachable',"
				 "'operator':'Exists','tolerationSeconds':5}]",
				 GONE),
			 5);
}

static void
test_time_runs_from_when_the_taint_was_added(void **state)
{
	(void)state;
	assert_int_equal(seconds("[{'operator':'Exists',"
				 "'tolerationSeconds':60}]",
				 "[{'key':'k','effect':'NoExecute',"
				 "'timeAdded':'2001-09-09T01:46:10Z'}]"),
			 30);
	/* A time to come is no reason to wait longer. */
	assert_int_equal(seconds("[{'operator':'Exists',"
				 "'tolerationSeconds':60}]",
				 "[{'key':'k','effect':'NoExecute',"
				 "'timeAdded':'2031-09-09T01:46:10Z'}]"),
			 60);
}

static void
test_a_server_that_is_cut_off_blames_no_node(void **state)
{
	(void)state;
	assert_int_equal(seconds_when("[]", GONE, true), -1);
	assert_int_equal(seconds_when("[]", MINE, true), 0);
}

static void
add_node(struct view *view, const char *name, const char *taints)
{
	json_t *obj = testjson("{'metadata':{'name':'%s'},"
			       "'spec':{'taints':%s}}",
			       name, taints);

	(void)view_set_node(view, obj);
	json_decref(obj);
}

static void
test_it_is_cut_off_when_no_node_is_healthy(void **state)
{
	struct view *view = view_new();

	(void)state;
	add_node(view, "a", GONE);
	assert_true(evict_is_cut_off(view));
	add_node(view, "b", MINE);
	assert_false(evict_is_cut_off(view));
	add_node(view, "b", GONE);
	assert_true(evict_is_cut_off(view));
	view_free(view);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_not_tolerated_evicts_at_once),
		cmocka_unit_test(test_what_is_tolerated_does_not_evict),
		cmocka_unit_test(test_the_shortest_toleration_counts),
		cmocka_unit_test(
			test_a_silent_node_is_borne_for_a_while_by_default),
		cmocka_unit_test(test_time_runs_from_when_the_taint_was_added),
		cmocka_unit_test(test_a_server_that_is_cut_off_blames_no_node),
		cmocka_unit_test(test_it_is_cut_off_when_no_node_is_healthy),
	};

	return cmocka_run_group_tests_name("evict", tests, NULL, NULL);
}
