/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/migration/slots.h"

#include <stdlib.h>

#include "base/map.h"
#include "base/mem.h"

struct node {
	struct map_node in_nodes;
	char *name;
	size_t outbound, inbound;
};

struct holder {
	struct map_node in_holders;
	char *uid;
	struct node *source;
	struct node *target; /* NULL: not yet */
};

struct slots {
	struct map nodes;
	struct map holders;
};

struct slots *
slots_new(void)
{
	return xmalloc0(sizeof(struct slots));
}

static struct node *
node_find(const struct slots *slots, const char *name)
{
	struct map_node *found = map_get(&slots->nodes, name);

	return found == NULL ? NULL : MAP_ENTRY(found, struct node, in_nodes);
}

static struct node *
node_get(struct slots *slots, const char *name)
{
	struct node *node = node_find(slots, name);

	if (node != NULL)
		return node;
	node = xmalloc0(sizeof(*node));
	node->name = xstrdup(name);
	map_put(&slots->nodes, &node->in_nodes, node->name);
	return node;
}

/* Nodes come and go: what nobody uses is not kept. */
static void
node_put(struct slots *slots, struct node *node)
{
	if (node->outbound != 0 || node->inbound != 0)
		return;
	map_remove(&slots->nodes, &node->in_nodes);
	free(node->name);
	free(node);
}

static struct holder *
holder_find(const struct slots *slots, const char *uid)
{
	struct map_node *found = map_get(&slots->holders, uid);

	return found == NULL ? NULL
			     : MAP_ENTRY(found, struct holder, in_holders);
}

static struct holder *
holder_add(struct slots *slots, const char *uid, const char *source_node)
{
	struct holder *holder = xmalloc0(sizeof(*holder));

	holder->uid = xstrdup(uid);
	holder->source = node_get(slots, source_node);
	holder->source->outbound++;
	map_put(&slots->holders, &holder->in_holders, holder->uid);
	return holder;
}

static void
holder_aim(struct slots *slots, struct holder *holder, const char *target_node)
{
	holder->target = node_get(slots, target_node);
	holder->target->inbound++;
}

enum slot
slots_ask(const struct slots *slots, const char *uid, const char *source_node,
	  const struct slot_limits *limits)
{
	if (holder_find(slots, uid) != NULL)
		return SLOT_HELD;
	if (slots->holders.count >= limits->cluster)
		return SLOT_CLUSTER_FULL;
	if (slots_outbound(slots, source_node) >= limits->outbound)
		return SLOT_SOURCE_FULL;
	return SLOT_FREE;
}

enum slot
slots_take(struct slots *slots, const char *uid, const char *source_node,
	   const struct slot_limits *limits)
{
	enum slot slot = slots_ask(slots, uid, source_node, limits);

	if (slot != SLOT_FREE)
		return slot;
	(void)holder_add(slots, uid, source_node);
	return SLOT_HELD;
}

enum slot
slots_ask_inbound(const struct slots *slots, const char *uid,
		  const char *target_node, const struct slot_limits *limits)
{
	const struct holder *holder = holder_find(slots, uid);

	if (holder == NULL)
		return SLOT_CLUSTER_FULL;
	if (holder->target != NULL)
		return SLOT_HELD;
	if (limits->inbound != 0 &&
	    slots_inbound(slots, target_node) >= limits->inbound)
		return SLOT_TARGET_FULL;
	return SLOT_FREE;
}

enum slot
slots_take_inbound(struct slots *slots, const char *uid,
		   const char *target_node, const struct slot_limits *limits)
{
	enum slot slot = slots_ask_inbound(slots, uid, target_node, limits);

	if (slot != SLOT_FREE)
		return slot;
	holder_aim(slots, holder_find(slots, uid), target_node);
	return SLOT_HELD;
}

void
slots_adopt(struct slots *slots, const char *uid, const char *source_node,
	    const char *target_node)
{
	struct holder *holder = holder_find(slots, uid);

	if (holder == NULL)
		holder = holder_add(slots, uid, source_node);
	if (holder->target == NULL && target_node[0] != '\0')
		holder_aim(slots, holder, target_node);
}

void
slots_release(struct slots *slots, const char *uid)
{
	struct holder *holder = holder_find(slots, uid);

	if (holder == NULL)
		return;
	map_remove(&slots->holders, &holder->in_holders);
	if (holder->target != NULL) {
		holder->target->inbound--;
		node_put(slots, holder->target);
	}
	holder->source->outbound--;
	node_put(slots, holder->source);
	free(holder->uid);
	free(holder);
}

void
slots_free(struct slots *slots)
{
	struct map_node *node;

	if (slots == NULL)
		return;
	while ((node = map_next(&slots->holders, NULL)) != NULL)
		slots_release(slots,
			      MAP_ENTRY(node, struct holder, in_holders)->uid);
	map_done(&slots->holders);
	map_done(&slots->nodes);
	free(slots);
}

size_t
slots_used(const struct slots *slots)
{
	return slots->holders.count;
}

size_t
slots_outbound(const struct slots *slots, const char *node)
{
	const struct node *found = node_find(slots, node);

	return found == NULL ? 0 : found->outbound;
}

size_t
slots_inbound(const struct slots *slots, const char *node)
{
	const struct node *found = node_find(slots, node);

	return found == NULL ? 0 : found->inbound;
}
