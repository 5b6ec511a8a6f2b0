/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_AUTH_RBAC_H
#define CLUSTER_AUTH_RBAC_H

/*
 * rbac - Roles, ClusterRoles and their bindings, ready to be asked.
 *
 * Bindings are found by subject: a check looks at those of the user and of his
 * groups, in the cluster and in the one namespace, and at no others. A binding
 * may come before its role, and go after it.
 *
 * Threading: only from the loop's thread.
 */

#include <stdbool.h>

#include "cluster/auth/rule.h"

#define RBAC_GROUP "rbac.authorization.k8s.io"

struct attributes;
struct rbac;
struct store;
struct user;

/* Reads what is there and follows it. */
struct rbac *rbac_new(struct store *store);
void rbac_free(struct rbac *rbac); /* NULL is fine */

/*
 * Whether a rule allows it. ret_reason, which may be NULL, gets Kubernetes'
 * sentence about the binding, or about roles that are missing; NULL when there
 * is nothing to say. The caller frees it.
 */
bool rbac_allows(struct rbac *rbac, const struct user *user,
		 const struct attributes *attr, const char *name,
		 char **ret_reason);

/*
 * The rules that the user has in the namespace ("": only those that hold in all
 * of the cluster), role by role. Returns how many; *ret is the caller's to
 * free, what it points to is borrowed until the loop runs. ret_error, which may
 * be NULL, gets the sentence about missing roles or NULL.
 */
size_t rbac_rules(struct rbac *rbac, const struct user *user, const char *ns,
		  const struct rules ***ret, char **ret_error);

/* The rules of a role ("Role" in ns, or "ClusterRole"); NULL when there is no
 * such role. Borrowed until the loop runs. */
const struct rules *rbac_role(struct rbac *rbac, const char *kind,
			      const char *ns, const char *name);

#endif
