/* SPDX-License-Identifier: Apache-2.0 */
#include "net/neighbour.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

#include "base/err.h"
#include "net/link.h"
#include "net/netlink.h"

static bool
read_neighbour(const struct nlmsghdr *message, void *item)
{
	const struct ndmsg *info = mnl_nlmsg_get_payload(message);
	struct neighbour *neighbour = item;
	const struct nlattr *attr;

	if (message->nlmsg_type != RTM_NEWNEIGH ||
	    mnl_nlmsg_get_payload_len(message) < sizeof(*info) ||
	    (info->ndm_family != AF_INET && info->ndm_family != AF_INET6) ||
	    (info->ndm_state & NUD_NOARP))
		return false;
	neighbour->link = info->ndm_ifindex;
	neighbour->permanent = (info->ndm_state & NUD_PERMANENT) != 0;
	mnl_attr_for_each(attr, message, sizeof(*info))
	{
		size_t len = mnl_attr_get_payload_len(attr);
		const void *data = mnl_attr_get_payload(attr);

		if (mnl_attr_get_type(attr) == NDA_DST &&
		    len == ip_len(info->ndm_family)) {
			neighbour->ip.family = info->ndm_family;
			memcpy(neighbour->ip.bytes, data, len);
		}
		if (mnl_attr_get_type(attr) == NDA_LLADDR && len == MAC_LEN)
			memcpy(neighbour->mac.bytes, data, MAC_LEN);
	}
	return neighbour->ip.family != 0;
}

int
neighbour_list(struct netlink *nl, struct neighbour **ret_neighbours,
	       size_t *ret_count, struct err *err)
{
	static const struct netlink_query query = { "list neighbours",
						    sizeof(struct neighbour),
						    read_neighbour };
	void *extra;

	(void)netlink_begin(nl, RTM_GETNEIGH, 0, sizeof(struct ndmsg), &extra);
	return netlink_list(nl, &query, ret_neighbours, ret_count, err);
}

static struct nlmsghdr *
begin(struct netlink *nl, uint16_t type, const char *link_name,
      const struct ip *ip, struct err *err)
{
	struct nlmsghdr *header;
	struct ndmsg *info;
	struct link link;
	void *extra;

	if (link_get(nl, link_name, &link, err) == -1)
		return NULL;
	header = netlink_begin(
		nl, type,
		type == RTM_NEWNEIGH ? NLM_F_CREATE | NLM_F_REPLACE : 0,
		sizeof(*info), &extra);
	info = extra;
	info->ndm_family = (uint8_t)ip->family;
	info->ndm_ifindex = link.index;
	info->ndm_state = NUD_PERMANENT;
	mnl_attr_put(header, NDA_DST, ip_len(ip->family), ip->bytes);
	return header;
}

int
neighbour_add(struct netlink *nl, const char *link, const struct ip *ip,
	      const struct mac *mac, struct err *err)
{
	struct nlmsghdr *header = begin(nl, RTM_NEWNEIGH, link, ip, err);
	char text[IP_TEXT_SIZE];

	if (header == NULL)
		return -1;
	mnl_attr_put(header, NDA_LLADDR, MAC_LEN, mac->bytes);
	return netlink_change(nl, "set neighbour", ip_text(ip, text), err);
}

int
neighbour_delete(struct netlink *nl, const char *link, const struct ip *ip,
		 struct err *err)
{
	char text[IP_TEXT_SIZE];

	if (begin(nl, RTM_DELNEIGH, link, ip, err) == NULL)
		return -1;
	if (netlink_change(nl, "delete neighbour", ip_text(ip, text), err) ==
		    0 ||
	    errno == ENOENT)
		return 0;
	return -1;
}
