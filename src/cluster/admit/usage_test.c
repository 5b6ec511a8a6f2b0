/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/admit/usage.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/testjson.h"

static void
assert_measure(const char *name, const char *text, const char *expected)
{
	AUTO(js_unref) json_t *obj = testjson(text);
	char number[QUANTITY_TEXT_SIZE];
	struct usage_meter meter;
	struct quantity q;

	usage_meter_init(&meter, name);
	q = usage_measure(&meter, obj);
	assert_string_equal(quantity_text(&q, number, sizeof(number)),
			    expected);
	usage_meter_done(&meter);
}

static void
test_a_name_says_which_objects_count(void **state)
{
	static const struct {
		const char *name, *group, *resource;
	} rows[] = {
		{ "pods", "", "pods" },
		{ "count/pods", "", "pods" },
		{ "count/virtualmachineinstances.kubevirt.io", "kubevirt.io",
		  "virtualmachineinstances" },
		{ "count/jobs.batch", "batch", "jobs" },
		{ "requests.cpu", "", "pods" },
		{ "requests.example.com/gpu", "", "pods" },
		{ "hugepages-2Mi", "", "pods" },
		{ "limits.memory", "", "pods" },
		{ "requests.storage", "", "persistentvolumeclaims" },
		{ "gold.storageclass.storage.k8s.io/requests.storage", "",
		  "persistentvolumeclaims" },
		{ "gold.storageclass.storage.k8s.io/persistentvolumeclaims", "",
		  "persistentvolumeclaims" },
		{ "services.nodeports", "", "services" },
		{ "secrets", "", "secrets" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct usage_meter meter;

		usage_meter_init(&meter, rows[i].name);
		assert_true(usage_is_about(&meter, rows[i].group,
					   rows[i].resource));
		assert_false(usage_is_about(&meter, "other", rows[i].resource));
		assert_false(usage_is_about(&meter, rows[i].group, "others"));
		usage_meter_done(&meter);
	}
}

static void
test_an_unknown_name_measures_nothing(void **state)
{
	static const char *const names[] = {
		"", "bananas", "limits.bananas", "count",
		"gold.storageclass.storage.k8s.io/bananas"
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct usage_meter meter;

		usage_meter_init(&meter, names[i]);
		assert_int_equal(meter.what, USAGE_NOTHING);
		assert_false(usage_is_about(&meter, "", ""));
		usage_meter_done(&meter);
	}
}

static void
test_a_pod_that_has_ended_counts_only_as_an_object(void **state)
{
	static const char running[] =
		"{'status':{'phase':'Running'},'spec':{'containers':["
		"{'resources':{'requests':{'cpu':'2'},"
		"'limits':{'memory':'1Gi'}}}]}}";
	static const char ended[] =
		"{'status':{'phase':'Succeeded'},'spec':{'containers':["
		"{'resources':{'requests':{'cpu':'2'},"
		"'limits':{'memory':'1Gi'}}}]}}";

	(void)state;
	assert_measure("pods", running, "1");
	assert_measure("cpu", running, "2");
	assert_measure("requests.cpu", running, "2");
	assert_measure("limits.memory", running, "1Gi");
	assert_measure("count/pods", running, "1");
	assert_measure("pods", ended, "0");
	assert_measure("requests.cpu", ended, "0");
	assert_measure("limits.memory", ended, "0");
	assert_measure("count/pods", ended, "1");
}

static void
test_claims_count_by_class_and_in_whole_bytes(void **state)
{
	static const char gold[] =
		"{'spec':{'storageClassName':'gold',"
		"'resources':{'requests':{'storage':'10Gi'}}}}";
	static const char grown[] =
		"{'spec':{'resources':{'requests':{'storage':'1500m'}}}}";
	static const char allocated[] =
		"{'spec':{'resources':{'requests':{'storage':'1Gi'}}},"
		"'status':{'allocatedResources':{'storage':'2Gi'}}}";

	(void)state;
	assert_measure("requests.storage", gold, "10Gi");
	assert_measure("gold.storageclass.storage.k8s.io/requests.storage",
		       gold, "10Gi");
	assert_measure(
		"gold.storageclass.storage.k8s.io/persistentvolumeclaims", gold,
		"1");
	assert_measure("iron.storageclass.storage.k8s.io/requests.storage",
		       gold, "0");
	assert_measure("requests.storage", grown, "2");
	assert_measure("requests.storage", allocated, "2Gi");
	assert_measure("requests.storage", "{}", "0");
}

static void
test_services_count_their_ports(void **state)
{
	(void)state;
	assert_measure("services.nodeports",
		       "{'spec':{'type':'NodePort','ports':[{},{}]}}", "2");
	assert_measure("services.nodeports",
		       "{'spec':{'type':'ClusterIP','ports':[{},{}]}}", "0");
	assert_measure("services.nodeports",
		       "{'spec':{'type':'LoadBalancer','ports':[{},{}]}}", "2");
	assert_measure("services.nodeports",
		       "{'spec':{'type':'LoadBalancer',"
		       "'allocateLoadBalancerNodePorts':false,"
		       "'ports':[{'nodePort':30000},{}]}}",
		       "1");
	assert_measure("services.loadbalancers",
		       "{'spec':{'type':'LoadBalancer'}}", "1");
	assert_measure("services.loadbalancers", "{'spec':{}}", "0");
}

static void
test_containers_without_cpu_or_memory_are_named_in_order(void **state)
{
	AUTO(js_unref)
	json_t *pod =
		testjson("{'spec':{'containers':[{'name':'b'},{'name':'a'},"
			 "{'name':'c','resources':{'requests':{'cpu':'1'}}}],"
			 "'initContainers':[{'name':'0'}]}}");
	static const char *const names[] = { "requests.cpu", "pods",
					     "limits.memory",
					     "requests.ephemeral-storage" };
	struct buf text = BUF_INIT(1024);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct usage_meter meter;

		usage_meter_init(&meter, names[i]);
		usage_require(&meter, pod, &text);
		usage_meter_done(&meter);
	}
	assert_string_equal((const char *)text.data,
			    "requests.cpu for: 0,a,b; "
			    "limits.memory for: 0,a,b,c");
	buf_done(&text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_name_says_which_objects_count),
		cmocka_unit_test(test_an_unknown_name_measures_nothing),
		cmocka_unit_test(
			test_a_pod_that_has_ended_counts_only_as_an_object),
		cmocka_unit_test(test_claims_count_by_class_and_in_whole_bytes),
		cmocka_unit_test(test_services_count_their_ports),
		cmocka_unit_test(
			test_containers_without_cpu_or_memory_are_named_in_order),
	};

	return cmocka_run_group_tests_name("usage", tests, NULL, NULL);
}
