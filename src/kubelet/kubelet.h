/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KUBELET_KUBELET_H
#define KUBELET_KUBELET_H

/*
 * kubelet - what all parts of the daemon share.
 *
 * Threading: everything runs in the loop's thread.
 */

#include <stdbool.h>

#include "base/loop.h"
#include "kubelet/cgroups.h"
#include "kubelet/settings.h"

struct events;
struct kube_client;

struct kubelet {
	const struct settings *settings;
	struct loop *loop;
	struct kube_client *client;
	struct events *events;
	struct cgroups cgroups;
	char *self; /* this program, to run itself as */
	char *node_ip;
	char *pods_dir; /* ROOT/pods */
	char *ns_dir;   /* RUN/ns */
};

#endif
