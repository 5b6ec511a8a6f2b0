/* SPDX-License-Identifier: Apache-2.0 */
#include "meta/patch.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/js.h"
#include "base/jssize.h"
#include "base/mem.h"
#include "base/str.h"
#include "meta/gofmt.h"
#include "meta/patch_internal.h"
#include "meta/status.h"

/* Items and values that may be moved or looked at, by all operations. */
#define WORK_MAX 50000000

/* A JSON patch that is being applied. */
struct run {
	json_t *doc;
	struct js_size copied;
	size_t work;
};

static int
wrong_type(const json_t *value, const char *wanted, struct status *st)
{
	return status_bad_request(st,
				  "error decoding patch: json: cannot "
				  "unmarshal %s into Go value of type %s",
				  gofmt_type(value), wanted);
}

int
patch_check_object(const json_t *patch, struct status *st)
{
	if (json_is_object(patch))
		return 0;
	return wrong_type(patch, "map[string]interface {}", st);
}

/*
 * The next name of a pointer, without escapes, to be freed; *pointer moves
 * behind it. NULL when the pointer is malformed.
 */
static char *
next_token(const char **pointer)
{
	const char *s = *pointer + 1;
	size_t len = strcspn(s, "/");
	AUTO(free_ptr) char *token = xmalloc0(len + 1);
	size_t n = 0;

	if (**pointer != '/')
		return NULL;
	for (size_t i = 0; i < len; i++) {
		if (s[i] == '~' && s[i + 1] != '0' && s[i + 1] != '1')
			return NULL;
		if (s[i] == '~')
			token[n++] = s[++i] == '0' ? '~' : '/';
		else
			token[n++] = s[i];
	}
	*pointer = s + len;
	return TAKE_PTR(token);
}

/* An index of at most max; no sign, no leading zeros. */
static bool
to_index(const char *token, size_t max, size_t *ret_index)
{
	size_t len = strspn(token, "0123456789");

	if (len == 0 || len > 9 || token[len] != '\0' ||
	    (token[0] == '0' && len > 1))
		return false;
	*ret_index = strtoul(token, NULL, 10);
	return *ret_index <= max;
}

/* NULL when there is none. */
static json_t *
child(const json_t *parent, const char *token)
{
	size_t index;

	if (json_is_object(parent))
		return json_object_get(parent, token);
	if (json_is_array(parent) && to_index(token, SIZE_MAX, &index))
		return json_array_get(parent, index);
	return NULL;
}

/* A place: the container and the name in it. */
struct place {
	json_t *parent; /* NULL: the whole document */
	char *token;
	size_t depth; /* how many containers are around it */
};

static void
place_done(struct place *place)
{
	free(place->token);
	place->token = NULL;
}

static int
find_place(const struct run *run, const char *pointer, struct place *ret_place)
{
	json_t *at = run->doc;

	*ret_place = (struct place){ .parent = NULL };
	if (pointer == NULL)
		return -1;
	while (*pointer != '\0') {
		if (ret_place->token != NULL)
			at = child(at, ret_place->token);
		place_done(ret_place);
		if (!json_is_object(at) && !json_is_array(at))
			return -1;
		ret_place->parent = at;
		ret_place->depth++;
		ret_place->token = next_token(&pointer);
		if (ret_place->token == NULL)
			return -1;
	}
	return 0;
}

static json_t *
value_at(const struct run *run, const struct place *place)
{
	return place->parent == NULL ? run->doc
				     : child(place->parent, place->token);
}

static int
work(struct run *run, size_t amount)
{
	run->work += amount;
	return run->work > WORK_MAX ? -1 : 0;
}

