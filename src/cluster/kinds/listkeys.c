/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/kinds/listkeys.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "meta/causes.h"

struct item {
	size_t index;
	json_t *key;
	char *text; /* equal for equal keys */
};

/* The members that count, or the item itself; a new reference. */
static json_t *
key_of(json_t *item, const json_t *keys)
{
	const json_t *name;
	json_t *key;
	size_t i;

	if (keys == NULL || !json_is_object(item))
		return json_incref(item);
	key = json_object();
	json_array_foreach(keys, i, name)
	{
		json_t *value = json_object_get(item, json_string_value(name));

		if (value != NULL)
			(void)json_object_set(key, json_string_value(name),
					      value);
	}
	return key;
}

static int
compare(const void *a, const void *b)
{
	const struct item *x = a, *y = b;
	int order = strcmp(x->text, y->text);

	if (order == 0)
		order = x->index < y->index ? -1 : x->index > y->index;
	return order;
}

static int
compare_index(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	return x->index < y->index ? -1 : x->index > y->index;
}

void
listkeys_check(const json_t *list, const json_t *keys, const char *field,
	       struct causes *causes)
{
	size_t count = json_array_size(list), twice = 0;
	AUTO(free_ptr) struct item *items = xcalloc(count, sizeof(*items));
	AUTO(free_ptr) struct item *found = xcalloc(count, sizeof(*found));

	for (size_t i = 0; i < count; i++) {
		items[i].index = i;
		items[i].key = key_of(json_array_get(list, i), keys);
		items[i].text = json_dumps(items[i].key,
					   JSON_ENCODE_ANY | JSON_COMPACT |
						   JSON_SORT_KEYS);
		if (items[i].text == NULL)
			abort();
	}
	qsort(items, count, sizeof(*items), compare);
	for (size_t i = 1; i < count; i++) {
		if (strcmp(items[i].text, items[i - 1].text) == 0)
			found[twice++] = items[i];
	}
	qsort(found, twice, sizeof(*found), compare_index);
	for (size_t i = 0; i < twice; i++) {
		AUTO(free_ptr)
		char *place = xasprintf("%s[%zu]", field, found[i].index);

		causes_duplicate(causes, place, found[i].key);
	}
	for (size_t i = 0; i < count; i++) {
		json_decref(items[i].key);
		free(items[i].text);
	}
}
