/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/fabric.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "ctl/layout.h"
#include "net/address.h"
#include "net/link.h"
#include "net/netlink.h"
#include "net/netns.h"
#include "net/route.h"
#include "net/sysctl.h"

#define NODE_BRIDGE "br-lan" /* of machines, inside a node */
#define SUBNET_BITS 24

struct cable {
	const char *bridge; /* in the fabric */
	const char *end;    /* in the node */
};

static const struct cable cables[NET_COUNT] = {
	[NET_NODES] = { "br-nodes", "eth0" },
	[NET_MIGRATION] = { "br-mig", "mig0" },
	[NET_LAN] = { "br-lan", "lan0" },
};

/* Opens a namespace by its name, made where it is missing, with its loopback
 * up. */
static int
open_netns(const char *name, int *ret_fd, struct netlink **ret_nl,
	   struct err *err)
{
	if (netns_open(name, ret_fd, err) == -1 &&
	    (err->kind != ERR_NOT_FOUND ||
	     netns_create(name, ret_fd, err) == -1))
		return -1;
	if (netlink_open(*ret_fd, ret_nl, err) == -1)
		return -1;
	return link_set_up(*ret_nl, "lo", true, err);
}

static int
ignore_existing(int result, const struct err *err)
{
	return result == -1 && err->kind == ERR_EXISTS ? 0 : result;
}

static int
add_address(struct netlink *nl, const char *link, const char *address,
	    struct err *err)
{
	struct ip_prefix prefix;

	if (ip_prefix_parse(address, &prefix, err) == -1)
		return -1;
	prefix.len = SUBNET_BITS;
	return address_add(nl, link, &prefix, err);
}

static int
make_bridge(struct netlink *nl, const char *name, struct err *err)
{
	struct link_spec spec = { .name = name };

	if (ignore_existing(link_add_bridge(nl, &spec, err), err) == -1)
		return -1;
	return link_set_up(nl, name, true, err);
}

/* From a bridge of the fabric into a namespace. */
static int
plug(struct netlink *fabric, const struct link_spec *port, const char *bridge,
     const char *end, int netns_fd, struct err *err)
{
	struct link_spec peer = { .name = end };

	if (ignore_existing(link_add_veth(fabric, port, &peer, netns_fd, err),
			    err) == -1)
		return -1;
	if (link_set_master(fabric, port->name, bridge, err) == -1)
		return -1;
	return link_set_up(fabric, port->name, true, err);
}

static int
route_pods(const struct layout *layout, struct netlink *nl, unsigned node,
	   struct err *err)
{
	char text[LAYOUT_TEXT_SIZE];

	for (unsigned other = 1; other <= layout->nodes; other++) {
		struct route route = { 0 };
		struct link eth0;

		if (other == node)
			continue;
		if (ip_prefix_parse(layout_pods(layout, other, text), &route.to,
				    err) == -1 ||
		    ip_parse(layout_address(layout, NET_NODES, other, text),
			     &route.gateway, err) == -1 ||
		    link_get(nl, cables[NET_NODES].end, &eth0, err) == -1)
			return -1;
		route.link = eth0.index;
		if (route_add(nl, &route, err) == -1)
			return -1;
	}
	return 0;
}

static int
configure_node(const struct layout *layout, struct netlink *nl, int fd,
	       unsigned node, struct err *err)
{
	char text[LAYOUT_TEXT_SIZE];

	for (int net = 0; net < NET_COUNT; net++) {
		const char *end = cables[net].end;

		if (link_set_up(nl, end, true, err) == -1)
			return -1;
		if (net != NET_LAN &&
		    add_address(nl, end,
				layout_address(layout, (enum layout_net)net,
					       node, text),
				err) == -1)
			return -1;
	}
	/* Cables of this kind have no queue of their own: a congestion control
	 * that paces, as a host may have it, would only cost time. */
	if (sysctl_set(fd, "ipv4/tcp_congestion_control", "reno", err) == -1)
		return -1;
	if (make_bridge(nl, NODE_BRIDGE, err) == -1 ||
	    link_set_master(nl, cables[NET_LAN].end, NODE_BRIDGE, err) == -1 ||
	    sysctl_set(fd, "ipv4/ip_forward", "1", err) == -1)
		return -1;
	return route_pods(layout, nl, node, err);
}

static int
make_node(const struct layout *layout, struct netlink *fabric, unsigned node,
	  struct err *err)
{
	AUTO(netlink_unref) struct netlink *nl = NULL;
	AUTO(close_fd) int fd = -1;
	char name[LAYOUT_TEXT_SIZE], port[LAYOUT_TEXT_SIZE];

	if (open_netns(layout_netns(layout, node, name), &fd, &nl, err) == -1)
		return -1;
	for (int net = 0; net < NET_COUNT; net++) {
		struct link_spec spec = { .name = port };

		(void)snprintf(port, sizeof(port), "%.8s-%u",
			       cables[net].bridge, node);
		if (plug(fabric, &spec, cables[net].bridge, cables[net].end, fd,
			 err) == -1)
			return err_prefix(err, "node%u", node);
	}
	return configure_node(layout, nl, fd, node, err);
}

