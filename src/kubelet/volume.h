/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KUBELET_VOLUME_H
#define KUBELET_VOLUME_H

/*
 * volume - the volumes of a pod, as directories and files of the node.
 *
 * Below the pod's directory, with Kubernetes' names:
 *
 *	volumes/kubernetes.io~empty-dir/NAME
 *	volumes/kubernetes.io~configmap/NAME
 *	volumes/kubernetes.io~secret/NAME		in memory
 *	volumes/kubernetes.io~projected/NAME		in memory
 *	volumes/kubernetes.io~downward-api/NAME
 *
 * Host paths, claims and images stay where they are. Making them again changes
 * only what is not as it should be, so that it can be done while the pod runs.
 *
 * Threading: one thread at a time.
 */

#include "base/js.h"

struct env_facts;
struct err;

struct volume_request {
	const json_t *pod;
	const json_t *have; /* see podrefs.h */
	const char *pod_dir;
	const char *image_dir;
	const struct env_facts *facts;
};

/*
 * All of them, by name: {"path", "readOnly", "imageRef"}. A new reference, or
 * NULL with an error that names the volume.
 */
json_t *volume_make_all(const struct volume_request *request, struct err *err);

#endif
