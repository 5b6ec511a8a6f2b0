/* SPDX-License-Identifier: Apache-2.0 */
#include "net/link.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/ethtool.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <linux/veth.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "net/netlink.h"
#include "net/netns.h"

#define TUN_TYPE_TAP 2 /* IFF_TAP; <linux/if_tun.h> is tap.c's */

static int
check_name(const char *name, struct err *err)
{
	size_t len = strlen(name);

	if (len == 0 || len >= IFNAMSIZ || strpbrk(name, "/: \t\n") != NULL ||
	    str_equal(name, ".") || str_equal(name, ".."))
		return err_set(err, ERR_INVALID, "'%s' cannot name a link",
			       name);
	return 0;
}

/* ---- reading ---- */

static uint32_t
get_u32(const struct nlattr *attr)
{
	return mnl_attr_validate(attr, MNL_TYPE_U32) < 0
		       ? 0
		       : mnl_attr_get_u32(attr);
}

static bool
get_flag(const struct nlattr *attr)
{
	return mnl_attr_validate(attr, MNL_TYPE_U8) >= 0 &&
	       mnl_attr_get_u8(attr) != 0;
}

static void
copy_text(const struct nlattr *attr, char *to, size_t size)
{
	size_t len = mnl_attr_get_payload_len(attr);

	if (len >= size)
		len = size - 1;
	memcpy(to, mnl_attr_get_payload(attr), len);
	to[len] = '\0';
}

static void
read_tun(const struct nlattr *data, struct link *link)
{
	const struct nlattr *attr;

	link->owner = link->group = LINK_NOBODY;
	mnl_attr_for_each_nested(attr, data)
	{
		switch (mnl_attr_get_type(attr)) {
		case IFLA_TUN_TYPE:
			link->tap = mnl_attr_validate(attr, MNL_TYPE_U8) >= 0 &&
				    mnl_attr_get_u8(attr) == TUN_TYPE_TAP;
			break;
		case IFLA_TUN_OWNER:
			link->owner = get_u32(attr);
			break;
		case IFLA_TUN_GROUP:
			link->group = get_u32(attr);
			break;
		case IFLA_TUN_VNET_HDR:
			link->vnet_hdr = get_flag(attr);
			break;
		case IFLA_TUN_MULTI_QUEUE:
			link->multi_queue = get_flag(attr);
			break;
		default:
			break;
		}
	}
}

static void
read_info(const struct nlattr *info, struct link *link)
{
	const struct nlattr *attr, *data = NULL;

	mnl_attr_for_each_nested(attr, info)
	{
		if (mnl_attr_get_type(attr) == IFLA_INFO_KIND)
			copy_text(attr, link->kind, sizeof(link->kind));
		else if (mnl_attr_get_type(attr) == IFLA_INFO_DATA)
			data = attr;
	}
	if (data != NULL && str_equal(link->kind, "tun"))
		read_tun(data, link);
}

static void
read_attr(const struct nlattr *attr, struct link *link)
{
	switch (mnl_attr_get_type(attr)) {
	case IFLA_IFNAME:
		copy_text(attr, link->name, sizeof(link->name));
		break;
	case IFLA_ADDRESS:
		if (mnl_attr_get_payload_len(attr) == MAC_LEN)
			memcpy(link->mac.bytes, mnl_attr_get_payload(attr),
			       MAC_LEN);
		break;
	case IFLA_MTU:
		link->mtu = get_u32(attr);
		break;
	case IFLA_MASTER:
		link->master = (int)get_u32(attr);
		break;
	case IFLA_CARRIER:
		link->running = get_flag(attr);
		break;
	case IFLA_IFALIAS:
		copy_text(attr, link->alias, sizeof(link->alias));
		break;
	case IFLA_LINKINFO:
		read_info(attr, link);
		break;
	default:
		break;
	}
}

