/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/store/store_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "cluster/store/entry.h"
#include "cluster/store/labels.h"
#include "cluster/store/object.h"
#include "meta/selector.h"

static struct entry *
entry_of(struct tree_node *node)
{
	return node != NULL ? TREE_ENTRY(node, struct entry, node) : NULL;
}

/* The first entry of the namespace (NULL: of all) behind after. */
static struct entry *
first_entry(const struct tree *tree, const char *ns, const char *after)
{
	struct tree_node *node = tree_first(tree);
	struct key start, behind;

	if (after != NULL) {
		behind = key_after(after);
		node = tree_from(tree, &behind);
	}
	if (ns == NULL || node == NULL)
		return entry_of(node);
	start = key_space(ns, -1);
	if (!key_precedes(&start, entry_face(entry_of(node))))
		node = tree_from(tree, &start);
	return entry_of(node);
}

/* Whether the entry is there and still in the namespace. */
static bool
within(const struct entry *entry, const char *ns)
{
	return entry != NULL &&
	       (ns == NULL || strcmp(entry_face(entry)->namespace_, ns) == 0);
}

static struct entry *
next_entry(const struct entry *entry)
{
	return entry_of(tree_next(&entry->node));
}

size_t
store_count_after(const struct collection *c, const char *ns, const char *after)
{
	size_t start = 0, end = tree_count(&c->live);
	struct key key;

	if (ns != NULL) {
		key = key_space(ns, -1);
		start = tree_rank(&c->live, &key);
		key = key_space(ns, 1);
		end = tree_rank(&c->live, &key);
	}
	if (after != NULL) {
		size_t behind;

		key = key_after(after);
		behind = tree_rank(&c->live, &key);
		start = behind > start ? behind : start;
	}
	return end > start ? end - start : 0;
}

size_t
store_count(const struct collection *c, const char *ns)
{
	return store_count_after(c, ns, NULL);
}

size_t
store_list(const struct collection *c, const char *ns, const char *after,
	   size_t limit, struct object ***ret_objects)
{
	const struct entry *entry = first_entry(&c->live, ns, after);
	size_t count = store_count_after(c, ns, after), i;
	struct object **objects;

	if (limit > 0 && count > limit)
		count = limit;
	objects = xcalloc(count > 0 ? count : 1, sizeof(struct object *));
	for (i = 0; i < count; i++) {
		objects[i] = object_ref(entry->object);
		entry = next_entry(entry);
	}
	*ret_objects = objects;
	return count;
}

/* Of two entries of different keys, either of which may be NULL. */
static const struct entry *
smaller(const struct entry *a, const struct entry *b)
{
	struct key key;

	if (a == NULL || b == NULL)
		return a != NULL ? a : b;
	key = key_of(entry_face(a)->namespace_, entry_face(a)->name);
	return key_precedes(&key, entry_face(b)) ? a : b;
}

static void
add(struct object_list *list, size_t *size, struct object *object)
{
	if (list->count == *size) {
		*size = *size > 0 ? *size * 2 : 64;
		list->objects = xrealloc(list->objects,
					 *size * sizeof(struct object *));
	}
	list->objects[list->count++] = object_ref(object);
}

/* Goes through what is there and what is gone side by side. */
static void
list_at(const struct collection *c, uint64_t rv, const struct list_range *range,
	struct object_list *list)
{
	const struct entry *live, *gone, *entry;
	size_t size = 0;

	live = first_entry(&c->live, range->ns, range->after);
	gone = first_entry(&c->gone, range->ns, range->after);
	while ((entry = smaller(live, gone)) != NULL &&
	       within(entry, range->ns) &&
	       (range->limit == 0 || list->count < range->limit)) {
		struct object *object = entry_at(entry, rv);

		if (object != NULL)
			add(list, &size, object);
		if (entry == live)
			live = next_entry(live);
		else
			gone = next_entry(gone);
	}
}

/* How many there were behind the key at rv: as many as now, but for what came
 * and went since. */
