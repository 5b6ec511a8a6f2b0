/* SPDX-License-Identifier: Apache-2.0 */
#include "handler/network/testmodel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/str.h"

#define ROOM 64

static void
parse_prefix(const char *text, struct ip_prefix *ret)
{
	struct err err = { .text = "" };

	if (ip_prefix_parse(text, ret, &err) == -1)
		fail_msg("%s", err.text);
}

struct model
model_new(void)
{
	struct model model = { .next_index = 1 };
	struct link *lo;

	model.facts.links = xcalloc(ROOM, sizeof(struct link));
	model.facts.addresses = xcalloc(ROOM, sizeof(struct address));
	model.facts.routes = xcalloc(ROOM, sizeof(struct route));
	lo = &model.facts.links[model.facts.link_count++];
	*lo = (struct link){ .index = model.next_index++,
			     .name = "lo",
			     .mtu = 65536,
			     .up = true };
	return model;
}

struct model
model_copy(const struct model *model)
{
	struct model copy = model_new();
	struct netfacts facts = copy.facts;

	memcpy(facts.links, model->facts.links, ROOM * sizeof(struct link));
	memcpy(facts.addresses, model->facts.addresses,
	       ROOM * sizeof(struct address));
	memcpy(facts.routes, model->facts.routes, ROOM * sizeof(struct route));
	facts.link_count = model->facts.link_count;
	facts.address_count = model->facts.address_count;
	facts.route_count = model->facts.route_count;
	return (struct model){ facts, model->next_index };
}

void
model_done(struct model *model)
{
	netfacts_done(&model->facts);
}

struct link *
model_link(struct model *model, const char *name)
{
	for (size_t i = 0; i < model->facts.link_count; i++) {
		if (str_equal(model->facts.links[i].name, name))
			return &model->facts.links[i];
	}
	return NULL;
}

/* The link that a step is about; it must be there. */
static struct link *
need_link(struct model *model, const char *name)
{
	struct link *link = model_link(model, name);

	if (link == NULL) {
		fail_msg("there is no link '%s'", name);
		abort(); /* for the analyzer, which does not know */
	}
	return link;
}

static struct link *
add_link(struct model *model, const char *name, const char *kind)
{
	struct link *link;

	if (model->facts.links == NULL)
		abort(); /* for the analyzer, which does not know */
	if (model_link(model, name) != NULL)
		fail_msg("there is a link '%s' already", name);
	assert_in_range(model->facts.link_count, 0, ROOM - 1);
	link = &model->facts.links[model->facts.link_count++];
	*link = (struct link){ .index = model->next_index++, .mtu = 1500 };
	(void)snprintf(link->name, sizeof(link->name), "%s", name);
	(void)snprintf(link->kind, sizeof(link->kind), "%s", kind);
	return link;
}

void
model_address(struct model *model, const char *link, const char *ip)
{
	struct address *address;

	assert_in_range(model->facts.address_count, 0, ROOM - 1);
	address = &model->facts.addresses[model->facts.address_count++];
	*address = (struct address){ .link = need_link(model, link)->index,
				     .global = true,
				     .permanent = true };
	parse_prefix(ip, &address->ip);
}

void
model_route(struct model *model, const char *link, const char *to,
	    const char *gateway)
{
	struct ip_prefix prefix = { .len = 0 };
	struct route *route;

	assert_in_range(model->facts.route_count, 0, ROOM - 1);
	route = &model->facts.routes[model->facts.route_count++];
	*route = (struct route){ .link = need_link(model, link)->index,
				 .table = ROUTE_TABLE_MAIN };
	parse_prefix(to, &route->to);
	if (gateway != NULL)
		parse_prefix(gateway, &prefix);
	route->gateway = prefix.ip;
}

void
model_attach(struct model *model, const char *name, const char *mac,
	     const char *ip, const char *gateway)
{
	struct link *link = add_link(model, name, "veth");
	struct err err;

	assert_int_equal(mac_parse(mac, &link->mac, &err), 0);
	link->up = true;
	if (ip != NULL)
		model_address(model, name, ip);
	if (gateway != NULL)
		model_route(model, name, "0.0.0.0/0", gateway);
}