static bool
read_link(const struct nlmsghdr *message, void *item)
{
	const struct ifinfomsg *info = mnl_nlmsg_get_payload(message);
	const struct nlattr *attr;
	struct link *link = item;

	if (message->nlmsg_type != RTM_NEWLINK ||
	    mnl_nlmsg_get_payload_len(message) < sizeof(*info))
		return false;
	link->index = info->ifi_index;
	link->up = (info->ifi_flags & IFF_UP) != 0;
	mnl_attr_for_each(attr, message, sizeof(*info)) read_attr(attr, link);
	return link->name[0] != '\0';
}

int
link_list(struct netlink *nl, struct link **ret_links, size_t *ret_count,
	  struct err *err)
{
	static const struct netlink_query query = { "list links",
						    sizeof(struct link),
						    read_link };
	void *extra;

	(void)netlink_begin(nl, RTM_GETLINK, 0, sizeof(struct ifinfomsg),
			    &extra);
	return netlink_list(nl, &query, ret_links, ret_count, err);
}

const struct link *
link_find(const struct link *links, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++) {
		if (str_equal(links[i].name, name))
			return &links[i];
	}
	return NULL;
}

const struct link *
link_find_index(const struct link *links, size_t count, int index)
{
	for (size_t i = 0; i < count; i++) {
		if (links[i].index == index)
			return &links[i];
	}
	return NULL;
}

int
link_get(struct netlink *nl, const char *name, struct link *ret_link,
	 struct err *err)
{
	AUTO(free_ptr) struct link *links = NULL;
	const struct link *found;
	size_t count;

	if (link_list(nl, &links, &count, err) == -1)
		return -1;
	found = link_find(links, count, name);
	if (found == NULL)
		return err_set(err, ERR_NOT_FOUND, "there is no link '%s'",
			       name);
	*ret_link = *found;
	return 0;
}

/* ---- making ---- */

static void
put_spec(struct nlmsghdr *header, const struct link_spec *spec)
{
	mnl_attr_put_strz(header, IFLA_IFNAME, spec->name);
	if (spec->mac != NULL)
		mnl_attr_put(header, IFLA_ADDRESS, MAC_LEN, spec->mac->bytes);
	if (spec->mtu != 0)
		mnl_attr_put_u32(header, IFLA_MTU, spec->mtu);
}

static struct nlmsghdr *
begin_new(struct netlink *nl, const struct link_spec *spec)
{
	void *extra;
	struct nlmsghdr *header =
		netlink_begin(nl, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL,
			      sizeof(struct ifinfomsg), &extra);

	put_spec(header, spec);
	return header;
}

int
link_add_bridge(struct netlink *nl, const struct link_spec *spec,
		struct err *err)
{
	struct nlmsghdr *header;
	struct nlattr *info, *data;

	if (check_name(spec->name, err) == -1)
		return -1;
	header = begin_new(nl, spec);
	info = mnl_attr_nest_start(header, IFLA_LINKINFO);
	mnl_attr_put_strz(header, IFLA_INFO_KIND, "bridge");
	data = mnl_attr_nest_start(header, IFLA_INFO_DATA);
	mnl_attr_put_u32(header, IFLA_BR_FORWARD_DELAY, 0);
	mnl_attr_put_u32(header, IFLA_BR_STP_STATE, 0);
	mnl_attr_put_u8(header, IFLA_BR_MCAST_SNOOPING, 0);
	mnl_attr_nest_end(header, data);
	mnl_attr_nest_end(header, info);
	return netlink_change(nl, "make bridge", spec->name, err);
}

int
link_add_veth(struct netlink *nl, const struct link_spec *spec,
	      const struct link_spec *peer, int peer_netns_fd, struct err *err)
{
	struct nlmsghdr *header;
	struct nlattr *info, *data, *end;

	if (check_name(spec->name, err) == -1 ||
	    check_name(peer->name, err) == -1)
		return -1;
	header = begin_new(nl, spec);
	info = mnl_attr_nest_start(header, IFLA_LINKINFO);
	mnl_attr_put_strz(header, IFLA_INFO_KIND, "veth");
	data = mnl_attr_nest_start(header, IFLA_INFO_DATA);
	end = mnl_attr_nest_start(header, VETH_INFO_PEER);
	(void)mnl_nlmsg_put_extra_header(header, sizeof(struct ifinfomsg));
	put_spec(header, peer);
	if (peer_netns_fd != -1)
		mnl_attr_put_u32(header, IFLA_NET_NS_FD,
				 (uint32_t)peer_netns_fd);
	mnl_attr_nest_end(header, end);
	mnl_attr_nest_end(header, data);
	mnl_attr_nest_end(header, info);
	return netlink_change(nl, "make veth", spec->name, err);
}

