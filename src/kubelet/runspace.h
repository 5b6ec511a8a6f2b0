/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KUBELET_RUNSPACE_H
#define KUBELET_RUNSPACE_H

/*
 * runspace - the mount namespace in which crun runs.
 *
 * crun refuses hosts that have cgroup v1 beside v2, and calls running
 * containers stopped where it does not find their cgroups. Whoever runs it
 * first enters a mount namespace of its own, in which /sys/fs/cgroup is one
 * clean v2 hierarchy. All such namespaces are alike, so that any of them finds
 * any container. Mounts that are made here are seen by nobody else and go with
 * the last process.
 *
 * Threading: changes the calling process; for helpers, never for the loop's.
 */

struct err;

#define RUNSPACE_CGROUPS "/sys/fs/cgroup"

/* Mounts and unmounts of the node still arrive here, none goes back. */
int runspace_enter(struct err *err);

/* mount(2), with an error that names both ends. */
int runspace_mount(const char *source, const char *target, const char *type,
		   unsigned long flags, const char *data, struct err *err);

#endif
