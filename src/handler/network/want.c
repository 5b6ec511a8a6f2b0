/* SPDX-License-Identifier: Apache-2.0 */
#include "handler/network/want.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/str.h"
#include "tls/digest.h"

#define PRIMARY "eth0"
#define HASH_DIGITS 11 /* as the pod's annotation has it */
#define HOSTNAME_MAX 63

#define AT "spec.domain.devices.interfaces[%zu]"

/* The same machine's interface has the same MAC in each of its pods. */
static struct mac
derive_mac(const char *uid, const char *name)
{
	uint8_t hash[DIGEST_SHA256_LEN];
	AUTO(free_ptr) char *text = xasprintf("%s/%s", uid, name);

	digest_sha256(text, strlen(text), hash);
	return mac_local(hash);
}

/* Which number a network has among those that are named by number; 0 when it
 * is not in the list. */
static unsigned
ordinal_of(const json_t *networks, const char *name)
{
	unsigned number = 0;
	json_t *network;
	size_t i;

	json_array_foreach(networks, i, network)
	{
		if (js_obj_at(network, "multus") == NULL ||
		    js_bool_at(network, "multus.default", false))
			continue;
		number++;
		if (str_equal(js_str_at(network, "name"), name))
			return number;
	}
	return 0;
}

static void
name_pod_interface(struct want *want, const json_t *networks)
{
	char hash[DIGEST_SHA256_HEX_SIZE];

	if (want->primary) {
		(void)snprintf(want->pod, sizeof(want->pod), PRIMARY);
		return;
	}
	(void)digest_sha256_hex(want->name, strlen(want->name), hash);
	(void)snprintf(want->pod, sizeof(want->pod), "pod%.*s", HASH_DIGITS,
		       hash);
	(void)snprintf(want->pod_ordinal, sizeof(want->pod_ordinal), "net%u",
		       ordinal_of(networks, want->name));
}

static int
decode_port(const json_t *port, struct want_port *ret, struct err *err)
{
	const char *protocol = js_str_at(port, "protocol");
	int64_t number = js_int_at(port, "port", 0);

	if (number < 1 || number > UINT16_MAX)
		return err_set(err, ERR_INVALID,
			       "port: must be between 1 and 65535");
	if (!str_equal(protocol, "") && !str_equal(protocol, "TCP") &&
	    !str_equal(protocol, "UDP"))
		return err_set(err, ERR_INVALID,
			       "protocol: '%s' is neither TCP nor UDP",
			       protocol);
	ret->udp = str_equal(protocol, "UDP");
	ret->port = (uint16_t)number;
	return 0;
}

static int
decode_ports(const json_t *interface, struct want *want, struct err *err)
{
	const json_t *ports = js_arr_at(interface, "ports");
	size_t count = json_array_size(ports);

	if (count > WANT_PORTS_MAX)
		return err_set(err, ERR_INVALID, "ports: more than %d",
			       WANT_PORTS_MAX);
	want->ports = xcalloc(count + 1, sizeof(*want->ports));
	for (; want->port_count < count; want->port_count++) {
		size_t i = want->port_count;

		if (decode_port(json_array_get(ports, i), &want->ports[i],
				err) == -1)
			return err_prefix(err, "ports[%zu]", i);
	}
	return 0;
}

/* A prefix with room for a gateway and a guest. */
static int
decode_cidr(const json_t *network, const char *member, const char *otherwise,
	    struct ip_prefix *ret, struct err *err)
{
	const char *text = js_str_at(network, member);
	int family = strchr(otherwise, ':') ? AF_INET6 : AF_INET;
	struct ip guest;

	if (*text == '\0')
		text = otherwise;
	if (ip_prefix_parse(text, ret, err) == -1 ||
	    ip_prefix_nth(ret, 2, &guest, err) == -1)
		return err_prefix(err, "%s", member);
	if (ret->ip.family != family)
		return err_set(err, ERR_INVALID, "%s: '%s' is no IPv%d prefix",
			       member, text, family == AF_INET ? 4 : 6);
	return 0;
}

static int
decode_masquerade(const json_t *interface, const json_t *network,
		  struct want *want, struct err *err)
{
	want->binding = WANT_MASQUERADE;
	if (!want->primary || js_obj_at(network, "pod") == NULL)
		return err_set(err, ERR_INVALID,
			       "masquerade: only for the pod's network");
	if (decode_cidr(network, "pod.vmNetworkCIDR", WANT_CIDR4_DEFAULT,
			&want->cidr4, err) == -1 ||
	    decode_cidr(network, "pod.vmIPv6NetworkCIDR", WANT_CIDR6_DEFAULT,
			&want->cidr6, err) == -1)
		return -1;
	return decode_ports(interface, want, err);
}

static int
decode_mac(const json_t *vmi, const json_t *interface, struct want *want,
	   struct err *err)
{
	const char *spec = js_str_at(interface, "macAddress");
	const json_t *status = js_find(js_arr_at(vmi, "status.interfaces"),
				       "name", want->name);
	struct err ignored;

