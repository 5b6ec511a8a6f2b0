/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KUBELET_ATTACH_H
#define KUBELET_ATTACH_H

/*
 * attach - which networks a pod asks for, and what it is told about them.
 *
 * The pod's own network first, as "eth0"; then those of the annotation
 * k8s.v1.cni.cncf.io/networks, which is JSON or a comma-separated list of
 * [NAMESPACE/]NAME[@INTERFACE]. What came of it goes into the annotation
 * k8s.v1.cni.cncf.io/network-status as Multus writes it.
 *
 * Pure. Threading: any thread, with JSON of its own.
 */

#include "base/js.h"

struct err;

#define ATTACH_NETWORKS "k8s.v1.cni.cncf.io/networks"
#define ATTACH_STATUS "k8s.v1.cni.cncf.io/network-status"
#define ATTACH_DEFAULT_IFNAME "eth0"
#define ATTACH_MAX 32
#define ATTACH_ANNOTATION_MAX 65536

/*
 * An array of {"ifname","name","namespace","mac"}, without the pod's own. A
 * new reference, or NULL: a name that is none, an interface twice, too many.
 */
json_t *attach_wanted(const json_t *pod, struct err *err);

/*
 * The annotation's text out of attachments in order, each {"ifname",
 * "network", "default", "result"}, where result is CNI's. To be freed.
 */
char *attach_status(const json_t *attachments);

/* The addresses, without lengths, of the interface in a CNI result: an array of
 * strings, a new reference. */
json_t *attach_ips(const json_t *result, const char *ifname);

#endif
