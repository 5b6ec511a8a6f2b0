/* SPDX-License-Identifier: Apache-2.0 */
#include "handler/network/op.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "net/address.h"
#include "net/netlink.h"
#include "net/sysctl.h"
#include "net/tap.h"

struct op *
ops_add(struct ops *ops, enum op_kind kind, const char *link)
{
	struct op *op;

	if (ops->count == ops->room) {
		ops->room = ops->room == 0 ? 32 : 2 * ops->room;
		ops->items =
			xrealloc(ops->items, ops->room * sizeof(*ops->items));
	}
	op = &ops->items[ops->count++];
	*op = (struct op){ .kind = kind };
	(void)snprintf(op->link, sizeof(op->link), "%s", link);
	return op;
}

void
ops_done(struct ops *ops)
{
	free(ops->items);
	*ops = (struct ops){ 0 };
}

size_t
ops_changes(const struct ops *ops)
{
	size_t changes = 0;

	for (size_t i = 0; i < ops->count; i++)
		changes += !ops->items[i].always;
	return changes;
}

static int
add_bridge(const struct op *op, const struct op_place *place, struct err *err)
{
	const struct link_spec spec = { op->link, &op->mac, op->number };

	return link_add_bridge(place->nl, &spec, err);
}

static int
add_tap(const struct op *op, const struct op_place *place, struct err *err)
{
	const struct tap_spec spec = { op->link, place->tap_uid, place->tap_gid,
				       op->number > 1 };

	return tap_add(place->netns_fd, &spec, err);
}

static int
delete_link(const struct op *op, const struct op_place *place, struct err *err)
{
	return link_delete(place->nl, op->link, err);
}

static int
set_up(const struct op *op, const struct op_place *place, struct err *err)
{
	return link_set_up(place->nl, op->link, true, err);
}

static int
set_mac(const struct op *op, const struct op_place *place, struct err *err)
{
	return link_set_mac(place->nl, op->link, &op->mac, err);
}

static int
set_mtu(const struct op *op, const struct op_place *place, struct err *err)
{
	return link_set_mtu(place->nl, op->link, op->number, err);
}

static int
set_master(const struct op *op, const struct op_place *place, struct err *err)
{
	return link_set_master(place->nl, op->link,
			       op->text[0] != '\0' ? op->text : NULL, err);
}

static int
no_learning(const struct op *op, const struct op_place *place, struct err *err)
{
	return link_set_learning(place->nl, op->link, false, err);
}

static int
no_checksum(const struct op *op, const struct op_place *place, struct err *err)
{
	return link_set_tx_checksum(place->netns_fd, op->link, false, err);
}

static int
set_alias(const struct op *op, const struct op_place *place, struct err *err)
{
	return link_set_alias(place->nl, op->link, op->text, err);
}

static int
add_address(const struct op *op, const struct op_place *place, struct err *err)
{
	return address_add(place->nl, op->link, &op->ip, err);
}

static int
delete_address(const struct op *op, const struct op_place *place,
	       struct err *err)
{
	return address_delete(place->nl, op->link, &op->ip, err);
}

static int
add_route(const struct op *op, const struct op_place *place, struct err *err)
{
	return route_add(place->nl, &op->route, err);
}

static int
delete_route(const struct op *op, const struct op_place *place, struct err *err)
{
	return route_delete(place->nl, &op->route, err);
}

/* A kernel without IPv6 has no settings for it, and needs none. */
static int
set_sysctl(const struct op *op, const struct op_place *place, struct err *err)
{
	char value[12];

	(void)snprintf(value, sizeof(value), "%u", op->number);
	if (sysctl_set(place->netns_fd, op->text, value, err) == 0 ||
	    (err->kind == ERR_NOT_FOUND && str_has_prefix(op->text, "ipv6/")))
		return 0;
	return -1;
}

static const struct {
	const char *name;
	int (*execute)(const struct op *op, const struct op_place *place,
		       struct err *err);
} kinds[] = {
	[OP_ADD_BRIDGE] = { "add bridge", add_bridge },
	[OP_ADD_TAP] = { "add tap", add_tap },
	[OP_DELETE] = { "delete", delete_link },
	[OP_UP] = { "up", set_up },
	[OP_SET_MAC] = { "mac", set_mac },
	[OP_SET_MTU] = { "mtu", set_mtu },
	[OP_SET_MASTER] = { "master", set_master },
	[OP_NO_LEARNING] = { "no learning", no_learning },
	[OP_NO_CHECKSUM] = { "no checksum", no_checksum },
	[OP_SET_ALIAS] = { "alias", set_alias },
	[OP_ADD_ADDRESS] = { "add address", add_address },
	[OP_DELETE_ADDRESS] = { "delete address", delete_address },
	[OP_ADD_ROUTE] = { "add route", add_route },
	[OP_DELETE_ROUTE] = { "delete route", delete_route },
	[OP_SYSCTL] = { "sysctl", set_sysctl },
};

_Static_assert(sizeof(kinds) / sizeof(kinds[0]) == OP_KIND_COUNT,
	       "each kind has its function");

int
op_execute(const struct op *op, const struct op_place *place, struct err *err)
{
	return kinds[op->kind].execute(op, place, err);
}

const char *
op_text(const struct op *op, char buf[OP_TEXT_SIZE])
{
	char mac[MAC_TEXT_SIZE + 1] = "", ip[IP_PREFIX_TEXT_SIZE + 1] = "";
	char route[2 * IP_PREFIX_TEXT_SIZE + 32] = "", number[12] = "";
	char to[IP_PREFIX_TEXT_SIZE], gateway[IP_TEXT_SIZE];

	if (!mac_is_zero(&op->mac)) {
		mac[0] = ' ';
		(void)mac_text(&op->mac, mac + 1);
	}
	if (op->ip.ip.family != 0) {
		ip[0] = ' ';
		(void)ip_prefix_text(&op->ip, ip + 1);
	}
	if (op->route.to.ip.family != 0)
		(void)snprintf(route, sizeof(route), " %s via '%s' table %u",
			       ip_prefix_text(&op->route.to, to),
			       ip_text(&op->route.gateway, gateway),
			       op->route.table);
	if (op->number != 0 || op->kind == OP_SYSCTL)
		(void)snprintf(number, sizeof(number), " %u", op->number);
	(void)snprintf(buf, OP_TEXT_SIZE, "%s%s%s%s%s%s%s%s%s",
		       kinds[op->kind].name, op->link[0] ? " " : "", op->link,
		       op->text[0] ? " " : "", op->text, mac, ip, route,
		       number);
	return buf;
}
