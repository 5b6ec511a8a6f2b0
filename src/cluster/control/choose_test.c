/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/control/choose.h"

#include <stdio.h>
#include <string.h>

#include "base/test.h"
#include "cluster/control/terms.h"
#include "cluster/control/testjson.h"
#include "cluster/control/view.h"

static uint64_t next_rv;

static int
setup(void **state)
{
	*state = view_new();
	return 0;
}

static int
teardown(void **state)
{
	view_free(*state);
	return 0;
}

/* A node with 4 CPUs, 8Gi and room for 10 pods; more of its spec. */
static void
add_node(struct view *view, const char *name, const char *zone,
	 const char *spec)
{
	json_t *obj = testjson(
		"{'metadata':{'name':'%s','labels':{"
		"'kubernetes.io/hostname':'%s','zone':'%s'}},'spec':%s,"
		"'status':{'allocatable':"
		"{'cpu':'4','memory':'8Gi','pods':'10'}}}",
		name, name, zone, spec);

	(void)view_set_node(view, obj);
	json_decref(obj);
}

static void
add_nodes(struct view *view)
{
	add_node(view, "n1", "a", "{}");
	add_node(view, "n2", "a", "{}");
	add_node(view, "n3", "b", "{}");
}

/* labels and spec are JSON objects. */
static struct pod *
add_pod(struct view *view, const char *name, const char *labels,
	const char *spec)
{
	json_t *obj = testjson("{'metadata':{'name':'%s','namespace':'w',"
			       "'uid':'%s','labels':%s},'spec':%s}",
			       name, name, labels, spec);
	struct pod *pod = view_set_pod(view, obj, ++next_rv);

	json_decref(obj);
	return pod;
}

static void
add_other(struct view *view, const char *what, const char *text)
{
	json_t *obj = testjson("%s", text);

	if (strcmp(what, "pv") == 0)
		(void)view_set_volume(view, obj);
	else if (strcmp(what, "pvc") == 0)
		(void)view_set_claim(view, obj);
	else if (strcmp(what, "sc") == 0)
		view_set_class(view, obj);
	else
		view_set_namespace(view, obj);
	json_decref(obj);
}

/* The chosen node, or the message: until the next call. */
static const char *
choose(struct view *view, const struct pod *pod)
{
	static char text[1024];
	struct choice choice;

	choose_node(view, pod, 0, &choice);
	(void)snprintf(text, sizeof(text), "%s",
		       choice.kind == CHOICE_WAIT   ? "(wait)"
		       : choice.kind == CHOICE_NODE ? choice.node->name
						    : choice.message);
	choice_done(&choice);
	return text;
}

#define CPU(n) "'containers':[{'resources':{'requests':{'cpu':'" n "'}}}]"

static void
test_without_nodes_there_is_nothing_to_say(void **state)
{
	struct view *view = *state;

	assert_string_equal(choose(view, add_pod(view, "p", "{}", "{}")),
			    "no nodes available to schedule pods");
}

static void
test_resources_decide_and_are_named(void **state)
{
	struct view *view = *state;
	struct pod *pod;

	add_nodes(view);
	(void)add_pod(view, "a", "{}", "{'nodeName':'n1'," CPU("3") "}");
	(void)add_pod(view, "b", "{}", "{'nodeName':'n2'," CPU("3") "}");
	pod = add_pod(view, "p", "{}", "{" CPU("2") "}");
	assert_string_equal(choose(view, pod), "n3");
	(void)add_pod(view, "c", "{}",
		      "{'nodeName':'n3','containers':[{'resources':{'requests':"
		      "{'cpu':'3','memory':'8Gi'}}}]}");
	pod = add_pod(view, "p", "{}",
		      "{'containers':[{'resources':{'requests':{'cpu':'2',"
		      "'memory':'1Gi','x.io/gpu':'1'}}}]}");
	assert_string_equal(
		choose(view, pod),
		"0/3 nodes are available: 1 Insufficient memory, 3 "
		"Insufficient cpu, 3 Insufficient x.io/gpu. preemption: 0/3 "
		"nodes are available: 3 No preemption victims found for "
		"incoming pod.");
}

