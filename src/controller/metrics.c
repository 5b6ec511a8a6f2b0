/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/metrics.h"

#include <stdbool.h>
#include <string.h>

#include "api/names.h"
#include "base/array.h"
#include "base/buf.h"
#include "base/prom.h"
#include "base/str.h"
#include "controller/migration/tally.h"
#include "controller/world.h"
#include "meta/time.h"

static int
write_head(struct buf *buf, const char *name, const char *help)
{
	return prom_head(buf, name, "gauge", help);
}

/* Which phases make up which number. */
static const struct {
	const char *name;
	const char *help;
	enum migration_phase from, to;
} phases[] = {
	{ "kubevirt_vmi_migrations_in_unset_phase",
	  "Migrations that nobody has looked at.", MIGRATION_UNSET,
	  MIGRATION_UNSET },
	{ "kubevirt_vmi_migrations_in_pending_phase",
	  "Migrations that wait for their target pod.", MIGRATION_PENDING,
	  MIGRATION_PENDING },
	{ "kubevirt_vmi_migrations_in_scheduling_phase",
	  "Migrations whose target pod starts.", MIGRATION_SCHEDULING,
	  MIGRATION_SCHEDULING },
	{ "kubevirt_vmi_migrations_in_running_phase", "Migrations that go on.",
	  MIGRATION_SCHEDULED, MIGRATION_RUNNING },
};

static int
write_phases(const struct world *world, struct buf *buf)
{
	struct cache_walk walk = cache_find(world_cache(world, WORLD_VMIMS),
					    VMIMS_ACTIVE, WORLD_ACTIVE);
	size_t counts[MIGRATION_PHASE_COUNT] = { 0 };
	const struct vmim *vmim;

	while ((vmim = world_next(&walk)) != NULL)
		counts[vmim->phase]++;
	for (size_t i = 0; i < ARRAY_LEN(phases); i++) {
		size_t sum = 0;

		for (enum migration_phase p = phases[i].from; p <= phases[i].to;
		     p++)
			sum += counts[p];
		if (write_head(buf, phases[i].name, phases[i].help) == -1 ||
		    buf_printf(buf, "%s %zu\n", phases[i].name, sum) == -1)
			return -1;
	}
	return 0;
}

#define WAITING "ferry_migration_waiting_since_timestamp_seconds"

static int
write_waiting(const struct world *world, struct buf *buf)
{
	struct cache_walk walk = cache_find(world_cache(world, WORLD_VMIMS),
					    VMIMS_ACTIVE, WORLD_ACTIVE);
	const struct vmim *vmim;

	if (write_head(buf, WAITING,
		       "Since when a migration waits for what it waits for.") ==
	    -1)
		return -1;
	while ((vmim = world_next(&walk)) != NULL) {
		const struct cond *cond =
			conds_find(&vmim->conds, COND_WAITING);

		if (cond != NULL &&
		    buf_printf(buf,
			       WAITING "{namespace=\"%s\",vmi=\"%s\",vmim="
				       "\"%s\",cause=\"%s\"} %.17g\n",
			       vmim->meta.ns, vmim->vmi_name, vmim->meta.name,
			       tally_cause(cond->reason),
			       (double)cond->since_us /
				       (double)TIME_US_PER_SECOND) == -1)
			return -1;
	}
	return 0;
}

/* Names of objects need no escaping. */
static int
write_ended(const struct world *world, struct buf *buf,
	    enum migration_phase phase, const char *name)
{
	struct cache_walk walk = cache_all(world_cache(world, WORLD_VMIMS));
	const struct vmim *vmim;

	if (write_head(buf, name, "1 for each migration that ended so.") == -1)
		return -1;
	while ((vmim = world_next(&walk)) != NULL) {
		if (vmim->phase != phase)
			continue;
		if (buf_printf(buf,
			       "%s{vmi=\"%s\",vmim=\"%s\",namespace=\"%s\"} "
			       "1\n",
			       name, vmim->vmi_name, vmim->meta.name,
			       vmim->meta.ns) == -1)
			return -1;
	}
	return 0;
}

#define START "kubevirt_vmi_migration_start_time_seconds"
#define END "kubevirt_vmi_migration_end_time_seconds"

