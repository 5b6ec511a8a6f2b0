/* SPDX-License-Identifier: Apache-2.0 */
#include "meta/patch_list.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/str.h"
#include "meta/gofmt.h"
#include "meta/status.h"

/* What Kubernetes has no status for becomes a plain 500 there. */
#define NO_REASON 500, NULL

/* An item of the merged list and where it stands in the two orders. */
struct item {
	json_t *value;
	size_t wanted;   /* in the patch's order; NOWHERE: not in it */
	size_t original; /* in the server's order */
	size_t place;    /* in the merged list, to keep equal ones apart */
};

#define NOWHERE SIZE_MAX

int
patch_unknown_directive(const json_t *directive, const json_t *where,
			struct status *st)
{
	AUTO(free_ptr) char *word = gofmt_plain(directive);
	AUTO(free_ptr) char *map = gofmt_plain(where);

	return status_set(st, NO_REASON, "unknown patch type: %s in map: %s",
			  word, map);
}

static int
no_merge_key(const json_t *item, const char *key, struct status *st)
{
	AUTO(free_ptr) char *map = gofmt_plain(item);

	return status_set(st, NO_REASON,
			  "map: %s does not contain declared merge key: %s",
			  map, key);
}

/* The text by which items meet, to be freed: of the merge key's value, or of
 * the item itself. */
static char *
identity(const json_t *item, const char *key)
{
	const json_t *value =
		key[0] == '\0' ? item : json_object_get(item, key);

	return js_text_sorted(value, NULL);
}

/* Where the items of a list stand: an object of identities and numbers. */
static json_t *
index_of(const json_t *list, const char *key)
{
	json_t *index = json_object();
	size_t i;
	json_t *item;

	json_array_foreach(list, i, item)
	{
		AUTO(free_ptr) char *text = identity(item, key);

		if (json_object_get(index, text) == NULL)
			(void)json_object_set_new(index, text,
						  json_integer((json_int_t)i));
	}
	return index;
}

static size_t
look_up(const json_t *index, const char *text)
{
	const json_t *found = json_object_get(index, text);

	return found == NULL ? NOWHERE : (size_t)json_integer_value(found);
}

static const char *
go_type(const json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		return "map[string]interface {}";
	case JSON_ARRAY:
		return "[]interface {}";
	case JSON_STRING:
		return "string";
	case JSON_INTEGER:
		return "int64";
	case JSON_REAL:
		return "float64";
	case JSON_TRUE:
	case JSON_FALSE:
		return "bool";
	case JSON_NULL:
		break;
	}
	return "nil";
}

/* All items of all lists are of one type, which is no list. *ret_type is NULL
 * when there are no items. */
static int
check_types(const json_t *a, const json_t *b, const char **ret_type,
	    struct status *st)
{
	size_t total = json_array_size(a) + json_array_size(b);

	*ret_type = NULL;
	for (size_t i = 0; i < total; i++) {
		size_t in_a = json_array_size(a);
		const json_t *item = i < in_a ? json_array_get(a, i)
					      : json_array_get(b, i - in_a);
		const char *type = go_type(item);

		if (json_is_array(item))
			return status_rejected(st);
		if (*ret_type != NULL && strcmp(*ret_type, type) != 0)
			return status_set(st, NO_REASON,
					  "list element types are not "
					  "identical: %s and %s",
					  *ret_type, type);
		*ret_type = type;
	}
	return 0;
}

static int
check_keys(const json_t *list, const char *key, struct status *st)
{
	size_t i;
	json_t *item;

	json_array_foreach(list, i, item)
	{
		const json_t *value = json_object_get(item, key);

		if (!json_is_object(item))
			return status_set(st, NO_REASON,
					  "expected a map[string]interface "
					  "{}, but received a %s",
					  go_type(item));
		if (value == NULL)
			return no_merge_key(item, key, st);
	}
	return 0;
}

int
patch_delete_items(json_t *list, const json_t *unwanted)
{
	AUTO(js_unref) json_t *index = index_of(unwanted, "");
	AUTO(js_unref) json_t *kept = json_array();
	size_t i;
	json_t *item;

	/* Objects may be waiting to be merged: they must not go away. */
	json_array_foreach(unwanted, i, item)
	{
		if (json_is_object(item) || json_is_array(item))
			return -1;
	}
	json_array_foreach(list, i, item)
	{
		AUTO(free_ptr) char *text = identity(item, "");

		if (json_object_get(index, text) == NULL)
			(void)json_array_append(kept, item);
	}
	(void)json_array_clear(list);
	(void)json_array_extend(list, kept);
	return 0;
}

