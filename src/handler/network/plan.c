/* SPDX-License-Identifier: Apache-2.0 */
#include "handler/network/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "tls/digest.h"

/* What serves DHCP for a bridged interface has an address of its own that is
 * not in any network. The last byte counts interfaces. */
#define SERVER_PREFIX "169.254.75.0/24"
#define SERVER_FIRST 10

/* One interface while it is being planned. */
struct context {
	const struct netfacts *facts;
	const struct want *want;
	struct plan *plan;
	struct plan_interface *interface;
	const struct link *pod;
	const struct link *bridge; /* NULL: to be made */
	const struct link *tap;    /* NULL: to be made */
};

static struct op *
add(const struct context *c, enum op_kind kind, const char *link)
{
	return ops_add(&c->plan->ops, kind, link);
}

static struct op *
add_always(const struct context *c, enum op_kind kind, const char *link)
{
	struct op *op = ops_add(&c->plan->ops, kind, link);

	op->always = true;
	return op;
}

static void
set_sysctl(const struct context *c, const char *name, uint32_t value)
{
	struct op *op = add_always(c, OP_SYSCTL, "");

	(void)snprintf(op->text, sizeof(op->text), "%s", name);
	op->number = value;
}

static void
set_ipv6(const struct context *c, const char *link, bool on)
{
	char name[64];

	(void)snprintf(name, sizeof(name), "ipv6/conf/%s/disable_ipv6", link);
	set_sysctl(c, name, !on);
}

/* "k6t-eth0" and "tap0", "k6t-HASH" and "tapHASH", "k6t-net1" and "tap1". */
static void
name_links(struct plan_interface *interface)
{
	const char *pod = interface->pod;
	const char *bridge = str_has_prefix(pod, "pod") ? pod + 3 : pod;
	const char *tap = pod + 3; /* also of "eth0" and "net1" */

	if (str_equal(pod, "eth0"))
		tap = "0";
	(void)snprintf(interface->bridge, IFNAMSIZ, "k6t-%.11s", bridge);
	(void)snprintf(interface->tap, IFNAMSIZ, "tap%.11s", tap);
}

/* A MAC that no other pod's interface has, for what must not have the guest's.
 */
static struct mac
pod_mac(const struct context *c, const char *role)
{
	uint8_t hash[DIGEST_SHA256_LEN];
	AUTO(free_ptr)
	char *text = xasprintf("%s/%s/%s", c->plan->pod_uid, c->interface->pod,
			       role);

	digest_sha256(text, strlen(text), hash);
	return mac_local(hash);
}

static int
find_pod_link(struct context *c, struct err *err)
{
	const struct want *want = c->want;

	c->pod = netfacts_link(c->facts, want->pod);
	if (c->pod == NULL && want->pod_ordinal[0] != '\0')
		c->pod = netfacts_link(c->facts, want->pod_ordinal);
	if (c->pod == NULL) {
		return err_set(err, ERR_NOT_FOUND,
			       "the pod has no interface '%s'%s%s for network "
			       "'%s'",
			       want->pod, want->pod_ordinal[0] ? " or " : "",
			       want->pod_ordinal, want->name);
	}
	return 0;
}

/* ---- bridge and tap, of any binding ---- */

static void
plan_up(const struct context *c, const char *name, const struct link *link)
{
	if (link == NULL || !link->up)
		(void)add(c, OP_UP, name);
}

static void
plan_mtu(const struct context *c, const char *name, const struct link *link)
{
	if (link == NULL || link->mtu != c->interface->mtu)
		add(c, OP_SET_MTU, name)->number = c->interface->mtu;
}

static void
plan_master(const struct context *c, const char *name, const struct link *link)
{
	const char *bridge = c->interface->bridge;

	if (link != NULL && c->bridge != NULL &&
	    link->master == c->bridge->index)
		return;
	(void)snprintf(add(c, OP_SET_MASTER, name)->text, IFNAMSIZ, "%s",
		       bridge);
}

