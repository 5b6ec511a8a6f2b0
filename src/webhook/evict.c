/* SPDX-License-Identifier: Apache-2.0 */
#include "webhook/evict.h"

#include <string.h>

#include "api/config.h"
#include "api/names.h"
#include "api/pod.h"
#include "api/vmi.h"
#include "base/jsat.h"
#include "meta/status.h"

#define STATUS_TOO_MANY 429

/* Whether it shall move; refused where it must but cannot. */
static enum evict
decide_strategy(const struct vmi *vmi, const struct kubevirt_config *config,
		struct status *st)
{
	bool migratable = conds_is_true(&vmi->conds, COND_LIVE_MIGRATABLE);

	switch (vmi_eviction(vmi, config)) {
	case EVICTION_LIVE_MIGRATE:
		if (migratable)
			return EVICT_MARK;
		(void)status_set(st, STATUS_TOO_MANY, NULL,
				 "VMI %s is configured with an eviction "
				 "strategy but is not live-migratable",
				 vmi->meta.name);
		return EVICT_REFUSE;
	case EVICTION_LIVE_MIGRATE_IF_POSSIBLE:
		return migratable ? EVICT_MARK : EVICT_ALLOW;
	case EVICTION_EXTERNAL:
		return EVICT_MARK;
	case EVICTION_UNSET:
	case EVICTION_NONE:
	case EVICTION_STRATEGY_COUNT:
		break;
	}
	return EVICT_ALLOW;
}

enum evict
evict_decide(const struct pod *pod, const struct vmi *vmi,
	     const struct kubevirt_config *config, struct status *st)
{
	enum evict what = decide_strategy(vmi, config, st);

	if (what != EVICT_MARK)
		return what;
	if (vmi->evacuation_node[0] != '\0') {
		(void)status_set(st, STATUS_TOO_MANY, NULL,
				 "Evacuation in progress: " EVICT_TRIGGERED,
				 vmi->meta.ns, vmi->meta.name);
		return EVICT_REFUSE;
	}
	if (strcmp(vmi->node, pod->node) != 0) {
		(void)status_set(st, STATUS_TOO_MANY, NULL,
				 "Eviction request for target Pod");
		return EVICT_REFUSE;
	}
	return EVICT_MARK;
}

json_t *
evict_patch(const json_t *vmi, bool from_descheduler)
{
	const char *node = js_str_at(vmi, "status.nodeName");
	json_t *ops = json_array();

	/* Not a machine that has moved meanwhile: the mark would stay. */
	(void)json_array_append_new(
		ops, json_pack("{s:s, s:s, s:s}", "op", "test", "path",
			       "/status/nodeName", "value", node));
	(void)json_array_append_new(
		ops, json_pack("{s:s, s:s, s:s}", "op", "add", "path",
			       "/status/evacuationNodeName", "value", node));
	if (!from_descheduler)
		return ops;
	if (js_obj_at(vmi, "metadata.annotations") == NULL)
		(void)json_array_append_new(
			ops, json_pack("{s:s, s:s, s:{}}", "op", "add", "path",
				       "/metadata/annotations", "value"));
	(void)json_array_append_new(
		ops, json_pack("{s:s, s:s, s:s}", "op", "add", "path",
			       "/metadata/annotations/"
			       "kubevirt.io~1eviction-source",
			       "value", EVICTION_SOURCE_DESCHEDULER));
	return ops;
}