/*
 * Sorts the patch's items into those with a directive and the others. deleted
 * gets the identities of those to be deleted.
 */
static int
split_patch(const struct patch_list *list, json_t *plain, json_t *deleted,
	    bool *ret_replace, struct status *st)
{
	size_t i;
	json_t *item;

	*ret_replace = false;
	json_array_foreach(list->patch, i, item)
	{
		const json_t *directive =
			json_object_get(item, PATCH_DIRECTIVE);
		const char *word = json_string_value(directive);

		if (directive == NULL) {
			(void)json_array_append(plain, item);
		} else if (str_equal(word, "delete")) {
			AUTO(free_ptr) char *text = NULL;

			if (json_object_get(item, list->key) == NULL)
				return no_merge_key(item, list->key, st);
			text = identity(item, list->key);
			(void)json_object_set_new(deleted, text, json_true());
		} else if (str_equal(word, "replace")) {
			*ret_replace = true;
		} else if (str_equal(word, "merge")) {
			return status_set(st, NO_REASON,
					  "merging lists cannot yet be "
					  "specified in the patch");
		} else {
			return patch_unknown_directive(directive, item, st);
		}
	}
	return 0;
}

/*
 * merged starts as what remains of the original; the patch's items are added,
 * or wait to be merged into those that are there. Whoever waits last is merged
 * first, so they are put in from the end.
 */
static void
merge_items(struct patch_work *work, const struct patch_list *list,
	    const json_t *plain, json_t *merged)
{
	AUTO(js_unref) json_t *index = index_of(merged, list->key);
	size_t count = json_array_size(plain);
	AUTO(free_ptr) json_t **into = xcalloc(count, sizeof(json_t *));

	for (size_t i = 0; i < count; i++) {
		json_t *item = json_array_get(plain, i);
		AUTO(free_ptr) char *text = identity(item, list->key);
		size_t at = look_up(index, text);

		if (at != NOWHERE) {
			into[i] = json_array_get(merged, at);
			continue;
		}
		at = json_array_size(merged);
		(void)json_object_set_new(index, text,
					  json_integer((json_int_t)at));
		(void)json_array_append_new(merged, patch_plain(item));
	}
	for (size_t i = count; i > 0; i--) {
		if (json_is_object(into[i - 1]))
			patch_push(work, into[i - 1],
				   json_array_get(plain, i - 1),
				   list->item_schema);
	}
}

/* The items of list whose identity is not in unwanted. */
static json_t *
without(const json_t *list, const char *key, const json_t *unwanted)
{
	json_t *kept = json_array();
	size_t i;
	json_t *item;

	json_array_foreach(list, i, item)
	{
		AUTO(free_ptr) char *text = identity(item, key);

		if (json_object_get(unwanted, text) == NULL)
			(void)json_array_append(kept, item);
	}
	return kept;
}

static int
by_wanted(const void *a, const void *b)
{
	const struct item *left = a;
	const struct item *right = b;

	if (left->wanted != right->wanted)
		return left->wanted < right->wanted ? -1 : 1;
	if (left->original != right->original)
		return left->original < right->original ? -1 : 1;
	return left->place < right->place ? -1 : left->place > right->place;
}

/*
 * Both groups have an order of their own: the items that the patch's order
 * names follow that, the others that of the server, and they are interleaved
 * where the server's order says so.
 */
static json_t *
interleave(struct item *items, size_t count)
{
	json_t *result = json_array();
	size_t named = 0;
	size_t i = 0, j;

	qsort(items, count, sizeof(items[0]), by_wanted);
	while (named < count && items[named].wanted != NOWHERE)
		named++;
	j = named;
	while (i < named || j < count) {
		bool other;

		if (i == named || j == count)
			other = i == named;
		else
			other = items[i].original != NOWHERE &&
				items[j].original < items[i].original;
		(void)json_array_append(result, items[other ? j++ : i++].value);
	}
	return result;
}

/* The merged list in its final order. */
static json_t *
arrange(const json_t *merged, const json_t *order, const json_t *original,
	const char *key)
{
	AUTO(js_unref) json_t *wanted = index_of(order, key);
	AUTO(js_unref) json_t *server = index_of(original, key);
	size_t count = json_array_size(merged);
	AUTO(free_ptr) struct item *items = xcalloc(count, sizeof(*items));

	for (size_t i = 0; i < count; i++) {
		json_t *value = json_array_get(merged, i);
		AUTO(free_ptr) char *text = identity(value, key);

		items[i] = (struct item){
			.value = value,
			.wanted = look_up(wanted, text),
			.original = look_up(server, text),
			.place = i,
		};
	}
	return interleave(items, count);
}