/* ---- what steps do ---- */

static void
drop_address(struct netfacts *facts, size_t i)
{
	facts->addresses[i] = facts->addresses[--facts->address_count];
}

/* The last IPv4 address of a link takes its routes with it. */
static void
drop_orphans(struct netfacts *facts, int link)
{
	for (size_t i = 0; i < facts->address_count; i++) {
		if (facts->addresses[i].link == link &&
		    facts->addresses[i].ip.ip.family == AF_INET)
			return;
	}
	for (size_t i = facts->route_count; i > 0; i--) {
		if (facts->routes[i - 1].link == link)
			facts->routes[i - 1] =
				facts->routes[--facts->route_count];
	}
}

static void
delete_link(struct model *model, const char *name)
{
	struct link *link = need_link(model, name);
	struct netfacts *facts = &model->facts;
	int index = link->index;

	*link = facts->links[--facts->link_count];
	for (size_t i = facts->address_count; i > 0; i--) {
		if (facts->addresses[i - 1].link == index)
			drop_address(facts, i - 1);
	}
	for (size_t i = 0; i < facts->link_count; i++) {
		if (facts->links[i].master == index)
			facts->links[i].master = 0;
	}
}

static void
delete_address(struct model *model, const struct op *op)
{
	struct netfacts *facts = &model->facts;
	int link = need_link(model, op->link)->index;

	for (size_t i = facts->address_count; i > 0; i--) {
		if (facts->addresses[i - 1].link == link &&
		    ip_prefix_equal(&facts->addresses[i - 1].ip, &op->ip))
			drop_address(facts, i - 1);
	}
	drop_orphans(facts, link);
}

static void
delete_route(struct model *model, const struct op *op)
{
	struct netfacts *facts = &model->facts;

	for (size_t i = facts->route_count; i > 0; i--) {
		const struct route *route = &facts->routes[i - 1];

		if (ip_prefix_equal(&route->to, &op->route.to) &&
		    route->table == op->route.table &&
		    route->metric == op->route.metric)
			facts->routes[i - 1] =
				facts->routes[--facts->route_count];
	}
}

static void
add_route(struct model *model, const struct op *op)
{
	assert_int_not_equal(op->route.link, 0);
	delete_route(model, op);
	assert_in_range(model->facts.route_count, 0, ROOM - 1);
	model->facts.routes[model->facts.route_count++] = op->route;
}

/* IPv6 that is switched off takes its addresses along. */
static void
apply_sysctl(struct model *model, const struct op *op)
{
	struct netfacts *facts = &model->facts;
	char name[IFNAMSIZ];
	int link;

	if (sscanf(op->text, "ipv6/conf/%15[^/]/disable_ipv6", name) != 1 ||
	    !str_has_suffix(op->text, "/disable_ipv6") || op->number == 0)
		return;
	link = need_link(model, name)->index;
	for (size_t i = facts->address_count; i > 0; i--) {
		if (facts->addresses[i - 1].link == link &&
		    facts->addresses[i - 1].ip.ip.family == AF_INET6)
			drop_address(facts, i - 1);
	}
}

static void
add_tap(struct model *model, const struct op *op)
{
	struct link *link = add_link(model, op->link, "tun");

	link->tap = link->vnet_hdr = true;
	link->multi_queue = op->number > 1;
}

static void
add_bridge(struct model *model, const struct op *op)
{
	struct link *link = add_link(model, op->link, "bridge");

	link->mac = op->mac;
	link->mtu = op->number;
}

static void
add_address(struct model *model, const struct op *op)
{
	char text[IP_PREFIX_TEXT_SIZE];

	delete_address(model, op);
	model_address(model, op->link, ip_prefix_text(&op->ip, text));
}

