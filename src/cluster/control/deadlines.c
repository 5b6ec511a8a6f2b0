/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/control/deadlines.h"

#include <stdlib.h>

#include "base/mem.h"

struct deadline {
	struct map_node node;
	struct heap_node due;
	char *name;
};

static struct deadline *
find(const struct deadlines *d, const char *name)
{
	struct map_node *node = map_get(&d->names, name);

	return node == NULL ? NULL : MAP_ENTRY(node, struct deadline, node);
}

void
deadlines_set(struct deadlines *d, const char *name, uint64_t at_ms)
{
	struct deadline *deadline = find(d, name);

	if (deadline == NULL) {
		deadline = xmalloc0(sizeof(*deadline));
		deadline->name = xstrdup(name);
		map_put(&d->names, &deadline->node, deadline->name);
	}
	heap_set(&d->order, &deadline->due, at_ms);
}

/* The name is the caller's. */
static char *
take_out(struct deadlines *d, struct deadline *deadline)
{
	char *name = deadline->name;

	map_remove(&d->names, &deadline->node);
	heap_remove(&d->order, &deadline->due);
	free(deadline);
	return name;
}

void
deadlines_remove(struct deadlines *d, const char *name)
{
	struct deadline *deadline = find(d, name);

	if (deadline != NULL)
		free(take_out(d, deadline));
}

bool
deadlines_has(const struct deadlines *d, const char *name)
{
	return find(d, name) != NULL;
}

char *
deadlines_take(struct deadlines *d, uint64_t now_ms)
{
	struct heap_node *first = heap_first(&d->order);

	if (first == NULL || first->key > now_ms)
		return NULL;
	return take_out(d, MAP_ENTRY(first, struct deadline, due));
}

uint64_t
deadlines_next(const struct deadlines *d)
{
	const struct heap_node *first = heap_first(&d->order);

	return first == NULL ? DEADLINES_NEVER : first->key;
}

void
deadlines_done(struct deadlines *d)
{
	char *name;

	while ((name = deadlines_take(d, DEADLINES_NEVER)) != NULL)
		free(name);
	map_done(&d->names);
	heap_done(&d->order);
}
