/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/store/teststore.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/loop.h"
#include "base/mem.h"
#include "base/scan.h"
#include "base/test.h"

int
world_set_up(void **state)
{
	struct world *w = xmalloc0(sizeof(*w));

	(void)snprintf(w->dir, sizeof(w->dir), "/tmp/store-test-XXXXXX");
	assert_non_null(mkdtemp(w->dir));
	w->loop = loop_new();
	w->config.dir = w->dir;
	w->config.loop = w->loop;
	world_open(w);
	*state = w;
	return 0;
}

int
world_tear_down(void **state)
{
	struct world *w = *state;
	struct dirent *entry;
	DIR *dir;

	world_close(w);
	loop_free(w->loop);
	dir = opendir(w->dir);
	assert_non_null(dir);
	while ((entry = readdir(dir)) != NULL)
		(void)unlink(world_path(w, entry->d_name));
	(void)closedir(dir);
	(void)rmdir(w->dir);
	free(w);
	return 0;
}

void
world_open(struct world *w)
{
	struct err err;

	w->store = store_open(&w->config, &err);
	if (w->store == NULL)
		fail_msg("%s", err.text);
	w->pods = store_collection(w->store, "", "pods");
	w->nodes = store_collection(w->store, "", "nodes");
}

void
world_close(struct world *w)
{
	store_close(w->store);
	w->store = NULL;
}

void
world_reopen(struct world *w)
{
	world_close(w);
	world_open(w);
}

const char *
world_path(const struct world *w, const char *name)
{
	static char path[512];

	(void)snprintf(path, sizeof(path), "%s/%s", w->dir, name);
	return path;
}

struct object *
world_object(const struct world *w, struct collection *c, const char *ns,
	     const char *name, const char *value)
{
	uint64_t rv = store_next_rv(w->store);
	char *text = xasprintf(
		"{\"apiVersion\":\"v1\",\"kind\":\"Thing\",\"metadata\":{"
		"\"name\":\"%s\",\"namespace\":\"%s\",\"resourceVersion\":"
		"\"%" PRIu64 "\",\"uid\":\"uid-%s-%s\",\"labels\":{\"end\":"
		"\"%s\",\"name\":\"%s\"}},\"spec\":{\"value\":\"%s\"}}",
		name, ns, rv, ns, name,
		*value == '\0' ? "" : value + strlen(value) - 1, name, value);
	struct object *object = object_new(c, rv, text, strlen(text));

	assert_non_null(object);
	return object;
}

void
world_put(struct world *w, struct collection *c, const char *ns,
	  const char *name, const char *value)
{
	store_put(c, world_object(w, c, ns, name, value));
}

void
world_remove(struct world *w, struct collection *c, const char *ns,
	     const char *name)
{
	store_remove(c, world_object(w, c, ns, name, "removed"));
}

static void
note_durable(const struct err *err, void *arg)
{
	struct world *w = arg;

	w->result = err != NULL ? -1 : 0;
	if (err != NULL)
		w->err = *err;
	loop_stop(w->loop);
}

int
world_settle(struct world *w)
{
	w->result = 1;
	store_when_durable(w->store, note_durable, w);
	/* Also when it was called at once: the loop then ends at once. */
	loop_run(w->loop);
	assert_int_not_equal(w->result, 1);
	return w->result;
}

static struct span
value_of(const struct object *object)
{
	struct span text = { .text = object->text, .len = object->len };
	struct span spec, value;

	assert_true(scan_member(text, "spec", &spec));
	assert_true(scan_member(spec, "value", &value));
	return (struct span){ .text = value.text + 1, .len = value.len - 2 };
}

void
assert_value(const struct object *object, const char *value)
{
	struct span found;

	if (value == NULL) {
		assert_null(object);
		return;
	}
	assert_non_null(object);
	found = value_of(object);
	assert_int_equal(found.len, strlen(value));
	assert_memory_equal(found.text, value, found.len);
}

void
assert_list(struct object **objects, size_t count, const char *text)
{
	struct buf buf = BUF_INIT(1 << 20);

	assert_int_equal(buf_append_str(&buf, ""), 0);
	for (size_t i = 0; i < count; i++) {
		char *key = object_key(objects[i]);
		struct span value = value_of(objects[i]);

		assert_int_equal(buf_printf(&buf, "%s%s=%.*s", i > 0 ? " " : "",
					    key, (int)value.len, value.text),
				 0);
		free(key);
	}
	assert_string_equal(buf.data != NULL ? (char *)buf.data : "", text);
	buf_done(&buf);
	objects_unref(objects, count);
}

void
tape_event(const struct event *event, void *arg)
{
	static const char *const names[] = {
		[EVENT_ADDED] = "ADDED",
		[EVENT_MODIFIED] = "MODIFIED",
		[EVENT_DELETED] = "DELETED",
	};
	struct span value = value_of(event->object);
	char *key = object_key(event->object);
	struct tape *tape = arg;

	assert_int_equal(event->rv, event->object->rv);
	assert_int_equal(event->old == NULL, event->type == EVENT_ADDED);
	(void)buf_printf(&tape->buf, "%s %s=%.*s@%" PRIu64, names[event->type],
			 key, (int)value.len, value.text, event->rv);
	if (event->old != NULL) {
		struct span old = value_of(event->old);

		(void)buf_printf(&tape->buf, "(%.*s)", (int)old.len, old.text);
	}
	(void)buf_append_str(&tape->buf, " ");
	free(key);
}

void
assert_tape(struct tape *tape, const char *text)
{
	assert_string_equal(
		tape->buf.data != NULL ? (char *)tape->buf.data : "", text);
	buf_done(&tape->buf);
}

struct subscription *
world_subscribe(struct world *w, struct collection *c, uint64_t after_rv,
		struct tape *tape)
{
	struct subscription *subscription;
	bool too_old = true;

	subscription =
		subscribe(w->store, c, after_rv, tape_event, tape, &too_old);
	assert_non_null(subscription);
	assert_false(too_old);
	return subscription;
}

uint32_t
world_random(uint32_t *seed, uint32_t limit)
{
	*seed = *seed * 1664525 + 1013904223;
	return (*seed >> 8) % limit;
}
