/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_ADMIT_SERVICE_H
#define CLUSTER_ADMIT_SERVICE_H

/*
 * service - from the name of a Service to an address to connect to.
 *
 * For webhooks and APIServices. An embedded cluster has no kube-proxy that
 * would make cluster addresses work, so the order is:
 *
 *   1. type ExternalName: spec.externalName, with the port asked for; an
 *      address is accepted where Kubernetes wants a DNS name
 *   2. the Endpoints object of the same name: its ready addresses in turn,
 *      with the endpoint port that belongs to the service port
 *   3. spec.clusterIP, with the service port
 *
 * The port asked for must be one of the service's, by number, unless it is an
 * ExternalName. The certificate of the server must be for NAME.NAMESPACE.svc
 * whatever the address is.
 *
 * Threading: only from the loop's thread.
 */

#include <stdint.h>

#include "base/js.h"

struct err;
struct store;

#define SERVICE_HOST_MAX 254
#define SERVICE_ADDRESS_SIZE (SERVICE_HOST_MAX + 8)

struct service_ref {
	const char *namespace_;
	const char *name;
	uint16_t port;
};

struct service_address {
	char host[SERVICE_HOST_MAX]; /* a name, or an address without [] */
	uint16_t port;
};

/*
 * turn chooses among several addresses; count it up per call. ERR_NOT_FOUND:
 * there is no such service; ERR_INVALID: it has no such port;
 * ERR_UNAVAILABLE: it has no address.
 */
int service_resolve(struct store *store, const struct service_ref *ref,
		    unsigned turn, struct service_address *ret_address,
		    struct err *err);

/* "host:port", an IPv6 address in []. */
void service_address_text(const struct service_address *address,
			  char text[SERVICE_ADDRESS_SIZE]);

/* The CAs in caBundle of a webhook's clientConfig or an APIService's spec, PEM
 * text to be freed; NULL when there are none. */
char *service_bundle(const json_t *config);

#endif
