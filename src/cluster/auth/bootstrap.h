/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_AUTH_BOOTSTRAP_H
#define CLUSTER_AUTH_BOOTSTRAP_H

/*
 * bootstrap - the roles and bindings a cluster starts with.
 *
 * They are YAML files built into the program (auth/bootstrap). At each start
 * what is missing is created, and what carries the annotation
 * rbac.authorization.kubernetes.io/autoupdate=true gets back the rules and
 * subjects it lacks; what an operator added stays, and with the annotation set
 * to false all is left as he made it.
 */

#include "base/js.h"

struct err;
struct store;

/* Before authz_new() or after, once per start. The writes are in the store's
 * memory; whoever needs them on disk waits as for any other. */
int bootstrap_apply(struct store *store, struct err *err);

/* The built-in object of this kind and name, a new reference; NULL when there
 * is none. */
json_t *bootstrap_find(const char *kind, const char *name);

#endif
