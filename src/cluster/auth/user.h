/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_AUTH_USER_H
#define CLUSTER_AUTH_USER_H

/*
 * user - who is asking: the outcome of authentication.
 *
 * Immutable once it has been handed out, and reference counted, because a
 * request that waits for a webhook or for the disk keeps its user longer than
 * the connection that named him.
 *
 * Threading: only from the loop's thread.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/js.h"

#define USER_ALL_AUTHENTICATED "system:authenticated"
#define USER_MASTERS "system:masters"
#define USER_NODES "system:nodes"
#define USER_NODE_PREFIX "system:node:"
#define USER_SA_PREFIX "system:serviceaccount:"
#define USER_SA_GROUP "system:serviceaccounts"

struct user {
	unsigned refs;
	char *name;
	char *uid;     /* NULL when there is none */
	char **groups; /* n_groups, in the order in which they were added */
	size_t n_groups;
	json_t *extra; /* name -> list of strings, or NULL */
};

/* A user with one reference and no groups; uid may be NULL. */
struct user *user_new(const char *name, const char *uid);
/* For whoever builds the user; a group that is there is not added twice. */
void user_add_group(struct user *user, const char *group);
/* Appends one value to the list of this name. */
void user_add_extra(struct user *user, const char *name, const char *value);

/*
 * A user who has logged in: the groups (n_groups may be 0), then
 * system:authenticated.
 */
struct user *user_authenticated(const char *name, const char *uid,
				const char *const *groups, size_t n_groups);

/* system:serviceaccount:NS:NAME with the groups of every ServiceAccount. */
struct user *user_service_account(const char *ns, const char *name,
				  const char *uid);

struct user *user_ref(struct user *user);
void user_unref(struct user *user);    /* NULL is fine */
void user_release(struct user **user); /* for AUTO(user_release) */

bool user_in_group(const struct user *user, const char *group);

/* Whether the user is a node: then *ret_node is its name, which points into
 * the user and is empty when the name of the user does not give one. */
bool user_is_node(const struct user *user, const char **ret_node);

/* Splits system:serviceaccount:NS:NAME; false for any other name. *ret_ns is
 * the caller's to free, *ret_sa points into name. */
bool user_name_is_service_account(const char *name, char **ret_ns,
				  const char **ret_sa);

/* The UserInfo {"username","uid","groups","extra"}, without what is empty: as
 * admission reviews, TokenReview and SelfSubjectReview show it. A new
 * reference. */
json_t *user_json(const struct user *user);

#endif
