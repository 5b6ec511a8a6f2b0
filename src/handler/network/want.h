/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HANDLER_NETWORK_WANT_H
#define HANDLER_NETWORK_WANT_H

/*
 * want - what a machine asks of its pod's network, out of its object.
 *
 * Pure. Errors are ERR_INVALID and name the member.
 */

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/js.h"
#include "net/inet.h"

struct err;

#define WANT_CIDR4_DEFAULT "10.0.2.0/24"
#define WANT_CIDR6_DEFAULT "fd10:0:2::/120"
#define WANT_PORTS_MAX 1024
#define WANT_INTERFACES_MAX 64
#define WANT_QUEUES_MAX 256 /* of a tap, in the kernel */

enum want_binding {
	WANT_BRIDGE,
	WANT_MASQUERADE,
};

struct want_port {
	bool udp; /* TCP otherwise */
	uint16_t port;
};

struct want {
	char *name; /* of the interface in the spec */
	enum want_binding binding;
	bool primary; /* in the pod's own network: its eth0 */
	/* What the pod's interface is called: eth0; or by the network's hash,
	 * or else by its number. */
	char pod[IFNAMSIZ];
	char pod_ordinal[IFNAMSIZ]; /* "" for eth0 */
	struct mac mac;             /* zeroes: not said by spec or status */
	struct mac derived;         /* from the machine's uid and the name */
	uint32_t queues;
	/* masquerade */
	struct ip_prefix cidr4, cidr6;
	struct want_port *ports; /* none: all that come are the guest's */
	size_t port_count;
};

struct wants {
	struct want *items; /* as in the spec, without absent ones */
	size_t count;
	char *hostname; /* what the guest is told to be called */
};

/* The caller calls wants_done() afterwards, also after a failure. */
int wants_decode(const json_t *vmi, struct wants *ret, struct err *err);
void wants_done(struct wants *wants);

#endif
