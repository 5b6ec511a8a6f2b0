/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/test.h"
#include "controller/render/resources.h"
#include "controller/render/testcase.h"
#include "meta/testyaml.h"

#define MIB (INT64_C(1024) * 1024)

/* What is made of a domain, with a KubeVirt configuration ("" for none). */
static json_t *
render(const char *domain, const char *configuration, int64_t *ret_overhead,
       struct err *err)
{
	AUTO(free_ptr) char *vmi_text = xasprintf("spec: {domain: %s}", domain);
	AUTO(free_ptr)
	char *kubevirt_text = xasprintf("{metadata: {name: a, namespace: b}, "
					"spec: {configuration: {%s}}}",
					configuration);
	AUTO(js_unref) json_t *vmi = testyaml(vmi_text);
	AUTO(js_unref) json_t *kubevirt = testyaml(kubevirt_text);
	struct testcase tc;
	json_t *resources;

	testcase_open(&tc, kubevirt, NULL);
	resources = resources_render(vmi, &tc.env, ret_overhead, err);
	testcase_close(&tc);
	return resources;
}

/* One amount, as "requests.memory". */
static void
assert_amount(const char *domain, const char *configuration, const char *list,
	      const char *name, const char *wanted)
{
	const char *amount;
	int64_t overhead;
	struct err err;
	AUTO(js_unref)
	json_t *resources = render(domain, configuration, &overhead, &err);

	if (resources == NULL)
		fail_msg("%s", err.text);
	amount = json_string_value(
		json_object_get(js_obj_at(resources, list), name));
	assert_string_equal(amount == NULL ? "" : amount, wanted);
}

static void
assert_overhead(const char *domain, const char *configuration, int64_t wanted)
{
	int64_t overhead = -1;
	struct err err;
	AUTO(js_unref)
	json_t *resources = render(domain, configuration, &overhead, &err);

	assert_non_null(resources);
	assert_int_equal(overhead, wanted);
}

static void
test_overhead_grows_with_memory_and_vcpus(void **state)
{
	(void)state;
	assert_overhead("{memory: {guest: 1Gi}}", "",
			(215 + 8 + 8 + 32 + 2) * MIB);
	assert_overhead("{memory: {guest: 16Gi}, cpu: {cores: 8}}", "",
			(215 + 8 + 64 + 32 + 32) * MIB);
	assert_overhead("{memory: {guest: 1Gi}, devices: "
			"{autoattachGraphicsDevice: false}}",
			"", (215 + 8 + 8 + 2) * MIB);
}

static void
test_overhead_is_multiplied_as_the_cluster_says(void **state)
{
	(void)state;
	assert_overhead("{memory: {guest: 1Gi}}",
			"additionalGuestMemoryOverheadRatio: '2.0'",
			2 * (215 + 8 + 8 + 32 + 2) * MIB);
}

static void
test_guaranteed_machines_get_more_since_limits_kill(void **state)
{
	(void)state;
	assert_overhead("{memory: {guest: 1Gi}, resources: {requests: {cpu: 1, "
			"memory: 1Gi}, limits: {cpu: '1', memory: 1024Mi}}}",
			"", (215 + 8 + 8 + 32 + 2 + 100) * MIB);
}

static void
test_memory_is_requested_with_its_overhead(void **state)
{
	(void)state;
	assert_amount("{memory: {guest: 1Gi}}", "", "requests", "memory",
		      "1289Mi");
	assert_amount("{memory: {guest: 1Gi}}", "", "limits", "memory", "");
	assert_amount("{memory: {guest: 1Gi}, resources: {limits: {memory: "
		      "2Gi}}}",
		      "", "limits", "memory", "2313Mi");
	assert_amount("{memory: {guest: 1Gi}, resources: {limits: {memory: "
		      "2Gi}}}",
		      "", "requests", "memory", "2313Mi");
	assert_amount("{memory: {guest: 1Gi}, resources: "
		      "{overcommitGuestOverhead: true}}",
		      "", "requests", "memory", "1Gi");
}

static void
test_a_number_is_a_quantity_too(void **state)
{
	(void)state;
	assert_amount("{resources: {requests: {memory: 1073741824}}}", "",
		      "requests", "memory", "1351614464");
}

static void
test_memory_can_be_overcommitted(void **state)
{
	const char *twice = "developerConfiguration: {memoryOvercommit: 200}";

	(void)state;
	assert_amount("{memory: {guest: 2Gi}}", twice, "requests", "memory",
		      "1291Mi");
	/* What is said is meant, and huge pages are there or not. */
	assert_amount("{memory: {guest: 2Gi}, resources: {requests: {memory: "
		      "2Gi}}}",
		      twice, "requests", "memory", "2315Mi");
	assert_amount("{memory: {guest: 2Gi, hugepages: {pageSize: 2Mi}}}",
		      twice, "requests", "hugepages-2Mi", "2Gi");
}

static void
test_huge_pages_hold_the_guest_and_nothing_else(void **state)
{
	const char *domain = "{memory: {guest: 1Gi, hugepages: {pageSize: "
			     "1Gi}}, resources: {requests: {memory: 1100Mi}}}";

	(void)state;
	assert_amount(domain, "", "requests", "hugepages-1Gi", "1Gi");
	assert_amount(domain, "", "limits", "hugepages-1Gi", "1Gi");
	assert_amount(domain, "", "requests", "memory", "341Mi");
}

