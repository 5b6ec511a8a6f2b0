/* SPDX-License-Identifier: Apache-2.0 */
#include "meta/patch.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/str.h"
#include "meta/patch_internal.h"
#include "meta/patch_list.h"
#include "meta/status.h"

/*
 * Objects that are to be merged wait in a list instead of on the stack. Merging
 * one puts its members, and the items of its lists that are in the patch too,
 * behind the others; the order of a list depends on merge keys only, which
 * merging the items does not change.
 */

static int
bad_format(struct status *st, const char *of)
{
	return status_bad_request(st, "invalid patch format of %s", of);
}

/* "merge", "replace", or "" where the schema says nothing; *ret_key is its
 * merge key or "". */
static const char *
strategy(const json_t *schema, const char **ret_key)
{
	const char *text = json_string_value(
		json_object_get(schema, "x-kubernetes-patch-strategy"));
	const char *key = json_string_value(
		json_object_get(schema, "x-kubernetes-patch-merge-key"));

	*ret_key = key == NULL ? "" : key;
	if (text == NULL)
		return "";
	/* It can be one of two, the other being retainKeys. */
	if (strstr(text, "merge") != NULL)
		return "merge";
	return strstr(text, "replace") != NULL ? "replace" : "";
}

static const json_t *
member_schema(const json_t *schema, const char *key)
{
	const json_t *found =
		json_object_get(json_object_get(schema, "properties"), key);

	if (found != NULL)
		return found;
	return json_object_get(schema, "additionalProperties");
}

void
patch_push(struct patch_work *work, json_t *to, const json_t *patch,
	   const json_t *schema)
{
	if (work->len == work->size) {
		work->size = work->size * 2 + 16;
		work->list = xrealloc(work->list,
				      work->size * sizeof(work->list[0]));
	}
	work->list[work->len++] = (struct patch_pair){
		.to = to,
		.patch = patch,
		.schema = schema,
	};
}

static bool
is_directive(const char *key)
{
	return strcmp(key, PATCH_DIRECTIVE) == 0 ||
	       strcmp(key, PATCH_RETAIN_KEYS) == 0 ||
	       str_has_prefix(key, PATCH_SET_ORDER) ||
	       str_has_prefix(key, PATCH_DELETE_FROM);
}

/* Whether a value says of itself that it is not to be there. */
static bool
is_deletion(const json_t *value)
{
	const char *directive =
		json_string_value(json_object_get(value, PATCH_DIRECTIVE));

	return directive != NULL && strcmp(directive, "delete") == 0;
}

static void
clean_object(struct patch_work *work, json_t *value)
{
	const char *key;
	json_t *member;
	void *next;

	json_object_foreach_safe(value, next, key, member)
	{
		if (json_is_null(member) || is_directive(key) ||
		    is_deletion(member))
			(void)json_object_del(value, key);
		else if (json_is_object(member) || json_is_array(member))
			patch_push(work, member, NULL, NULL);
	}
}

static void
clean_array(struct patch_work *work, json_t *value)
{
	AUTO(js_unref) json_t *kept = json_array();
	size_t i;
	json_t *item;

	json_array_foreach(value, i, item)
	{
		const json_t *directive =
			json_object_get(item, PATCH_DIRECTIVE);

		/* An item can be nothing but the word to replace the list. */
		if (is_deletion(item) ||
		    (directive != NULL && json_object_size(item) == 1))
			continue;
		(void)json_array_append(kept, item);
		if (json_is_object(item) || json_is_array(item))
			patch_push(work, item, NULL, NULL);
	}
	if (json_array_size(kept) < json_array_size(value)) {
		(void)json_array_clear(value);
		(void)json_array_extend(value, kept);
	}
}

json_t *
patch_plain(const json_t *patch)
{
	struct patch_work work = { .list = NULL };
	json_t *result = json_deep_copy(patch);

	patch_push(&work, result, NULL, NULL);
	while (work.len > 0) {
		json_t *value = work.list[--work.len].to;

		if (json_is_object(value))
			clean_object(&work, value);
		else if (json_is_array(value))
			clean_array(&work, value);
	}
	free(work.list);
	return result;
}

static int
follow_directive(json_t *to, const json_t *patch, struct status *st)
{
	const json_t *directive = json_object_get(patch, PATCH_DIRECTIVE);
	const char *word = json_string_value(directive);

	if (str_equal(word, "replace")) {
		AUTO(js_unref) json_t *plain = patch_plain(patch);

		(void)json_object_clear(to);
		(void)json_object_update(to, plain);
		return 0;
	}
	if (str_equal(word, "delete")) {
		(void)json_object_clear(to);
		return 0;
	}
	return patch_unknown_directive(directive, patch, st);
}

static int
follow_retain_keys(json_t *to, const json_t *patch, struct status *st)
{
	const json_t *list = json_object_get(patch, PATCH_RETAIN_KEYS);
	AUTO(js_unref) json_t *retained = json_object();
	const char *key;
	json_t *value;
	void *next;
	size_t i;

	if (list == NULL)
		return 0;
	if (!json_is_array(list))
		return bad_format(st, "retainKeys");
	json_array_foreach(list, i, value)
	{
		if (json_is_string(value))
			(void)json_object_set_new(retained,
						  json_string_value(value),
						  json_true());
	}
	json_object_foreach((json_t *)(uintptr_t)patch, key, value)
	{
		if (json_is_null(value) || is_directive(key))
			continue;
		if (json_object_get(retained, key) == NULL)
			return bad_format(st, "retainKeys");
	}
	json_object_foreach_safe(to, next, key, value)
	{
		if (json_object_get(retained, key) == NULL)
			(void)json_object_del(to, key);
	}
	return 0;
}

