/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "controller/instance/visit.h"
#include "controller/instance/memo.h"

static bool
has_owner(const struct world *world, const struct vmi *vmi)
{
	const struct vm *vm;

	if (*vmi->vm_name == '\0')
		return false;
	vm = world_get(world, WORLD_VMS, vmi->meta.ns, vmi->vm_name);
	return vm != NULL && strcmp(vm->meta.uid, vmi->meta.owner_uid) == 0;
}

static bool
migrates(const struct world *world, const char *key)
{
	struct cache_walk walk =
		cache_find(world_cache(world, WORLD_VMIMS), VMIMS_BY_VMI, key);
	const struct vmim *vmim;

	while ((vmim = world_next(&walk)) != NULL) {
		if (!vmim_is_final(vmim))
			return true;
	}
	return false;
}

static void
gather_claims(const struct world *world, const struct vmi *vmi,
	      struct instance_gathered *to)
{
	for (size_t i = 0; i < vmi->volume_count; i++) {
		const struct vmi_volume *volume = &vmi->volumes[i];

		if (*volume->claim == '\0' ||
		    to->facts.claim_count == VMI_VOLUMES_MAX)
			continue;
		to->claims[to->facts.claim_count++] = (struct instance_claim){
			.volume = volume,
			.pvc = world_get(world, WORLD_PVCS, vmi->meta.ns,
					 volume->claim),
		};
	}
	to->facts.claims = to->claims;
}

void
instance_gather(struct instances *c, const char *key, const struct vmi *vmi,
		struct instance_gathered *to)
{
	const struct memo_failure *failure = memos_failure(c->memos, key);

	to->facts = (struct instance_facts){
		.now_us = world_now_us(c->world),
		.config = world_config(c->world),
		.launcher_image = world_launcher_image(c->world),
		.vmi = vmi,
		.pods = to->pods,
		.node = *vmi->node == '\0' ? NULL
					   : world_get(c->world, WORLD_NODES,
						       "", vmi->node),
		.has_owner = has_owner(c->world, vmi),
	};
	/* Only those that wait for their pod need more. */
	if (vmi->phase == VMI_SCHEDULING || instance_is_unprocessed(vmi))
		gather_claims(c->world, vmi, to);
	if (!instance_is_unprocessed(vmi))
		return;
	to->facts.migrates = migrates(c->world, key);
	if (failure != NULL) {
		to->facts.failure = (struct instance_failure){
			.reason = failure->reason,
			.message = failure->message,
			.retry_us = failure->retry_us,
		};
	}
}