/* The items of the patch come in the order that $setElementOrder gives. */
static int
check_order(const json_t *plain, const struct patch_list *list,
	    struct status *st)
{
	AUTO(js_unref) json_t *index = NULL;
	AUTO(free_ptr) char *patch_text = NULL;
	AUTO(free_ptr) char *order_text = NULL;
	size_t last = 0;
	size_t i;
	json_t *item;

	if (json_array_size(list->order) == 0)
		return 0;
	index = index_of(list->order, list->key);
	json_array_foreach(plain, i, item)
	{
		AUTO(free_ptr) char *text = identity(item, list->key);
		size_t at = look_up(index, text);

		if (at == NOWHERE || (i > 0 && at <= last))
			break;
		last = at;
	}
	if (i == json_array_size(plain))
		return 0;
	patch_text = gofmt_plain(list->patch);
	order_text = gofmt_plain(list->order);
	return status_set(st, NO_REASON,
			  "The order in patch list:\n%s\n doesn't match "
			  "$setElementOrder list:\n%s\n",
			  patch_text, order_text);
}

/* Scalars, each once; an item of the patch that is there changes nothing. */
static int
merge_scalars(struct patch_work *work, const struct patch_list *list,
	      json_t *to, const char *name, struct status *st)
{
	AUTO(js_unref) json_t *merged = json_array();

	if (list->order != NULL && check_order(list->patch, list, st) == -1)
		return -1;
	merge_items(work, list, list->original, merged);
	merge_items(work, list, list->patch, merged);
	(void)json_object_set_new(
		to, name,
		arrange(merged, list->order != NULL ? list->order : list->patch,
			list->original, list->key));
	return 0;
}

/*
 * The order of the server's items, by which those are placed that
 * $setElementOrder does not name. In Kubernetes new items take the places of
 * deleted ones in it, so that with [f, c], f deleted and b added, c comes
 * before b.
 */
static json_t *
server_order(const struct patch_list *list, const json_t *left,
	     const json_t *merged)
{
	json_t *order = json_copy((json_t *)(uintptr_t)left);
	size_t count = json_array_size(list->original);

	if (list->order == NULL)
		return order;
	for (size_t i = json_array_size(left);
	     i < count && i < json_array_size(merged); i++)
		(void)json_array_append(order, json_array_get(merged, i));
	return order;
}

static int
merge_objects(struct patch_work *work, const struct patch_list *list,
	      json_t *to, const char *name, struct status *st)
{
	AUTO(js_unref) json_t *plain = json_array();
	AUTO(js_unref) json_t *deleted = json_object();
	AUTO(js_unref) json_t *left = NULL;
	AUTO(js_unref) json_t *merged = NULL;
	AUTO(js_unref) json_t *server = NULL;
	bool replaces;

	if (list->key[0] == '\0')
		return status_set(st, NO_REASON,
				  "cannot merge lists without merge key for "
				  "type struct");
	if (check_keys(list->original, list->key, st) == -1 ||
	    split_patch(list, plain, deleted, &replaces, st) == -1 ||
	    check_keys(plain, list->key, st) == -1 ||
	    check_keys(list->order, list->key, st) == -1 ||
	    (list->order != NULL && check_order(plain, list, st) == -1))
		return -1;
	left = replaces ? json_array()
			: without(list->original, list->key, deleted);
	merged = json_copy(left);
	merge_items(work, list, plain, merged);
	server = server_order(list, left, merged);
	(void)json_object_set_new(
		to, name,
		arrange(merged, list->order != NULL ? list->order : plain,
			server, list->key));
	return 0;
}

int
patch_merge_list(struct patch_work *work, const struct patch_list *list,
		 json_t *to, const char *name, struct status *st)
{
	struct patch_list scalars = *list;
	const char *type;

	if (!list->merge && list->patch != NULL) {
		(void)json_object_set_new(to, name, patch_plain(list->patch));
		return 0;
	}
	if (check_types(list->original, list->patch, &type, st) == -1)
		return -1;
	if (type == NULL) {
		if (list->original == NULL)
			(void)json_object_set_new(to, name, json_array());
		return 0;
	}
	if (strcmp(type, "map[string]interface {}") == 0)
		return merge_objects(work, list, to, name, st);
	scalars.key = "";
	return merge_scalars(work, &scalars, to, name, st);
}
