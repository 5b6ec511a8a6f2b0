/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_AUTH_AUTHZ_H
#define CLUSTER_AUTH_AUTHZ_H

/*
 * authz - who may do what.
 *
 * Asked in this order, the first that allows decides: the group
 * system:masters, the node authorizer (node.h), RBAC (rbac.h). Roles, bindings
 * and what pods refer to are read from the store once and then kept up to date
 * by subscription, so that a check looks only at the bindings of the user it is
 * about. A change counts once it is durable.
 *
 * Threading: only from the loop's thread.
 */

#include <stdbool.h>

#include "base/js.h"
#include "cluster/auth/attributes.h"
#include "cluster/auth/user.h"

struct err;
struct rbac;
struct status;
struct store;

struct authz;

enum authz_decision {
	AUTHZ_NO_OPINION, /* nobody allows it: the request is refused */
	AUTHZ_ALLOW,
};

/* The store must stay open until authz_free(). */
struct authz *authz_new(struct store *store);
void authz_free(struct authz *authz);

/*
 * *ret_reason (which may be NULL when nobody wants it) is the sentence of who
 * allowed it, or why nobody did; NULL when there is nothing to say. The caller
 * frees it.
 */
enum authz_decision authz_check(struct authz *authz, const struct user *user,
				const struct attributes *attr,
				char **ret_reason);

/* The same as an answer: 0, or -1 and the 403 in st. */
int authz_require(struct authz *authz, const struct user *user,
		  const struct attributes *attr, struct status *st);

/*
 * What the user may do in the namespace: the status of a
 * SelfSubjectRulesReview {"resourceRules","nonResourceRules","incomplete"}.
 */
json_t *authz_rules_json(struct authz *authz, const struct user *user,
			 const char *ns);

/* The parts, for those who check grants and contents. Borrowed. */
struct rbac *authz_rbac(struct authz *authz);
struct store *authz_store(struct authz *authz);

#endif
