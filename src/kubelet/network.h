/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KUBELET_NETWORK_H
#define KUBELET_NETWORK_H

/*
 * network - a pod's networks, brought up and down one after the other.
 *
 * What is asked of a plugin is written to the pod's directory before it is
 * asked, and what it answered afterwards: network/NN.json, {"ifname",
 * "network", "default", "mac", "list", "result"}. So whatever was begun is
 * undone, also by a kubelet that was not there when it was begun.
 *
 * Threading: only from the loop's thread.
 */

#include <stdbool.h>

#include "base/js.h"

struct err;
struct loop;
struct network_op;

#define NETWORK_FILE_MAX (1024UL * 1024)

struct network_config {
	struct loop *loop;
	const char *dir; /* POD/network */
	const char *bin_dir;
	const char *container_id;
	const char *netns; /* the file */
	const char *args;  /* CNI_ARGS */
};

typedef void network_done_fn(const struct err *err, void *arg);

/* Those on disk, in order. A new reference. */
json_t *network_load(const char *dir);

/* Whether each has its result. */
bool network_is_up(const json_t *attachments);

/* Brings up what is in wanted (as on disk, without results). Nothing may be on
 * disk. After a failure bring it down. */
struct network_op *network_up(const struct network_config *config,
			      const json_t *wanted, network_done_fn *done,
			      void *arg);

/*
 * Brings down what is on disk, the last first. With `anyhow` a plugin that
 * fails is not asked again: what it has in the pod goes with the namespace.
 */
struct network_op *network_down(const struct network_config *config,
				bool anyhow, network_done_fn *done, void *arg);

/* Forgets it; what was begun is on disk. NULL is fine. */
void network_cancel(struct network_op *op);

#endif
