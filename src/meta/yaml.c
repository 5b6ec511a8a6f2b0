/* SPDX-License-Identifier: Apache-2.0 */
#include "meta/yaml.h"

#include <yaml.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jswrite.h"
#include "base/map.h"
#include "base/mem.h"
#include "meta/yaml_scalar.h"

#define MAX_ANCHORS 10000
#define PATH_MAX_BYTES 16384

/* How much there is of a value, so that an alias can be refused in time. */
struct size {
	size_t nodes;
	size_t bytes;
	size_t depth; /* 0 for a scalar */
};

struct anchor {
	struct map_node node;
	char *name;
	json_t *value; /* NULL while it is being read: it contains itself */
	struct size size;
};

/* A container that is being read. */
struct frame {
	json_t *value;
	json_t *explicit; /* of an object: the keys that were not merged in */
	char *key;        /* of the member that comes next; NULL: a key comes */
	bool merge;       /* the value that comes next is of << */
	struct anchor *anchor;
	struct size before;
	size_t depth; /* of what it contains */
};

struct yaml_docs {
	yaml_parser_t parser;
	bool ended;
	struct map anchors;
	struct frame frames[JS_MAX_DEPTH];
	size_t depth;
	struct size total;   /* what was read, with what aliases stand for */
	struct size aliased; /* the latter alone */
	json_t *root;
	void (*duplicate)(void *arg, const char *path);
	void *arg;
};

static int
fail(struct err *err, const char *what)
{
	return err_set(err, ERR_INVALID,
		       "error converting YAML to JSON: yaml: %s", what);
}

static int
syntax_error(const yaml_parser_t *parser, struct err *err)
{
	size_t line = parser->problem_mark.line;
	const char *problem = parser->problem != NULL
				      ? parser->problem
				      : "unknown problem parsing YAML content";

	/* Counted as kubectl does. */
	if (line != 0 && parser->error == YAML_SCANNER_ERROR)
		line++;
	else if (line == 0)
		line = parser->context_mark.line;
	if (line == 0)
		return fail(err, problem);
	return err_set(err, ERR_INVALID,
		       "error converting YAML to JSON: yaml: line %zu: %s",
		       line, problem);
}

static void
frame_done(struct frame *frame)
{
	json_decref(frame->value);
	json_decref(frame->explicit);
	free(frame->key);
}

/* Forgets the document that is being read. */
static void
forget(struct yaml_docs *docs)
{
	struct map_node *node = map_next(&docs->anchors, NULL);

	while (node != NULL) {
		struct anchor *anchor = MAP_ENTRY(node, struct anchor, node);

		node = map_next(&docs->anchors, node);
		map_remove(&docs->anchors, &anchor->node);
		json_decref(anchor->value);
		free(anchor->name);
		free(anchor);
	}
	while (docs->depth > 0)
		frame_done(&docs->frames[--docs->depth]);
	docs->total = (struct size){ 0 };
	docs->aliased = (struct size){ 0 };
	json_decref(docs->root);
	docs->root = NULL;
}

static void
count(struct yaml_docs *docs, size_t nodes, size_t bytes)
{
	docs->total.nodes += nodes;
	docs->total.bytes += bytes;
}

static void
report(const struct yaml_docs *docs)
{
	AUTO(buf_done) struct buf path = BUF_INIT(PATH_MAX_BYTES);

	if (docs->duplicate == NULL)
		return;
	(void)buf_append_str(&path, "");
	for (size_t i = 0; i < docs->depth; i++) {
		const struct frame *frame = &docs->frames[i];

		if (json_is_array(frame->value))
			(void)buf_printf(&path, "[%zu]",
					 json_array_size(frame->value));
		else
			(void)buf_printf(&path, "%s%s", path.len > 0 ? "." : "",
					 frame->key);
	}
	docs->duplicate(docs->arg, (const char *)path.data);
}

/* Members of merged that the object does not have. */
static void
merge_one(const struct frame *frame, json_t *merged)
{
	const char *key;
	json_t *value;

	json_object_foreach(merged, key, value)
	{
		if (json_object_get(frame->value, key) == NULL)
			(void)json_object_set(frame->value, key, value);
	}
}

static int
merge(const struct frame *frame, json_t *merged, struct err *err)
{
	size_t i;
	json_t *item;

	if (json_is_object(merged)) {
		merge_one(frame, merged);
		return 0;
	}
	json_array_foreach(merged, i, item)
	{
		if (!json_is_object(item))
			break;
		merge_one(frame, item);
	}
	if (!json_is_array(merged) || i < json_array_size(merged))
		return fail(err, "map merge requires map or sequence of maps "
				 "as the value");
	return 0;
}

/* The text of a key: scalars only, and no null. */
static char *
key_text(const json_t *key, struct err *err)
{
	char number[JS_NUMBER_SIZE];

	if (json_is_string(key))
		return xstrdup(json_string_value(key));
	if (json_is_integer(key))
		return xasprintf("%lld", json_integer_value(key));
	if (json_is_real(key))
		return xstrdup(js_number_text(json_real_value(key), number));
	if (json_is_boolean(key))
		return xstrdup(json_is_true(key) ? "true" : "false");
	(void)err_set(err, ERR_INVALID,
		      "error converting YAML to JSON: unsupported map key");
	return NULL;
}

