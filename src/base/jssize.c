/* SPDX-License-Identifier: Apache-2.0 */
#include "base/jssize.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/mem.h"

/* A container the walk is in. */
struct frame {
	json_t *value;
	void *iter;   /* of an object: the member that comes next */
	size_t index; /* of an array: the item */
};

struct walk {
	struct frame *frames;
	size_t depth, allocated;
};

static void
enter(struct walk *w, json_t *value)
{
	if (w->depth == w->allocated) {
		w->allocated = w->allocated * 2 + 16;
		w->frames = xrealloc(w->frames,
				     w->allocated * sizeof(w->frames[0]));
	}
	w->frames[w->depth++] = (struct frame){
		.value = value,
		.iter = json_object_iter(value),
	};
}

/* The next value inside the innermost container; NULL at its end. */
static json_t *
next_value(struct frame *frame, struct js_size *size)
{
	json_t *value;

	if (json_is_array(frame->value))
		return json_array_get(frame->value, frame->index++);
	if (frame->iter == NULL)
		return NULL;
	value = json_object_iter_value(frame->iter);
	size->bytes += json_object_iter_key_len(frame->iter);
	frame->iter = json_object_iter_next(frame->value, frame->iter);
	return value;
}

struct js_size
js_size(const json_t *value)
{
	struct js_size size = { .nodes = 0 };
	struct walk w = { .frames = NULL };
	/* Iterators take a value that could be changed; it is not. */
	json_t *at = (json_t *)(uintptr_t)value;

	for (;;) {
		size.nodes++;
		size.bytes += json_string_length(at);
		if (json_is_object(at) || json_is_array(at))
			enter(&w, at);
		if (w.depth > size.depth)
			size.depth = w.depth;
		at = NULL;
		while (w.depth > 0 && at == NULL) {
			at = next_value(&w.frames[w.depth - 1], &size);
			if (at == NULL)
				w.depth--;
		}
		if (at == NULL)
			break;
	}
	free(w.frames);
	return size;
}