static void
test_what_has_finished_or_gone_gives_its_room_back(void **state)
{
	struct view *view = *state;
	struct pod *pod;
	json_t *done;

	add_node(view, "n1", "a", "{}");
	(void)add_pod(view, "a", "{}", "{'nodeName':'n1'," CPU("4") "}");
	pod = add_pod(view, "p", "{}", "{" CPU("1") "}");
	assert_non_null(strstr(choose(view, pod), "Insufficient cpu"));
	done = testjson("{'metadata':{'name':'a','namespace':'w','uid':'a'},"
			"'spec':{'nodeName':'n1'," CPU(
				"4") "},"
				     "'status':{'phase':'Succeeded'}}");
	(void)view_set_pod(view, done, ++next_rv);
	json_decref(done);
	assert_string_equal(choose(view, pod), "n1");
	(void)add_pod(view, "b", "{}", "{'nodeName':'n1'," CPU("4") "}");
	assert_non_null(strstr(choose(view, pod), "Insufficient cpu"));
	view_remove_pod(view, "w/b");
	assert_string_equal(choose(view, pod), "n1");
}

static void
test_a_node_takes_only_so_many_pods(void **state)
{
	struct view *view = *state;
	char name[8] = "p0";

	add_node(view, "n1", "a", "{}");
	for (int c = '0'; c <= '9'; c++) {
		name[1] = (char)c;
		(void)add_pod(view, name, "{}", "{'nodeName':'n1'}");
	}
	assert_string_equal(choose(view, add_pod(view, "x", "{}", "{}")),
			    "0/1 nodes are available: 1 Too many pods. "
			    "preemption: 0/1 nodes are available: 1 No "
			    "preemption victims found for incoming pod.");
}

static void
test_taints_cordons_and_selectors_are_told_apart(void **state)
{
	struct view *view = *state;
	struct pod *pod;

	add_node(view, "n1", "a", "{'unschedulable':true}");
	add_node(view, "n2", "a",
		 "{'taints':[{'key':'role','value':'db','effect':"
		 "'NoSchedule'}]}");
	add_node(view, "n3", "b", "{}");
	pod = add_pod(view, "p", "{}", "{'nodeSelector':{'zone':'a'}}");
	assert_string_equal(
		choose(view, pod),
		"0/3 nodes are available: 1 node(s) didn't match Pod's node "
		"affinity/selector, 1 node(s) had untolerated taint {role: "
		"db}, 1 node(s) were unschedulable. preemption: 0/3 nodes are "
		"available: 3 Preemption is not helpful for scheduling.");
	pod = add_pod(view, "p", "{}",
		      "{'nodeSelector':{'zone':'a'},'tolerations':[{'key':"
		      "'role','value':'db','effect':'NoSchedule'}]}");
	assert_string_equal(choose(view, pod), "n2");
	pod = add_pod(view, "p", "{}",
		      "{'nodeSelector':{'zone':'a'},'tolerations':[{'key':"
		      "'node.kubernetes.io/unschedulable',"
		      "'operator':'Exists'}]}");
	assert_string_equal(choose(view, pod), "n1");
}

static void
test_node_affinity_demands_and_prefers(void **state)
{
	struct view *view = *state;
	struct pod *pod;

	add_nodes(view);
	pod = add_pod(
		view, "p", "{}",
		"{'affinity':{'nodeAffinity':{"
		"'requiredDuringSchedulingIgnoredDuringExecution':{"
		"'nodeSelectorTerms':[{'matchExpressions':[{'key':'zone',"
		"'operator':'In','values':['a']}]}]},"
		"'preferredDuringSchedulingIgnoredDuringExecution':[{'weight':"
		"50,'preference':{'matchFields':[{'key':'metadata.name',"
		"'operator':'In','values':['n2']}]}}]}}}");
	assert_string_equal(choose(view, pod), "n2");
}

