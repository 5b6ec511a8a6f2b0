/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_NAMES_H
#define API_NAMES_H

/*
 * names - the words of KubeVirt's API, and Ferry's own under ferry.io/.
 *
 * Labels, annotations, finalizers, conditions, reasons and texts that more than
 * one part writes or reads. Their spelling is part of the API, odd ones
 * included. What Ferry adds is described in docs/api.md.
 */

/* Labels of machines. */
#define LABEL_NODE "kubevirt.io/nodeName"
#define LABEL_MIGRATION_TARGET_NODE "kubevirt.io/migrationTargetNodeName"
#define LABEL_OUTDATED_IMAGE "kubevirt.io/outdatedLauncherImage"
#define LABEL_VMI_CPU_LIMITS "kubevirt.io/vmi-pod-cpu-resource-limits"
#define LABEL_VMI_MEMORY_REQUESTS "kubevirt.io/vmi-pod-memory-resource-requests"

/* Labels of pods. */
#define LABEL_APP "kubevirt.io"
#define APP_LAUNCHER "virt-launcher"
#define APP_HOTPLUG "hotplug-disk"
#define LABEL_CREATED_BY "kubevirt.io/created-by"
#define LABEL_MIGRATION_UID "kubevirt.io/migrationJobUID"
#define LABEL_VM_NAME "vm.kubevirt.io/name"
#define LABEL_VMI_ID "vmi.kubevirt.io/id"

/* Labels of migrations. */
#define LABEL_VMI_NAME "kubevirt.io/vmi-name"
#define LABEL_VOLUME_UPDATE "kubevirt.io/volume-update-migration"

/* Labels of nodes. */
#define LABEL_HOSTNAME "kubernetes.io/hostname"
#define LABEL_SCHEDULABLE "kubevirt.io/schedulable"
#define LABEL_CPU_MODEL_PREFIX "cpu-model.node.kubevirt.io/"
#define LABEL_CPU_MIGRATION_PREFIX "cpu-model-migration.node.kubevirt.io/"
#define LABEL_CPU_FEATURE_PREFIX "cpu-feature.node.kubevirt.io/"
#define LABEL_CPU_VENDOR_PREFIX "cpu-vendor.node.kubevirt.io/"
#define LABEL_HOST_MODEL_PREFIX "host-model-cpu.node.kubevirt.io/"
#define LABEL_HOST_FEATURES_PREFIX \
	"host-model-required-features.node.kubevirt.io/"

/* Annotations of machines and their pods. */
#define ANNOTATION_EVICTION_SOURCE "kubevirt.io/eviction-source"
#define EVICTION_SOURCE_DESCHEDULER "descheduler"
#define ANNOTATION_CREATE_TARGET "kubevirt.io/create-migration-target"
#define ANNOTATION_ALLOW_BRIDGE \
	"kubevirt.io/allow-pod-bridge-network-live-migration"
#define ANNOTATION_NONROOT "kubevirt.io/nonroot"
#define ANNOTATION_DOMAIN "kubevirt.io/domain"
#define ANNOTATION_MIGRATION_NAME "kubevirt.io/migrationJobName"
#define ANNOTATION_TRANSPORT_UNIX "kubevirt.io/migrationTransportUnix"
#define ANNOTATION_TARGET_READY "kubevirt.io/migration-target-ready-timestamp"
#define ANNOTATION_MEMORY_OVERHEAD "kubevirt.io/memory-overhead-bytes"
#define ANNOTATION_EVICT_ONLY \
	"descheduler.alpha.kubernetes.io/request-evict-only"
#define ANNOTATION_EVICTING \
	"descheduler.alpha.kubernetes.io/eviction-in-progress"
#define ANNOTATION_NETWORKS "k8s.v1.cni.cncf.io/networks"
#define ANNOTATION_NETWORK_STATUS "k8s.v1.cni.cncf.io/network-status"
#define ANNOTATION_DEFAULT_NETWORK "v1.multus-cni.io/default-network"
#define ANNOTATION_VM_GENERATION "kubevirt.io/vm-generation"
/* Of the template that the instance was made of. */
#define ANNOTATION_VM_TEMPLATE "ferry.io/vm-template-digest"
#define ANNOTATION_UPDATE_ABORTION \
	"kubevirt.io/testWorkloadUpdateMigrationAbortion"