/* The list that a directive's name names: behind the slash. */
static const char *
list_name(const char *key, const char *prefix)
{
	const char *rest = key + strlen(prefix);

	return rest[0] == '/' && rest[1] != '\0' ? rest + 1 : NULL;
}

/* Merges one list and puts it in the order that the patch wants. */
static int
follow_set_order(struct patch_work *work, const struct patch_pair *pair,
		 const char *name, const json_t *order, struct status *st)
{
	json_t *original = json_object_get(pair->to, name);
	const json_t *patch = json_object_get(pair->patch, name);
	const json_t *schema = member_schema(pair->schema, name);
	struct patch_list list = {
		.original = original,
		.patch = patch,
		.order = order,
		.item_schema = json_object_get(schema, "items"),
	};

	list.merge = strcmp(strategy(schema, &list.key), "merge") == 0;
	if (!json_is_array(order) || (original && !json_is_array(original)) ||
	    (patch && !json_is_array(patch)))
		return bad_format(st, "setElementOrder list");
	if (original == NULL && patch == NULL)
		return 0;
	return patch_merge_list(work, &list, pair->to, name, st);
}

static int
follow_set_orders(struct patch_work *work, const struct patch_pair *pair,
		  struct status *st)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)(uintptr_t)pair->patch, key, value)
	{
		const char *name;

		if (!str_has_prefix(key, PATCH_SET_ORDER))
			continue;
		name = list_name(key, PATCH_SET_ORDER);
		if (name == NULL)
			return bad_format(st, "setElementOrder list");
		if (follow_set_order(work, pair, name, value, st) == -1)
			return -1;
	}
	return 0;
}

static bool
has_set_order(const json_t *patch, const char *name)
{
	AUTO(free_ptr) char *key = xasprintf(PATCH_SET_ORDER "/%s", name);

	return json_object_get(patch, key) != NULL;
}

static int
delete_from_list(const struct patch_pair *pair, const char *key,
		 const json_t *value, struct status *st)
{
	const char *name = list_name(key, PATCH_DELETE_FROM);
	const char *merge_key;
	json_t *list;

	if (name == NULL || (!json_is_array(value) && !json_is_null(value)))
		return bad_format(st, "primitive list");
	list = json_object_get(pair->to, name);
	if (!json_is_array(list) || json_is_null(value))
		return 0;
	if (strcmp(strategy(member_schema(pair->schema, name), &merge_key),
		   "merge") != 0)
		return bad_format(st, "primitive list");
	if (patch_delete_items(list, value) == -1)
		return bad_format(st, "primitive list");
	return 0;
}

static int
merge_member(struct patch_work *work, const struct patch_pair *pair,
	     const char *key, const json_t *value, struct status *st)
{
	json_t *to = json_object_get(pair->to, key);
	const json_t *schema = member_schema(pair->schema, key);
	const char *merge_key;
	const char *how = strategy(schema, &merge_key);

	if (json_is_null(value)) {
		(void)json_object_del(pair->to, key);
		return 0;
	}
	if (json_is_object(to) && json_is_object(value) &&
	    strcmp(how, "replace") != 0) {
		patch_push(work, to, value, schema);
		return 0;
	}
	if (json_is_array(to) && json_is_array(value) &&
	    strcmp(how, "merge") == 0) {
		struct patch_list list = {
			.original = to,
			.patch = value,
			.item_schema = json_object_get(schema, "items"),
			.key = merge_key,
			.merge = true,
		};

		return patch_merge_list(work, &list, pair->to, key, st);
	}
	if (is_deletion(value)) {
		(void)json_object_del(pair->to, key);
		return 0;
	}
	(void)json_object_set_new(pair->to, key, patch_plain(value));
	return 0;
}

static int
merge_object(struct patch_work *work, const struct patch_pair *pair,
	     struct status *st)
{
	const char *key;
	json_t *value;

	if (json_object_get(pair->patch, PATCH_DIRECTIVE) != NULL)
		return follow_directive(pair->to, pair->patch, st);
	if (follow_retain_keys(pair->to, pair->patch, st) == -1 ||
	    follow_set_orders(work, pair, st) == -1)
		return -1;
	json_object_foreach((json_t *)(uintptr_t)pair->patch, key, value)
	{
		if (str_has_prefix(key, PATCH_DELETE_FROM)) {
			if (delete_from_list(pair, key, value, st) == -1)
				return -1;
			continue;
		}
		if (is_directive(key) || has_set_order(pair->patch, key))
			continue;
		if (merge_member(work, pair, key, value, st) == -1)
			return -1;
	}
	return 0;
}

json_t *
patch_strategic(const json_t *target, const json_t *patch, const json_t *schema,
		struct status *st)
{
	AUTO(js_unref) json_t *result = NULL;
	struct patch_work work = { .list = NULL };
	int failed = 0;

	if (patch_check_object(patch, st) == -1)
		return NULL;
	result =
		json_is_object(target) ? json_deep_copy(target) : json_object();
	patch_push(&work, result, patch, schema);
	while (work.len > 0 && failed == 0) {
		struct patch_pair pair = work.list[--work.len];

		failed = merge_object(&work, &pair, st);
	}
	free(work.list);
	return failed == 0 ? TAKE_PTR(result) : NULL;
}