/* Takes value. */
static int
add(struct run *run, const struct place *place, json_t *value)
{
	AUTO(js_unref) json_t *owned = value;
	struct js_size size = js_size(value);
	size_t count, index;

	if (place->depth + size.depth > JS_MAX_DEPTH ||
	    work(run, size.nodes) == -1)
		return -1;
	if (place->parent == NULL) {
		json_decref(run->doc);
		run->doc = TAKE_PTR(owned);
		return 0;
	}
	if (json_is_object(place->parent))
		return json_object_set(place->parent, place->token, value);
	count = json_array_size(place->parent);
	if (strcmp(place->token, "-") == 0)
		index = count;
	else if (!to_index(place->token, count, &index))
		return -1;
	if (work(run, count - index) == -1)
		return -1;
	return json_array_insert(place->parent, index, value);
}

static int
take_away(struct run *run, const struct place *place)
{
	size_t index, count;

	if (place->parent == NULL)
		return -1;
	if (json_is_object(place->parent))
		return json_object_del(place->parent, place->token);
	count = json_array_size(place->parent);
	if (!to_index(place->token, count, &index) ||
	    work(run, count - index) == -1)
		return -1;
	return json_array_remove(place->parent, index);
}

static int
replace(struct run *run, const struct place *place, json_t *value)
{
	AUTO(js_unref) json_t *owned = value;
	size_t index;

	if (value_at(run, place) == NULL)
		return -1;
	if (place->parent == NULL || json_is_object(place->parent))
		return add(run, place, TAKE_PTR(owned));
	if (place->depth + js_size(value).depth > JS_MAX_DEPTH ||
	    !to_index(place->token, SIZE_MAX, &index))
		return -1;
	return json_array_set(place->parent, index, value);
}

static int
test(const struct run *run, const struct place *place, const json_t *value)
{
	const json_t *at = value_at(run, place);

	/* Kubernetes takes a member that is missing for null. */
	if (at == NULL)
		return json_is_object(place->parent) && json_is_null(value)
			       ? 0
			       : -1;
	return json_equal(at, value) ? 0 : -1;
}

static int
copy(struct run *run, const struct place *from, const struct place *to)
{
	json_t *value = value_at(run, from);
	struct js_size size;

	if (value == NULL)
		return -1;
	/* Known before the copy is made: copies of copies grow quickly. */
	size = js_size(value);
	run->copied.nodes += size.nodes;
	run->copied.bytes += size.bytes;
	if (run->copied.nodes > PATCH_MAX_COPIED ||
	    run->copied.bytes > PATCH_MAX_COPIED_BYTES)
		return -1;
	return add(run, to, json_deep_copy(value));
}

static int
copy_or_move(struct run *run, const char *op, const char *from_pointer,
	     const char *pointer)
{
	AUTO(place_done) struct place from = { .parent = NULL };
	AUTO(place_done) struct place to = { .parent = NULL };
	AUTO(js_unref) json_t *value = NULL;

	if (find_place(run, from_pointer, &from) == -1)
		return -1;
	if (str_equal(op, "copy")) {
		if (find_place(run, pointer, &to) == -1)
			return -1;
		return copy(run, &from, &to);
	}
	value = json_incref(value_at(run, &from));
	if (value == NULL || take_away(run, &from) == -1 ||
	    find_place(run, pointer, &to) == -1)
		return -1;
	return add(run, &to, TAKE_PTR(value));
}

static int
apply(struct run *run, const json_t *operation)
{
	const char *op = json_string_value(json_object_get(operation, "op"));
	const char *pointer =
		json_string_value(json_object_get(operation, "path"));
	const char *from =
		json_string_value(json_object_get(operation, "from"));
	const json_t *value = json_object_get(operation, "value");
	AUTO(place_done) struct place place = { .parent = NULL };

	if (str_equal(op, "copy") || str_equal(op, "move"))
		return copy_or_move(run, op, from, pointer);
	if (find_place(run, pointer, &place) == -1)
		return -1;
	if (str_equal(op, "remove"))
		return take_away(run, &place);
	if (value == NULL)
		return -1;
	if (str_equal(op, "add"))
		return add(run, &place, json_deep_copy(value));
	if (str_equal(op, "replace"))
		return replace(run, &place, json_deep_copy(value));
	if (str_equal(op, "test"))
		return test(run, &place, value);
	return -1;
}

