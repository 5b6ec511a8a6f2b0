/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KUBELET_OCI_H
#define KUBELET_OCI_H

/*
 * oci - a container as crun is told about it.
 *
 * Makes config.json (the OCI runtime specification) and monitor.json (what the
 * monitor does around it, see monitor.h) out of the pod and what was made for
 * it.
 *
 * Reads nothing but devices and the process's own capabilities. Threading: any
 * thread, with JSON of its own.
 */

#include <stdbool.h>

#include "base/js.h"

struct env_facts;
struct err;
struct image;
struct settings;

struct oci_request {
	const struct settings *settings;
	const json_t *pod;
	const json_t *container; /* of the pod's spec */
	const json_t *have;      /* see podrefs.h */
	const json_t *volumes;   /* see volume.h */
	const struct image *image;
	const struct env_facts *facts;
	const char *id;      /* crun's name for it */
	const char *ns_dir;  /* of the pod's namespaces */
	const char *etc_dir; /* has hosts, hostname and resolv.conf */
	const char *cgroup;
	bool unified; /* one v2 hierarchy: crun limits resources */
};

/* On success the caller owns both. ERR_INVALID names what is wrong. */
int oci_make(const struct oci_request *request, json_t **ret_config,
	     json_t **ret_monitor, struct err *err);

/* Parts of it, each a new reference. */

/* The mounts; parts become the monitor's business. */
json_t *oci_mounts(const struct oci_request *request, json_t *parts,
		   struct err *err);
/* "cpuMilli", "cpuShares", "memoryBytes", "pids", for the monitor. */
json_t *oci_limits(const json_t *container, struct err *err);
/* The same for crun. */
json_t *oci_resources(const json_t *limits, const json_t *devices,
		      bool privileged);
/* linux.devices. */
json_t *oci_devices(const struct oci_request *request);
/* Lines for devices.allow. */
json_t *oci_device_lines(const json_t *devices);
/* process.capabilities; NULL when a name is not known. */
json_t *oci_capabilities(const json_t *security, struct err *err);
json_t *oci_seccomp(void);

/* Of the container's own securityContext, or else of the pod's. */
const json_t *oci_security(const struct oci_request *request,
			   const char *member);
bool oci_is_privileged(const json_t *container);

#endif
