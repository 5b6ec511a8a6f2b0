/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROLLER_MIGRATION_SLOTS_H
#define CONTROLLER_MIGRATION_SLOTS_H

/*
 * slots - how many migrations go on at once: in the cluster, away from a node,
 * towards a node.
 *
 * A migration takes its first slot (cluster and source node, both or none)
 * before its target pod is made, and the second one (target node) before it is
 * handed to the nodes, since only then it is known where it goes. It gives both
 * back at its end. Because slots are taken here and not counted in caches, two
 * migrations never get the same one. After a restart those that have a slot by
 * their phase or their pod are adopted before anything else is decided.
 *
 * Knows migrations by their UID. Each operation takes constant time.
 * Threading: one thread at a time.
 */

#include <stddef.h>
#include <stdint.h>

struct slots;

enum slot {
	SLOT_FREE,
	SLOT_HELD, /* by the one who asks */
	SLOT_CLUSTER_FULL,
	SLOT_SOURCE_FULL,
	SLOT_TARGET_FULL,
};

struct slot_limits {
	uint32_t cluster;
	uint32_t outbound; /* per source node */
	uint32_t inbound;  /* per target node; 0: no limit */
};

struct slots *slots_new(void);
void slots_free(struct slots *slots); /* NULL is fine */

/* What slots_take() would say. */
enum slot slots_ask(const struct slots *slots, const char *uid,
		    const char *source_node, const struct slot_limits *limits);
/* SLOT_HELD when the migration has its slot now; otherwise what is full, and
 * nothing has changed. */
enum slot slots_take(struct slots *slots, const char *uid,
		     const char *source_node, const struct slot_limits *limits);

/* The same for the target node. Without the first slot, it is taken for
 * SLOT_CLUSTER_FULL. */
enum slot slots_ask_inbound(const struct slots *slots, const char *uid,
			    const char *target_node,
			    const struct slot_limits *limits);
enum slot slots_take_inbound(struct slots *slots, const char *uid,
			     const char *target_node,
			     const struct slot_limits *limits);

/* What a migration has already, whatever the limits say. target_node is "" for
 * one that is not handed off. */
void slots_adopt(struct slots *slots, const char *uid, const char *source_node,
		 const char *target_node);

/* Gives back what it has; nothing is fine. */
void slots_release(struct slots *slots, const char *uid);

size_t slots_used(const struct slots *slots);
size_t slots_outbound(const struct slots *slots, const char *node);
size_t slots_inbound(const struct slots *slots, const char *node);

#endif
