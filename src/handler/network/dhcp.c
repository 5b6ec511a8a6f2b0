/* SPDX-License-Identifier: Apache-2.0 */
#include "handler/network/dhcp.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/mem.h"

#define OPTION_MTU 26
#define OPTION_ROUTES 121

/*
 * No DNS, no files, no questions asked; an answer to whoever is known, also to
 * one that asks to keep what it got from the server of another pod.
 */
static const char *const head = "port=0\n"
				"no-hosts\n"
				"no-ping\n"
				"leasefile-ro\n"
				"dhcp-authoritative\n"
				"bind-dynamic\n"
				"except-interface=lo\n"
				"quiet-dhcp\n"
				"quiet-dhcp6\n"
				"quiet-ra\n";

static void
add_netmask(struct buf *out, unsigned len)
{
	uint32_t mask = len == 0 ? 0 : ~UINT32_C(0) << (32 - len);

	(void)buf_printf(out, "%u.%u.%u.%u", mask >> 24, mask >> 16 & 0xff,
			 mask >> 8 & 0xff, mask & 0xff);
}

/* RFC 3442: clients that know this option do not look at the router's, so that
 * the default route is in it as well. */
static void
add_routes(struct buf *out, const struct plan_interface *i, size_t n)
{
	bool far = i->router4.family != 0 &&
		   !ip_prefix_contains(&i->guest4, &i->router4);
	char to[IP_PREFIX_TEXT_SIZE], ip[IP_TEXT_SIZE];

	if (i->route_count == 0 && !far)
		return;
	(void)buf_printf(out, "dhcp-option=tag:i%zu,%d", n, OPTION_ROUTES);
	if (far)
		(void)buf_printf(out, ",%s/32,0.0.0.0",
				 ip_text(&i->router4, ip));
	for (size_t r = 0; r < i->route_count; r++) {
		const struct route *route = &i->routes4[r];
		bool via = route->gateway.family != 0;

		(void)buf_printf(out, ",%s,%s", ip_prefix_text(&route->to, to),
				 via ? ip_text(&route->gateway, ip)
				     : "0.0.0.0");
	}
	if (i->router4.family != 0)
		(void)buf_printf(out, ",0.0.0.0/0,%s",
				 ip_text(&i->router4, ip));
	(void)buf_printf(out, "\n");
}

static void
add_servers(struct buf *out, const struct resolv *resolv, size_t n, int family)
{
	const char *option = family == AF_INET ? "option" : "option6";
	bool first = true;
	char ip[IP_TEXT_SIZE];

	for (size_t s = 0; s < resolv->server_count; s++) {
		if (resolv->servers[s].family != family)
			continue;
		if (first)
			(void)buf_printf(out,
					 "dhcp-option=tag:i%zu,%s:dns-server",
					 n, option);
		first = false;
		(void)buf_printf(out, family == AF_INET ? ",%s" : ",[%s]",
				 ip_text(&resolv->servers[s], ip));
	}
	if (!first)
		(void)buf_printf(out, "\n");
	if (resolv->search_count == 0)
		return;
	(void)buf_printf(out, "dhcp-option=tag:i%zu,%s:domain-search", n,
			 option);
	for (size_t s = 0; s < resolv->search_count; s++)
		(void)buf_printf(out, ",%s", resolv->search[s]);
	(void)buf_printf(out, "\n");
}

static void
add_ipv4(struct buf *out, const struct plan_interface *i, size_t n)
{
	char ip[IP_TEXT_SIZE];

	(void)buf_printf(out, "dhcp-range=%s,static,",
			 ip_text(&i->guest4.ip, ip));
	add_netmask(out, i->guest4.len);
	(void)buf_printf(out, ",infinite\n");
	/* The server's own address is in another network. */
	if (i->want->binding == WANT_BRIDGE)
		(void)buf_printf(out, "shared-network=%s,%s\n", i->bridge, ip);
	if (i->router4.family != 0)
		(void)buf_printf(out, "dhcp-option=tag:i%zu,option:router,%s\n",
				 n, ip_text(&i->router4, ip));
	else
		(void)buf_printf(out, "dhcp-option=tag:i%zu,option:router\n",
				 n);
	(void)buf_printf(out, "dhcp-option=tag:i%zu,%d,%u\n", n, OPTION_MTU,
			 i->mtu);
	add_routes(out, i, n);
}

static void
add_ipv6(struct buf *out, const struct plan_interface *i)
{
	char ip[IP_TEXT_SIZE];

	(void)buf_printf(out,
			 "enable-ra\n"
			 "dhcp-range=%s,static,%u,infinite\n"
			 "ra-param=%s,mtu:%u,60,1800\n",
			 ip_text(&i->guest6.ip, ip), i->guest6.len, i->bridge,
			 i->mtu);
}

static void
add_interface(struct buf *out, const struct plan_interface *i, size_t n,
	      const struct resolv *resolv, const char *hostname)
{
	bool v6 = i->guest6.ip.family != 0;
	char mac[MAC_TEXT_SIZE], ip[IP_TEXT_SIZE];

	(void)buf_printf(out, "interface=%s\n", i->bridge);
	(void)buf_printf(out, "dhcp-host=%s,set:i%zu,%s",
			 mac_text(&i->mac, mac), n, ip_text(&i->guest4.ip, ip));
	if (v6)
		(void)buf_printf(out, ",[%s]", ip_text(&i->guest6.ip, ip));
	(void)buf_printf(out, "%s%s,infinite\n", *hostname ? "," : "",
			 hostname);
	add_ipv4(out, i, n);
	add_servers(out, resolv, n, AF_INET);
	if (v6) {
		add_ipv6(out, i);
		add_servers(out, resolv, n, AF_INET6);
	}
}

char *
dhcp_config(const struct plan *plan, const struct resolv *resolv,
	    const char *hostname)
{
	struct buf out = BUF_INIT(BUF_UNLIMITED);
	bool any = false;

	(void)buf_append_str(&out, head);
	for (size_t n = 0; n < plan->interface_count; n++) {
		if (plan->interfaces[n].guest4.ip.family == 0)
			continue;
		add_interface(&out, &plan->interfaces[n], n, resolv, hostname);
		any = true;
	}
	if (!any)
		buf_done(&out);
	return (char *)out.data;
}
