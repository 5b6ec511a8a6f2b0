/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_CONFIG_H
#define API_CONFIG_H

/*
 * config - what the KubeVirt object says, with its defaults.
 *
 * Threading: as objmeta.h.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/objmeta.h"
#include "base/js.h"
#include "meta/quantity.h"

struct err;

#define CONFIG_GATES_MAX 256

/* Defaults of spec.configuration.migrations. */
#define CONFIG_DRAIN_TAINT "kubevirt.io/drain"
#define CONFIG_PARALLEL_CLUSTER 5
#define CONFIG_PARALLEL_OUTBOUND 2
#define CONFIG_COMPLETION_TIMEOUT_PER_GIB 150
#define CONFIG_PROGRESS_TIMEOUT_S 150
#define CONFIG_MAX_DOWNTIME_MS 900
#define CONFIG_UTILITY_TIMEOUT_S 150

/* Of spec.workloadUpdateStrategy. */
#define CONFIG_EVICT_BATCH 10
#define CONFIG_EVICT_INTERVAL_S 60

/* Pending timeouts, from the creation of the target pod. */
#define CONFIG_UNSCHEDULABLE_TIMEOUT_S 300
#define CONFIG_PENDING_TIMEOUT_S 900
/* Ferry's: from the time the phase began. */
#define CONFIG_SCHEDULED_TIMEOUT_S 300
#define CONFIG_PREPARING_TIMEOUT_S 360
#define CONFIG_READY_TIMEOUT_S 300
#define CONFIG_RUNNING_TIMEOUT_S (24 * 60 * 60)

/* A member that may be unset, which differs from false. */
enum tristate {
	TRISTATE_UNSET,
	TRISTATE_FALSE,
	TRISTATE_TRUE,
};

/*
 * MigrationConfiguration: of the cluster, and, after policy_resolve(), of one
 * migration. All members hold their defaults when nothing was said.
 */
struct migration_config {
	char *node_drain_taint_key;
	uint32_t parallel_cluster;
	uint32_t parallel_outbound;
	struct quantity bandwidth;          /* per second; 0: no limit */
	int64_t completion_timeout_per_gib; /* 0: none */
	int64_t progress_timeout_s;
	int64_t utility_timeout_s;
	int64_t max_downtime_ms;
	bool allow_auto_converge;
	bool allow_post_copy;
	bool allow_workload_disruption;
	bool unsafe_override;
	enum tristate disable_tls;
	char *network; /* "" for none */
	enum tristate match_selinux_level;
	json_t *experimental; /* NULL for none */
};

/* Deadlines in seconds; 0 is none. */
struct migration_deadlines {
	int64_t unschedulable_s, pending_s; /* of the target pod */
	int64_t scheduled_s, preparing_s, ready_s, running_s;
};

enum eviction_strategy {
	EVICTION_UNSET,
	EVICTION_NONE,
	EVICTION_LIVE_MIGRATE,
	EVICTION_LIVE_MIGRATE_IF_POSSIBLE,
	EVICTION_EXTERNAL,
	EVICTION_STRATEGY_COUNT,
};

/* "None", ...; "" for unset. Unknown texts are EVICTION_UNSET. */
const char *eviction_strategy_name(enum eviction_strategy strategy);
enum eviction_strategy eviction_strategy_parse(const char *text);

struct kubevirt_config {
	struct objmeta meta; /* empty when there is no KubeVirt object */
	struct migration_config migrations;
	struct migration_deadlines deadlines;
	uint32_t parallel_inbound;       /* per target node; 0: no limit */
	enum eviction_strategy eviction; /* never unset: None is the default */
	char **gates;                    /* enabled ones */
	size_t gate_count;
	char *cpu_model;    /* "" for none: host-model */
	char *machine_type; /* "" for none */
	/* "masquerade" or "bridge": of machines that say nothing. */
	const char *default_interface;
	bool use_emulation;
	uint64_t cpu_allocation_ratio;            /* 10 when nothing is said */
	uint64_t memory_overcommit;               /* percent, 100 */
	double memory_overhead_ratio;             /* 1.0 */
	char *image_pull_policy;                  /* "" for none */
	bool methods_live_migrate, methods_evict; /* workloadUpdateMethods */
	uint32_t evict_batch;                     /* batchEvictionSize */
	int64_t evict_interval_s;                 /* batchEvictionInterval */
	/* status */
	bool deployed;    /* and not being changed; also when nobody says */
	int64_t outdated; /* machines, as last reported; -1: never */
};

/* object may be NULL: all defaults. */
struct kubevirt_config *kubevirt_config_decode(const json_t *object,
					       struct err *err);
void kubevirt_config_free(struct kubevirt_config *config);
void kubevirt_config_unref(struct kubevirt_config **pointer);

/* Whether a feature gate is on: listed, or on by default and not disabled. */
bool kubevirt_config_gate(const struct kubevirt_config *config,
			  const char *gate);

/* The defaults; migration_config_done() frees the contents. */
void migration_config_init(struct migration_config *config);
void migration_config_done(struct migration_config *config);
/* Takes over what obj says and leaves the rest; obj may be NULL. After failure
 * config is still whole, with part of obj taken over. */
int migration_config_overlay(struct migration_config *config, const json_t *obj,
			     struct err *err);
void migration_config_copy(struct migration_config *to,
			   const struct migration_config *from);
/* As it stands in migrationState.migrationConfiguration; a new reference. */
json_t *migration_config_json(const struct migration_config *config);

#endif