static size_t
count_at(const struct collection *c, uint64_t rv, const char *ns,
	 const char *after)
{
	const struct history *h = &c->store->history;
	size_t count = store_count_after(c, ns, after);
	struct key key = key_after(after);

	for (size_t i = history_find(h, rv); i < h->count; i++) {
		const struct record *record = history_get(h, i);
		const struct object *object = record->object;

		if (record->entry->collection != c ||
		    !key_precedes(&key, object) ||
		    (ns != NULL && strcmp(object->namespace_, ns) != 0))
			continue;
		if (record->removed)
			count++;
		else if (record->old == NULL)
			count--;
	}
	return count;
}

size_t
store_count_labelled(const struct collection *c, const struct label *label)
{
	const struct label_group *group = labels_find(&c->labels, label);

	return group == NULL ? 0 : group->count;
}

/* Adds what the entry was at rv, if the range is about that. */
static void
consider(const struct entry *entry, uint64_t rv, const struct list_range *range,
	 struct object_list *list, size_t *size)
{
	struct object *object = entry_at(entry, rv);
	const char *value;
	struct key behind;

	if (object == NULL ||
	    (range->ns != NULL && strcmp(object->namespace_, range->ns) != 0))
		return;
	value = object_label(object, range->label->key);
	if (value == NULL || strcmp(value, range->label->value) != 0)
		return;
	if (range->after != NULL) {
		behind = key_after(range->after);
		if (!key_precedes(&behind, object))
			return;
	}
	add(list, size, object);
}

static int
compare_keys(const void *a, const void *b)
{
	const struct object *left = *(struct object *const *)a;
	const struct object *right = *(struct object *const *)b;
	const struct key key = key_of(left->namespace_, left->name);

	if (left == right)
		return 0;
	return key_precedes(&key, right) ? -1 : 1;
}

/* In order, and each once: an entry may have been considered several times. */
static void
put_in_order(struct object_list *list)
{
	size_t kept = 0;

	if (list->count == 0)
		return;
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): pointers */
	qsort(list->objects, list->count, sizeof(list->objects[0]),
	      compare_keys);
	for (size_t i = 1; i < list->count; i++) {
		if (list->objects[i] == list->objects[kept])
			object_unref(list->objects[i]);
		else
			list->objects[++kept] = list->objects[i];
	}
	list->count = kept + 1;
}

static void
cut(struct object_list *list, size_t limit)
{
	if (limit == 0 || list->count <= limit)
		return;
	list->remaining = list->count - limit;
	while (list->count > limit)
		object_unref(list->objects[--list->count]);
}

/* What has the label now, and what has changed since and may have had it. */
static void
list_labelled(const struct collection *c, uint64_t rv,
	      const struct list_range *range, struct object_list *list)
{
	const struct label_group *group = labels_find(&c->labels, range->label);
	const struct history *h = &c->store->history;
	size_t size = 0;

	if (group != NULL) {
		for (const struct label_post *post = group->first; post != NULL;
		     post = post->next)
			consider(post->entry, rv, range, list, &size);
	}
	if (c->changed_rv > rv) {
		for (size_t i = history_find(h, rv); i < h->count; i++) {
			const struct entry *entry = history_get(h, i)->entry;

			if (entry->collection == c)
				consider(entry, rv, range, list, &size);
		}
	}
	put_in_order(list);
	cut(list, range->limit);
}

int
store_list_at(const struct collection *c, uint64_t rv,
	      const struct list_range *range, struct object_list *ret_list,
	      struct err *err)
{
	struct object_list list = { 0 };

	if (rv < c->store->oldest_rv)
		return err_set(err, ERR_NOT_FOUND,
			       "revision %" PRIu64 " is older than %" PRIu64,
			       rv, c->store->oldest_rv);
	if (rv > c->store->rv)
		return err_set(err, ERR_INVALID,
			       "revision %" PRIu64 " is newer than %" PRIu64,
			       rv, c->store->rv);
	if (range->label != NULL)
		list_labelled(c, rv, range, &list);
	else if (c->changed_rv <= rv)
		list.count = store_list(c, range->ns, range->after,
					range->limit, &list.objects);
	else
		list_at(c, rv, range, &list);
	if (range->label == NULL && range->limit > 0 &&
	    list.count == range->limit) {
		AUTO(free_ptr)
		char *last = object_key(list.objects[list.count - 1]);

		list.remaining = c->changed_rv <= rv
					 ? store_count_after(c, range->ns, last)
					 : count_at(c, rv, range->ns, last);
	}
	*ret_list = list;
	return 0;
}
