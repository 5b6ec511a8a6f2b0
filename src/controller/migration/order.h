/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROLLER_MIGRATION_ORDER_H
#define CONTROLLER_MIGRATION_ORDER_H

/*
 * order - what was decided, as requests to the server.
 *
 * Each request can be repeated: a pod has a name that follows from its
 * migration, patches test what they depend on, deletions name the UID.
 *
 * Threading: only from the loop's thread.
 */

#include "controller/migration/decision.h"
#include "controller/migration/facts.h"
#include "controller/migration/note.h"
#include "controller/migration/reading.h"
#include "controller/world.h"
#include "kube/client.h"

/* What orders are made from; borrowed. */
struct order_context {
	const struct world *world;
	const struct facts *facts;
	const struct reading *reading; /* needed for all that asks for
					  confirmed facts, and for a stamp */
	const json_t *ns;              /* the namespace, for the hand-off */
};

/* Holds all that it needs. An order without a resource is none. */
struct order {
	struct kube_request request; /* points to what is below */
	char *ns, *name;
	json_t *body;
};

int order_make(const struct order_context *context, const struct action *action,
	       struct order *ret_order, struct err *err);

/* What is to be written about a migration itself. progress is NULL or what is
 * to stand in its status; see docs/api.md. */
void order_status(const struct facts *facts, const struct decision *decision,
		  const struct note *note, json_t *progress,
		  struct order *ret_order);
void order_drop_finalizer(const struct reading *reading,
			  struct order *ret_order);
void order_delete_migration(const struct facts *facts, struct order *ret_order);
void order_delete_pod(const struct pod *pod, struct order *ret_order);
/* A pod, to see whether it is there. */
void order_look(const char *ns, const char *name, struct order *ret_order);

/* Also for AUTO(). */
void order_done(struct order *order);

#define ORDER_POD_NAME_MAX 64
/* base (cut to what fits) and eight characters that follow from uid: a second
 * pod for the same migration cannot be made. Returns name. */
const char *order_pod_name(const char *base, const char *uid,
			   char name[ORDER_POD_NAME_MAX]);

#endif
