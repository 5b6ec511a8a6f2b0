/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/machine/facts.h"

#include <string.h>

bool
machine_has_run(const struct machine_facts *facts)
{
	const struct vmi *vmi = facts->vmi;

	return vmi != NULL && (vmi->phase == VMI_RUNNING ||
			       vmi->phase_since_us[VMI_RUNNING] != 0);
}

static bool
is_met(const struct machine_facts *facts, const struct vm_request *request)
{
	const struct vmi *vmi = facts->vmi;

	if (request->action == VM_STOP)
		return vmi == NULL || strcmp(request->uid, vmi->meta.uid) != 0;
	return vmi != NULL && !objmeta_is_deleting(&vmi->meta) &&
	       !vmi_is_final(vmi);
}

size_t
machine_requests_met(const struct machine_facts *facts)
{
	const struct vm *vm = facts->vm;
	size_t n = 0;

	while (n < vm->request_count && is_met(facts, &vm->requests[n]))
		n++;
	return n;
}

const struct vm_request *
machine_request(const struct machine_facts *facts)
{
	size_t n = machine_requests_met(facts);

	return n == facts->vm->request_count ? NULL : &facts->vm->requests[n];
}

bool
machine_asks_start(const struct machine_facts *facts)
{
	const struct vm_request *request = machine_request(facts);

	return request != NULL && request->action == VM_START;
}

bool
machine_asks_stop(const struct machine_facts *facts)
{
	const struct vm_request *request = machine_request(facts);

	return request != NULL && request->action == VM_STOP;
}
