/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_ADMIT_PLUGINS_H
#define CLUSTER_ADMIT_PLUGINS_H

/*
 * plugins - the part of admission that needs nobody else: which plugin looks
 * at which request, in Kubernetes' order.
 *
 *   LimitRanger, ServiceAccount, DefaultTolerationSeconds, Priority for new
 *   pods; DefaultStorageClass and LimitRanger for claims; Priority for
 *   PriorityClasses; what a schema cannot say of webhook configurations and
 *   APIServices
 *
 * NodeRestriction is not among them: the pipeline asks it itself.
 *
 * Threading: only from the loop's thread.
 */

#include <stdbool.h>

struct admission_request;
struct plugins;
struct status;
struct store;

struct plugins *plugins_new(struct store *store);
void plugins_free(struct plugins *plugins);

/* Whether plugins_mutate() would refuse only because something is about to be
 * made: ask again when a ServiceAccount has appeared. */
bool plugins_must_wait(struct plugins *plugins,
		       const struct admission_request *req);

/* Changes the object in place. 0, or -1 with the answer. What was changed
 * before stays changed: running it again on the same object is fine. */
int plugins_mutate(struct plugins *plugins, struct admission_request *req,
		   struct status *st);
/* Looks only. */
int plugins_validate(struct plugins *plugins,
		     const struct admission_request *req, struct status *st);

#endif
