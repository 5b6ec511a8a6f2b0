/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NET_LINK_H
#define NET_LINK_H

/*
 * link - network interfaces: made, found, changed, taken away.
 *
 * Links are named; names cannot be longer than IFNAMSIZ - 1 or this is
 * ERR_INVALID. A link that is not there is ERR_NOT_FOUND, a name that is taken
 * is ERR_EXISTS. Taps are made in tap.h.
 *
 * Threading: as netlink.h.
 */

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "net/inet.h"

struct err;
struct netlink;

#define LINK_ALIAS_MAX 255
#define LINK_KIND_SIZE 16
#define LINK_NOBODY UINT32_MAX /* a tap that belongs to no user or group */

struct link {
	int index;
	char name[IFNAMSIZ];
	char kind[LINK_KIND_SIZE]; /* "veth", "bridge", "tun"; "" if unsaid */
	struct mac mac;            /* zeroes where links have none */
	uint32_t mtu;
	int master; /* index of its bridge; 0 for none */
	bool up;
	bool running; /* carrier: for a tap, that somebody has it open */
	char alias[LINK_ALIAS_MAX + 1];
	/* of a tap */
	bool tap;
	bool vnet_hdr;
	bool multi_queue;
	uint32_t owner;
	uint32_t group;
};

/* All links of the namespace. The caller frees *ret_links. */
int link_list(struct netlink *nl, struct link **ret_links, size_t *ret_count,
	      struct err *err);
int link_get(struct netlink *nl, const char *name, struct link *ret_link,
	     struct err *err);
/* In what link_list() gave; NULL when it is not there. */
const struct link *link_find(const struct link *links, size_t count,
			     const char *name);
const struct link *link_find_index(const struct link *links, size_t count,
				   int index);

/* What is made is down. mtu 0 and mac NULL leave the kernel its choice. */
struct link_spec {
	const char *name;
	const struct mac *mac;
	uint32_t mtu;
};

/* A bridge that forwards at once: no spanning tree, no delay, no snooping, so
 * that the first frame of a guest that has just arrived is not lost. */
int link_add_bridge(struct netlink *nl, const struct link_spec *spec,
		    struct err *err);
/* A pair of ends; the peer goes to peer_netns_fd, -1 for beside the first. */
int link_add_veth(struct netlink *nl, const struct link_spec *spec,
		  const struct link_spec *peer, int peer_netns_fd,
		  struct err *err);
/* Nothing to delete is fine. The other end of a veth goes with it. */
int link_delete(struct netlink *nl, const char *name, struct err *err);

int link_set_up(struct netlink *nl, const char *name, bool up, struct err *err);
int link_set_mac(struct netlink *nl, const char *name, const struct mac *mac,
		 struct err *err);
int link_set_mtu(struct netlink *nl, const char *name, uint32_t mtu,
		 struct err *err);
/* NULL takes it out of its bridge. */
int link_set_master(struct netlink *nl, const char *name, const char *bridge,
		    struct err *err);
/* A note that stays with the link; "" takes it away. */
int link_set_alias(struct netlink *nl, const char *name, const char *alias,
		   struct err *err);
/* Of a port of a bridge: whether the bridge notes who is behind it. */
int link_set_learning(struct netlink *nl, const char *name, bool on,
		      struct err *err);
/* Of a port of a bridge: whether a frame may leave where it came in. */
int link_set_hairpin(struct netlink *nl, const char *name, bool on,
		     struct err *err);
/* The link must be down. */
int link_rename(struct netlink *nl, const char *name, const char *new_name,
		struct err *err);
/* It loses its addresses and is down there; new_name NULL keeps the name. */
int link_move(struct netlink *nl, const char *name, int netns_fd,
	      const char *new_name, struct err *err);

/* Whether checksums may be left to the receiver. Off where it is a program that
 * looks at them too early, as DHCP clients do. netns_fd as in netns_run(). */
int link_set_tx_checksum(int netns_fd, const char *name, bool on,
			 struct err *err);

#endif
