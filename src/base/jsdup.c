/* SPDX-License-Identifier: Apache-2.0 */
#include "base/jsdup.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/js.h"

/* Longer paths are cut where this is reached: each report may be copied. */
#define PATH_MAX_BYTES 16384

/* A container the scan is in. */
struct level {
	json_t *seen; /* the names of an object; NULL in an array */
	size_t index; /* of the item, in an array */
	size_t path;  /* how long the path to the container is */
};

struct scan {
	const char *text;
	size_t len;
	size_t at;
	struct level levels[JS_MAX_DEPTH];
	size_t depth;
	bool expect_name;
	struct buf path; /* to the value that comes next */
};

/* Moves behind the string that starts at s->at. */
static void
skip_string(struct scan *s)
{
	s->at++;
	while (s->text[s->at] != '"')
		s->at += s->text[s->at] == '\\' ? 2 : 1;
	s->at++;
}

/* The same, and returns it without its escapes. */
static json_t *
read_string(struct scan *s)
{
	size_t start = s->at;

	skip_string(s);
	return json_loadb(s->text + start, s->at - start, JSON_DECODE_ANY,
			  NULL);
}

static void
cut_path(struct scan *s, size_t len)
{
	s->path.len = len;
	s->path.data[len] = '\0';
}

static void
enter_item(struct scan *s, struct level *level)
{
	cut_path(s, level->path);
	(void)buf_printf(&s->path, "[%zu]", level->index);
}

static void
push(struct scan *s, bool is_object)
{
	struct level *level = &s->levels[s->depth++];

	assert(s->depth <= JS_MAX_DEPTH);
	*level = (struct level){
		.seen = is_object ? json_object() : NULL,
		.path = s->path.len,
	};
	s->expect_name = is_object;
	if (!is_object)
		enter_item(s, level);
}

static void
pop(struct scan *s)
{
	struct level *level = &s->levels[--s->depth];

	json_decref(level->seen);
	cut_path(s, level->path);
	s->expect_name = false;
}

/* Moves behind a name. Returns whether it is there for the second time. */
static bool
enter_member(struct scan *s, struct level *level)
{
	AUTO(js_unref) json_t *name = read_string(s);
	const char *key = json_string_value(name);
	json_t *before = json_object_get(level->seen, key);

	cut_path(s, level->path);
	(void)buf_printf(&s->path, "%s%s", level->path > 0 ? "." : "", key);
	s->expect_name = false;
	(void)json_object_set_new(level->seen, key,
				  before == NULL ? json_false() : json_true());
	return json_is_false(before);
}

static void
next_item(struct scan *s)
{
	struct level *level = &s->levels[s->depth - 1];

	if (level->seen != NULL) {
		s->expect_name = true;
		return;
	}
	level->index++;
	enter_item(s, level);
}

void
jsdup_find(const char *text, size_t len, size_t max,
	   void (*duplicate)(void *arg, const char *path), void *arg)
{
	struct scan s = { .text = text, .len = len };
	size_t found = 0;

	s.path = BUF_INIT(PATH_MAX_BYTES);
	(void)buf_append_str(&s.path, "");
	while (s.at < s.len && found < max) {
		char c = text[s.at];

		if (c == '"' && s.expect_name) {
			if (enter_member(&s, &s.levels[s.depth - 1])) {
				duplicate(arg, (const char *)s.path.data);
				found++;
			}
			continue;
		}
		if (c == '"') {
			skip_string(&s);
			continue;
		}
		if (c == '{' || c == '[')
			push(&s, c == '{');
		else if (c == '}' || c == ']')
			pop(&s);
		else if (c == ',')
			next_item(&s);
		s.at++;
	}
	while (s.depth > 0)
		pop(&s);
	buf_done(&s.path);
}
