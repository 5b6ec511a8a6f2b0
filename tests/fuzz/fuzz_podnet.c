/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What pods and machines say about networks. The first byte tells what the
 * rest is: 'r' a resolv.conf, of which nothing may become a line of its own in
 * dnsmasq's configuration; 'a' an alias, which reads back as it is written; 'v'
 * a machine, whose plan may fail or be made.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/err.h"
#include "base/js.h"
#include "base/mem.h"
#include "base/str.h"
#include "handler/network/dhcp.h"
#include "handler/network/netfacts.h"
#include "handler/network/plan.h"
#include "handler/network/rules.h"
#include "handler/network/want.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct link links[] = {
	{ .index = 1, .name = "lo", .up = true },
	{ .index = 2,
	  .name = "eth0",
	  .up = true,
	  .mtu = 1450,
	  .mac = { { 2, 0, 0, 0, 0, 1 } } },
};
static struct address addresses[] = {
	{ .link = 2,
	  .global = true,
	  .ip = { { AF_INET, { 10, 1, 1, 5 } }, 24 } },
	{ .link = 2,
	  .global = true,
	  .ip = { { AF_INET6, { 0xfd, [15] = 5 } }, 64 } },
};
static const struct netfacts facts = {
	.links = links,
	.link_count = 2,
	.addresses = addresses,
	.address_count = 2,
};

/* Each line begins as one of those that are written. */
static void
check_config(const char *config)
{
	static const char *const known[] = {
		"port=0\n",
		"no-hosts\n",
		"no-ping\n",
		"leasefile-ro\n",
		"dhcp-authoritative\n",
		"bind-dynamic\n",
		"except-interface=lo\n",
		"quiet-",
		"interface=k6t-",
		"dhcp-host=",
		"dhcp-range=",
		"shared-network=k6t-",
		"dhcp-option=tag:i",
		"enable-ra\n",
		"ra-param=k6t-",
	};

	for (const char *at = config; *at != '\0'; at = strchr(at, '\n') + 1) {
		bool found = false;

		for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
			found |= str_has_prefix(at, known[i]);
		assert(found);
	}
}

static void
plan_machine(const json_t *vmi, const struct resolv *resolv)
{
	struct wants wants;
	struct plan plan = { .pod_uid = NULL };
	struct err err;

	if (wants_decode(vmi, &wants, &err) == 0 &&
	    plan_setup(&facts, &wants, "pod", &plan, &err) == 0) {
		char *rules = rules_text(&plan);
		char *config = dhcp_config(&plan, resolv, wants.hostname);

		assert(str_has_prefix(rules, rules_none));
		if (config != NULL)
			check_config(config);
		free(rules);
		free(config);
	}
	plan_done(&plan);
	wants_done(&wants);
}

static void
try_resolv(const char *text)
{
	static const char vmi_text[] =
		"{\"spec\":{\"networks\":[{\"name\":\"a\",\"pod\":{}}],"
		"\"domain\":{\"devices\":{\"interfaces\":[{\"name\":\"a\","
		"\"masquerade\":{}}]}}}}";
	struct resolv resolv;
	struct err err;
	json_t *vmi = js_parse(vmi_text, strlen(vmi_text), &err);

	assert(vmi != NULL);
	resolv_parse(text, &resolv);
	plan_machine(vmi, &resolv);
	json_decref(vmi);
}

static void
try_alias(const char *text)
{
	struct netrecord record, again;
	char alias[LINK_ALIAS_MAX + 1];
	struct err err;

	if (netrecord_parse(text, &record, &err) == -1)
		return;
	netrecord_text(&record, alias);
	assert(netrecord_parse(alias, &again, &err) == 0);
	assert(mac_equal(&record.mac, &again.mac));
	assert(record.ip_count == again.ip_count);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct resolv no_resolv;
	struct err err;
	json_t *vmi;
	char *text;

	if (size == 0)
		return 0;
	text = xstrndup((const char *)data + 1, size - 1);
	if (data[0] == 'r')
		try_resolv(text);
	if (data[0] == 'a')
		try_alias(text);
	vmi = data[0] == 'v' ? js_parse(text, strlen(text), &err) : NULL;
	if (vmi != NULL)
		plan_machine(vmi, &no_resolv);
	json_decref(vmi);
	free(text);
	return 0;
}
