/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_AUTH_ESCALATION_H
#define CLUSTER_AUTH_ESCALATION_H

/*
 * escalation - nobody gives away more than he has.
 *
 * Called for every write of an RBAC object, after admission and before the
 * store: a role may hold only what its author holds himself (or he has the verb
 * escalate on it), and a binding may name only such a role (or he has the verb
 * bind on it). system:masters may do all.
 *
 * Threading: only from the loop's thread.
 */

#include "base/js.h"
#include "cluster/auth/attributes.h"

struct authz;
struct status;
struct user;

/*
 * 0, or -1 and a 403. object is the new content, old the stored one (NULL for a
 * create). Anything that is not an RBAC object passes.
 */
int escalation_check(struct authz *authz, const struct user *user,
		     const struct attributes *attr, const json_t *object,
		     const json_t *old, struct status *st);

#endif
