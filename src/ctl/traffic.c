/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/traffic.h"

#include <stdbool.h>

#include "api/migration.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/str.h"
#include "kube/obj.h"

static bool
is_under_way(const json_t *vmim)
{
	enum migration_phase phase;
	struct err ignored;

	return migration_phase_parse(js_str_at(vmim, "status.phase"), &phase,
				     &ignored) == 0 &&
	       migration_phase_is_running(phase);
}

static const json_t *
machine_of(const json_t *vmim, const json_t *vmis)
{
	const json_t *vmi;
	size_t i;

	json_array_foreach(vmis, i, vmi)
	{
		if (str_equal(obj_ns(vmi), obj_ns(vmim)) &&
		    str_equal(obj_name(vmi), js_str_at(vmim, "spec.vmiName")))
			return vmi;
	}
	return NULL;
}

struct traffic
traffic_count(const json_t *vmims, const json_t *vmis, const char *node)
{
	struct traffic traffic = { 0 };
	const json_t *vmim;
	size_t i;

	json_array_foreach(vmims, i, vmim)
	{
		const json_t *vmi, *state;

		if (!is_under_way(vmim))
			continue;
		traffic.all++;
		vmi = machine_of(vmim, vmis);
		if (vmi != NULL &&
		    str_equal(js_str_at(vmi, "status.nodeName"), node))
			traffic.outbound++;
		/* Where it goes is known with the hand-off. */
		state = js_obj_at(vmi, "status.migrationState");
		if (str_equal(js_str_at(state, "migrationUid"),
			      obj_uid(vmim)) &&
		    str_equal(js_str_at(state, "targetNode"), node))
			traffic.inbound++;
	}
	return traffic;
}
