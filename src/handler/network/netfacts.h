/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HANDLER_NETWORK_NETFACTS_H
#define HANDLER_NETWORK_NETFACTS_H

/*
 * netfacts - what there is in a pod's network namespace, and what was there
 * before its addresses were taken for the guest.
 *
 * The latter is kept in the kernel itself, beside what it is about, so that it
 * lives exactly as long: the link's MAC and addresses in its alias,
 *
 *	ferry1 mac=0a:58:0a:f4:01:05 ip=10.244.1.5/24
 *
 * and its IPv4 routes in a routing table of its own that nothing looks into, by
 * way of the loopback device. The alias is written last: a link that has one
 * has been recorded completely.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/address.h"
#include "net/link.h"
#include "net/route.h"

struct err;
struct netlink;

#define NETFACTS_TABLE 0x6b360000U /* and the link's index */
#define NETFACTS_ALIAS "ferry1"
#define NETFACTS_IPS_MAX                                     \
	4 /* addresses of one link; an alias has no room for \
	   * more */

struct netfacts {
	struct link *links;
	size_t link_count;
	struct address *addresses;
	size_t address_count;
	struct route *routes;
	size_t route_count;
};

/* The caller calls netfacts_done() afterwards, also after a failure. */
int netfacts_read(struct netlink *nl, struct netfacts *ret, struct err *err);
void netfacts_done(struct netfacts *facts);

/* Whether a route is one of the link's that were recorded. */
bool netfacts_is_recorded(const struct route *route, const struct link *link);

/* NULL when there is no such link. */
const struct link *netfacts_link(const struct netfacts *facts,
				 const char *name);

/* What a link had before. */
struct netrecord {
	struct mac mac;
	struct ip_prefix ips[NETFACTS_IPS_MAX];
	size_t ip_count;
};

/* From its alias; ERR_NOT_FOUND when it has none of ours, ERR_CONFLICT when it
 * is damaged. */
int netrecord_parse(const char *alias, struct netrecord *ret, struct err *err);
/* From what the link has now. ERR_LIMIT: more addresses than NETFACTS_IPS_MAX.
 */
int netrecord_take(const struct netfacts *facts, const struct link *link,
		   struct netrecord *ret, struct err *err);
void netrecord_text(const struct netrecord *record,
		    char alias[LINK_ALIAS_MAX + 1]);

#endif
