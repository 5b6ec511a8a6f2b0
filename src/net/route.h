/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NET_ROUTE_H
#define NET_ROUTE_H

/*
 * route - where packets go. Threading: as netlink.h.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/inet.h"

struct err;
struct netlink;

#define ROUTE_TABLE_MAIN 254

struct route {
	struct ip_prefix to;
	struct ip gateway; /* family 0: what is there is on the link itself */
	int link;          /* index */
	uint32_t table;    /* 0 in a request: ROUTE_TABLE_MAIN */
	uint32_t metric;   /* 0: the kernel's choice */
	bool onlink;  /* the gateway is on the link, whatever addresses say */
	bool learned; /* made by the kernel along with an address or from a
		       * router's word: goes and comes with that */
};

/* The unicast routes of all tables, IPv4 and IPv6. The caller frees. Routes
 * with several ways are not listed. */
int route_list(struct netlink *nl, struct route **ret_routes, size_t *ret_count,
	       struct err *err);

/* One to the same place is replaced. */
int route_add(struct netlink *nl, const struct route *route, struct err *err);
/* One that is not there is fine. */
int route_delete(struct netlink *nl, const struct route *route,
		 struct err *err);

#endif
