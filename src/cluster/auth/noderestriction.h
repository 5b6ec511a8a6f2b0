/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_AUTH_NODERESTRICTION_H
#define CLUSTER_AUTH_NODERESTRICTION_H

/*
 * noderestriction - what a node may write, beyond what the authorizer can see.
 *
 * The authorizer knows verb and name; this looks at the content: a node creates
 * only mirror pods on itself, leaves its taints, owners and the labels that
 * decide about scheduling alone, keeps only its own lease, and gets tokens only
 * for pods that run on it. It concerns only users of the group system:nodes.
 *
 * Threading: only from the loop's thread.
 */

#include "base/js.h"
#include "cluster/auth/attributes.h"

struct authz;
struct status;
struct user;

/*
 * 0, or -1 and a 403. To be called for create, update, patch (attr->verb is the
 * API's verb) and delete, also of the subresources status, eviction and token.
 * object is the new content (NULL for a delete), old the stored one (NULL for a
 * create).
 */
int noderestriction_admit(struct authz *authz, const struct user *user,
			  const struct attributes *attr, const json_t *object,
			  const json_t *old, struct status *st);

#endif
