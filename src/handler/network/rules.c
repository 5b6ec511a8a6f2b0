/* SPDX-License-Identifier: Apache-2.0 */
#include "handler/network/rules.h"

#include <sys/socket.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/mem.h"

/* Naming a table makes it, so that deleting it never fails. */
#define RULES_NONE                            \
	"table inet " RULES_TABLE "\n"        \
	"delete table inet " RULES_TABLE "\n" \
	"table bridge " RULES_TABLE "\n"      \
	"delete table bridge " RULES_TABLE "\n"

const char *const rules_none = RULES_NONE;

/* An address family's words. */
struct family {
	const char *nfproto;
	const char *ip;
	const char *loopback;
};

static const struct family family4 = { "ipv4", "ip", "127.0.0.1" };
static const struct family family6 = { "ipv6", "ip6", "::1" };

/* " tcp dport { 22, 80 }" into set; false when there are none of the kind. */
static bool
list_ports(const struct want *want, bool udp, struct buf *set)
{
	const char *separator = "";

	buf_clear(set);
	(void)buf_printf(set, "%s dport { ", udp ? "udp" : "tcp");
	for (size_t i = 0; i < want->port_count; i++) {
		if (want->ports[i].udp != udp)
			continue;
		(void)buf_printf(set, "%s%u", separator, want->ports[i].port);
		separator = ", ";
	}
	(void)buf_append_str(set, " }");
	return separator[0] != '\0';
}

/* What arrives by the rule's match, or only some ports of it, is the guest's.
 */
static void
add_inbound(struct buf *out, const struct want *want, const char *match,
	    const char *verdict)
{
	AUTO(buf_done) struct buf set = BUF_INIT(BUF_UNLIMITED);

	if (want->port_count == 0)
		(void)buf_printf(out, "    %s %s\n", match, verdict);
	for (int udp = 0; udp < 2 && want->port_count > 0; udp++) {
		if (list_ports(want, udp, &set))
			(void)buf_printf(out, "    %s %s %s\n", match,
					 (const char *)set.data, verdict);
	}
}

static void
add_prerouting(struct buf *out, const struct plan_interface *i,
	       const struct family *f, const struct ip *guest)
{
	char ip[IP_TEXT_SIZE];
	AUTO(free_ptr)
	char *match =
		xasprintf("iifname \"%s\" meta nfproto %s", i->pod, f->nfproto);
	AUTO(free_ptr)
	char *verdict = xasprintf("dnat %s to %s", f->ip, ip_text(guest, ip));

	add_inbound(out, i->want, match, verdict);
}

/* Only ports that were asked for: the pod's own programs talk to each other by
 * way of the loopback, too. IPv6 has no way from there to elsewhere. */
static void
add_output(struct buf *out, const struct plan_interface *i)
{
	char ip[IP_TEXT_SIZE];
	AUTO(free_ptr)
	char *verdict = xasprintf("dnat ip to %s", ip_text(&i->guest4.ip, ip));

	if (i->want->port_count > 0)
		add_inbound(out, i->want, "ip daddr 127.0.0.1", verdict);
}

static void
add_postrouting(struct buf *out, const struct plan_interface *i,
		const struct family *f, const struct ip *guest,
		const struct ip *gateway)
{
	char ip[IP_TEXT_SIZE];

	(void)buf_printf(out, "    %s saddr %s oifname \"%s\" masquerade\n",
			 f->ip, ip_text(guest, ip), i->pod);
	(void)buf_printf(out, "    %s saddr %s oifname \"%s\" snat %s to %s\n",
			 f->ip, f->loopback, i->bridge, f->ip,
			 ip_text(gateway, ip));
}

static void
add_nat(struct buf *out, const struct plan_interface *i)
{
	bool v6 = i->guest6.ip.family != 0;

	(void)buf_printf(out,
			 "table inet " RULES_TABLE " {\n"
			 "  chain guard {\n"
			 "    type filter hook prerouting priority -300\n"
			 "    iifname \"%s\" ip daddr 127.0.0.0/8 drop\n"
			 "  }\n",
			 i->bridge);
	(void)buf_printf(out, "  chain prerouting {\n"
			      "    type nat hook prerouting priority -100\n");
	add_prerouting(out, i, &family4, &i->guest4.ip);
	if (v6)
		add_prerouting(out, i, &family6, &i->guest6.ip);
	(void)buf_printf(out, "  }\n  chain output {\n"
			      "    type nat hook output priority -100\n");
	add_output(out, i);
	(void)buf_printf(out, "  }\n  chain postrouting {\n"
			      "    type nat hook postrouting priority 100\n");
	add_postrouting(out, i, &family4, &i->guest4.ip, &i->router4);
	if (v6)
		add_postrouting(out, i, &family6, &i->guest6.ip, &i->router6);
	(void)buf_printf(out, "  }\n}\n");
}

/* Only the pod answers: another server might give the guest an address that
 * the pod's network knows nothing of. */
static void
add_guard(struct buf *out, const struct plan *plan)
{
	(void)buf_printf(out, "table bridge " RULES_TABLE " {\n"
			      "  chain forward {\n"
			      "    type filter hook forward priority 0\n");
	for (size_t n = 0; n < plan->interface_count; n++) {
		const struct plan_interface *i = &plan->interfaces[n];

		if (i->want->binding != WANT_BRIDGE || i->guest4.ip.family == 0)
			continue;
		(void)buf_printf(out,
				 "    iifname \"%s\" udp dport 67 drop\n"
				 "    oifname \"%s\" udp dport 68 drop\n",
				 i->tap, i->tap);
	}
	(void)buf_printf(out, "  }\n}\n");
}

char *
rules_text(const struct plan *plan)
{
	struct buf out = BUF_INIT(BUF_UNLIMITED);
	bool guard = false;

	(void)buf_append_str(&out, RULES_NONE);
	for (size_t n = 0; n < plan->interface_count; n++) {
		const struct plan_interface *i = &plan->interfaces[n];

		if (i->want->binding == WANT_MASQUERADE)
			add_nat(&out, i);
		else if (i->guest4.ip.family != 0)
			guard = true;
	}
	if (guard)
		add_guard(&out, plan);
	return (char *)out.data;
}
