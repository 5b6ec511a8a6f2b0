/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HANDLER_NETWORK_RULES_H
#define HANDLER_NETWORK_RULES_H

/*
 * rules - what nftables has to do in a pod: masquerade, and keeping a guest's
 * DHCP requests from the network when the pod answers them. Pure.
 *
 * All is in tables called RULES_TABLE, replaced as a whole each time;
 * connections that are being translated go on.
 */

#include "handler/network/plan.h"

#define RULES_TABLE "ferry"

/* The text for nft_run(); the caller frees. */
char *rules_text(const struct plan *plan);

/* The text that takes them away. */
extern const char *const rules_none;

#endif