static int
plan_bridge(struct context *c, const struct mac *mac, struct err *err)
{
	const char *name = c->interface->bridge;
	struct op *op;

	c->bridge = netfacts_link(c->facts, name);
	if (c->bridge != NULL && !str_equal(c->bridge->kind, "bridge"))
		return err_set(err, ERR_CONFLICT,
			       "'%s' is there, but is no bridge", name);
	if (c->bridge == NULL) {
		op = add(c, OP_ADD_BRIDGE, name);
		op->mac = *mac;
		op->number = c->interface->mtu;
	} else {
		c->interface->ready = str_equal(c->bridge->alias, PLAN_READY);
		if (!mac_equal(&c->bridge->mac, mac))
			add(c, OP_SET_MAC, name)->mac = *mac;
		plan_mtu(c, name, c->bridge);
	}
	return 0;
}

static bool
is_our_tap(const struct link *tap, const struct want *want)
{
	return tap->tap && tap->vnet_hdr &&
	       tap->multi_queue == (want->queues > 1);
}

static int
plan_tap(struct context *c, struct err *err)
{
	const char *name = c->interface->tap;

	c->tap = netfacts_link(c->facts, name);
	if (c->tap != NULL && !is_our_tap(c->tap, c->want)) {
		if (c->tap->running)
			return err_set(
				err, ERR_CONFLICT,
				"'%s' is in use, but not as it should be",
				name);
		(void)add(c, OP_DELETE, name);
		c->tap = NULL;
	}
	if (c->tap == NULL)
		add(c, OP_ADD_TAP, name)->number = c->want->queues;
	plan_mtu(c, name, c->tap);
	set_ipv6(c, name, false);
	plan_master(c, name, c->tap);
	plan_up(c, name, c->tap);
	return 0;
}

static bool
has_address(const struct netfacts *facts, const struct link *link,
	    const struct ip_prefix *ip)
{
	if (link == NULL)
		return false;
	for (size_t i = 0; i < facts->address_count; i++) {
		if (facts->addresses[i].link == link->index &&
		    ip_prefix_equal(&facts->addresses[i].ip, ip))
			return true;
	}
	return false;
}

static void
plan_bridge_address(const struct context *c, const struct ip_prefix *ip)
{
	if (!has_address(c->facts, c->bridge, ip))
		add(c, OP_ADD_ADDRESS, c->interface->bridge)->ip = *ip;
}

/* ---- masquerade ---- */

static bool
has_ipv6(const struct netfacts *facts, const struct link *link)
{
	for (size_t i = 0; i < facts->address_count; i++) {
		const struct address *address = &facts->addresses[i];

		if (address->link == link->index && address->global &&
		    address->ip.ip.family == AF_INET6)
			return true;
	}
	return false;
}

/* The gateway is the prefix's first address, the guest its second. */
static int
choose_addresses(const struct ip_prefix *cidr, struct ip_prefix *ret_gateway,
		 struct ip_prefix *ret_guest, struct err *err)
{
	ret_gateway->len = ret_guest->len = cidr->len;
	if (ip_prefix_nth(cidr, 1, &ret_gateway->ip, err) == -1)
		return -1;
	return ip_prefix_nth(cidr, 2, &ret_guest->ip, err);
}

static int
plan_masquerade6(struct context *c, struct err *err)
{
	struct ip_prefix gateway;
	char name[64];

	set_ipv6(c, c->interface->bridge, true);
	if (!has_ipv6(c->facts, c->pod))
		return 0;
	if (choose_addresses(&c->want->cidr6, &gateway, &c->interface->guest6,
			     err) == -1)
		return -1;
	c->interface->router6 = gateway.ip;
	/* A router listens to no other unless told to. */
	(void)snprintf(name, sizeof(name), "ipv6/conf/%s/accept_ra",
		       c->pod->name);
	set_sysctl(c, name, 2);
	set_sysctl(c, "ipv6/conf/all/forwarding", 1);
	plan_bridge_address(c, &gateway);
	return 0;
}

