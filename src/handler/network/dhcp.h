/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HANDLER_NETWORK_DHCP_H
#define HANDLER_NETWORK_DHCP_H

/*
 * dhcp - what dnsmasq is told: one fixed lease for each guest's interface that
 * has an address, and nothing for anybody else. Pure.
 */

#include "handler/network/plan.h"
#include "handler/network/resolv.h"

/* dnsmasq's configuration; the caller frees. NULL when no guest needs any. */
char *dhcp_config(const struct plan *plan, const struct resolv *resolv,
		  const char *hostname);

#endif
