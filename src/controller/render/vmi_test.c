/* SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/test.h"
#include "controller/render/render.h"
#include "controller/render/testcase.h"
#include "meta/testyaml.h"

static json_t *
render(const char *vm_text, struct err *err)
{
	AUTO(js_unref) json_t *vm = testyaml(vm_text);

	return render_vmi(vm, false, err);
}

#define METADATA "metadata: {name: vm1, namespace: ns, uid: u1, generation: 4}"

static void
test_an_instance_has_its_machine_s_name_and_belongs_to_it(void **state)
{
	struct err err;
	AUTO(js_unref)
	json_t *vmi = render("{" METADATA ", spec: {template: {metadata: "
			     "{name: other, labels: {a: b}, finalizers: [x]}, "
			     "spec: {domain: {devices: {}}}}}}",
			     &err);

	(void)state;
	assert_yaml(
		vmi,
		"{apiVersion: kubevirt.io/v1, kind: VirtualMachineInstance, "
		"metadata: {name: vm1, namespace: ns, labels: {a: b}, "
		"annotations: {kubevirt.io/vm-generation: '4'}, "
		"ownerReferences: [{apiVersion: kubevirt.io/v1, kind: "
		"VirtualMachine, name: vm1, uid: u1, controller: true, "
		"blockOwnerDeletion: true}]}, spec: {domain: {devices: {}, "
		"firmware: {uuid: u1}}}}");
}

static void
test_a_uuid_that_is_said_is_kept(void **state)
{
	struct err err;
	AUTO(js_unref)
	json_t *vmi = render("{" METADATA ", spec: {template: {metadata: null, "
			     "spec: {domain: {firmware: {uuid: mine, serial: "
			     "s}}}}}}",
			     &err);

	(void)state;
	assert_string_equal(js_str_at(vmi, "spec.domain.firmware.uuid"),
			    "mine");
	assert_string_equal(js_str_at(vmi, "spec.domain.firmware.serial"), "s");
}

static void
test_a_machine_without_template_or_identity_has_no_instance(void **state)
{
	static const char *const vms[] = {
		"{" METADATA ", spec: {}}",
		"{" METADATA ", spec: {template: {spec: {}}}}",
		"{metadata: {name: a}, spec: {template: {spec: {domain: {}}}}}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(vms); i++) {
		struct err err;

		assert_null(render(vms[i], &err));
		assert_int_equal(err.kind, ERR_INVALID);
	}
}

static void
test_an_evacuation_says_from_where_and_how_urgent_it_is(void **state)
{
	AUTO(js_unref)
	json_t *vmi = testyaml("metadata: {name: vm1, namespace: ns}");
	AUTO(js_unref)
	json_t *urgent = render_evacuation(vmi, "node-a", "system-critical");
	AUTO(js_unref) json_t *plain = render_evacuation(vmi, "node-a", "");

	(void)state;
	assert_yaml(
		urgent,
		"{apiVersion: kubevirt.io/v1, kind: "
		"VirtualMachineInstanceMigration, metadata: {generateName: "
		"kubevirt-evacuation-, namespace: ns, annotations: "
		"{kubevirt.io/evacuationMigration: node-a}}, spec: {vmiName: "
		"vm1, priority: system-critical}}");
	assert_null(js_at(plain, "spec.priority"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_an_instance_has_its_machine_s_name_and_belongs_to_it),
		cmocka_unit_test(test_a_uuid_that_is_said_is_kept),
		cmocka_unit_test(
			test_a_machine_without_template_or_identity_has_no_instance),
		cmocka_unit_test(
			test_an_evacuation_says_from_where_and_how_urgent_it_is),
	};

	return cmocka_run_group_tests_name("vmi", tests, NULL, NULL);
}
