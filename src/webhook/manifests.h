/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEBHOOK_MANIFESTS_H
#define WEBHOOK_MANIFESTS_H

/*
 * manifests - the objects by which a cluster calls ferry-api: its service
 * account and roles, webhook configurations, APIServices and, for a server
 * outside of the cluster, a Service that leads to it.
 *
 * The names are KubeVirt's. Threading: any thread.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/js.h"

struct err;

struct manifests_config {
	const char *ns;      /* of the service and the account */
	const char *service; /* its name; its port is 443 */
	/* Where a server outside of the cluster is; NULL: the service leads to
	 * it already. An IP address, without []. */
	const char *address;
	uint16_t port;
	const char *ca_pem; /* of the server's certificate */
	/* Spare calls by expressions; since Kubernetes 1.28. */
	bool match_conditions;
};

/* "https://192.0.2.1:8443", "https://[2001:db8::1]:8443"; *ret_address is to be
 * freed. */
int manifests_parse_url(const char *url, char **ret_address, uint16_t *ret_port,
			struct err *err);

/* All of them in order of their use: a list, a new reference; NULL on
 * failure. */
json_t *manifests_make(const struct manifests_config *config, struct err *err);

#endif