static int
set_member(struct yaml_docs *docs, struct frame *frame, json_t *value,
	   struct err *err)
{
	int result = 0;

	if (frame->merge) {
		result = merge(frame, value, err);
	} else {
		if (json_object_get(frame->explicit, frame->key) != NULL)
			report(docs);
		(void)json_object_set(frame->value, frame->key, value);
		(void)json_object_set_new(frame->explicit, frame->key,
					  json_true());
	}
	frame->merge = false;
	free(frame->key);
	frame->key = NULL;
	return result;
}

/* Takes value and puts it where it belongs; depth is its own. */
static int
put(struct yaml_docs *docs, json_t *value, size_t depth, struct err *err)
{
	AUTO(js_unref) json_t *owned = value;
	struct frame *frame;

	if (docs->depth == 0) {
		docs->root = TAKE_PTR(owned);
		return 0;
	}
	frame = &docs->frames[docs->depth - 1];
	if (docs->depth + depth > JS_MAX_DEPTH)
		return fail(err, "document is nested too deep");
	if (depth > frame->depth)
		frame->depth = depth;
	if (json_is_array(frame->value)) {
		(void)json_array_append(frame->value, value);
		return 0;
	}
	if (frame->key != NULL)
		return set_member(docs, frame, value, err);
	frame->key = key_text(value, err);
	return frame->key == NULL ? -1 : 0;
}

static int
new_anchor(struct yaml_docs *docs, const yaml_char_t *name,
	   struct anchor **ret_anchor, struct err *err)
{
	struct map_node *node;
	struct anchor *anchor;

	*ret_anchor = NULL;
	if (name == NULL)
		return 0;
	node = map_get(&docs->anchors, (const char *)name);
	if (node != NULL) {
		anchor = MAP_ENTRY(node, struct anchor, node);
		json_decref(anchor->value);
		anchor->value = NULL;
		*ret_anchor = anchor;
		return 0;
	}
	if (docs->anchors.count >= MAX_ANCHORS)
		return fail(err, "document contains too many anchors");
	anchor = xmalloc0(sizeof(*anchor));
	anchor->name = xstrdup((const char *)name);
	map_put(&docs->anchors, &anchor->node, anchor->name);
	*ret_anchor = anchor;
	return 0;
}

static json_t *
scalar_value(const yaml_event_t *event, struct err *err)
{
	const char *text = (const char *)event->data.scalar.value;
	const char *tag = (const char *)event->data.scalar.tag;

	if (strlen(text) != event->data.scalar.length) {
		(void)fail(err, "control characters are not allowed");
		return NULL;
	}
	if (tag != NULL && strcmp(tag, "!") != 0)
		return yaml_scalar_tagged(tag, text, err);
	if (event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE || tag != NULL)
		return json_string(text);
	return yaml_scalar_plain(text, err);
}

static bool
is_merge_key(const struct yaml_docs *docs, const yaml_event_t *event)
{
	const struct frame *frame;

	if (docs->depth == 0 ||
	    event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE ||
	    event->data.scalar.tag != NULL)
		return false;
	frame = &docs->frames[docs->depth - 1];
	return json_is_object(frame->value) && frame->key == NULL &&
	       strcmp((const char *)event->data.scalar.value, "<<") == 0;
}

static int
on_scalar(struct yaml_docs *docs, const yaml_event_t *event, struct err *err)
{
	struct anchor *anchor;
	json_t *value;

	count(docs, 1, event->data.scalar.length);
	if (new_anchor(docs, event->data.scalar.anchor, &anchor, err) == -1)
		return -1;
	if (is_merge_key(docs, event)) {
		docs->frames[docs->depth - 1].merge = true;
		docs->frames[docs->depth - 1].key = xstrdup("<<");
		return 0;
	}
	value = scalar_value(event, err);
	if (value == NULL)
		return -1;
	if (anchor != NULL) {
		anchor->value = json_incref(value);
		anchor->size = (struct size){
			.nodes = 1,
			.bytes = event->data.scalar.length,
		};
	}
	return put(docs, value, 0, err);
}

static int
on_open(struct yaml_docs *docs, json_t *value, const yaml_char_t *anchor,
	struct err *err)
{
	AUTO(js_unref) json_t *owned = value;
	struct frame *frame;

	if (docs->depth == JS_MAX_DEPTH)
		return fail(err, "document is nested too deep");
	frame = &docs->frames[docs->depth];
	*frame = (struct frame){ .before = docs->total };
	if (new_anchor(docs, anchor, &frame->anchor, err) == -1)
		return -1;
	frame->value = TAKE_PTR(owned);
	if (json_is_object(frame->value))
		frame->explicit = json_object();
	docs->depth++;
	count(docs, 1, 0);
	return 0;
}

