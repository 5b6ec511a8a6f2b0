/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/control/graph.h"

#include <stdlib.h>
#include <string.h>

#include "base/jsat.h"
#include "base/map.h"
#include "base/mem.h"

/* An ownerReference: from a dependent to an owner. */
struct link {
	struct vertex *dependent;
	struct vertex *owner;
	struct link *next, *prev; /* among the owner's dependents */
	bool blocks;
};

/* A uid that has owners, or dependents, or both. */
struct vertex {
	struct map_node node;
	struct link *owners; /* an array */
	size_t owner_count;
	struct link *dependents; /* a list */
	char uid[];
};

struct graph {
	struct map vertices;
};

struct graph *
graph_new(void)
{
	return xmalloc0(sizeof(struct graph));
}

void
graph_free(struct graph *graph)
{
	struct map_node *node;

	if (graph == NULL)
		return;
	node = map_next(&graph->vertices, NULL);
	while (node != NULL) {
		struct map_node *next = map_next(&graph->vertices, node);
		struct vertex *v = MAP_ENTRY(node, struct vertex, node);

		free(v->owners);
		free(v);
		node = next;
	}
	map_done(&graph->vertices);
	free(graph);
}

static struct vertex *
find(const struct graph *graph, const char *uid)
{
	struct map_node *node = map_get(&graph->vertices, uid);

	return node == NULL ? NULL : MAP_ENTRY(node, struct vertex, node);
}

static struct vertex *
get(struct graph *graph, const char *uid)
{
	struct vertex *v = find(graph, uid);
	size_t len = strlen(uid);

	if (v != NULL)
		return v;
	v = xmalloc0(sizeof(*v) + len + 1);
	memcpy(v->uid, uid, len);
	map_put(&graph->vertices, &v->node, v->uid);
	return v;
}

static void
release(struct graph *graph, struct vertex *v)
{
	if (v->owners != NULL || v->dependents != NULL)
		return;
	map_remove(&graph->vertices, &v->node);
	free(v);
}

static void
unlink_owner(struct graph *graph, struct link *link)
{
	if (link->prev != NULL)
		link->prev->next = link->next;
	else
		link->owner->dependents = link->next;
	if (link->next != NULL)
		link->next->prev = link->prev;
	if (link->owner != link->dependent)
		release(graph, link->owner);
}

/* The vertex itself stays. */
static void
drop_owners(struct graph *graph, struct vertex *v)
{
	for (size_t i = 0; i < v->owner_count; i++)
		unlink_owner(graph, &v->owners[i]);
	free(v->owners);
	v->owners = NULL;
	v->owner_count = 0;
}

static bool
is_same(const struct vertex *v, const json_t *owners)
{
	size_t i;
	json_t *each;

	if (v->owner_count != json_array_size(owners))
		return false;
	json_array_foreach(owners, i, each)
	{
		if (strcmp(v->owners[i].owner->uid, js_str_at(each, "uid")) !=
			    0 ||
		    v->owners[i].blocks !=
			    js_bool_at(each, "blockOwnerDeletion", false))
			return false;
	}
	return true;
}

bool
graph_set(struct graph *graph, const char *uid, const json_t *owners)
{
	struct vertex *v;
	size_t i;
	json_t *each;

	if (json_array_size(owners) == 0) {
		v = find(graph, uid);
		if (v == NULL || v->owners == NULL)
			return false;
		drop_owners(graph, v);
		release(graph, v);
		return true;
	}
	v = get(graph, uid);
	if (is_same(v, owners))
		return false;
	drop_owners(graph, v);
	v->owner_count = json_array_size(owners);
	v->owners = xcalloc(v->owner_count, sizeof(struct link));
	json_array_foreach(owners, i, each)
	{
		struct link *link = &v->owners[i];

		link->dependent = v;
		link->owner = get(graph, js_str_at(each, "uid"));
		link->blocks = js_bool_at(each, "blockOwnerDeletion", false);
		link->next = link->owner->dependents;
		if (link->next != NULL)
			link->next->prev = link;
		link->owner->dependents = link;
	}
	return true;
}

void
graph_remove(struct graph *graph, const char *uid)
{
	(void)graph_set(graph, uid, NULL);
}

void
graph_dependents(const struct graph *graph, const char *owner,
		 bool (*fn)(const char *uid, bool blocks, void *arg), void *arg)
{
	const struct vertex *v = find(graph, owner);

	if (v == NULL)
		return;
	for (const struct link *l = v->dependents; l != NULL; l = l->next) {
		if (!fn(l->dependent->uid, l->blocks, arg))
			return;
	}
}

bool
graph_has_dependents(const struct graph *graph, const char *owner)
{
	const struct vertex *v = find(graph, owner);

	return v != NULL && v->dependents != NULL;
}

void
graph_owners(const struct graph *graph, const char *uid,
	     bool (*fn)(const char *owner, bool blocks, void *arg), void *arg)
{
	const struct vertex *v = find(graph, uid);

	for (size_t i = 0; v != NULL && i < v->owner_count; i++) {
		if (!fn(v->owners[i].owner->uid, v->owners[i].blocks, arg))
			return;
	}
}