static void
set_text(struct model *model, const struct op *op)
{
	struct link *link = need_link(model, op->link);

	if (op->kind == OP_SET_ALIAS)
		memcpy(link->alias, op->text, sizeof(link->alias));
	else if (op->text[0] == '\0')
		link->master = 0;
	else
		link->master = need_link(model, op->text)->index;
}

void
model_apply(struct model *model, const struct op *op)
{
	switch (op->kind) {
	case OP_ADD_BRIDGE:
		add_bridge(model, op);
		break;
	case OP_ADD_TAP:
		add_tap(model, op);
		break;
	case OP_DELETE:
		delete_link(model, op->link);
		break;
	case OP_UP:
		need_link(model, op->link)->up = true;
		break;
	case OP_SET_MAC:
		need_link(model, op->link)->mac = op->mac;
		break;
	case OP_SET_MTU:
		need_link(model, op->link)->mtu = op->number;
		break;
	case OP_SET_MASTER:
	case OP_SET_ALIAS:
		set_text(model, op);
		break;
	case OP_NO_LEARNING:
		assert_int_not_equal(need_link(model, op->link)->master, 0);
		break;
	case OP_NO_CHECKSUM:
		(void)need_link(model, op->link);
		break;
	case OP_ADD_ADDRESS:
		add_address(model, op);
		break;
	case OP_DELETE_ADDRESS:
		delete_address(model, op);
		break;
	case OP_ADD_ROUTE:
		add_route(model, op);
		break;
	case OP_DELETE_ROUTE:
		delete_route(model, op);
		break;
	case OP_SYSCTL:
		apply_sysctl(model, op);
		break;
	case OP_KIND_COUNT:
		fail();
	}
}

/* ---- as text ---- */

static const char *
name_of(const struct model *model, int index)
{
	const struct link *link = link_find_index(
		model->facts.links, model->facts.link_count, index);

	return link ? link->name : "-";
}

static int
compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

char *
model_text(const struct model *model)
{
	char *lines[3 * ROOM];
	struct buf buf = BUF_INIT(BUF_UNLIMITED);
	const struct netfacts *f = &model->facts;
	char mac[MAC_TEXT_SIZE], ip[IP_PREFIX_TEXT_SIZE], via[IP_TEXT_SIZE];
	size_t n = 0;

	for (size_t i = 0; i < f->link_count; i++) {
		const struct link *l = &f->links[i];

		lines[n++] =
			xasprintf("%s %s %s %u %s %d '%s' %d%d%d", l->name,
				  l->kind, mac_text(&l->mac, mac), l->mtu,
				  name_of(model, l->master), l->up, l->alias,
				  l->tap, l->vnet_hdr, l->multi_queue);
	}
	for (size_t i = 0; i < f->address_count; i++) {
		lines[n++] =
			xasprintf("%s %s", name_of(model, f->addresses[i].link),
				  ip_prefix_text(&f->addresses[i].ip, ip));
	}
	for (size_t i = 0; i < f->route_count; i++) {
		const struct route *r = &f->routes[i];

		lines[n++] = xasprintf(
			"%s %s '%s' %u %u", name_of(model, r->link),
			ip_prefix_text(&r->to, ip), ip_text(&r->gateway, via),
			r->table, r->metric);
	}
	qsort(lines, n, sizeof(lines[0]), compare);
	for (size_t i = 0; i < n; i++) {
		(void)buf_printf(&buf, "%s\n", lines[i]);
		free(lines[i]);
	}
	return (char *)buf.data;
}

struct wants
model_wants(const char *vmi)
{
	AUTO(free_ptr) char *text = xstrdup(vmi);
	AUTO(js_unref) json_t *value = NULL;
	struct err err = { .text = "" };
	struct wants wants = { 0 };

	for (char *at = text; *at != '\0'; at++) {
		if (*at == '\'')
			*at = '"';
	}
	value = js_parse(text, strlen(text), &err);
	if (value == NULL || wants_decode(value, &wants, &err) == -1)
		fail_msg("%s", err.text);
	return wants;
}