static void
test_a_refusing_preemption_policy_is_respected(void **state)
{
	struct view *view = *state;

	add_node(view, "n1", "a", "{}");
	assert_string_equal(
		choose(view,
		       add_pod(view, "p", "{}",
			       "{'preemptionPolicy':'Never'," CPU("9") "}")),
		"0/1 nodes are available: 1 Insufficient cpu. preemption: not "
		"eligible due to preemptionPolicy=Never.");
}

static void
test_ports_of_the_host_are_given_once(void **state)
{
	struct view *view = *state;
	struct pod *pod;

	add_node(view, "n1", "a", "{}");
	(void)add_pod(view, "a", "{}",
		      "{'nodeName':'n1','containers':[{'ports':[{'hostPort':80,"
		      "'hostIP':'10.0.0.1'}]}]}");
	pod = add_pod(view, "p", "{}",
		      "{'containers':[{'ports':[{'hostPort':80}]}]}");
	assert_non_null(strstr(choose(view, pod),
			       "1 node(s) didn't have free ports for the "
			       "requested pod ports."));
	pod = add_pod(view, "p", "{}",
		      "{'containers':[{'ports':[{'hostPort':80,'hostIP':"
		      "'10.0.0.2'}]}]}");
	assert_string_equal(choose(view, pod), "n1");
	pod = add_pod(view, "p", "{}",
		      "{'containers':[{'ports':[{'hostPort':80,'protocol':"
		      "'UDP'}]}]}");
	assert_string_equal(choose(view, pod), "n1");
}

#define TERM(key, app)                                                         \
	"{'topologyKey':'" key "','labelSelector':{'matchLabels':{'app':'" app \
	"'}}}"
#define ANTI(key, app)                                                 \
	"'affinity':{'podAntiAffinity':{"                              \
	"'requiredDuringSchedulingIgnoredDuringExecution':[" TERM(key, \
								  app) "]}}"
#define WITH(key, app)                                                 \
	"'affinity':{'podAffinity':{"                                  \
	"'requiredDuringSchedulingIgnoredDuringExecution':[" TERM(key, \
								  app) "]}}"

static void
test_anti_affinity_keeps_pods_apart(void **state)
{
	struct view *view = *state;
	struct pod *pod;

	add_nodes(view);
	(void)add_pod(view, "a", "{'app':'x'}", "{'nodeName':'n1'}");
	pod = add_pod(view, "p", "{}", "{" ANTI("zone", "x") "}");
	assert_string_equal(choose(view, pod), "n3");
	(void)add_pod(view, "b", "{'app':'x'}", "{'nodeName':'n3'}");
	assert_string_equal(
		choose(view, pod),
		"0/3 nodes are available: 3 node(s) didn't match pod "
		"anti-affinity rules. preemption: 0/3 nodes are available: 3 "
		"No preemption victims found for incoming pod.");
	/* A pod that was relabelled is in nobody's way any more. */
	(void)add_pod(view, "b", "{'app':'y'}", "{'nodeName':'n3'}");
	assert_string_equal(choose(view, pod), "n3");
}

static void
test_anti_affinity_of_those_who_are_there_counts_too(void **state)
{
	struct view *view = *state;
	struct pod *pod;

	add_nodes(view);
	(void)add_pod(view, "a", "{'app':'x'}",
		      "{'nodeName':'n3'," ANTI("zone", "y") "}");
	(void)add_pod(
		view, "b", "{'app':'x'}",
		"{'nodeName':'n2'," ANTI("kubernetes.io/hostname", "y") "}");
	pod = add_pod(view, "p", "{'app':'y'}", "{}");
	assert_string_equal(choose(view, pod), "n1");
	(void)add_pod(
		view, "c", "{}",
		"{'nodeName':'n1'," ANTI("kubernetes.io/hostname", "y") "}");
	assert_non_null(strstr(choose(view, pod),
			       "3 node(s) didn't satisfy existing pods "
			       "anti-affinity rules."));
	view_remove_pod(view, "w/a");
	assert_string_equal(choose(view, pod), "n3");
}

