/* SPDX-License-Identifier: Apache-2.0 */
#include "webhook/diff.h"

#include <string.h>

#include "base/buf.h"

struct diff {
	json_t *ops;
	struct buf path; /* of the values being compared */
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
add_op(struct diff *diff, const char *op, const json_t *value)
{
	json_t *item = json_object();
	const char *path =
		diff->path.len == 0 ? "" : (const char *)diff->path.data;

	(void)json_object_set_new(item, "op", json_string(op));
	(void)json_object_set_new(item, "path", json_string(path));
	if (value != NULL)
		(void)json_object_set(item, "value",
				      (json_t *)(uintptr_t)value);
	(void)json_array_append_new(diff->ops, item);
}

static void compare(struct diff *diff, const json_t *before,
		    const json_t *after);

static void
compare_objects(struct diff *diff, const json_t *before, const json_t *after)
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
	json_object_foreach((json_t *)(uintptr_t)after, name, value)
	{
		const json_t *old = json_object_get(before, name);

		append_name(&diff->path, name);
		if (old == NULL)
			add_op(diff, "add", value);
		else
			compare(diff, old, value);
		cut(&diff->path, len);
	}
}

static void
compare_arrays(struct diff *diff, const json_t *before, const json_t *after)
{
	size_t len = diff->path.len, i;
	json_t *value;

	json_array_foreach(after, i, value)
	{
		const json_t *old = json_array_get(before, i);

		(void)buf_printf(&diff->path, "/%zu", i);
		if (old == NULL)
			add_op(diff, "add", value);
		else
			compare(diff, old, value);
		cut(&diff->path, len);
	}
}

static void
compare(struct diff *diff, const json_t *before, const json_t *after)
{
	if (json_equal(before, after))
		return;
	if (json_is_object(before) && json_is_object(after))
		compare_objects(diff, before, after);
	else if (json_is_array(before) && json_is_array(after) &&
		 json_array_size(before) <= json_array_size(after))
		compare_arrays(diff, before, after);
	else
		add_op(diff, "replace", after);
}

json_t *
diff_patch(const json_t *before, const json_t *after)
{
	struct diff diff = { .ops = json_array(),
			     .path = BUF_INIT(BUF_UNLIMITED) };

	compare(&diff, before, after);
	buf_done(&diff.path);
	return diff.ops;
}
