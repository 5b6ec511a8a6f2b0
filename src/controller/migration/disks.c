/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/migration/disks.h"

#include <stddef.h>

#include "api/storage.h"
#include "api/vmi.h"
#include "base/mem.h"
#include "controller/world.h"

#define TEXT_SIZE 384

/* The claims of one machine. */
struct claims {
	const struct world *world;
	const char *ns;
};

static const struct pvc *
find_claim(void *arg, const char *name)
{
	const struct claims *claims = arg;

	return world_get(claims->world, WORLD_PVCS, claims->ns, name);
}

static bool
knows_all(struct claims *claims, const struct vmi *vmi)
{
	for (size_t i = 0; i < vmi->volume_count; i++) {
		const char *claim = vmi->volumes[i].claim;

		if (claim[0] != '\0' && find_claim(claims, claim) == NULL)
			return false;
	}
	return true;
}

/* The claim that storage_judge() found in the way; NULL when it is something
 * else. */
static const struct pvc *
find_single(struct claims *claims, const struct vmi *vmi)
{
	for (size_t i = 0; i < vmi->volume_count; i++) {
		const struct vmi_volume *volume = &vmi->volumes[i];
		const struct pvc *pvc;

		if (volume->kind == VOLUME_HOST_DISK && !volume->shared)
			return NULL;
		if ((volume->kind != VOLUME_PVC &&
		     volume->kind != VOLUME_DATA_VOLUME) ||
		    volume->migrated)
			continue;
		pvc = find_claim(claims, volume->claim);
		if (pvc != NULL && !pvc_is_shared(pvc))
			return pvc;
	}
	return NULL;
}

char *
disks_hindrance(const struct world *world, const struct vmi *vmi)
{
	struct claims claims = { .world = world, .ns = vmi->meta.ns };
	char text[TEXT_SIZE] = "", advice[STORAGE_ADVICE_SIZE];
	const struct pvc *pvc;

	if (!knows_all(&claims, vmi) ||
	    storage_judge(vmi, find_claim, &claims, text, sizeof(text)) !=
		    STORAGE_BLOCKED)
		return NULL;
	pvc = find_single(&claims, vmi);
	if (pvc == NULL)
		return xstrdup(text);
	return xasprintf("%s. %s", text,
			 storage_advice(pvc,
					world_get(world, WORLD_STORAGE_PROFILES,
						  "", pvc->storage_class),
					advice));
}