static void
test_affinity_draws_pods_together(void **state)
{
	struct view *view = *state;
	struct pod *pod;

	add_nodes(view);
	pod = add_pod(view, "p", "{}", "{" WITH("zone", "x") "}");
	assert_string_equal(
		choose(view, pod),
		"0/3 nodes are available: 3 node(s) didn't match pod affinity "
		"rules. preemption: 0/3 nodes are available: 3 Preemption is "
		"not helpful for scheduling.");
	(void)add_pod(view, "a", "{'app':'x'}", "{'nodeName':'n3'}");
	assert_string_equal(choose(view, pod), "n3");
	/* Nor does it stay where the other one was. */
	view_remove_pod(view, "w/a");
	assert_non_null(strstr(choose(view, pod), "affinity rules"));
}

static void
test_the_first_of_a_group_may_be_anywhere(void **state)
{
	struct view *view = *state;
	struct pod *pod;

	add_nodes(view);
	pod = add_pod(view, "p", "{'app':'x'}", "{" WITH("zone", "x") "}");
	assert_null(strstr(choose(view, pod), "0/3"));
	(void)add_pod(view, "a", "{'app':'x'}", "{'nodeName':'n3'}");
	assert_string_equal(choose(view, pod), "n3");
	pod = add_pod(view, "p", "{'app':'x'}", "{" WITH("rack", "x") "}");
	assert_non_null(strstr(choose(view, pod), "affinity rules"));
}

static void
test_namespaces_are_chosen_by_name_or_label(void **state)
{
	struct view *view = *state;
	json_t *obj = testjson("{'metadata':{'name':'a','namespace':'o',"
			       "'uid':'a','labels':{'app':'x'}},"
			       "'spec':{'nodeName':'n3'}}");
	struct pod *pod;

	add_nodes(view);
	(void)view_set_pod(view, obj, ++next_rv);
	json_decref(obj);
	pod = add_pod(view, "p", "{}", "{" WITH("zone", "x") "}");
	assert_non_null(strstr(choose(view, pod), "affinity rules"));
	pod = add_pod(view, "p", "{}",
		      "{'affinity':{'podAffinity':{"
		      "'requiredDuringSchedulingIgnoredDuringExecution':[{"
		      "'topologyKey':'zone','namespaces':['o','q'],"
		      "'labelSelector':{'matchLabels':{'app':'x'}}}]}}}");
	assert_string_equal(choose(view, pod), "n3");
	pod = add_pod(view, "p", "{}",
		      "{'affinity':{'podAffinity':{"
		      "'requiredDuringSchedulingIgnoredDuringExecution':[{"
		      "'topologyKey':'zone','namespaceSelector':{'matchLabels':"
		      "{'team':'t'}},"
		      "'labelSelector':{'matchLabels':{'app':'x'}}}]}}}");
	assert_non_null(strstr(choose(view, pod), "affinity rules"));
	add_other(view, "ns",
		  "{'metadata':{'name':'o','labels':{'team':'t'}}}");
	assert_string_equal(choose(view, pod), "n3");
	add_other(view, "ns", "{'metadata':{'name':'o'}}");
	assert_non_null(strstr(choose(view, pod), "affinity rules"));
}

static void
test_pods_move_with_the_labels_of_their_node(void **state)
{
	struct view *view = *state;
	struct pod *pod;

	add_nodes(view);
	(void)add_pod(view, "a", "{'app':'x'}", "{'nodeName':'n3'}");
	pod = add_pod(view, "p", "{}", "{" ANTI("zone", "x") "}");
	assert_string_not_equal(choose(view, pod), "n3");
	add_node(view, "n3", "a", "{}");
	assert_non_null(strstr(choose(view, pod), "3 node(s) didn't match"));
	view_remove_node(view, "n3");
	assert_null(strstr(choose(view, pod), "0/"));
	add_node(view, "n3", "b", "{}");
	assert_string_not_equal(choose(view, pod), "n3");
}