/* Wishes about being evicted, handed on from machine to pod. */
#define ANNOTATION_EVICT "descheduler.alpha.kubernetes.io/evict"
#define ANNOTATION_PREFER_NO_EVICTION \
	"descheduler.alpha.kubernetes.io/prefer-no-eviction"
/* Of a node: when its agent was last alive. */
#define ANNOTATION_HEARTBEAT "kubevirt.io/heartbeat"

/* A request to pause a machine and its answer; see docs/api.md. */
#define ANNOTATION_PAUSE_REQUESTED "ferry.io/pause-requested"
#define ANNOTATION_PAUSE_ID "ferry.io/pause-request-id"
#define ANNOTATION_PAUSE_ANSWERED "ferry.io/pause-answered"
#define ANNOTATION_PAUSE_FAILURE "ferry.io/pause-failure"
/* What its launcher is and runs with; see docs/api.md. */
#define ANNOTATION_LAUNCHER_VERSIONS "ferry.io/launcher-versions"

/* Annotations of migrations. */
#define ANNOTATION_EVACUATION "kubevirt.io/evacuationMigration"
#define ANNOTATION_WORKLOAD_UPDATE "kubevirt.io/workloadUpdateMigration"
#define ANNOTATION_LATEST_VERSION "kubevirt.io/latest-observed-api-version"
#define ANNOTATION_STORAGE_VERSION "kubevirt.io/storage-observed-api-version"
#define ANNOTATION_UNSCHEDULABLE_TIMEOUT \
	"kubevirt.io/migrationUnschedulablePodTimeoutSeconds"
#define ANNOTATION_PENDING_TIMEOUT \
	"kubevirt.io/migrationPendingPodTimeoutSeconds"
#define ANNOTATION_UTILITY_TIMEOUT \
	"kubevirt.io/migrationUtilityVolumesTimeoutSeconds"
#define ANNOTATION_IGNORE_BACKOFF \
	"kubevirt.io/func-test-ignore-migration-backoff"

/* The same on a migration, or for all of them on the KubeVirt object. */
#define ANNOTATION_SCHEDULED_TIMEOUT "ferry.io/migrationScheduledTimeoutSeconds"
#define ANNOTATION_PREPARING_TIMEOUT \
	"ferry.io/migrationPreparingTargetTimeoutSeconds"
#define ANNOTATION_READY_TIMEOUT "ferry.io/migrationTargetReadyTimeoutSeconds"
#define ANNOTATION_RUNNING_TIMEOUT "ferry.io/migrationRunningTimeoutSeconds"
/* On the KubeVirt object only. */
#define ANNOTATION_INBOUND_LIMIT "ferry.io/parallelInboundMigrationsPerNode"

#define FINALIZER_MIGRATION "kubevirt.io/migrationJobFinalize"
#define FINALIZER_VM "kubevirt.io/virtualMachineControllerFinalize"
#define FINALIZER_VMI "foregroundDeleteVirtualMachine"
#define FINALIZER_ORPHAN "orphan" /* of Kubernetes */

/* Beginnings of names that are made. */
#define PREFIX_MIGRATE_VM "kubevirt-migrate-vm-"
#define PREFIX_EVACUATION "kubevirt-evacuation-"
#define PREFIX_WORKLOAD_UPDATE "kubevirt-workload-update-"
#define PREFIX_LAUNCHER "virt-launcher-"
#define PREFIX_HOTPLUG "hp-volume-"

