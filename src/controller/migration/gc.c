/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/migration/gc.h"

#include <string.h>

#include "controller/migration/facts.h"
#include "controller/migration/note.h"

/*
 * Creation times are whole seconds. Of two within one the later version is the
 * one that ended later, since a machine has one migration at a time and those
 * that have ended do not change any more.
 */
static bool
is_later(const struct objmeta *a, const struct objmeta *b)
{
	if (a->created_us != b->created_us)
		return a->created_us > b->created_us;
	return note_is_newer(a, b);
}

bool
gc_is_surplus(const struct facts *facts)
{
	const struct vmim *vmim = facts->vmim;
	unsigned newer = 0;

	if (!vmim_is_final(vmim) || objmeta_is_deleting(&vmim->meta))
		return false;
	for (size_t i = 0; i < facts->other_count; i++) {
		const struct objmeta *other = &facts->others[i]->meta;

		/* One that is being deleted is not kept, and its version is
		 * not that of its end. */
		if (!vmim_is_final(facts->others[i]) ||
		    objmeta_is_deleting(other))
			continue;
		newer += is_later(other, &vmim->meta);
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
