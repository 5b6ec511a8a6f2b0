/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/migration/gc.h"

#include <string.h>

#include "controller/migration/facts.h"

bool
gc_is_surplus(const struct facts *facts)
{
	const struct vmim *vmim = facts->vmim;
	unsigned newer = 0;

	if (!vmim_is_final(vmim) || objmeta_is_deleting(&vmim->meta))
		return false;
	for (size_t i = 0; i < facts->other_count; i++) {
		const struct objmeta *other = &facts->others[i]->meta;

		if (!vmim_is_final(facts->others[i]))
			continue;
		if (other->created_us > vmim->meta.created_us ||
		    (other->created_us == vmim->meta.created_us &&
		     strcmp(other->uid, vmim->meta.uid) > 0))
			newer++;
	}
	return newer >= GC_KEPT;
}

bool
gc_pod_is_left(const struct pod *pod, const struct vmi *vmi)
{
	const struct migration_state *state;

	if (pod->migration_uid[0] == '\0' || objmeta_is_deleting(&pod->meta))
		return false;
	if (vmi == NULL || strcmp(vmi->meta.uid, pod->vmi_uid) != 0)
		return true;
	if (pod->node[0] != '\0' && strcmp(vmi->node, pod->node) == 0)
		return false;
	/* On its way there: the nodes do not need the migration object. */
	state = vmi->migration;
	return state == NULL || strcmp(state->uid, pod->migration_uid) != 0 ||
	       state->completed;
}
