/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NET_ADDRESS_H
#define NET_ADDRESS_H

/*
 * address - IP addresses of links. Threading: as netlink.h.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/inet.h"

struct err;
struct netlink;

struct address {
	int link; /* index */
	struct ip_prefix ip;
	bool global;    /* not only valid on its link or on this host */
	bool permanent; /* set by somebody, not learned */
};

/* All addresses of the namespace, IPv4 and IPv6. The caller frees. */
int address_list(struct netlink *nl, struct address **ret_addresses,
		 size_t *ret_count, struct err *err);

/* One that is there already is fine. IPv6 ones are usable at once: nobody is
 * asked whether they are taken. */
int address_add(struct netlink *nl, const char *link,
		const struct ip_prefix *address, struct err *err);
/* One that is not there is fine. Its routes go with it. */
int address_delete(struct netlink *nl, const char *link,
		   const struct ip_prefix *address, struct err *err);

#endif
