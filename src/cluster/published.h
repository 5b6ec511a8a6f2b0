/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_PUBLISHED_H
#define CLUSTER_PUBLISHED_H

/*
 * published - the ConfigMap extension-apiserver-authentication in kube-system:
 * how aggregated servers know the API server's front proxy, and the CA of its
 * clients.
 *
 * Threading: only from the loop's thread.
 */

struct home;
struct server;

/* Makes it, or brings it up to date. kube-system must exist. */
void published_write(struct server *server, const struct home *home);

#endif
