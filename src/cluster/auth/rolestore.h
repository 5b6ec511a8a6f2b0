/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_AUTH_ROLESTORE_H
#define CLUSTER_AUTH_ROLESTORE_H

/*
 * rolestore - writes of RBAC objects by the program itself. They go to the
 * store directly: what is built in passes no admission.
 */

#include "base/js.h"

struct collection;

/* Creates or replaces the object; its metadata gets the next resourceVersion,
 * and a new one uid and creationTimestamp. obj must have a name. */
void rolestore_put(struct collection *c, json_t *obj);

/* Removes an object that is there. */
void rolestore_remove(struct collection *c, const char *ns, const char *name);

#endif
