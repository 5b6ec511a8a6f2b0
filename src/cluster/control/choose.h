/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_CONTROL_CHOOSE_H
#define CLUSTER_CONTROL_CHOOSE_H

/*
 * choose - finds the node for a pod. Changes nothing.
 */

#include <stddef.h>

struct node;
struct pod;
struct view;

enum choice_kind {
	CHOICE_NODE, /* node: there it can be */
	CHOICE_NONE, /* message: why there is none */
	CHOICE_WAIT, /* for volumes that are on their way */
};

/* A claim that is to get a volume before the pod can be bound. */
struct choice_volume {
	char *claim;  /* its name, in the pod's namespace */
	char *volume; /* NULL: one is to be made for the node */
};

struct choice {
	enum choice_kind kind;
	struct node *node; /* lent */
	char *message;
	struct choice_volume *volumes;
	size_t volume_count;
};

/* Among equally good nodes, `turn` decides: give another number each time. */
void choose_node(const struct view *view, const struct pod *pod, size_t turn,
		 struct choice *ret_choice);
void choice_done(struct choice *choice);

#endif
