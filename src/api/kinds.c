/* SPDX-License-Identifier: Apache-2.0 */
#include "api/kinds.h"

const struct kube_resource api_vms = {
	.group = "kubevirt.io",
	.version = "v1",
	.plural = "virtualmachines",
	.kind = "VirtualMachine",
};

const struct kube_resource api_vmis = {
	.group = "kubevirt.io",
	.version = "v1",
	.plural = "virtualmachineinstances",
	.kind = "VirtualMachineInstance",
};

const struct kube_resource api_vmims = {
	.group = "kubevirt.io",
	.version = "v1",
	.plural = "virtualmachineinstancemigrations",
	.kind = "VirtualMachineInstanceMigration",
};

const struct kube_resource api_kubevirts = {
	.group = "kubevirt.io",
	.version = "v1",
	.plural = "kubevirts",
	.kind = "KubeVirt",
};

const struct kube_resource api_policies = {
	.group = "migrations.kubevirt.io",
	.version = "v1alpha1",
	.plural = "migrationpolicies",
	.kind = "MigrationPolicy",
};

const struct kube_resource api_storage_profiles = {
	.group = "cdi.kubevirt.io",
	.version = "v1beta1",
	.plural = "storageprofiles",
	.kind = "StorageProfile",
};

const struct kube_resource api_nads = {
	.group = "k8s.cni.cncf.io",
	.version = "v1",
	.plural = "network-attachment-definitions",
	.kind = "NetworkAttachmentDefinition",
};

const struct kube_resource api_path_probes = {
	.group = "ferry.io",
	.version = "v1alpha1",
	.plural = "pathprobes",
	.kind = "PathProbe",
};
