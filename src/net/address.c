/* SPDX-License-Identifier: Apache-2.0 */
#include "net/address.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

#include "base/err.h"
#include "net/link.h"
#include "net/netlink.h"

static bool
read_address(const struct nlmsghdr *message, void *item)
{
	const struct ifaddrmsg *info = mnl_nlmsg_get_payload(message);
	const struct nlattr *attr, *local = NULL, *remote = NULL;
	struct address *address = item;
	uint32_t flags;

	if (message->nlmsg_type != RTM_NEWADDR ||
	    mnl_nlmsg_get_payload_len(message) < sizeof(*info) ||
	    (info->ifa_family != AF_INET && info->ifa_family != AF_INET6))
		return false;
	flags = info->ifa_flags;
	mnl_attr_for_each(attr, message, sizeof(*info))
	{
		if (mnl_attr_get_type(attr) == IFA_LOCAL)
			local = attr;
		else if (mnl_attr_get_type(attr) == IFA_ADDRESS)
			remote = attr;
		else if (mnl_attr_get_type(attr) == IFA_FLAGS &&
			 mnl_attr_validate(attr, MNL_TYPE_U32) >= 0)
			flags = mnl_attr_get_u32(attr);
	}
	/* Where there are two, the other one is the peer's. */
	if (local == NULL)
		local = remote;
	if (local == NULL ||
	    mnl_attr_get_payload_len(local) != ip_len(info->ifa_family))
		return false;
	address->link = (int)info->ifa_index;
	address->global = info->ifa_scope == RT_SCOPE_UNIVERSE;
	address->permanent = (flags & IFA_F_PERMANENT) != 0;
	address->ip.ip.family = info->ifa_family;
	address->ip.len = info->ifa_prefixlen;
	memcpy(address->ip.ip.bytes, mnl_attr_get_payload(local),
	       ip_len(info->ifa_family));
	return true;
}

int
address_list(struct netlink *nl, struct address **ret_addresses,
	     size_t *ret_count, struct err *err)
{
	static const struct netlink_query query = { "list addresses",
						    sizeof(struct address),
						    read_address };
	void *extra;

	(void)netlink_begin(nl, RTM_GETADDR, 0, sizeof(struct ifaddrmsg),
			    &extra);
	return netlink_list(nl, &query, ret_addresses, ret_count, err);
}

static int
change(struct netlink *nl, uint16_t type, const char *link_name,
       const struct ip_prefix *address, struct err *err)
{
	char text[IP_PREFIX_TEXT_SIZE + IFNAMSIZ + 8];
	char buf[IP_PREFIX_TEXT_SIZE];
	size_t len = ip_len(address->ip.family);
	struct nlmsghdr *header;
	struct ifaddrmsg *info;
	struct link link;
	void *extra;

	if (link_get(nl, link_name, &link, err) == -1)
		return -1;
	header = netlink_begin(
		nl, type,
		type == RTM_NEWADDR ? NLM_F_CREATE | NLM_F_REPLACE : 0,
		sizeof(*info), &extra);
	info = extra;
	info->ifa_family = (uint8_t)address->ip.family;
	info->ifa_prefixlen = address->len;
	info->ifa_index = (uint32_t)link.index;
	mnl_attr_put(header, IFA_LOCAL, len, address->ip.bytes);
	mnl_attr_put(header, IFA_ADDRESS, len, address->ip.bytes);
	if (address->ip.family == AF_INET6)
		mnl_attr_put_u32(header, IFA_FLAGS, IFA_F_NODAD);
	(void)snprintf(text, sizeof(text), "%s on %s",
		       ip_prefix_text(address, buf), link_name);
	return netlink_change(
		nl, type == RTM_NEWADDR ? "set address" : "delete address",
		text, err);
}

int
address_add(struct netlink *nl, const char *link,
	    const struct ip_prefix *address, struct err *err)
{
	return change(nl, RTM_NEWADDR, link, address, err);
}

int
address_delete(struct netlink *nl, const char *link,
	       const struct ip_prefix *address, struct err *err)
{
	if (change(nl, RTM_DELADDR, link, address, err) == 0 ||
	    errno == EADDRNOTAVAIL)
		return 0;
	return -1;
}
