/* SPDX-License-Identifier: Apache-2.0 */
#include "handler/wish.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/str.h"
#include "meta/time.h"

#define STATE "/status/migrationState/"
#define STATE_UID "/status/migrationState/migrationUid"
#define CONDITIONS "/status/conditions"
#define VERSION "/metadata/resourceVersion"

void
wishes_done(struct wishes *wishes)
{
	for (size_t i = 0; i < wishes->count; i++) {
		free(wishes->list[i].pointer);
		json_decref(wishes->list[i].value);
	}
	wishes->count = 0;
}

/* A later wish for the same member replaces the earlier one. */
static void
add(struct wishes *wishes, const char *pointer, json_t *value)
{
	struct wish *wish;

	for (size_t i = 0; i < wishes->count; i++) {
		wish = &wishes->list[i];
		if (!str_equal(wish->pointer, pointer))
			continue;
		json_decref(wish->value);
		wish->value = value;
		return;
	}
	assert(wishes->count < WISHES_MAX);
	wish = &wishes->list[wishes->count++];
	wish->pointer = xstrdup(pointer);
	wish->value = value;
}

void
wish_set(struct wishes *wishes, const char *pointer, json_t *value)
{
	assert(value != NULL);
	add(wishes, pointer, value);
}

void
wish_text(struct wishes *wishes, const char *pointer, const char *text)
{
	/* Texts of launchers are cut where they are no UTF-8. */
	json_t *value = json_string(text);

	add(wishes, pointer, value != NULL ? value : json_string("?"));
}

void
wish_time(struct wishes *wishes, const char *pointer, int64_t time_us)
{
	char text[TIME_TEXT_SIZE];

	wish_text(wishes, pointer, time_text(time_us, text));
}

void
wish_gone(struct wishes *wishes, const char *pointer)
{
	add(wishes, pointer, NULL);
}

void
wish_tag(struct wishes *wishes, const char *which, const char *name,
	 const char *value)
{
	AUTO(free_ptr) char *pointer = NULL;
	size_t len = strlen(name);
	char *escaped = xmalloc0(2 * len + 1), *to = escaped;

	for (const char *from = name; *from != '\0'; from++) {
		if (*from == '/' || *from == '~') {
			*to++ = '~';
			*to++ = *from == '/' ? '1' : '0';
		} else {
			*to++ = *from;
		}
	}
	pointer = xasprintf("/metadata/%s/%s", which, escaped);
	free(escaped);
	if (value == NULL)
		wish_gone(wishes, pointer);
	else
		wish_text(wishes, pointer, value);
}

/* Undoes the escapes of one name of a pointer, in place. */
static void
unescape(char *name)
{
	char *to = name;

	for (const char *from = name; *from != '\0'; from++) {
		if (from[0] == '~' && from[1] != '\0') {
			from++;
			*to++ = *from == '1' ? '/' : '~';
		} else {
			*to++ = *from;
		}
	}
	*to = '\0';
}

/* Objects only: no wish points into an array. NULL when it is missing. */
static const json_t *
look_up(const json_t *object, const char *pointer)
{
	AUTO(free_ptr) char *copy = xstrdup(pointer + 1);
	char *name, *rest = copy;

	while (object != NULL && (name = strsep(&rest, "/")) != NULL) {
		unescape(name);
		object = json_object_get(object, name);
	}
	return object;
}

static void
add_op(json_t *patch, const char *op, const char *pointer, json_t *value)
{
	json_t *item = json_pack("{s:s, s:s}", "op", op, "path", pointer);

	if (value != NULL)
		json_object_set_new(item, "value", value);
	json_array_append_new(patch, item);
}

static bool
is_fulfilled(const struct wish *wish, const json_t *there)
{
	if (wish->value == NULL)
		return there == NULL;
	return there != NULL && json_equal(there, wish->value);
}

/* Maps that a member goes into have to be there. */
static void
make_parent(json_t *patch, const json_t *object, const char *pointer)
{
	AUTO(free_ptr) char *parent = xstrdup(pointer);
	size_t count = json_array_size(patch);

	*strrchr(parent, '/') = '\0';
	if (parent[0] == '\0' || look_up(object, parent) != NULL)
		return;
	for (size_t i = 0; i < count; i++) {
		const json_t *path =
			json_object_get(json_array_get(patch, i), "path");

		if (str_equal(json_string_value(path), parent))
			return;
	}
	add_op(patch, "add", parent, json_object());
}

/* What was seen and must still be so. */
static void
add_tests(json_t *patch, const struct wishes *wishes, const json_t *object)
{
	bool state = false, conditions = false;

	for (size_t i = 0; i < wishes->count; i++) {
		const struct wish *wish = &wishes->list[i];
		const char *pointer = wish->pointer;

		if (is_fulfilled(wish, look_up(object, pointer)))
			continue;
		state |= str_has_prefix(pointer, STATE);
		conditions |= str_equal(pointer, CONDITIONS);
	}
	if (state)
		add_op(patch, "test", STATE_UID,
		       json_deep_copy(look_up(object, STATE_UID)));
	if (conditions) {
		const json_t *seen = look_up(object, CONDITIONS);

		add_op(patch, "test", CONDITIONS,
		       seen == NULL ? json_null() : json_deep_copy(seen));
	}
	if (wishes->exact)
		add_op(patch, "test", VERSION,
		       json_deep_copy(look_up(object, VERSION)));
}

json_t *
wishes_patch(const struct wishes *wishes, const json_t *object)
{
	json_t *patch = json_array();
	size_t tests;

	add_tests(patch, wishes, object);
	tests = json_array_size(patch);
	for (size_t i = 0; i < wishes->count; i++) {
		const struct wish *wish = &wishes->list[i];

		if (is_fulfilled(wish, look_up(object, wish->pointer)))
			continue;
		if (wish->value == NULL) {
			add_op(patch, "remove", wish->pointer, NULL);
			continue;
		}
		make_parent(patch, object, wish->pointer);
		add_op(patch, "add", wish->pointer, json_incref(wish->value));
	}
	if (json_array_size(patch) > tests)
		return patch;
	json_decref(patch);
	return NULL;
}
