/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KUBELET_PROVISION_H
#define KUBELET_PROVISION_H

/*
 * provision - makes volumes for claims, as an external provisioner does.
 *
 * For StorageClasses of the provisioner ferry.io/local (a directory of this
 * node) and ferry.io/shared (a directory that all nodes see, for volumes that
 * several nodes write to). The scheduler names the node of a claim
 * (volume.kubernetes.io/selected-node); the kubelet of that node makes the
 * directory, then the PersistentVolume, which names the claim; the binder does
 * the rest. A volume that was released and is to be deleted is removed by the
 * kubelet that made it, the object first unless the directory cannot go.
 *
 * Threading: only from the loop's thread.
 */

struct err;
struct kubelet;
struct provision;

#define PROVISION_LOCAL "ferry.io/local"
#define PROVISION_SHARED "ferry.io/shared"

int provision_start(struct kubelet *kubelet, struct provision **ret,
		    struct err *err);
void provision_free(struct provision *provision); /* NULL is fine */

#endif