static int
on_close(struct yaml_docs *docs, struct err *err)
{
	struct frame frame = docs->frames[--docs->depth];
	json_t *value = json_incref(frame.value);

	if (frame.anchor != NULL && frame.anchor->value == NULL) {
		frame.anchor->value = json_incref(value);
		frame.anchor->size = (struct size){
			.nodes = docs->total.nodes - frame.before.nodes,
			.bytes = docs->total.bytes - frame.before.bytes,
			.depth = frame.depth + 1,
		};
	}
	frame_done(&frame);
	return put(docs, value, frame.depth + 1, err);
}

static int
on_alias(struct yaml_docs *docs, const yaml_event_t *event, struct err *err)
{
	const char *name = (const char *)event->data.alias.anchor;
	struct map_node *node = map_get(&docs->anchors, name);
	struct anchor *anchor;

	if (node == NULL)
		return err_set(err, ERR_INVALID,
			       "error converting YAML to JSON: yaml: unknown "
			       "anchor '%s' referenced",
			       name);
	anchor = MAP_ENTRY(node, struct anchor, node);
	if (anchor->value == NULL)
		return err_set(err, ERR_INVALID,
			       "error converting YAML to JSON: yaml: anchor "
			       "'%s' value contains itself",
			       name);
	/* Known before the copy is made. */
	docs->aliased.nodes += anchor->size.nodes;
	docs->aliased.bytes += anchor->size.bytes;
	if (docs->aliased.nodes > YAML_MAX_ALIASED ||
	    docs->aliased.bytes > YAML_MAX_ALIASED_BYTES)
		return fail(err, "document contains excessive aliasing");
	count(docs, anchor->size.nodes, anchor->size.bytes);
	return put(docs, json_deep_copy(anchor->value), anchor->size.depth,
		   err);
}

static int
on_event(struct yaml_docs *docs, const yaml_event_t *event, struct err *err)
{
	switch (event->type) {
	case YAML_SCALAR_EVENT:
		return on_scalar(docs, event, err);
	case YAML_ALIAS_EVENT:
		return on_alias(docs, event, err);
	case YAML_MAPPING_START_EVENT:
		return on_open(docs, json_object(),
			       event->data.mapping_start.anchor, err);
	case YAML_SEQUENCE_START_EVENT:
		return on_open(docs, json_array(),
			       event->data.sequence_start.anchor, err);
	case YAML_MAPPING_END_EVENT:
	case YAML_SEQUENCE_END_EVENT:
		return on_close(docs, err);
	case YAML_NO_EVENT:
	case YAML_STREAM_START_EVENT:
	case YAML_STREAM_END_EVENT:
	case YAML_DOCUMENT_START_EVENT:
	case YAML_DOCUMENT_END_EVENT:
		break;
	}
	return 0;
}

struct yaml_docs *
yaml_docs_new(const char *text, size_t len)
{
	struct yaml_docs *docs = xmalloc0(sizeof(*docs));

	/* Fails for want of memory only. */
	if (yaml_parser_initialize(&docs->parser) == 0)
		abort();
	yaml_parser_set_input_string(&docs->parser, (const unsigned char *)text,
				     len);
	return docs;
}

int
yaml_docs_next(struct yaml_docs *docs, json_t **ret_doc, struct err *err)
{
	while (!docs->ended) {
		yaml_event_t event;
		bool document_ended;
		int result;

		if (yaml_parser_parse(&docs->parser, &event) == 0) {
			docs->ended = true;
			return syntax_error(&docs->parser, err);
		}
		document_ended = event.type == YAML_DOCUMENT_END_EVENT;
		docs->ended = event.type == YAML_STREAM_END_EVENT;
		result = on_event(docs, &event, err);
		yaml_event_delete(&event);
		if (result == -1) {
			docs->ended = true;
			return -1;
		}
		if (document_ended) {
			*ret_doc = TAKE_PTR(docs->root);
			forget(docs);
			return 1;
		}
	}
	return 0;
}

void
yaml_docs_free(struct yaml_docs *docs)
{
	if (docs == NULL)
		return;
	forget(docs);
	map_done(&docs->anchors);
	yaml_parser_delete(&docs->parser);
	free(docs);
}

void
yaml_docs_unref(struct yaml_docs **pointer)
{
	yaml_docs_free(*pointer);
	*pointer = NULL;
}

json_t *
yaml_to_json_strict(const char *text, size_t len,
		    void (*duplicate)(void *arg, const char *path), void *arg,
		    struct err *err)
{
	AUTO(yaml_docs_unref) struct yaml_docs *docs = yaml_docs_new(text, len);
	json_t *doc = NULL;

	docs->duplicate = duplicate;
	docs->arg = arg;
	switch (yaml_docs_next(docs, &doc, err)) {
	case 1:
		return doc;
	case 0:
		return json_null();
	default:
		return NULL;
	}
}

json_t *
yaml_to_json(const char *text, size_t len, struct err *err)
{
	return yaml_to_json_strict(text, len, NULL, NULL, err);
}
