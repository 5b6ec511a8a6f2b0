/* SPDX-License-Identifier: Apache-2.0 */
#include "handler/network/want.h"

#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "handler/network/testmodel.h"

#define VMI(interfaces, networks)                                           \
	"{'metadata': {'uid': 'u', 'name': 'vm.x'}, 'spec': {'networks': "  \
	"[" networks "], 'domain': {'devices': {'interfaces': [" interfaces \
	"]}}}}"
#define POD "{'name': 'default', 'pod': {}}"

static void
assert_wrong(const char *vmi, const char *text)
{
	AUTO(free_ptr) char *copy = xstrdup(vmi);
	AUTO(js_unref) json_t *value = NULL;
	AUTO(wants_done) struct wants wants = { 0 };
	struct err err = { .text = "" };

	for (char *at = copy; *at != '\0'; at++) {
		if (*at == '\'')
			*at = '"';
	}
	value = js_parse(copy, strlen(copy), &err);
	assert_non_null(value);
	assert_int_equal(wants_decode(value, &wants, &err), -1);
	assert_int_equal(err.kind, ERR_INVALID);
	assert_string_equal(err.text, text);
}

#define AT0 "spec.domain.devices.interfaces[0]: "

static void
test_what_is_wrong_is_named_by_its_path(void **state)
{
	static const struct {
		const char *vmi, *text;
	} cases[] = {
		{ VMI("{'name': 'x', 'bridge': {}}", POD),
		  AT0 "name: no network is called 'x'" },
		{ VMI("{'name': 'default'}", POD),
		  AT0 "has neither bridge nor masquerade" },
		{ VMI("{'name': 'x', 'bridge': {}}", "{'name': 'x'}"),
		  AT0 "network 'x' is neither pod nor multus" },
		{ VMI("{'name': 'x', 'masquerade': {}}",
		      "{'name': 'x', 'multus': {'networkName': 'y'}}"),
		  AT0 "masquerade: only for the pod's network" },
		{ VMI("{'name': 'default', 'bridge': {}, 'macAddress': 'x'}",
		      POD),
		  AT0 "macAddress: 'x' is no MAC address" },
		{ VMI("{'name': 'default', 'masquerade': {}, 'ports':"
		      " [{'port': 80}, {'port': 0}]}",
		      POD),
		  AT0 "ports[1]: port: must be between 1 and 65535" },
		{ VMI("{'name': 'default', 'masquerade': {}, 'ports':"
		      " [{'port': 80, 'protocol': 'SCTP'}]}",
		      POD),
		  AT0 "ports[0]: protocol: 'SCTP' is neither TCP nor UDP" },
		{ VMI("{'name': 'default', 'masquerade': {}}",
		      "{'name': 'default', 'pod': {'vmNetworkCIDR': 'x'}}"),
		  AT0 "pod.vmNetworkCIDR: 'x' is no prefix" },
		{ VMI("{'name': 'default', 'masquerade': {}}",
		      "{'name': 'default', 'pod': {'vmNetworkCIDR':"
		      " 'fd00::/64'}}"),
		  AT0 "pod.vmNetworkCIDR: 'fd00::/64' is no IPv4 prefix" },
		{ VMI("{'name': 'default', 'masquerade': {}}",
		      "{'name': 'default', 'pod': {'vmNetworkCIDR':"
		      " '10.0.0.0/31'}}"),
		  AT0 "pod.vmNetworkCIDR: '10.0.0.0/31' has no room for "
		      "address 2" },
		{ VMI("{'name': 'default', 'bridge': {}}, {'name': 'two',"
		      " 'bridge': {}}",
		      POD ", {'name': 'two', 'pod': {}}"),
		  "spec.domain.devices.interfaces[1]: shares the pod's "
		  "interface 'eth0' with 'default'" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_wrong(cases[i].vmi, cases[i].text);
}

static void
test_a_mac_is_the_spec_s_then_the_status_s_then_derived(void **state)
{
	static const char *const status =
		"'status': {'interfaces': [{'name': 'a', 'mac':"
		" '02:00:00:00:00:0a'}, {'name': 'b', 'mac':"
		" '02:00:00:00:00:0b'}, {'name': 'c', 'mac': 'junk'}]}}";
	static const char *const spec =
		VMI("{'name': 'a', 'bridge': {}, 'macAddress':"
		    " '02-00-00-00-00-01'}, {'name': 'b', 'bridge': {}},"
		    " {'name': 'c', 'bridge': {}}",
		    "{'name': 'a', 'multus': {'networkName': 'x'}}, {'name':"
		    " 'b', 'multus': {'networkName': 'x'}}, {'name': 'c',"
		    " 'multus': {'networkName': 'x'}}");
	AUTO(free_ptr)
	char *vmi = xasprintf("%.*s, %s", (int)strlen(spec) - 1, spec, status);
	AUTO(wants_done) struct wants wants = model_wants(vmi);
	char mac[MAC_TEXT_SIZE];

	(void)state;
	assert_int_equal(wants.count, 3);
	assert_string_equal(mac_text(&wants.items[0].mac, mac),
			    "02:00:00:00:00:01");
	assert_string_equal(mac_text(&wants.items[1].mac, mac),
			    "02:00:00:00:00:0b");
	assert_true(mac_is_zero(&wants.items[2].mac));
	assert_false(
		mac_equal(&wants.items[1].derived, &wants.items[2].derived));
	assert_string_equal(wants.items[1].pod_ordinal, "net2");
	assert_string_equal(wants.hostname, "vm");
}

static void
test_the_default_network_of_multus_is_eth0(void **state)
{
	AUTO(wants_done)
	struct wants wants = model_wants(
		VMI("{'name': 'a', 'bridge': {}}, {'name': 'b', 'bridge': {},"
		    " 'state': 'absent'}, {'name': 'c', 'bridge': {}}",
		    "{'name': 'a', 'multus': {'networkName': 'x', 'default':"
		    " true}}, {'name': 'b', 'multus': {'networkName': 'y'}},"
		    " {'name': 'c', 'multus': {'networkName': 'z'}}"));

	(void)state;
	assert_int_equal(wants.count, 2);
	assert_string_equal(wants.items[0].pod, "eth0");
	assert_true(wants.items[0].primary);
	assert_string_equal(wants.items[1].name, "c");
	assert_string_equal(wants.items[1].pod_ordinal, "net2");
}

static void
test_queues_follow_from_cpus(void **state)
{
	static const struct {
		const char *cpu, *model;
		bool on;
		uint32_t queues;
	} cases[] = {
		{ "{'sockets': 2, 'cores': 3}", "virtio", true, 6 },
		{ "{'sockets': 2, 'cores': 3}", "", true, 6 },
		{ "{'sockets': 2, 'cores': 3}", "e1000", true, 1 },
		{ "{'sockets': 2, 'cores': 3}", "virtio", false, 1 },
		{ "{'cores': 200, 'threads': 2}", "virtio", true, 256 },
		{ "{}", "virtio", true, 1 },
		{ "{'cores': -4}", "virtio", true, 1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(free_ptr)
		char *vmi = xasprintf(
			"{'metadata': {'uid': 'u', 'name': 'vm'}, 'spec':"
			" {'networks': [" POD "], 'domain': {'cpu': %s,"
			" 'devices': {'networkInterfaceMultiqueue': %s,"
			" 'interfaces': [{'name': 'default', 'bridge': {},"
			" 'model': '%s'}]}}}}",
			cases[i].cpu, cases[i].on ? "true" : "false",
			cases[i].model);
		AUTO(wants_done) struct wants wants = model_wants(vmi);

		assert_int_equal(wants.items[0].queues, cases[i].queues);
	}
}

static void
test_a_machine_without_interfaces_wants_nothing(void **state)
{
	AUTO(wants_done) struct wants wants = model_wants("{}");

	(void)state;
	assert_int_equal(wants.count, 0);
	assert_string_equal(wants.hostname, "");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_wrong_is_named_by_its_path),
		cmocka_unit_test(
			test_a_mac_is_the_spec_s_then_the_status_s_then_derived),
		cmocka_unit_test(test_the_default_network_of_multus_is_eth0),
		cmocka_unit_test(test_queues_follow_from_cpus),
		cmocka_unit_test(
			test_a_machine_without_interfaces_wants_nothing),
	};

	return cmocka_run_group_tests_name("want", tests, NULL, NULL);
}