static int
plan_masquerade(struct context *c, struct err *err)
{
	struct plan_interface *interface = c->interface;
	struct ip_prefix gateway;
	struct mac mac;

	if (mac_is_zero(&interface->mac))
		interface->mac = c->want->derived;
	if (mac_parse(PLAN_GATEWAY_MAC, &mac, err) == -1 ||
	    choose_addresses(&c->want->cidr4, &gateway, &interface->guest4,
			     err) == -1 ||
	    plan_bridge(c, &mac, err) == -1)
		return -1;
	interface->server4 = interface->router4 = gateway.ip;
	plan_up(c, interface->bridge, c->bridge);
	plan_bridge_address(c, &gateway);
	set_sysctl(c, "ipv4/ip_forward", 1);
	if (c->want->port_count > 0) {
		char name[64];

		/* For ports that are asked for at the pod's loopback; rules.c
		 * keeps the guest itself away from there. */
		(void)snprintf(name, sizeof(name),
			       "ipv4/conf/%s/route_localnet",
			       interface->bridge);
		set_sysctl(c, name, 1);
	}
	if (plan_masquerade6(c, err) == -1)
		return -1;
	(void)add_always(c, OP_NO_CHECKSUM, interface->bridge);
	return plan_tap(c, err);
}

/* ---- bridge ---- */

/* Whether the route is one that the guest has to be told of, and of this link:
 * recorded, or in use. */
static bool
is_route_of(const struct route *route, const struct link *link, bool recorded)
{
	if (recorded)
		return netfacts_is_recorded(route, link);
	return route->to.ip.family == AF_INET &&
	       route->table == ROUTE_TABLE_MAIN && !route->learned &&
	       route->link == link->index;
}

static int
collect_routes(struct context *c, bool recorded, struct err *err)
{
	struct plan_interface *interface = c->interface;

	for (size_t i = 0; i < c->facts->route_count; i++) {
		const struct route *route = &c->facts->routes[i];

		if (!is_route_of(route, c->pod, recorded))
			continue;
		if (route->to.len == 0 && route->gateway.family != 0) {
			interface->router4 = route->gateway;
			continue;
		}
		if (interface->route_count == PLAN_ROUTES_MAX)
			return err_set(err, ERR_LIMIT,
				       "'%s' has more than %d routes",
				       c->pod->name, PLAN_ROUTES_MAX);
		interface->routes4[interface->route_count++] = *route;
	}
	return 0;
}

static void
record_route(const struct context *c, const struct route *route,
	     const struct link *lo)
{
	struct op *op = add(c, OP_ADD_ROUTE, "");

	op->route = *route;
	op->route.table = NETFACTS_TABLE + (uint32_t)c->pod->index;
	op->route.link = lo->index;
	op->route.onlink = route->gateway.family != 0;
}

/* Writes down what the link has, its alias last. */
static int
plan_record(const struct context *c, const struct netrecord *record,
	    struct err *err)
{
	const struct link *lo = netfacts_link(c->facts, "lo");

	if (lo == NULL || !lo->up)
		return err_set(err, ERR_CONFLICT, "the pod's loopback is down");
	for (size_t i = 0; i < c->facts->route_count; i++) {
		const struct route *route = &c->facts->routes[i];

		/* Of a link that has long gone, or of a stopped teardown. */
		if (is_route_of(route, c->pod, true))
			add(c, OP_DELETE_ROUTE, "")->route = *route;
	}
	for (size_t i = 0; i < c->facts->route_count; i++) {
		const struct route *route = &c->facts->routes[i];

		if (is_route_of(route, c->pod, false))
			record_route(c, route, lo);
	}
	netrecord_text(record, add(c, OP_SET_ALIAS, c->pod->name)->text);
	return 0;
}

/* Takes from the link what will be the guest's. */
static void
plan_take(const struct context *c)
{
	const char *name = c->pod->name;

	for (size_t i = 0; i < c->facts->address_count; i++) {
		const struct address *address = &c->facts->addresses[i];

		if (address->link == c->pod->index &&
		    address->ip.ip.family == AF_INET)
			add(c, OP_DELETE_ADDRESS, name)->ip = address->ip;
	}
	/* Takes IPv6 addresses away too, those made of the MAC included. */
	set_ipv6(c, name, false);
	if (mac_equal(&c->pod->mac, &c->interface->mac))
		add(c, OP_SET_MAC, name)->mac = pod_mac(c, "port");
	plan_master(c, name, c->pod);
	(void)add_always(c, OP_NO_LEARNING, name);
	plan_up(c, name, c->pod);
}

