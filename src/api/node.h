/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_NODE_H
#define API_NODE_H

/*
 * node - a node that machines run on or may move to.
 *
 * Threading: as objmeta.h.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/objmeta.h"

#define NODE_TAINTS_MAX 64

struct node_taint {
	char *key, *value, *effect;
};

struct node {
	struct objmeta meta;
	json_t *labels; /* an object, NULL for none */
	bool unschedulable;
	bool ready;
	bool vm_schedulable;  /* label kubevirt.io/schedulable=true */
	int64_t heartbeat_us; /* of its agent; 0: never */
	struct node_taint *taints;
	size_t taint_count;
};

struct node *node_decode(const json_t *object, struct err *err);
void node_free(struct node *node);
void node_unref(struct node **pointer);

bool node_has_taint(const struct node *node, const char *key,
		    const char *effect);
/* The rest of the first label key that begins with prefix; NULL for none. */
const char *node_label_suffix(const struct node *node, const char *prefix);

#endif
