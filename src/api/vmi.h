/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_VMI_H
#define API_VMI_H

/*
 * vmi - a VirtualMachineInstance, as far as decisions need it. Rendering its
 * pod needs all of it and takes the JSON.
 *
 * Threading: as objmeta.h.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/conds.h"
#include "api/config.h"
#include "api/migration.h"
#include "api/objmeta.h"

#define VMI_VOLUMES_MAX 256
#define VMI_PODS_MAX 256
#define VMI_NETWORKS_MAX 256
#define VMI_VCPUS_MAX 4096

enum vmi_phase {
	VMI_UNSET,
	VMI_PENDING,
	VMI_SCHEDULING,
	VMI_SCHEDULED,
	VMI_RUNNING,
	VMI_SUCCEEDED,
	VMI_FAILED,
	VMI_WAITING_FOR_SYNC,
	VMI_UNKNOWN,
	VMI_PHASE_COUNT,
};

enum volume_kind {
	VOLUME_OTHER, /* nothing that Ferry knows */
	VOLUME_CONTAINER_DISK,
	VOLUME_PVC,
	VOLUME_DATA_VOLUME,
	VOLUME_HOST_DISK,
	VOLUME_EMPTY_DISK,
	VOLUME_CLOUD_INIT,
	VOLUME_EPHEMERAL,
	VOLUME_CONFIG, /* configMap, secret, serviceAccount, downwardAPI, ... */
	VOLUME_KIND_COUNT,
};

struct vmi_volume {
	char *name;
	enum volume_kind kind;
	char *claim;         /* of a claim or data volume; "" otherwise */
	uint64_t size_bytes; /* of an emptyDisk or hostDisk; 0: not said */
	bool hotplug;
	bool shared;     /* hostDisk only: spec says so */
	bool read_only;  /* the disk, or the claim */
	bool filesystem; /* handed to the guest by virtiofs */
	bool migrated;   /* listed in status.migratedVolumes */
};

enum binding {
	BINDING_NONE, /* no interface uses the pod's network */
	BINDING_MASQUERADE,
	BINDING_BRIDGE,
	BINDING_PASST,
	BINDING_PLUGIN,
	BINDING_OTHER,
};

struct vmi_pod {
	char *uid;
	char *node;
};

struct vmi {
	struct objmeta meta;
	json_t *labels; /* an object, NULL for none */
	char *vm_name;  /* its owner's, "" for a machine without */
	bool has_finalizer;
	bool has_vm_finalizer; /* its machine has yet to look at its end */
	bool outdated;         /* label outdatedLauncherImage */
	bool abort_updates;    /* annotation of the same name */
	int64_t vm_generation; /* that it was made of; 0: not said */
	char *template_digest; /* of that; "": not said */
	char *wishes;          /* see text_wishes() */
	bool from_descheduler; /* annotation eviction-source */
	bool create_target;    /* annotation create-migration-target */
	bool allow_bridge;
	/* spec */
	enum eviction_strategy eviction; /* unset: as the cluster says */
	uint64_t memory_bytes;           /* of the guest; 0: not said */
	uint32_t vcpus;
	char *cpu_model; /* "" for none */
	bool dedicated_cpus;
	bool cpu_limited; /* resources.limits.cpu */
	bool host_devices;
	bool utility_volumes;
	struct vmi_volume *volumes;
	size_t volume_count;
	enum binding pod_binding;
	char *scheduler_name;
	/* status */
	enum vmi_phase phase;
	int64_t phase_since_us[VMI_PHASE_COUNT]; /* 0: never seen */
	char *qos_class;
	char *node;
	char *evacuation_node;
	char *launcher_image;
	char *selinux_context;
	char *migration_transport;
	bool block_migration; /* migrationMethod */
	bool backup_in_progress;
	struct vmi_pod *pods; /* activePods, terminated ones too */
	size_t pod_count;
	struct conds conds;
	struct migration_state *migration; /* NULL for none */
};

/* Fails for a spec that nobody can use, VMI_VOLUMES_MAX for one; whatever nodes
 * may write to the status does not make a machine unreadable. */
struct vmi *vmi_decode(const json_t *object, struct err *err);
void vmi_free(struct vmi *vmi);
void vmi_unref(struct vmi **pointer);

const char *vmi_phase_name(enum vmi_phase phase);

static inline bool
vmi_is_final(const struct vmi *vmi)
{
	return vmi->phase == VMI_SUCCEEDED || vmi->phase == VMI_FAILED;
}

/* Its own strategy, or the cluster's. */
enum eviction_strategy vmi_eviction(const struct vmi *vmi,
				    const struct kubevirt_config *config);
/* Its transfer goes on; see migration_state_is_active(). */
bool vmi_is_migrating(const struct vmi *vmi, int64_t now_us);
/* The hand-off for this migration has been written. */
bool vmi_is_handed_to(const struct vmi *vmi, const char *migration_uid);

#endif