static int
write_time(const struct world *world, struct buf *buf, const struct vmi *vmi,
	   bool end)
{
	const struct migration_state *state = vmi->migration;
	const struct vmim *vmim;
	int64_t us;

	if (state == NULL)
		return 0;
	us = end ? state->end_us : state->start_us;
	vmim = world_find(world, WORLD_VMIMS, VMIMS_BY_UID, state->uid);
	if (us == 0 || vmim == NULL)
		return 0;
	return buf_printf(buf,
			  "%s{node=\"%s\",namespace=\"%s\",name=\"%s\","
			  "migration_name=\"%s\"%s} %.17g\n",
			  end ? END : START, vmi->node, vmi->meta.ns,
			  vmi->meta.name, vmim->meta.name,
			  !end            ? ""
			  : state->failed ? ",status=\"failed\""
					  : ",status=\"succeeded\"",
			  (double)us / (double)TIME_US_PER_SECOND);
}

static int
write_times(const struct world *world, struct buf *buf, bool end)
{
	struct cache_walk walk = cache_all(world_cache(world, WORLD_VMIS));
	const struct vmi *vmi;

	if (write_head(buf, end ? END : START,
		       end ? "When the machine's last migration ended."
			   : "When the machine's last migration began.") == -1)
		return -1;
	while ((vmi = world_next(&walk)) != NULL) {
		if (write_time(world, buf, vmi, end) == -1)
			return -1;
	}
	return 0;
}

/* Asks to be moved when its node is left, and cannot be. */
static bool
is_non_evictable(const struct vmi *vmi, const struct kubevirt_config *config)
{
	return vmi->phase == VMI_RUNNING &&
	       vmi_eviction(vmi, config) == EVICTION_LIVE_MIGRATE &&
	       !conds_is_true(&vmi->conds, COND_LIVE_MIGRATABLE);
}

static int
write_machines(const struct world *world, struct buf *buf)
{
	struct cache_walk walk = cache_all(world_cache(world, WORLD_VMIS));
	size_t outdated = 0;
	const struct vmi *vmi;

	if (write_head(buf, "kubevirt_vmi_non_evictable",
		       "1 for each machine that its node cannot be drained "
		       "of.") == -1)
		return -1;
	while ((vmi = world_next(&walk)) != NULL) {
		outdated += json_object_get(vmi->labels,
					    LABEL_OUTDATED_IMAGE) != NULL;
		if (is_non_evictable(vmi, world_config(world)) &&
		    buf_printf(buf,
			       "kubevirt_vmi_non_evictable{node=\"%s\","
			       "namespace=\"%s\",name=\"%s\"} 1\n",
			       vmi->node, vmi->meta.ns, vmi->meta.name) == -1)
			return -1;
	}
	if (write_head(buf, "kubevirt_vmi_number_of_outdated",
		       "Machines whose launcher is of another version.") == -1)
		return -1;
	return buf_printf(buf, "kubevirt_vmi_number_of_outdated %zu\n",
			  outdated);
}

#define VM_MIGRATING \
	"kubevirt_vm_migrating_status_last_transition_timestamp_seconds"

/* When one of its conditions changed last, if it is on its way; 0 otherwise,
 * as KubeVirt has it. */
static int64_t
migrating_since_us(const struct vm *vm)
{
	int64_t last_us = 0;

	if (!str_equal(vm->printable_status, "Migrating"))
		return 0;
	for (size_t i = 0; i < vm->conds.len; i++) {
		if (vm->conds.list[i].since_us > last_us)
			last_us = vm->conds.list[i].since_us;
	}
	return last_us;
}

static int
write_vms(const struct world *world, struct buf *buf)
{
	struct cache_walk walk = cache_all(world_cache(world, WORLD_VMS));
	const struct vm *vm;

	if (write_head(buf, VM_MIGRATING,
		       "When a machine that is on its way changed last.") == -1)
		return -1;
	while ((vm = world_next(&walk)) != NULL) {
		if (buf_printf(buf,
			       VM_MIGRATING
			       "{name=\"%s\",namespace=\"%s\"} %.17g\n",
			       vm->meta.name, vm->meta.ns,
			       (double)migrating_since_us(vm) /
				       (double)TIME_US_PER_SECOND) == -1)
			return -1;
	}
	return 0;
}

int
metrics_write(const struct world *world, struct buf *buf)
{
	if (write_phases(world, buf) == -1 || write_waiting(world, buf) == -1 ||
	    write_ended(world, buf, MIGRATION_SUCCEEDED,
			"kubevirt_vmi_migration_succeeded") == -1 ||
	    write_ended(world, buf, MIGRATION_FAILED,
			"kubevirt_vmi_migration_failed") == -1 ||
	    write_times(world, buf, false) == -1 ||
	    write_times(world, buf, true) == -1 || write_vms(world, buf) == -1)
		return -1;
	return write_machines(world, buf);
}
