/* SPDX-License-Identifier: Apache-2.0 */
/* plan_teardown(): the way back. */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/array.h"
#include "base/err.h"
#include "base/str.h"
#include "handler/network/plan.h"

#define BRIDGE_PREFIX "k6t-"
#define TAP_PREFIX "tap"

/* Whether an interface of the pod has a tap of this name; it may not be in its
 * bridge yet, or any more. */
static bool
is_tap_of_pod(const struct netfacts *facts, const char *tap)
{
	static const char *const prefixes[] = { "pod", "net" };
	char pod[IFNAMSIZ];

	if (str_equal(tap, "tap0"))
		return netfacts_link(facts, "eth0") != NULL;
	for (size_t i = 0; i < ARRAY_LEN(prefixes); i++) {
		(void)snprintf(pod, sizeof(pod), "%s%.11s", prefixes[i],
			       tap + strlen(TAP_PREFIX));
		if (netfacts_link(facts, pod) != NULL)
			return true;
	}
	return false;
}

static bool
is_ours(const struct netfacts *facts, const struct link *link)
{
	if (str_has_prefix(link->name, BRIDGE_PREFIX))
		return str_equal(link->kind, "bridge");
	return link->tap && str_has_prefix(link->name, TAP_PREFIX) &&
	       is_tap_of_pod(facts, link->name);
}

/* Routes of a link go back in two rounds: a gateway can only be used once the
 * way to it is there. */
static void
restore_routes(const struct netfacts *facts, const struct link *link,
	       struct ops *ops, bool gateways)
{
	for (size_t i = 0; i < facts->route_count; i++) {
		const struct route *route = &facts->routes[i];
		struct op *op;

		if (!netfacts_is_recorded(route, link) ||
		    (route->gateway.family != 0) != gateways)
			continue;
		op = ops_add(ops, OP_ADD_ROUTE, "");
		op->route = *route;
		op->route.table = ROUTE_TABLE_MAIN;
		op->route.link = link->index;
		op->route.onlink = gateways;
	}
}

static void
restore_link(const struct netfacts *facts, const struct link *link,
	     const struct netrecord *record, struct ops *ops)
{
	struct op *op;

	if (link->master != 0)
		(void)ops_add(ops, OP_SET_MASTER, link->name);
	if (!mac_equal(&link->mac, &record->mac))
		ops_add(ops, OP_SET_MAC, link->name)->mac = record->mac;
	op = ops_add(ops, OP_SYSCTL, "");
	(void)snprintf(op->text, sizeof(op->text), "ipv6/conf/%s/disable_ipv6",
		       link->name);
	for (size_t i = 0; i < record->ip_count; i++)
		ops_add(ops, OP_ADD_ADDRESS, link->name)->ip = record->ips[i];
	restore_routes(facts, link, ops, false);
	restore_routes(facts, link, ops, true);
	/* From here on nothing is recorded any more. */
	(void)ops_add(ops, OP_SET_ALIAS, link->name);
	for (size_t i = 0; i < facts->route_count; i++) {
		const struct route *route = &facts->routes[i];

		if (netfacts_is_recorded(route, link))
			ops_add(ops, OP_DELETE_ROUTE, "")->route = *route;
	}
}

int
plan_teardown(const struct netfacts *facts, struct plan *ret, struct err *err)
{
	*ret = (struct plan){ 0 };
	for (size_t i = 0; i < facts->link_count; i++) {
		const struct link *link = &facts->links[i];
		struct netrecord record;

		if (netrecord_parse(link->alias, &record, err) == 0)
			restore_link(facts, link, &record, &ret->ops);
		else if (err->kind != ERR_NOT_FOUND)
			return err_prefix(err, "'%s'", link->name);
		if (is_ours(facts, link))
			(void)ops_add(&ret->ops, OP_DELETE, link->name);
	}
	return 0;
}
