/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROLLER_INSTANCE_VISIT_H
#define CONTROLLER_INSTANCE_VISIT_H

/*
 * visit - one look at one instance, from deciding to the last answer; for
 * instance.c.
 *
 * It has one request under way at a time, and ends with worker_end().
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

#include "base/js.h"
#include "controller/instance/decide.h"
#include "controller/world.h"

struct memos;
struct nodes;
struct worker;

#define VISIT_PODS_MAX 64 /* of one instance that are looked at */

struct instance_visit;
TAILQ_HEAD(instance_visits, instance_visit);

/* What all visits share. */
struct instances {
	struct world *world;
	struct worker *worker;
	struct events *events;
	struct memos *memos;
	struct nodes *nodes;
	struct instance_visits visits;
};

/* Works on the instance of the key, see worker_config.work. */
void instance_visit_start(struct instances *c, const char *key);
/* Ends without worker_end(), and cancels what is under way. */
void instance_visit_cancel(struct instance_visit *visit);

/* The facts of one instance, gathered from caches or from answers. */
struct instance_gathered {
	struct instance_facts facts;
	const struct pod *pods[VISIT_PODS_MAX];
	struct instance_claim claims[VMI_VOLUMES_MAX];
};

/* Fills in all but the pods. vmi is borrowed. */
void instance_gather(struct instances *c, const char *key,
		     const struct vmi *vmi, struct instance_gathered *to);

#endif
