/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KUBELET_LOGS_H
#define KUBELET_LOGS_H

/*
 * logs - the kubelet's own API: GET /containerLogs/NAMESPACE/POD/CONTAINER, as
 * the API server asks it for `kubectl logs`, and /healthz.
 *
 * Only for whoever shows a certificate of the cluster's authority that belongs
 * to system:masters.
 *
 * Threading: only from the loop's thread.
 */

#include <stdint.h>

struct err;
struct kubelet;
struct logs;
struct pods;

/* Serves from now on; *ret_port is the port it has got. */
int logs_start(struct kubelet *kubelet, const struct pods *pods,
	       const char *client_ca, struct logs **ret, uint16_t *ret_port,
	       struct err *err);
void logs_free(struct logs *logs); /* NULL is fine */

#endif
