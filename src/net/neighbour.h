/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NET_NEIGHBOUR_H
#define NET_NEIGHBOUR_H

/*
 * neighbour - which MAC has which address, on a link. Threading: as netlink.h.
 */

#include <stdbool.h>
#include <stddef.h>

#include "net/inet.h"

struct err;
struct netlink;

struct neighbour {
	int link; /* index */
	struct ip ip;
	struct mac mac; /* zeroes while it is not known */
	bool permanent;
};

/* What is known now, IPv4 and IPv6. The caller frees. */
int neighbour_list(struct netlink *nl, struct neighbour **ret_neighbours,
		   size_t *ret_count, struct err *err);

/* For good; replaces what was learned. */
int neighbour_add(struct netlink *nl, const char *link, const struct ip *ip,
		  const struct mac *mac, struct err *err);
/* One that is not there is fine. */
int neighbour_delete(struct netlink *nl, const char *link, const struct ip *ip,
		     struct err *err);

#endif
