/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_CONTROL_ATTEMPT_H
#define CLUSTER_CONTROL_ATTEMPT_H

/*
 * attempt - one try to find a node for a pod: what is worked out once, before
 * the nodes are looked at one by one (filter.h, score.h).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cluster/control/model.h"

struct term;
struct view;

/* One claim of the pod. */
struct want {
	const struct claim *claim;
	const struct volume *volume; /* what it is bound to, NULL: not yet */
	bool lost;                   /* bound to what is not there */
	/* Not bound: the volumes it could have, smallest first. */
	const struct volume **candidates;
	size_t candidate_count;
	bool provisions; /* else somebody will make one */
};

/* A spread constraint of the pod. */
struct skew {
	const struct term_use *use;
	int64_t least; /* matching pods in the emptiest domain */
	bool self;     /* the pod itself matches */
};

struct attempt {
	const struct view *view;
	const struct pod *pod;
	/* Terms that match the pod, for what other pods think of it. */
	struct term **hits;
	size_t hit_count;
	/* Nobody matches the pod's affinity, but it does itself: the first of
	 * its group may be anywhere. */
	bool first_of_group;
	struct skew *skews;
	size_t skew_count;
	struct want *wants;
	size_t want_count;
};

enum attempt_result {
	ATTEMPT_GO,      /* look at the nodes */
	ATTEMPT_REFUSED, /* no node can do, *ret_why says why */
	ATTEMPT_WAIT,    /* something is on its way; an event will come */
};

/* Fills in the attempt; attempt_done() in any case. *ret_why is to be freed. */
enum attempt_result attempt_begin(struct attempt *attempt,
				  const struct view *view,
				  const struct pod *pod, char **ret_why);
void attempt_done(struct attempt *attempt);

/*
 * Chooses a volume for each claim that has none, for the node: picks[i] is that
 * of wants[i], or NULL where there is one already, or one will be made. false
 * if that is not possible. picks has want_count places.
 */
bool attempt_pick_volumes(const struct attempt *attempt,
			  const struct node *node, const struct volume **picks);

/* Whether the pod's own selector and affinity let it be on the node. */
bool attempt_wants_node(const struct pod *pod, const struct node *node);

#endif
