/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_ADMIT_PODPLUGINS_H
#define CLUSTER_ADMIT_PODPLUGINS_H

/*
 * podplugins - what a new pod gets that it did not ask for.
 *
 * Kubernetes' admission plugins ServiceAccount, Priority and
 * DefaultTolerationSeconds, and its rule that a limit without a request is the
 * request too. Each changes the pod in place, and leaves a pod that it has
 * seen before as it is.
 *
 * Threading: only from the loop's thread.
 */

#include <stdbool.h>

#include "base/js.h"

struct admission_request;
struct classes;
struct status;
struct store;

/* Where a container finds the token of its service account. */
#define PODPLUGINS_TOKEN_PATH "/var/run/secrets/kubernetes.io/serviceaccount"

void podplugin_requests(json_t *pod);
void podplugin_tolerations(json_t *pod);

/* The three below: 0, or -1 with 403. */
int podplugin_priority(struct classes *classes,
		       const struct admission_request *req, struct status *st);
/* Service account, the volume with its token, image pull secrets. */
int podplugin_account(struct store *store, const struct admission_request *req,
		      struct status *st);

/*
 * Whether the pod needs the service account "default" that its namespace does
 * not have yet. A controller makes it soon after the namespace, so it pays to
 * wait a moment.
 */
bool podplugin_account_missing(struct store *store,
			       const struct admission_request *req);

#endif