/* The way of the person's own namespace to the nodes. */
static int
make_uplink(const struct layout *layout, struct netlink *fabric,
	    struct err *err)
{
	AUTO(netlink_unref) struct netlink *own = NULL;
	AUTO(close_fd) int own_fd = -1;
	char end[LAYOUT_TEXT_SIZE], address[LAYOUT_TEXT_SIZE];
	struct link_spec spec = { .name = "uplink" };

	if (netns_open_own(&own_fd, err) == -1 ||
	    netlink_open(-1, &own, err) == -1 ||
	    plug(fabric, &spec, cables[NET_NODES].bridge,
		 layout_uplink(layout, end), own_fd, err) == -1 ||
	    link_set_up(own, end, true, err) == -1)
		return -1;
	return add_address(own, end,
			   layout_address(layout, NET_NODES, 0, address), err);
}

/* What this namespace has, to find out who has taken a block. */
struct census {
	struct link *links;
	size_t n_links;
	struct address *list;
	size_t count;
	int uplink; /* index of the cluster's own interface; 0: none yet */
};

static void
census_done(struct census *census)
{
	free(census->links);
	free(census->list);
}

static int
census_take(const struct layout *layout, struct census *census, struct err *err)
{
	AUTO(netlink_unref) struct netlink *own = NULL;
	const struct link *uplink;
	char name[LAYOUT_TEXT_SIZE];

	if (netlink_open(-1, &own, err) == -1 ||
	    link_list(own, &census->links, &census->n_links, err) == -1 ||
	    address_list(own, &census->list, &census->count, err) == -1)
		return -1;
	uplink = link_find(census->links, census->n_links,
			   layout_uplink(layout, name));
	census->uplink = uplink == NULL ? 0 : uplink->index;
	return 0;
}

/* The address of somebody else in the block; NULL. */
static const struct address *
census_taker(const struct census *census, unsigned block)
{
	for (size_t i = 0; i < census->count; i++) {
		const struct address *at = &census->list[i];
		const struct ip *ip = &at->ip.ip;

		if (at->link != census->uplink && ip->family == AF_INET &&
		    ip->bytes[0] == 10 && ip->bytes[1] == block)
			return at;
	}
	return NULL;
}

int
fabric_check(const struct layout *layout, struct err *err)
{
	AUTO(census_done) struct census census = { 0 };
	const struct address *taker;
	const struct link *link;

	if (census_take(layout, &census, err) == -1)
		return -1;
	taker = census_taker(&census, layout->block);
	if (taker == NULL)
		return 0;
	link = link_find_index(census.links, census.n_links, taker->link);
	return err_set(err, ERR_CONFLICT,
		       "the network 10.%u.0.0/16 of this cluster is in use by "
		       "interface '%s'; end what has it, or 'ferryctl cluster "
		       "down' and begin anew",
		       layout->block, link == NULL ? "?" : link->name);
}

int
fabric_choose(struct layout *layout, struct err *err)
{
	AUTO(census_done) struct census census = { 0 };

	if (census_take(layout, &census, err) == -1)
		return -1;
	for (unsigned i = 0; i < LAYOUT_BLOCK_COUNT; i++) {
		unsigned block = LAYOUT_BLOCK_FIRST +
				 (layout->block - LAYOUT_BLOCK_FIRST + i) %
					 LAYOUT_BLOCK_COUNT;

		if (census_taker(&census, block) != NULL)
			continue;
		layout->block = block;
		return 0;
	}
	return err_set(err, ERR_LIMIT,
		       "all networks from 10.%d to 10.%d are in use",
		       LAYOUT_BLOCK_FIRST,
		       LAYOUT_BLOCK_FIRST + LAYOUT_BLOCK_COUNT - 1);
}

int
fabric_up(const struct layout *layout, struct err *err)
{
	AUTO(netlink_unref) struct netlink *fabric = NULL;
	AUTO(close_fd) int fd = -1;
	char text[LAYOUT_TEXT_SIZE];

	if (open_netns(layout_netns(layout, 0, text), &fd, &fabric, err) == -1)
		return -1;
	for (int net = 0; net < NET_COUNT; net++) {
		if (make_bridge(fabric, cables[net].bridge, err) == -1)
			return -1;
	}
	if (add_address(fabric, cables[NET_LAN].bridge,
			layout_address(layout, NET_LAN, 0, text), err) == -1 ||
	    make_uplink(layout, fabric, err) == -1)
		return -1;
	for (unsigned node = 1; node <= layout->nodes; node++) {
		if (make_node(layout, fabric, node, err) == -1)
			return -1;
	}
	return 0;
}

int
fabric_down(const struct layout *layout, struct err *err)
{
	AUTO(netlink_unref) struct netlink *own = NULL;
	char text[LAYOUT_TEXT_SIZE];
	int result = 0;

	/* The cables go with their namespaces, but a name is taken until the
	 * last process has gone: this one is let go of at once. */
	if (netlink_open(-1, &own, err) == -1 ||
	    link_delete(own, layout_uplink(layout, text), err) == -1)
		result = -1;
	for (unsigned node = 0; node <= layout->nodes; node++) {
		if (netns_delete(layout_netns(layout, node, text), err) == -1)
			result = -1;
	}
	return result;
}
