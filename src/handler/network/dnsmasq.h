/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HANDLER_NETWORK_DNSMASQ_H
#define HANDLER_NETWORK_DNSMASQ_H

/*
 * dnsmasq - the DHCP server of a pod; see docs/decisions/0024-pod-network.md.
 *
 * It lives in the pod's network and PID namespaces, so that it ends with the
 * pod's first process, whoever is alive then, and is nobody's child here. It
 * sees nothing of the node but /usr, read-only, and has no capabilities but
 * those it needs in the pod's network. Nothing about it is in a file: it is
 * found among the pod's processes by the name of its configuration, which has
 * a hash of the contents in it.
 *
 * Threading: any thread, one call per pod at a time.
 */

#include "handler/network/network.h"

struct err;

#define DNSMASQ_START_TIMEOUT_MS 20000
#define DNSMASQ_STOP_TIMEOUT_MS 10000

enum dnsmasq_found {
	DNSMASQ_RUNNING,  /* with this configuration */
	DNSMASQ_REPLACED, /* one that ran with another */
	DNSMASQ_STARTED,
};

/* Makes exactly one run with this configuration, ending what runs with another.
 * On success it answers already. */
int dnsmasq_ensure(const struct network_pod *pod, const char *program,
		   const char *config, enum dnsmasq_found *ret_found,
		   struct err *err);

/* Ends all of the pod's. */
int dnsmasq_stop(const struct network_pod *pod, struct err *err);

#endif
