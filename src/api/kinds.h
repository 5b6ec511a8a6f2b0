/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_KINDS_H
#define API_KINDS_H

/*
 * kinds - the resources of KubeVirt, its neighbours and Ferry; those of
 * Kubernetes are in kube/resource.h. Threading: any thread.
 */

#include "kube/resource.h"

extern const struct kube_resource api_vms;
extern const struct kube_resource api_vmis;
extern const struct kube_resource api_vmims;
extern const struct kube_resource api_kubevirts;
extern const struct kube_resource api_policies;
extern const struct kube_resource api_storage_profiles;
extern const struct kube_resource api_nads;
extern const struct kube_resource api_path_probes;

#endif
