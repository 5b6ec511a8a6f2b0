/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CTL_LAYOUT_H
#define CTL_LAYOUT_H

/*
 * layout - where everything of a cluster on this machine is: directories,
 * namespaces, interfaces, addresses. All of it follows from its directory, its
 * name and its number of nodes.
 *
 *	DIR/state.json		what was made; see state.h
 *	DIR/admin.kubeconfig	for kubectl
 *	DIR/cluster/		ferry-cluster's
 *	DIR/log/		a file for each program
 *	DIR/shared/		volumes that all nodes can write to
 *	DIR/images/		images that all nodes have
 *	DIR/NODE/		a node: kubelet/, run/, cni/, host/, keys
 *
 *	node network		10.B.0.0/24	eth0 of each node; ".254" is the
 *						API server, in the person's own
 *						namespace
 *	migration network	10.B.1.0/24	mig0 of each node
 *	machines' network	10.B.2.0/24	behind the bridge br-lan of each
 *						node; ".254" is in the fabric
 *	pods			10.B.16+N.0/24	of the N-th node
 *
 * The name suggests B; where something else has it already it is the next one
 * that is free (fabric_choose()).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

#define LAYOUT_NAME_MAX 20
#define LAYOUT_NODES_MAX 64
#define LAYOUT_TEXT_SIZE 64
#define LAYOUT_API_PORT 6443
#define LAYOUT_WEBHOOK_PORT 8443
#define LAYOUT_KUBELET_PORT 10250
/* Metrics: of the controller beside the API server, of handlers on eth0. */
#define LAYOUT_CONTROLLER_PORT 8444
#define LAYOUT_HANDLER_PORT 8443
#define LAYOUT_LISTEN_SIZE 96 /* "ADDR:PORT" */

enum layout_net {
	NET_NODES,
	NET_MIGRATION,
	NET_LAN,
	NET_COUNT,
};

struct layout {
	char *dir;
	char name[LAYOUT_NAME_MAX + 1];
	unsigned nodes;
	unsigned block; /* B */
};

#define LAYOUT_BLOCK_FIRST 64
#define LAYOUT_BLOCK_COUNT 128

/* A name is of a-z, 0-9 and "-", and begins with a letter. dir is made
 * absolute. */
int layout_init(struct layout *layout, const char *dir, const char *name,
		unsigned nodes, struct err *err);
void layout_done(struct layout *layout);

/* DIR/REST, with printf's ways; to be freed. */
char *layout_path(const struct layout *layout, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* All write to text and return it. Nodes are counted from 1. */
const char *layout_node(unsigned node, char text[LAYOUT_TEXT_SIZE]);
/* Of a node, or of the fabric for 0. */
const char *layout_netns(const struct layout *layout, unsigned node,
			 char text[LAYOUT_TEXT_SIZE]);
/* The interface of the person's own namespace. */
const char *layout_uplink(const struct layout *layout,
			  char text[LAYOUT_TEXT_SIZE]);
/* "10.B.x.N", N of 0 is ".254". */
const char *layout_address(const struct layout *layout, enum layout_net net,
			   unsigned node, char text[LAYOUT_TEXT_SIZE]);
/* "10.B.16+N.0/24". */
const char *layout_pods(const struct layout *layout, unsigned node,
			char text[LAYOUT_TEXT_SIZE]);
/* The cgroup of the node's pods, "/ferry-NAME-nodeN". */
const char *layout_cgroup(const struct layout *layout, unsigned node,
			  char text[LAYOUT_TEXT_SIZE]);
/* Whether a process of which /proc/PID/cgroup says this is in a pod of the
 * cluster, and not of one whose name only begins like it. */
bool layout_has_cgroup(const struct layout *layout, const char *cgroups);

#endif
