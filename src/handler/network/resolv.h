/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HANDLER_NETWORK_RESOLV_H
#define HANDLER_NETWORK_RESOLV_H

/*
 * resolv - which name servers a pod uses, for its guest to use them too.
 *
 * The file is the pod's: it is read beneath its root, without following links,
 * and what is in it is taken only where it is an address or a plain domain.
 * Servers at a loopback address are the pod's own and not for the guest.
 */

#include <stddef.h>

#include "net/inet.h"

#define RESOLV_SERVERS_MAX 3  /* as in resolv.conf(5) */
#define RESOLV_SEARCH_MAX 32  /* as in Kubernetes */
#define RESOLV_DOMAIN_MAX 253 /* characters */

struct resolv {
	struct ip servers[RESOLV_SERVERS_MAX];
	size_t server_count;
	char search[RESOLV_SEARCH_MAX][RESOLV_DOMAIN_MAX + 1];
	size_t search_count;
};

/* What a text says; whatever cannot be understood is left out. */
void resolv_parse(const char *text, struct resolv *ret);

/* Of a pod's root directory; empty when there is no such file or -1 is given.
 */
void resolv_read(int root_fd, struct resolv *ret);

#endif
