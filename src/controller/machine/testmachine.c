/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/machine/testmachine.h"

#include "api/testjson.h"
#include "base/cleanup.h"

static const char *
text(const char *s)
{
	return s == NULL ? "" : s;
}

static struct vm *
make_vm(const struct testmachine_case *with)
{
	AUTO(free_ptr)
	char *json = xasprintf(
		"{'metadata': {%s'name': 'vm', 'namespace': 'ns', 'uid': 'm', "
		"'resourceVersion': '5', 'generation': 1, 'finalizers': "
		"['kubevirt.io/virtualMachineControllerFinalize']}, 'spec': "
		"{'runStrategy': '%s'}, 'status': {%s'x': 1}}",
		text(with->metadata), with->strategy, text(with->status));
	AUTO(js_unref) json_t *object = testjson(json);
	struct err err = { .text = "" };
	struct vm *vm = vm_decode(object, &err);

	assert_string_equal(err.text, "");
	return vm;
}

static struct vmi *
make_vmi(const struct testmachine_case *with)
{
	AUTO(free_ptr)
	char *json = xasprintf(
		"{'metadata': {%s'name': 'vm', 'namespace': 'ns', 'uid': 'v', "
		"'annotations': {'kubevirt.io/vm-generation': '1'}, "
		"'ownerReferences': [{'kind': 'VirtualMachine', 'name': 'vm', "
		"'uid': 'm', 'controller': true}], 'finalizers': "
		"['kubevirt.io/virtualMachineControllerFinalize', "
		"'foregroundDeleteVirtualMachine']}, 'spec': {}, 'status': "
		"{%s'phase': '%s'}}",
		text(with->vmi_metadata), text(with->vmi_status), with->phase);
	AUTO(js_unref) json_t *object = testjson(json);
	struct err err = { .text = "" };
	struct vmi *vmi = vmi_decode(object, &err);

	assert_string_equal(err.text, "");
	return vmi;
}

void
testmachine_open(struct testmachine *t, const struct testmachine_case *with)
{
	*t = (struct testmachine){ .vm = make_vm(with) };
	if (with->phase != NULL)
		t->vmi = make_vmi(with);
	t->facts = (struct machine_facts){
		.now_us = TEST_NOW_US,
		.confirmed = true,
		.vm = t->vm,
		.vmi = t->vmi,
		.bond = t->vmi == NULL ? BOND_NONE : BOND_OWN,
	};
}

void
testmachine_close(struct testmachine *t)
{
	vm_free(t->vm);
	vmi_free(t->vmi);
}