/* ---- changing ---- */

/* A request about a link by its name; the kernel finds it. */
static struct nlmsghdr *
begin_change(struct netlink *nl, uint16_t type, const char *name,
	     struct ifinfomsg **ret_info, struct err *err)
{
	struct nlmsghdr *header;
	void *extra;

	if (check_name(name, err) == -1)
		return NULL;
	header = netlink_begin(nl, type, 0, sizeof(struct ifinfomsg), &extra);
	mnl_attr_put_strz(header, IFLA_IFNAME, name);
	*ret_info = extra;
	return header;
}

/* The kernel says ENODEV for a name it does not know. */
static int
finish_change(struct netlink *nl, const char *what, const char *name,
	      struct err *err)
{
	if (netlink_change(nl, what, name, err) == 0)
		return 0;
	if (errno == ENODEV)
		err->kind = ERR_NOT_FOUND;
	return -1;
}

int
link_delete(struct netlink *nl, const char *name, struct err *err)
{
	struct ifinfomsg *info;

	if (begin_change(nl, RTM_DELLINK, name, &info, err) == NULL)
		return -1;
	if (finish_change(nl, "delete link", name, err) == 0 ||
	    err->kind == ERR_NOT_FOUND)
		return 0;
	return -1;
}

int
link_set_up(struct netlink *nl, const char *name, bool up, struct err *err)
{
	struct ifinfomsg *info;

	if (begin_change(nl, RTM_NEWLINK, name, &info, err) == NULL)
		return -1;
	info->ifi_change = IFF_UP;
	info->ifi_flags = up ? IFF_UP : 0;
	return finish_change(nl, up ? "set up link" : "set down link", name,
			     err);
}

int
link_set_mac(struct netlink *nl, const char *name, const struct mac *mac,
	     struct err *err)
{
	struct ifinfomsg *info;
	struct nlmsghdr *header =
		begin_change(nl, RTM_NEWLINK, name, &info, err);

	if (header == NULL)
		return -1;
	mnl_attr_put(header, IFLA_ADDRESS, MAC_LEN, mac->bytes);
	return finish_change(nl, "set the MAC of", name, err);
}

static int
set_u32(struct netlink *nl, const char *name, uint16_t attr, uint32_t value,
	struct err *err)
{
	struct ifinfomsg *info;
	struct nlmsghdr *header =
		begin_change(nl, RTM_NEWLINK, name, &info, err);

	if (header == NULL)
		return -1;
	mnl_attr_put_u32(header, attr, value);
	return finish_change(
		nl, attr == IFLA_MTU ? "set the MTU of" : "set the bridge of",
		name, err);
}

int
link_set_mtu(struct netlink *nl, const char *name, uint32_t mtu,
	     struct err *err)
{
	return set_u32(nl, name, IFLA_MTU, mtu, err);
}

int
link_set_master(struct netlink *nl, const char *name, const char *bridge,
		struct err *err)
{
	struct link link = { .index = 0 };

	if (bridge != NULL && link_get(nl, bridge, &link, err) == -1)
		return -1;
	return set_u32(nl, name, IFLA_MASTER, (uint32_t)link.index, err);
}

static int
set_text(struct netlink *nl, const char *name, uint16_t attr, const char *text,
	 struct err *err)
{
	struct ifinfomsg *info;
	struct nlmsghdr *header =
		begin_change(nl, RTM_NEWLINK, name, &info, err);

	if (header == NULL)
		return -1;
	mnl_attr_put_str(header, attr, text);
	return finish_change(nl, "set the alias of", name, err);
}