static void
test_equal_terms_are_one_and_go_with_the_last_pod(void **state)
{
	struct view *view = *state;

	add_nodes(view);
	(void)add_pod(view, "a", "{}", "{" ANTI("zone", "x") "}");
	(void)add_pod(view, "b", "{}",
		      "{'nodeName':'n1'," ANTI("zone", "x") "}");
	assert_int_equal(terms_count(view->terms), 1);
	(void)add_pod(view, "c", "{}", "{" ANTI("zone", "y") "}");
	assert_int_equal(terms_count(view->terms), 2);
	view_remove_pod(view, "w/a");
	view_remove_pod(view, "w/c");
	assert_int_equal(terms_count(view->terms), 1);
	view_remove_pod(view, "w/b");
	assert_int_equal(terms_count(view->terms), 0);
}

static void
test_preferred_affinity_decides_between_nodes_that_fit(void **state)
{
	struct view *view = *state;
	struct pod *pod;

	add_nodes(view);
	(void)add_pod(view, "a", "{'app':'x'}", "{'nodeName':'n1'}");
	pod = add_pod(
		view, "p", "{}",
		"{'affinity':{'podAntiAffinity':{"
		"'preferredDuringSchedulingIgnoredDuringExecution':[{"
		"'weight':100,'podAffinityTerm':" TERM("zone", "x") "}]}}}");
	assert_string_equal(choose(view, pod), "n3");
	pod = add_pod(view, "p", "{}",
		      "{'affinity':{'podAffinity':{"
		      "'preferredDuringSchedulingIgnoredDuringExecution':[{"
		      "'weight':100,'podAffinityTerm':" TERM(
			      "kubernetes.io/hostname", "x") "}]}}}");
	assert_string_equal(choose(view, pod), "n1");
}

#define SPREAD(key, when)                                               \
	"'topologySpreadConstraints':[{'maxSkew':1,'topologyKey':'" key \
	"','whenUnsatisfiable':'" when                                  \
	"','labelSelector':{'matchLabels':{'app':'x'}}}]"

static void
test_spread_constraints_keep_the_balance(void **state)
{
	struct view *view = *state;
	struct pod *pod;

	add_nodes(view);
	pod = add_pod(view, "p", "{'app':'x'}",
		      "{" SPREAD("zone", "DoNotSchedule") "}");
	(void)add_pod(view, "a", "{'app':'x'}", "{'nodeName':'n1'}");
	assert_string_equal(choose(view, pod), "n3");
	add_node(view, "n3", "b", "{'unschedulable':true}");
	assert_string_equal(
		choose(view, pod),
		"0/3 nodes are available: 1 node(s) were unschedulable, 2 "
		"node(s) didn't match pod topology spread constraints. "
		"preemption: 0/3 nodes are available: 1 Preemption is not "
		"helpful for scheduling, 2 No preemption victims found for "
		"incoming pod.");
	pod = add_pod(view, "p", "{'app':'x'}",
		      "{" SPREAD("rack", "DoNotSchedule") "}");
	assert_non_null(strstr(choose(view, pod), "(missing required label)"));
	pod = add_pod(
		view, "p", "{'app':'x'}",
		"{" SPREAD("kubernetes.io/hostname", "ScheduleAnyway") "}");
	assert_string_equal(choose(view, pod), "n2");
}

static void
test_pods_spread_over_equal_nodes(void **state)
{
	struct view *view = *state;
	char name[8] = "p0";

	add_nodes(view);
	for (int c = '0'; c < '9'; c++) {
		struct pod *pod;
		struct choice choice;

		name[1] = (char)c;
		pod = add_pod(view, name, "{}", "{" CPU("100m") "}");
		choose_node(view, pod, (size_t)(c - '0'), &choice);
		assert_int_equal(choice.kind, CHOICE_NODE);
		view_assume(view, pod, choice.node);
		choice_done(&choice);
	}
	for (size_t i = 0; i < view->count; i++)
		assert_int_equal(view->list[i]->pod_count, 3);
}

