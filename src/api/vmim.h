/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_VMIM_H
#define API_VMIM_H

/*
 * vmim - a VirtualMachineInstanceMigration.
 *
 * Threading: as objmeta.h.
 */

#include <stdbool.h>
#include <stdint.h>

#include "api/conds.h"
#include "api/config.h"
#include "api/migration.h"
#include "api/objmeta.h"

#define VMIM_TIMEOUT_UNSET (-1)

struct vmim {
	struct objmeta meta;
	/* spec */
	char *vmi_name;
	json_t *added_node_selector; /* NULL for none */
	enum migration_priority priority;
	char *send_to_id, *send_to_url; /* "" for none */
	char *receive_id;
	/* metadata */
	char *vmi_label; /* label vmi-name */
	bool evacuation;
	char *evacuation_node; /* that it leaves; "" for none */
	bool workload_update;
	bool ignores_backoff;
	bool has_finalizer;
	bool has_observed_versions; /* both annotations */
	/* from annotations, seconds; VMIM_TIMEOUT_UNSET: not said */
	struct migration_deadlines deadlines;
	int64_t utility_timeout_s;
	/* status */
	enum migration_phase phase;
	struct conds conds;
	int64_t phase_since_us[MIGRATION_PHASE_COUNT]; /* 0: never seen */
	char *state_uid; /* status.migrationState.migrationUid */
	char *source_pod;
};

struct vmim *vmim_decode(const json_t *object, struct err *err);
void vmim_free(struct vmim *vmim);
void vmim_unref(struct vmim **pointer);

static inline bool
vmim_is_final(const struct vmim *vmim)
{
	return migration_phase_is_final(vmim->phase);
}

/* One of the halves, not both: across namespaces or clusters. */
bool vmim_is_decentralized(const struct vmim *vmim);
/* Made by the system on its own: such ones are held back after a failure. */
bool vmim_is_automatic(const struct vmim *vmim);
/* When it reached its final phase, 0 if it has not. */
int64_t vmim_ended_us(const struct vmim *vmim);
/* Those of the cluster, with those of the migration where it says some. */
struct migration_deadlines vmim_deadlines(const struct vmim *vmim,
					  const struct kubevirt_config *config);

#endif
