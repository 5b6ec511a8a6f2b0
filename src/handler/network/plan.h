/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HANDLER_NETWORK_PLAN_H
#define HANDLER_NETWORK_PLAN_H

/*
 * plan - what is to be done in a pod, from what there is and what is wanted.
 *
 * Pure: the same facts and wants give the same plan. A plan lists only what
 * is missing, so that the plan for what an executed one has made is empty, and
 * its operations are in such an order that a plan that was executed up to any
 * place is completed by the plan of what is there then.
 */

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "handler/network/netfacts.h"
#include "handler/network/op.h"
#include "handler/network/want.h"
#include "net/inet.h"
#include "net/route.h"

struct err;

/* The bridge's MAC for masquerade: the guest's gateway. Everywhere the same, so
 * that a guest that has moved need not learn it again. */
#define PLAN_GATEWAY_MAC "02:00:00:00:00:00"

/* The bridge's alias, once all that belongs to the interface has been made. */
#define PLAN_READY "ferry1-ready"

#define PLAN_ROUTES_MAX 64 /* IPv4 routes of one interface */

/* How the guest is to be reached and told. */
struct plan_interface {
	const struct want *want;
	char pod[IFNAMSIZ];
	char bridge[IFNAMSIZ];
	char tap[IFNAMSIZ];
	struct mac mac; /* the guest's */
	uint32_t mtu;
	/* It had been made completely: what is missing now was lost. */
	bool ready;
	/* DHCP, where the guest has an address of the pod's giving: */
	struct ip_prefix guest4; /* family 0: none */
	struct ip server4;
	struct ip router4;     /* family 0: none */
	struct route *routes4; /* besides what is on the link */
	size_t route_count;
	struct ip_prefix guest6; /* family 0: none */
	struct ip router6;
};

struct plan {
	struct ops ops;
	struct plan_interface *interfaces;
	size_t interface_count;
	/* What differs between pods, for MACs that nobody else has. */
	const char *pod_uid;
};

/* Refers to wants and to pod_uid. The caller calls plan_done() afterwards, also
 * after a failure. ERR_NOT_FOUND: the pod lacks an interface; ERR_CONFLICT:
 * something else has a name that is needed. */
int plan_setup(const struct netfacts *facts, const struct wants *wants,
	       const char *pod_uid, struct plan *ret, struct err *err);

/* How to undo it all. */
int plan_teardown(const struct netfacts *facts, struct plan *ret,
		  struct err *err);

void plan_done(struct plan *plan);

#endif
