/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/evacuation/metrics.h"

#include "api/names.h"
#include "base/buf.h"
#include "controller/world.h"

#define STUCK "kubevirt_vmi_non_evictable"
#define OUTDATED "kubevirt_vmi_number_of_outdated"

/* A drain would wait for it in vain. */
static bool
is_stuck(const struct vmi *vmi, const struct kubevirt_config *config)
{
	return vmi->phase == VMI_RUNNING &&
	       vmi_eviction(vmi, config) == EVICTION_LIVE_MIGRATE &&
	       !conds_is_true(&vmi->conds, COND_LIVE_MIGRATABLE);
}

/* Only those that are: in a cluster of thousands the rest is noise, and alerts
 * ask for what is above zero. */
static int
write_stuck(const struct world *world, struct buf *buf)
{
	struct cache_walk walk = cache_all(world_cache(world, WORLD_VMIS));
	const struct vmi *vmi;

	if (buf_printf(buf, "# HELP " STUCK
			    " Machines that are to be migrated when their "
			    "node is drained and cannot be.\n# TYPE " STUCK
			    " gauge\n") == -1)
		return -1;
	while ((vmi = world_next(&walk)) != NULL) {
		if (is_stuck(vmi, world_config(world)) &&
		    buf_printf(buf,
			       STUCK "{node=\"%s\",namespace=\"%s\","
				     "name=\"%s\"} 1\n",
			       vmi->node, vmi->meta.ns, vmi->meta.name) == -1)
			return -1;
	}
	return 0;
}

int
metrics_write(const struct world *world, size_t outdated, struct buf *buf)
{
	if (write_stuck(world, buf) == -1)
		return -1;
	return buf_printf(buf,
			  "# HELP " OUTDATED
			  " Machines with an outdated launcher or a change "
			  "that needs a migration.\n# TYPE " OUTDATED
			  " gauge\n" OUTDATED " %zu\n",
			  outdated);
}