static void
test_cpu_is_requested_by_the_allocation_ratio(void **state)
{
	(void)state;
	assert_amount("{memory: {guest: 1Gi}}", "", "requests", "cpu", "100m");
	assert_amount("{memory: {guest: 1Gi}, cpu: {cores: 4, sockets: 2, "
		      "threads: 2}}",
		      "", "requests", "cpu", "1600m");
	assert_amount("{memory: {guest: 1Gi}, cpu: {cores: 4}}",
		      "developerConfiguration: {cpuAllocationRatio: 1}",
		      "requests", "cpu", "4");
	assert_amount("{memory: {guest: 1Gi}, cpu: {cores: 4}, resources: "
		      "{requests: {cpu: 250m}}}",
		      "", "requests", "cpu", "250m");
	assert_amount("{memory: {guest: 1Gi}}", "cpuRequest: 30m", "requests",
		      "cpu", "30m");
}

static void
test_kvm_is_asked_for_unless_emulation_will_do(void **state)
{
	const char *kvm = "devices.kubevirt.io/kvm";
	const char *vhost = "devices.kubevirt.io/vhost-net";
	const char *domain = "{memory: {guest: 1Gi}, devices: {interfaces: "
			     "[{name: a}]}}";
	const char *emulation = "developerConfiguration: {useEmulation: true}";

	(void)state;
	assert_amount(domain, "", "limits", kvm, "1");
	assert_amount(domain, "", "limits", vhost, "1");
	assert_amount(domain, emulation, "limits", kvm, "");
	assert_amount(domain, emulation, "limits", vhost, "");
	assert_amount(domain, emulation, "limits", "devices.kubevirt.io/tun",
		      "1");
	assert_amount("{memory: {guest: 1Gi}, devices: "
		      "{autoattachPodInterface: false}}",
		      emulation, "limits", "devices.kubevirt.io/tun", "");
}

static void
test_bad_amounts_are_refused_with_their_path(void **state)
{
	static const struct {
		const char *domain;
		const char *path;
	} cases[] = {
		{ "{memory: {guest: many}}", "spec.domain.memory.guest: " },
		{ "{memory: {guest: '-1Gi'}}",
		  "spec.domain.memory.guest: must not be negative" },
		{ "{memory: {guest: []}}", "spec.domain.memory.guest: " },
		{ "{memory: {guest: 0}}", "spec.domain.memory.guest: " },
		{ "{resources: {requests: {memory: x}}}",
		  "spec.domain.resources.requests.memory: " },
		{ "{memory: {guest: 1}, resources: {limits: {memory: x}}}",
		  "spec.domain.resources.limits.memory: " },
		{ "{memory: {guest: 1}, resources: {requests: "
		  "{ephemeral-storage: x}}}",
		  "spec.domain.resources.requests.ephemeral-storage: " },
	};
	int64_t overhead;
	struct err err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		assert_null(render(cases[i].domain, "", &overhead, &err));
		assert_int_equal(err.kind, ERR_INVALID);
		assert_memory_equal(err.text, cases[i].path,
				    strlen(cases[i].path));
	}
}

static void
test_absurd_amounts_do_not_overflow(void **state)
{
	int64_t overhead;
	struct err err;
	AUTO(js_unref)
	json_t *resources =
		render("{memory: {guest: 100000000E}, cpu: {cores: 4294967295, "
		       "sockets: 4294967295, threads: 4294967295}}",
		       "developerConfiguration: {memoryOvercommit: 1}",
		       &overhead, &err);

	(void)state;
	assert_non_null(resources);
	assert_true(overhead > 0);
}

static void
test_vcpus_are_the_topology_or_else_what_is_asked_for(void **state)
{
	static const struct {
		const char *vmi;
		uint64_t vcpus;
	} cases[] = {
		{ "{}", 1 },
		{ "{spec: {domain: {cpu: {model: x}}}}", 1 },
		{ "{spec: {domain: {cpu: {cores: 3, threads: 2}}}}", 6 },
		{ "{spec: {domain: {cpu: {cores: -3}}}}", 1 },
		{ "{spec: {domain: {resources: {requests: {cpu: 1500m}}}}}",
		  2 },
		{ "{spec: {domain: {resources: {limits: {cpu: 4}, requests: "
		  "{cpu: 1}}}}}",
		  4 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(js_unref) json_t *vmi = testyaml(cases[i].vmi);

		assert_int_equal(resources_vcpus(vmi), cases[i].vcpus);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_overhead_grows_with_memory_and_vcpus),
		cmocka_unit_test(
			test_overhead_is_multiplied_as_the_cluster_says),
		cmocka_unit_test(
			test_guaranteed_machines_get_more_since_limits_kill),
		cmocka_unit_test(test_memory_is_requested_with_its_overhead),
		cmocka_unit_test(test_a_number_is_a_quantity_too),
		cmocka_unit_test(test_memory_can_be_overcommitted),
		cmocka_unit_test(
			test_huge_pages_hold_the_guest_and_nothing_else),
		cmocka_unit_test(test_cpu_is_requested_by_the_allocation_ratio),
		cmocka_unit_test(
			test_kvm_is_asked_for_unless_emulation_will_do),
		cmocka_unit_test(test_bad_amounts_are_refused_with_their_path),
		cmocka_unit_test(test_absurd_amounts_do_not_overflow),
		cmocka_unit_test(
			test_vcpus_are_the_topology_or_else_what_is_asked_for),
	};

	return cmocka_run_group_tests_name("resources", tests, NULL, NULL);
}
