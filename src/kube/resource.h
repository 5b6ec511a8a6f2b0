/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KUBE_RESOURCE_H
#define KUBE_RESOURCE_H

/*
 * resource - kinds of objects and their paths.
 *
 * Threading: any thread.
 */

#include <stddef.h>

struct kube_resource {
	const char *group; /* "" for the core group */
	const char *version;
	const char *plural; /* "virtualmachineinstances" */
	const char *kind;   /* "VirtualMachineInstance" */
};

/* Those of Kubernetes that Ferry reads or writes. */
extern const struct kube_resource kube_configmaps;
extern const struct kube_resource kube_events;
extern const struct kube_resource kube_leases;
extern const struct kube_resource kube_namespaces;
extern const struct kube_resource kube_nodes;
extern const struct kube_resource kube_persistentvolumeclaims;
extern const struct kube_resource kube_pods;
extern const struct kube_resource kube_resourcequotas;
extern const struct kube_resource kube_secrets;
extern const struct kube_resource kube_storageclasses;

/* "v1", "kubevirt.io/v1"; to be freed. */
char *kube_api_version(const struct kube_resource *resource);

/*
 * "/apis/G/V/namespaces/NS/PLURAL/NAME/SUB"; ns, name and sub may be NULL or
 * "". Each is escaped, so that a name cannot lead elsewhere; a sub may have
 * slashes ("evacuate/cancel"). To be freed.
 */
char *kube_path(const struct kube_resource *resource, const char *ns,
		const char *name, const char *sub);

#define KUBE_KEY_MAX 512

/* "NS/NAME", or "NAME" for what has no namespace, as the keys of caches and
 * queues are; cut where it does not fit. Returns key. */
const char *kube_key(const char *ns, const char *name, char key[KUBE_KEY_MAX]);
/* The opposite; *ret_ns is "" when there is none. -1 when it is no key. Both
 * point into buf, which has KUBE_KEY_MAX bytes. */
int kube_key_split(const char *key, char *buf, const char **ret_ns,
		   const char **ret_name);

#endif