int
link_set_alias(struct netlink *nl, const char *name, const char *alias,
	       struct err *err)
{
	if (strlen(alias) > LINK_ALIAS_MAX)
		return err_set(err, ERR_LIMIT, "alias of '%s' is too long",
			       name);
	return set_text(nl, name, IFLA_IFALIAS, alias, err);
}

static int
set_port(struct netlink *nl, const char *name, uint16_t attr, bool on,
	 struct err *err)
{
	struct ifinfomsg *info;
	struct nlmsghdr *header =
		begin_change(nl, RTM_NEWLINK, name, &info, err);
	struct nlattr *outer, *data;

	if (header == NULL)
		return -1;
	outer = mnl_attr_nest_start(header, IFLA_LINKINFO);
	mnl_attr_put_strz(header, IFLA_INFO_SLAVE_KIND, "bridge");
	data = mnl_attr_nest_start(header, IFLA_INFO_SLAVE_DATA);
	mnl_attr_put_u8(header, attr, on);
	mnl_attr_nest_end(header, data);
	mnl_attr_nest_end(header, outer);
	return finish_change(nl, "set up the bridge port", name, err);
}

int
link_set_learning(struct netlink *nl, const char *name, bool on,
		  struct err *err)
{
	return set_port(nl, name, IFLA_BRPORT_LEARNING, on, err);
}

int
link_set_hairpin(struct netlink *nl, const char *name, bool on, struct err *err)
{
	return set_port(nl, name, IFLA_BRPORT_MODE, on, err);
}

/* Renaming and moving name the link by its index: its name is what changes. */
static struct nlmsghdr *
begin_by_index(struct netlink *nl, const char *name, struct err *err)
{
	struct nlmsghdr *header;
	struct link link;
	void *extra;

	if (link_get(nl, name, &link, err) == -1)
		return NULL;
	header = netlink_begin(nl, RTM_NEWLINK, 0, sizeof(struct ifinfomsg),
			       &extra);
	((struct ifinfomsg *)extra)->ifi_index = link.index;
	return header;
}

int
link_rename(struct netlink *nl, const char *name, const char *new_name,
	    struct err *err)
{
	struct nlmsghdr *header;

	if (check_name(new_name, err) == -1)
		return -1;
	header = begin_by_index(nl, name, err);
	if (header == NULL)
		return -1;
	mnl_attr_put_strz(header, IFLA_IFNAME, new_name);
	return finish_change(nl, "rename link", name, err);
}

int
link_move(struct netlink *nl, const char *name, int netns_fd,
	  const char *new_name, struct err *err)
{
	struct nlmsghdr *header;

	if (new_name != NULL && check_name(new_name, err) == -1)
		return -1;
	header = begin_by_index(nl, name, err);
	if (header == NULL)
		return -1;
	mnl_attr_put_u32(header, IFLA_NET_NS_FD, (uint32_t)netns_fd);
	if (new_name != NULL)
		mnl_attr_put_strz(header, IFLA_IFNAME, new_name);
	return finish_change(nl, "move link", name, err);
}

struct checksum {
	const char *name;
	bool on;
};

static int
set_checksum(void *arg, struct err *err)
{
	const struct checksum *want = arg;
	struct ethtool_value value = { ETHTOOL_STXCSUM, want->on };
	struct ifreq request = { .ifr_data = (void *)&value };
	AUTO(close_fd) int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd == -1)
		return err_errno(err, "cannot make a socket");
	(void)strncpy(request.ifr_name, want->name, IFNAMSIZ - 1);
	if (ioctl(fd, SIOCETHTOOL, &request) == -1)
		return err_errno(err, "cannot set the checksums of '%s'",
				 want->name);
	return 0;
}

int
link_set_tx_checksum(int netns_fd, const char *name, bool on, struct err *err)
{
	struct checksum want = { name, on };

	if (check_name(name, err) == -1)
		return -1;
	return netns_run(netns_fd, set_checksum, &want, err);
}