static void
test_an_assumed_pod_counts_until_it_is_forgotten(void **state)
{
	struct view *view = *state;
	struct pod *a, *p;

	add_node(view, "n1", "a", "{}");
	a = add_pod(view, "a", "{}", "{" CPU("4") "}");
	p = add_pod(view, "p", "{}", "{" CPU("1") "}");
	view_assume(view, a, view_node(view, "n1"));
	assert_non_null(strstr(choose(view, p), "Insufficient cpu"));
	/* A change of its status leaves the assumption alone. */
	a = add_pod(view, "a", "{}", "{" CPU("4") "}");
	assert_non_null(strstr(choose(view, p), "Insufficient cpu"));
	view_forget(view, a);
	assert_string_equal(choose(view, p), "n1");
	view_assume(view, a, view_node(view, "n1"));
	a = add_pod(view, "a", "{}", "{'nodeName':'n1'," CPU("4") "}");
	assert_int_equal(view_node(view, "n1")->pod_count, 1);
	view_forget(view, a);
	assert_int_equal(view_node(view, "n1")->pod_count, 1);
}

#define CLAIMS                                            \
	"'volumes':[{'name':'v','persistentVolumeClaim':" \
	"{'claimName':'c'}}]"
#define PVC(status)                                                    \
	"{'metadata':{'name':'c','namespace':'w','uid':'c1'},'spec':{" \
	"'storageClassName':'local','accessModes':['ReadWriteOnce'],"  \
	"'resources':{'requests':{'storage':'1Gi'}}" status
#define PV(name, size, node)                                             \
	"{'metadata':{'name':'" name "','uid':'" name "'},'spec':{"      \
	"'storageClassName':'local','accessModes':['ReadWriteOnce'],"    \
	"'capacity':{'storage':'" size "'},'nodeAffinity':{'required':{" \
	"'nodeSelectorTerms':[{'matchExpressions':[{'key':"              \
	"'kubernetes.io/hostname','operator':'In','values':['" node "']}]}]}}"

static void
test_claims_must_be_there_and_bound(void **state)
{
	struct view *view = *state;
	struct pod *pod;

	add_nodes(view);
	pod = add_pod(view, "p", "{}", "{" CLAIMS "}");
	assert_string_equal(
		choose(view, pod),
		"0/3 nodes are available: persistentvolumeclaim \"c\" not "
		"found. preemption: 0/3 nodes are available: 3 Preemption is "
		"not helpful for scheduling.");
	add_other(view, "pvc", PVC("},'status':{'phase':'Pending'}}"));
	assert_non_null(strstr(choose(view, pod),
			       "available: pod has unbound immediate "
			       "PersistentVolumeClaims. preemption"));
	add_other(view, "pvc",
		  PVC(",'volumeName':'v'},'status':{'phase':'Lost'}}"));
	assert_non_null(strstr(choose(view, pod),
			       "persistentvolumeclaim \"c\" bound to "
			       "non-existent persistentvolume \"v\"."));
}

static void
test_a_bound_volume_says_where(void **state)
{
	struct view *view = *state;
	struct pod *pod;

	add_nodes(view);
	pod = add_pod(view, "p", "{}", "{" CLAIMS "}");
	add_other(view, "pvc",
		  PVC(",'volumeName':'v2'},'status':{'phase':'Bound'}}"));
	assert_non_null(strstr(choose(view, pod),
			       "3 node(s) unavailable due to one or more "
			       "pvc(s) bound to non-existent pv(s)."));
	add_other(view, "pv", PV("v2", "1Gi", "n2") "}}");
	assert_string_equal(choose(view, pod), "n2");
	add_node(view, "n2", "a", "{'unschedulable':true}");
	assert_non_null(strstr(choose(view, pod),
			       "2 node(s) had volume node affinity conflict"));
}

