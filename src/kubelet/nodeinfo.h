/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KUBELET_NODEINFO_H
#define KUBELET_NODEINFO_H

/*
 * nodeinfo - what this node is and has, as its Node object says it.
 *
 * Threading: any thread.
 */

#include <stdint.h>

#include "base/js.h"

struct err;
struct settings;

struct nodeinfo {
	const struct settings *settings;
	const char *node_ip;
	uint16_t port;           /* of the kubelet's own API */
	const char *net_problem; /* NULL: pods can have networks */
	int64_t now_us;
};

/* The address from which the API server ("https://HOST:PORT") is reached; the
 * caller frees it. */
int nodeinfo_find_ip(const char *server, char **ret_ip, struct err *err);

/* metadata.labels. A new reference. */
json_t *nodeinfo_labels(const struct settings *settings);
/* status; old is the status before, or NULL. A new reference. */
json_t *nodeinfo_status(const struct nodeinfo *info, const json_t *old);

#endif