/* Conditions of migrations. */
#define COND_ABORT_REQUESTED "migrationAbortRequested"
#define COND_QUOTA "migrationRejectedByResourceQuota"
#define COND_UTILITY_VOLUMES "migrationBlockedByUtilityVolumes"
#define REASON_UTILITY_VOLUMES "UtilityVolumesPresent"
#define COND_BACKUP "migrationBlockedByBackup"
#define REASON_BACKUP "BackupInProgress"
#define COND_DECENTRALIZED_BLOCKED "decentralizedMigrationBlocked"
/* True while the migration waits; its reason says for what. */
#define COND_WAITING "ferry.io/Waiting"
#define WAITING_CLUSTER_SLOT "ClusterLimit"
#define WAITING_SOURCE_SLOT "SourceNodeLimit"
#define WAITING_TARGET_SLOT "TargetNodeLimit"
#define WAITING_BACKOFF "Backoff"
#define WAITING_QUOTA "ResourceQuota"
#define WAITING_REFUSED "TargetPodRefused"
#define WAITING_UTILITY_VOLUMES "UtilityVolumes"
#define WAITING_BACKUP "Backup"
#define WAITING_OTHER "OtherMigration"
#define WAITING_PODS "PodsOfMachine"
#define WAITING_SOURCE_POD "SourcePod"
#define WAITING_MACHINE "MachineNotRunning"
#define WAITING_SCHEDULING "PodUnschedulable"
#define WAITING_POD_START "PodNotReady"
#define WAITING_TARGET_PREPARATION "TargetNodePreparation"
#define WAITING_SOURCE_START "SourceNodeStart"
#define WAITING_TRANSFER "Transfer"
#define WAITING_ABORT "AbortAcknowledgement"
/* True once it has failed; its reason is a code for programs. */
#define COND_FAILURE "ferry.io/Failure"

/* Conditions of machines. */
#define COND_READY "Ready"
#define COND_LIVE_MIGRATABLE "LiveMigratable"
#define COND_STORAGE_LIVE_MIGRATABLE "StorageLiveMigratable"
#define COND_MIGRATION_REQUIRED "MigrationRequired"
#define COND_EVICTION_REQUESTED "EvictionRequested"
#define COND_HOT_VCPU "HotVCPUChange"
#define COND_HOT_MEMORY "HotMemoryChange"
#define COND_VOLUMES_CHANGE "VolumesChange"
#define COND_PAUSED "Paused"
#define COND_SYNCHRONIZED "Synchronized"
#define COND_POD_SCHEDULED "PodScheduled"
/* Of a VirtualMachine only. */
#define COND_RESTART_REQUIRED "RestartRequired"
#define COND_VM_FAILURE "Failure"

/* Reasons of LiveMigratable=False that several parts know. */
#define REASON_DISKS_NOT_MIGRATABLE "DisksNotLiveMigratable"
#define REASON_INTERFACE_NOT_MIGRATABLE "InterfaceNotLiveMigratable"

/* Reasons of events. */
#define EVENT_SUCCESSFUL_CREATE "SuccessfulCreate"
#define EVENT_FAILED_CREATE "FailedCreate"
#define EVENT_SUCCESSFUL_DELETE "SuccessfulDelete"
#define EVENT_FAILED_DELETE "FailedDelete"
#define EVENT_SUCCESSFUL_HANDOVER "SuccessfulHandOver"
#define EVENT_FAILED_HANDOVER "FailedHandOver"
#define EVENT_SUCCESSFUL_ABORT "SuccessfulAbortMigration"
#define EVENT_FAILED_ABORT "FailedAbortMigration"
#define EVENT_FAILED_MIGRATION "FailedMigration"
#define EVENT_SUCCESSFUL_MIGRATION "SuccessfulMigration"
#define EVENT_BACKOFF "MigrationBackoff"
#define EVENT_UNSCHEDULABLE "migrationTargetPodUnschedulable"
#define EVENT_NO_HOST_MODEL_NODE "NoSuitableNodesForHostModelMigration"
#define EVENT_PROXY_UNAVAILABLE "ProxyUnavailable"
#define EVENT_UTILITY_PENDING "UtilityVolumeMigrationPending"

/* Feature gates of the KubeVirt object that change what Ferry does. */
#define GATE_DECENTRALIZED "DecentralizedLiveMigration"
#define GATE_STALL_DETECTION "MigrationStallDetection"
#define GATE_DOWNTIME_TUNING "MigrationDowntimeTuning"
#define GATE_NODE_RESTRICTION "NodeRestriction"
#define GATE_ROOT "Root" /* machines run as root */

#endif