	if (*spec != '\0' && mac_parse(spec, &want->mac, err) == -1)
		return err_prefix(err, "macAddress");
	/* What a running machine has it keeps, wherever it goes. */
	if (*spec == '\0')
		(void)mac_parse(js_str_at(status, "mac"), &want->mac, &ignored);
	want->derived = derive_mac(js_str_at(vmi, "metadata.uid"), want->name);
	return 0;
}

static uint32_t
count_queues(const json_t *vmi, const json_t *interface)
{
	const json_t *cpu = js_obj_at(vmi, "spec.domain.cpu");
	const char *model = js_str_at(interface, "model");
	int64_t vcpus = 1;

	if (!js_bool_at(vmi, "spec.domain.devices.networkInterfaceMultiqueue",
			false) ||
	    (*model != '\0' && !str_equal(model, "virtio")))
		return 1;
	for (size_t i = 0; i < 3; i++) {
		static const char *const factors[] = { "sockets", "cores",
						       "threads" };
		int64_t factor = js_int_at(cpu, factors[i], 1);

		if (factor > 0 && factor <= WANT_QUEUES_MAX)
			vcpus *= factor;
	}
	return vcpus > WANT_QUEUES_MAX ? WANT_QUEUES_MAX : (uint32_t)vcpus;
}

static int
decode_interface(const json_t *vmi, const json_t *interface, struct want *want,
		 struct err *err)
{
	const json_t *networks = js_arr_at(vmi, "spec.networks");
	const json_t *network;

	want->name = xstrdup(js_str_at(interface, "name"));
	network = js_find(networks, "name", want->name);
	if (network == NULL)
		return err_set(err, ERR_INVALID,
			       "name: no network is called '%s'", want->name);
	want->primary = js_obj_at(network, "pod") != NULL ||
			js_bool_at(network, "multus.default", false);
	if (!want->primary && js_obj_at(network, "multus") == NULL)
		return err_set(err, ERR_INVALID,
			       "network '%s' is neither pod nor multus",
			       want->name);
	name_pod_interface(want, networks);
	want->queues = count_queues(vmi, interface);
	if (decode_mac(vmi, interface, want, err) == -1)
		return -1;
	if (js_obj_at(interface, "masquerade") != NULL)
		return decode_masquerade(interface, network, want, err);
	if (js_obj_at(interface, "bridge") == NULL)
		return err_set(err, ERR_INVALID,
			       "has neither bridge nor masquerade");
	want->binding = WANT_BRIDGE;
	return 0;
}

/* Two interfaces in one network would fight for the pod's interface. */
static int
check_unique(const struct wants *wants, struct err *err)
{
	const struct want *last = &wants->items[wants->count - 1];

	for (const struct want *w = wants->items; w < last; w++) {
		if (str_equal(w->pod, last->pod))
			return err_set(err, ERR_INVALID,
				       "shares the pod's interface '%s' with "
				       "'%s'",
				       w->pod, w->name);
	}
	return 0;
}

static char *
choose_hostname(const json_t *vmi)
{
	const char *name = js_str_at(vmi, "spec.hostname");
	size_t len;

	if (*name == '\0')
		name = js_str_at(vmi, "metadata.name");
	/* A name may have dots, a host's name ends at the first. */
	len = strcspn(name, ".");
	len = len > HOSTNAME_MAX ? HOSTNAME_MAX : len;
	if (strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") < len ||
	    name[0] == '-')
		len = 0;
	return xstrndup(name, len);
}

int
wants_decode(const json_t *vmi, struct wants *ret, struct err *err)
{
	const json_t *interfaces =
		js_arr_at(vmi, "spec.domain.devices.interfaces");
	size_t count = json_array_size(interfaces);
	json_t *interface;
	size_t i;

	*ret = (struct wants){ 0 };
	if (count > WANT_INTERFACES_MAX)
		return err_set(err, ERR_INVALID,
			       "spec.domain.devices.interfaces: more than %d",
			       WANT_INTERFACES_MAX);
	ret->items = xcalloc(count + 1, sizeof(*ret->items));
	ret->hostname = choose_hostname(vmi);
	json_array_foreach(interfaces, i, interface)
	{
		if (str_equal(js_str_at(interface, "state"), "absent"))
			continue;
		ret->count++;
		if (decode_interface(vmi, interface,
				     &ret->items[ret->count - 1], err) == -1 ||
		    check_unique(ret, err) == -1)
			return err_prefix(err, AT, i);
	}
	return 0;
}

void
wants_done(struct wants *wants)
{
	for (size_t i = 0; i < wants->count; i++) {
		free(wants->items[i].name);
		free(wants->items[i].ports);
	}
	free(wants->items);
	free(wants->hostname);
	*wants = (struct wants){ 0 };
}
