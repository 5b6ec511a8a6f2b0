/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/control/bindplan.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/mem.h"
#include "cluster/control/view.h"
#include "cluster/control/volmatch.h"

/* The claim and the volume know each other: what is still to be written. */
static enum claim_step
complete(const struct claim *claim, const struct volume *volume)
{
	if (!volmatch_is_for(volume, claim) || *volume->claim_uid == '\0')
		return CLAIM_RESERVE;
	if (strcmp(claim->volume, volume->name) != 0 || !claim->bind_completed)
		return CLAIM_NAME;
	if (strcmp(claim->phase, "Bound") != 0)
		return CLAIM_BOUND;
	return CLAIM_NOTHING;
}

/* Nobody has decided which volume it gets. */
static enum claim_step
find_volume(const struct view *view, const struct claim *claim,
	    const struct volume **ret_volume)
{
	const struct storage_class *sc = view_class(view, claim->class_name);
	const struct volume **list;
	size_t count = volmatch_find(view, claim, &list);
	const struct volume *first = count == 0 ? NULL : list[0];
	bool known = sc != NULL && sc->known;

	free((void *)list);
	/* One that is reserved for the claim, by a person or the scheduler, is
	 * taken in any case. */
	if (first != NULL && volmatch_is_for(first, claim)) {
		*ret_volume = first;
		return complete(claim, first);
	}
	if (known && sc->waits && *claim->selected_node == '\0')
		return CLAIM_WAITS;
	if (first != NULL && !(known && sc->waits)) {
		*ret_volume = first;
		return CLAIM_RESERVE;
	}
	if (*claim->class_name == '\0')
		return CLAIM_NO_VOLUME;
	if (!known)
		return CLAIM_NO_CLASS;
	return sc->provisions ? CLAIM_PROVISION : CLAIM_NO_VOLUME;
}

enum claim_step
bindplan_claim(const struct view *view, const struct claim *claim,
	       const struct volume **ret_volume)
{
	const struct volume *volume;

	*ret_volume = NULL;
	if (claim->deleting)
		return CLAIM_NOTHING;
	if (*claim->volume == '\0')
		return find_volume(view, claim, ret_volume);
	volume = view_volume(view, claim->volume);
	*ret_volume = volume;
	if (volume != NULL &&
	    (*volume->claim_key == '\0' || volmatch_is_for(volume, claim)))
		return complete(claim, volume);
	/* A volume that a person named may still come, or become free. */
	if (!claim->bind_completed || strcmp(claim->phase, "Lost") == 0)
		return CLAIM_NOTHING;
	return volume == NULL ? CLAIM_LOST : CLAIM_MISBOUND;
}

const char *
bindplan_volume_phase(const struct view *view, const struct volume *volume)
{
	const struct map_node *node;
	const struct claim *claim;

	if (*volume->claim_uid == '\0')
		return "Available";
	node = map_get(&view->claims, volume->claim_key);
	claim = node == NULL ? NULL : MAP_ENTRY(node, struct claim, node);
	if (claim == NULL || !claim->known ||
	    strcmp(claim->uid, volume->claim_uid) != 0)
		return "Released";
	if (strcmp(claim->volume, volume->name) == 0)
		return "Bound";
	/* On its way to the claim; or left, and then a person decides. */
	return *volume->phase == '\0' ? "Available" : volume->phase;
}
