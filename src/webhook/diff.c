/* SPDX-License-Identifier: Apache-2.0 */
#include "webhook/diff.h"

#include <string.h>

#include "base/buf.h"

/* Deeper differences are replaced as a whole. */
#define DEPTH_MAX (2 * JS_MAX_DEPTH)

/* Two containers of the same kind, and how far they have been compared. */
struct frame {
	const json_t *before, *after;
	void *member; /* of after, the next one; NULL: no more */
	size_t item;  /* likewise, of lists */
	size_t len;   /* of the path to them */
};

struct diff {
	json_t *ops;
	struct buf path; /* of what is being compared */
	struct frame stack[DEPTH_MAX];
	size_t depth;
};

/* RFC 6901: ~ and / have another spelling in a name. */
static void
append_name(struct buf *path, const char *name)
{
	(void)buf_append_str(path, "/");
	for (; *name != '\0'; name++) {
		if (*name == '~')
			(void)buf_append_str(path, "~0");
		else if (*name == '/')
			(void)buf_append_str(path, "~1");
		else
			(void)buf_append(path, name, 1);
	}
}

/* Back to the length it had. */
static void
cut(struct buf *path, size_t len)
{
	path->len = len;
	if (path->data != NULL)
		path->data[len] = '\0';
}

static void
add_op(struct diff *diff, const char *op, json_t *value)
{
	json_t *item = json_object();
	const char *path =
		diff->path.len == 0 ? "" : (const char *)diff->path.data;

	(void)json_object_set_new(item, "op", json_string(op));
	(void)json_object_set_new(item, "path", json_string(path));
	if (value != NULL)
		(void)json_object_set(item, "value", value);
	(void)json_array_append_new(diff->ops, item);
}

static void
remove_missing(struct diff *diff, const json_t *before, const json_t *after)
{
	size_t len = diff->path.len;
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)(uintptr_t)before, name, value)
	{
		if (json_object_get(after, name) != NULL)
			continue;
		append_name(&diff->path, name);
		add_op(diff, "remove", NULL);
		cut(&diff->path, len);
	}
}

/* Whether the difference is to be looked for inside. */
static bool
is_gone_into(const struct diff *diff, const json_t *before, const json_t *after)
{
	if (diff->depth == DEPTH_MAX)
		return false;
	if (json_is_object(before))
		return json_is_object(after);
	return json_is_array(before) && json_is_array(after) &&
	       json_array_size(before) <= json_array_size(after);
}

/* before is NULL for what is new. The path is that of both. */
static void
compare(struct diff *diff, const json_t *before, json_t *after)
{
	if (before == NULL) {
		add_op(diff, "add", after);
	} else if (json_equal(before, after)) {
		return;
	} else if (is_gone_into(diff, before, after)) {
		if (json_is_object(before))
			remove_missing(diff, before, after);
		diff->stack[diff->depth++] = (struct frame){
			.before = before,
			.after = after,
			.member = json_object_iter(after),
			.len = diff->path.len,
		};
	} else {
		add_op(diff, "replace", after);
	}
}

/* Compares what comes next in the innermost containers; false when there is
 * nothing more in them. */
static bool
compare_next(struct diff *diff, struct frame *frame)
{
	const json_t *before;
	json_t *after;

	cut(&diff->path, frame->len);
	if (frame->member != NULL) {
		const char *name = json_object_iter_key(frame->member);

		before = json_object_get(frame->before, name);
		after = json_object_iter_value(frame->member);
		append_name(&diff->path, name);
		frame->member = json_object_iter_next(
			(json_t *)(uintptr_t)frame->after, frame->member);
	} else if (frame->item < json_array_size(frame->after)) {
		before = json_array_get(frame->before, frame->item);
		after = json_array_get(frame->after, frame->item);
		(void)buf_printf(&diff->path, "/%zu", frame->item++);
	} else {
		return false;
	}
	compare(diff, before, after);
	return true;
}

json_t *
diff_patch(const json_t *before, json_t *after)
{
	struct diff diff = { .ops = json_array(),
			     .path = BUF_INIT(BUF_UNLIMITED) };

	compare(&diff, before, after);
	while (diff.depth > 0) {
		size_t depth = diff.depth;

		if (!compare_next(&diff, &diff.stack[depth - 1]))
			diff.depth = depth - 1;
	}
	buf_done(&diff.path);
	return diff.ops;
}