/* The guest's address, and where it is to hear of it. */
static int
plan_served(struct context *c, const struct netrecord *record, struct err *err)
{
	struct plan_interface *interface = c->interface;
	unsigned number = (unsigned)(interface - c->plan->interfaces);
	struct ip_prefix server;

	for (size_t i = record->ip_count; i > 0; i--) {
		if (record->ips[i - 1].ip.family == AF_INET)
			interface->guest4 = record->ips[i - 1];
	}
	if (interface->guest4.ip.family == 0)
		return 0;
	if (ip_prefix_parse(SERVER_PREFIX, &server, err) == -1 ||
	    ip_prefix_nth(&server, SERVER_FIRST + number, &server.ip, err) ==
		    -1)
		return -1;
	server.len = 32;
	interface->server4 = server.ip;
	plan_bridge_address(c, &server);
	(void)add_always(c, OP_NO_CHECKSUM, interface->bridge);
	return 0;
}

/* What the link had: as recorded, or as it is. */
static int
know_record(const struct context *c, struct netrecord *ret, bool *ret_recorded,
	    struct err *err)
{
	if (netrecord_parse(c->pod->alias, ret, err) == 0) {
		*ret_recorded = true;
		return 0;
	}
	*ret_recorded = false;
	if (err->kind != ERR_NOT_FOUND)
		return err_prefix(err, "'%s'", c->pod->name);
	return netrecord_take(c->facts, c->pod, ret, err);
}

static int
plan_bridged(struct context *c, struct err *err)
{
	struct plan_interface *interface = c->interface;
	struct mac mac = pod_mac(c, "bridge");
	struct netrecord record;
	bool recorded;

	if (know_record(c, &record, &recorded, err) == -1 ||
	    collect_routes(c, recorded, err) == -1 ||
	    plan_bridge(c, &mac, err) == -1)
		return -1;
	if (mac_is_zero(&interface->mac))
		interface->mac =
			c->want->primary ? record.mac : c->want->derived;
	set_ipv6(c, interface->bridge, false);
	plan_up(c, interface->bridge, c->bridge);
	if (!recorded && plan_record(c, &record, err) == -1)
		return -1;
	plan_take(c);
	if (plan_served(c, &record, err) == -1)
		return -1;
	return plan_tap(c, err);
}

/* ---- all of it ---- */

static int
plan_interface(const struct netfacts *facts, const struct want *want,
	       struct plan *plan, struct err *err)
{
	struct plan_interface *interface =
		&plan->interfaces[plan->interface_count++];
	struct context c = { .facts = facts,
			     .want = want,
			     .plan = plan,
			     .interface = interface };

	interface->want = want;
	interface->routes4 =
		xcalloc(PLAN_ROUTES_MAX, sizeof(*interface->routes4));
	interface->mac = want->mac;
	if (find_pod_link(&c, err) == -1)
		return -1;
	(void)snprintf(interface->pod, IFNAMSIZ, "%s", c.pod->name);
	name_links(interface);
	interface->mtu = c.pod->mtu;
	return want->binding == WANT_MASQUERADE ? plan_masquerade(&c, err)
						: plan_bridged(&c, err);
}

int
plan_setup(const struct netfacts *facts, const struct wants *wants,
	   const char *pod_uid, struct plan *ret, struct err *err)
{
	*ret = (struct plan){ .pod_uid = pod_uid };
	ret->interfaces = xcalloc(wants->count + 1, sizeof(*ret->interfaces));
	for (size_t i = 0; i < wants->count; i++) {
		if (plan_interface(facts, &wants->items[i], ret, err) == -1)
			return err_prefix(err, "interface '%s'",
					  wants->items[i].name);
	}
	return 0;
}

void
plan_done(struct plan *plan)
{
	for (size_t i = 0; i < plan->interface_count; i++)
		free(plan->interfaces[i].routes4);
	free(plan->interfaces);
	ops_done(&plan->ops);
	*plan = (struct plan){ 0 };
}