static void
test_a_volume_is_chosen_with_the_node(void **state)
{
	struct view *view = *state;
	struct choice choice;
	struct pod *pod;

	add_nodes(view);
	add_other(view, "sc",
		  "{'metadata':{'name':'local'},'provisioner':"
		  "'kubernetes.io/no-provisioner','volumeBindingMode':"
		  "'WaitForFirstConsumer'}");
	add_other(view, "pvc", PVC("},'status':{'phase':'Pending'}}"));
	pod = add_pod(view, "p", "{}", "{" CLAIMS "}");
	assert_non_null(strstr(choose(view, pod),
			       "3 node(s) didn't find available persistent "
			       "volumes to bind."));
	add_other(view, "pv",
		  PV("small", "1Mi", "n1") "},'status':{'phase':'Available'}}");
	add_other(view, "pv",
		  PV("big", "9Gi", "n3") "},'status':{'phase':'Available'}}");
	add_other(view, "pv",
		  PV("fit", "2Gi", "n3") "},'status':{'phase':'Available'}}");
	choose_node(view, pod, 0, &choice);
	assert_int_equal(choice.kind, CHOICE_NODE);
	assert_string_equal(choice.node->name, "n3");
	assert_int_equal(choice.volume_count, 1);
	assert_string_equal(choice.volumes[0].claim, "c");
	assert_string_equal(choice.volumes[0].volume, "fit");
	choice_done(&choice);
	/* Reserved, and not bound yet. */
	view_reserve(view_volume(view, "fit"), view_claim(view, "w", "c"));
	assert_string_equal(choose(view, pod), "(wait)");
}

static void
test_a_volume_for_one_pod_is_not_shared(void **state)
{
	struct view *view = *state;
	struct pod *pod;

	add_nodes(view);
	add_other(view, "pv", PV("v", "1Gi", "n2") "}}");
	add_other(view, "pvc",
		  "{'metadata':{'name':'c','namespace':'w','uid':'c1'},"
		  "'spec':{'accessModes':['ReadWriteOncePod'],"
		  "'volumeName':'v'},'status':{'phase':'Bound'}}");
	pod = add_pod(view, "p", "{}", "{" CLAIMS "}");
	assert_string_equal(choose(view, pod), "n2");
	(void)add_pod(view, "a", "{}", "{'nodeName':'n2'," CLAIMS "}");
	assert_non_null(strstr(choose(view, pod), "ReadWriteOncePod"));
	view_remove_pod(view, "w/a");
	assert_string_equal(choose(view, pod), "n2");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_without_nodes_there_is_nothing_to_say),
		TEST(test_resources_decide_and_are_named),
		TEST(test_what_has_finished_or_gone_gives_its_room_back),
		TEST(test_a_node_takes_only_so_many_pods),
		TEST(test_taints_cordons_and_selectors_are_told_apart),
		TEST(test_node_affinity_demands_and_prefers),
		TEST(test_a_refusing_preemption_policy_is_respected),
		TEST(test_ports_of_the_host_are_given_once),
		TEST(test_anti_affinity_keeps_pods_apart),
		TEST(test_anti_affinity_of_those_who_are_there_counts_too),
		TEST(test_affinity_draws_pods_together),
		TEST(test_the_first_of_a_group_may_be_anywhere),
		TEST(test_namespaces_are_chosen_by_name_or_label),
		TEST(test_pods_move_with_the_labels_of_their_node),
		TEST(test_equal_terms_are_one_and_go_with_the_last_pod),
		TEST(test_preferred_affinity_decides_between_nodes_that_fit),
		TEST(test_spread_constraints_keep_the_balance),
		TEST(test_pods_spread_over_equal_nodes),
		TEST(test_an_assumed_pod_counts_until_it_is_forgotten),
		TEST(test_claims_must_be_there_and_bound),
		TEST(test_a_bound_volume_says_where),
		TEST(test_a_volume_is_chosen_with_the_node),
		TEST(test_a_volume_for_one_pod_is_not_shared),
	};

	return cmocka_run_group_tests_name("choose", tests, NULL, NULL);
}
