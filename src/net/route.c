/* SPDX-License-Identifier: Apache-2.0 */
#include "net/route.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/err.h"
#include "net/netlink.h"

static void
read_ip(const struct nlattr *attr, int family, struct ip *ip)
{
	if (mnl_attr_get_payload_len(attr) != ip_len(family))
		return;
	ip->family = family;
	memcpy(ip->bytes, mnl_attr_get_payload(attr), ip_len(family));
}

static void
read_attr(const struct nlattr *attr, int family, struct route *route)
{
	bool number = mnl_attr_validate(attr, MNL_TYPE_U32) >= 0;

	switch (mnl_attr_get_type(attr)) {
	case RTA_DST:
		read_ip(attr, family, &route->to.ip);
		break;
	case RTA_GATEWAY:
		read_ip(attr, family, &route->gateway);
		break;
	case RTA_OIF:
		route->link = number ? (int)mnl_attr_get_u32(attr) : 0;
		break;
	case RTA_TABLE:
		route->table = number ? mnl_attr_get_u32(attr) : 0;
		break;
	case RTA_PRIORITY:
		route->metric = number ? mnl_attr_get_u32(attr) : 0;
		break;
	default:
		break;
	}
}

static bool
read_route(const struct nlmsghdr *message, void *item)
{
	const struct rtmsg *info = mnl_nlmsg_get_payload(message);
	const struct nlattr *attr;
	struct route *route = item;

	if (message->nlmsg_type != RTM_NEWROUTE ||
	    mnl_nlmsg_get_payload_len(message) < sizeof(*info) ||
	    (info->rtm_family != AF_INET && info->rtm_family != AF_INET6) ||
	    info->rtm_type != RTN_UNICAST || (info->rtm_flags & RTM_F_CLONED))
		return false;
	route->to.ip.family = info->rtm_family;
	route->to.len = info->rtm_dst_len;
	route->table = info->rtm_table;
	route->onlink = (info->rtm_flags & RTNH_F_ONLINK) != 0;
	route->learned = info->rtm_protocol == RTPROT_KERNEL ||
			 info->rtm_protocol == RTPROT_RA ||
			 info->rtm_protocol == RTPROT_REDIRECT;
	mnl_attr_for_each(attr, message, sizeof(*info))
		read_attr(attr, info->rtm_family, route);
	return route->link != 0;
}

int
route_list(struct netlink *nl, struct route **ret_routes, size_t *ret_count,
	   struct err *err)
{
	static const struct netlink_query query = { "list routes",
						    sizeof(struct route),
						    read_route };
	void *extra;

	(void)netlink_begin(nl, RTM_GETROUTE, 0, sizeof(struct rtmsg), &extra);
	return netlink_list(nl, &query, ret_routes, ret_count, err);
}

static int
change(struct netlink *nl, uint16_t type, const struct route *route,
       struct err *err)
{
	bool add = type == RTM_NEWROUTE;
	uint32_t table = route->table ? route->table : ROUTE_TABLE_MAIN;
	int family = route->to.ip.family;
	char text[IP_PREFIX_TEXT_SIZE];
	struct nlmsghdr *header;
	struct rtmsg *info;
	void *extra;

	header = netlink_begin(nl, type, add ? NLM_F_CREATE | NLM_F_REPLACE : 0,
			       sizeof(*info), &extra);
	info = extra;
	info->rtm_family = (uint8_t)family;
	info->rtm_dst_len = route->to.len;
	info->rtm_table = table < 256 ? (uint8_t)table : RT_TABLE_UNSPEC;
	info->rtm_scope = RT_SCOPE_NOWHERE;
	if (add) {
		info->rtm_type = RTN_UNICAST;
		info->rtm_protocol = RTPROT_STATIC;
		info->rtm_scope =
			route->gateway.family == 0 && family == AF_INET
				? RT_SCOPE_LINK
				: RT_SCOPE_UNIVERSE;
		info->rtm_flags = route->onlink ? RTNH_F_ONLINK : 0;
	}
	mnl_attr_put_u32(header, RTA_TABLE, table);
	mnl_attr_put(header, RTA_DST, ip_len(family), route->to.ip.bytes);
	if (route->gateway.family != 0)
		mnl_attr_put(header, RTA_GATEWAY, ip_len(family),
			     route->gateway.bytes);
	if (route->link != 0)
		mnl_attr_put_u32(header, RTA_OIF, (uint32_t)route->link);
	if (route->metric != 0)
		mnl_attr_put_u32(header, RTA_PRIORITY, route->metric);
	return netlink_change(nl, add ? "set route to" : "delete route to",
			      ip_prefix_text(&route->to, text), err);
}

int
route_add(struct netlink *nl, const struct route *route, struct err *err)
{
	return change(nl, RTM_NEWROUTE, route, err);
}

int
route_delete(struct netlink *nl, const struct route *route, struct err *err)
{
	if (change(nl, RTM_DELROUTE, route, err) == 0 || errno == ESRCH)
		return 0;
	return -1;
}
