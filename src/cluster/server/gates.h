/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_GATES_H
#define CLUSTER_GATES_H

/*
 * gates - a call on its way through admission.
 *
 *	mutating admission -> check -> validating admission -> finish
 *
 * Either gate may wait for webhooks, and nothing is held meanwhile. What the
 * call is about may therefore have changed when finish is called.
 */

#include "base/js.h"
#include "cluster/admit/admission.h"

struct call;

struct gates {
	enum admission_op op;
	json_t *object; /* borrowed; NULL for a deletion */
	/*
	 * Looks at what mutating admission has made of the object, in
	 * call->admit.object, and takes it over; it may put another in its
	 * place for the second gate. -1 with call->st. May be NULL.
	 */
	int (*check)(struct call *call);
	void (*finish)(struct call *call);
};

/* Runs finish, or fails the call. */
void gates_pass(struct call *call, const struct gates *gates);

/* Puts another object before the second gate; borrowed. */
void gates_set_object(struct call *call, json_t *object);

/* What a node may do, beyond what the authorizer has seen. */
int gates_check_node(struct call *call, const json_t *object,
		     const json_t *old);

#endif