static int
check_operations(const json_t *ops, struct status *st)
{
	size_t i;
	json_t *operation;

	if (!json_is_array(ops) && !json_is_null(ops))
		return wrong_type(ops, "[]handlers.jsonPatchOp", st);
	if (json_array_size(ops) > PATCH_MAX_OPS) {
		return status_set(st, 413, "RequestEntityTooLarge",
				  "Request entity too large: The allowed "
				  "maximum operations in a JSON patch is %d, "
				  "got %zu",
				  PATCH_MAX_OPS, json_array_size(ops));
	}
	json_array_foreach(ops, i, operation)
	{
		if (!json_is_object(operation))
			return wrong_type(operation, "handlers.jsonPatchOp",
					  st);
	}
	return 0;
}

json_t *
patch_json(const json_t *target, const json_t *ops, struct status *st)
{
	struct run run = { .doc = NULL };
	size_t i;
	json_t *operation;

	if (check_operations(ops, st) == -1)
		return NULL;
	run.doc = json_deep_copy(target);
	json_array_foreach(ops, i, operation)
	{
		if (apply(&run, operation) == -1) {
			json_decref(run.doc);
			(void)status_rejected(st);
			return NULL;
		}
	}
	return run.doc;
}

/* An object and the patch that is to be merged into it. */
struct pair {
	json_t *to;
	const json_t *patch;
};

struct pairs {
	struct pair *list;
	size_t len, size;
};

static void
push(struct pairs *pairs, json_t *to, const json_t *patch)
{
	if (pairs->len == pairs->size) {
		pairs->size = pairs->size * 2 + 16;
		pairs->list = xrealloc(pairs->list,
				       pairs->size * sizeof(pairs->list[0]));
	}
	pairs->list[pairs->len++] = (struct pair){ to, patch };
}

/* Drops the members that are null; what is inside is left for later. */
static void
prune_members(struct pairs *pairs, json_t *value)
{
	const char *key;
	json_t *member;
	void *next;
	size_t i;

	json_object_foreach_safe(value, next, key, member)
	{
		if (json_is_null(member))
			(void)json_object_del(value, key);
		else
			push(pairs, member, NULL);
	}
	json_array_foreach(value, i, member) push(pairs, member, NULL);
}

/* Kubernetes also drops what is null in the objects of a list, which is
 * replaced as a whole otherwise. */
static json_t *
copy_pruned(const json_t *value)
{
	struct pairs pairs = { .list = NULL };
	json_t *copied = json_deep_copy(value);

	push(&pairs, copied, NULL);
	while (pairs.len > 0)
		prune_members(&pairs, pairs.list[--pairs.len].to);
	free(pairs.list);
	return copied;
}

/* One level; objects inside are left for later. */
static void
merge_members(struct pairs *pairs, json_t *to, const json_t *patch)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)(uintptr_t)patch, key, value)
	{
		json_t *inner = json_object_get(to, key);

		if (json_is_null(value)) {
			(void)json_object_del(to, key);
		} else if (json_is_object(value)) {
			if (!json_is_object(inner)) {
				inner = json_object();
				(void)json_object_set_new(to, key, inner);
			}
			push(pairs, inner, value);
		} else {
			(void)json_object_set_new(to, key, copy_pruned(value));
		}
	}
}

json_t *
patch_merge(const json_t *target, const json_t *patch, struct status *st)
{
	struct pairs pairs = { .list = NULL };
	json_t *result;

	if (patch_check_object(patch, st) == -1)
		return NULL;
	result =
		json_is_object(target) ? json_deep_copy(target) : json_object();
	push(&pairs, result, patch);
	while (pairs.len > 0) {
		struct pair pair = pairs.list[--pairs.len];

		merge_members(&pairs, pair.to, pair.patch);
	}
	free(pairs.list);
	return result;
}
