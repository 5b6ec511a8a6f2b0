/* SPDX-License-Identifier: Apache-2.0 */
#include "meta/yaml.h"

#include <yaml.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/jswrite.h"
#include "meta/yaml_scalar.h"

/* The library recurses nowhere, and fails only for want of memory or by a
 * mistake in the order of events. */
static void
emit(yaml_emitter_t *emitter, yaml_event_t *event, int made)
{
	if (made == 0 || yaml_emitter_emit(emitter, event) == 0)
		abort();
}

static int
append(void *arg, unsigned char *data, size_t len)
{
	return buf_append(arg, data, len) == 0 ? 1 : 0;
}

static void
emit_scalar(yaml_emitter_t *emitter, const char *text, size_t len,
	    yaml_scalar_style_t style)
{
	yaml_event_t event;

	emit(emitter, &event,
	     yaml_scalar_event_initialize(&event, NULL, NULL,
					  (const yaml_char_t *)text, (int)len,
					  1, 1, style));
}

/* Line ends other than \n, which only double quotes keep apart. */
static bool
has_other_line_end(const char *text)
{
	return strchr(text, '\r') != NULL || strstr(text, "\xc2\x85") != NULL ||
	       strstr(text, "\xe2\x80\xa8") != NULL ||
	       strstr(text, "\xe2\x80\xa9") != NULL;
}

/* The emitter itself adds quotes where the syntax needs them; here it is about
 * what the text would mean without. */
static void
emit_string(yaml_emitter_t *emitter, const char *text, size_t len)
{
	yaml_scalar_style_t style = YAML_PLAIN_SCALAR_STYLE;

	if (yaml_scalar_needs_quotes(text) || has_other_line_end(text))
		style = YAML_DOUBLE_QUOTED_SCALAR_STYLE;
	else if (strchr(text, '\n') != NULL)
		style = YAML_LITERAL_SCALAR_STYLE;
	emit_scalar(emitter, text, len, style);
}

static void
on_open(void *arg, const json_t *container)
{
	yaml_event_t event;

	if (json_is_object(container))
		emit(arg, &event,
		     yaml_mapping_start_event_initialize(
			     &event, NULL, NULL, 1, YAML_BLOCK_MAPPING_STYLE));
	else
		emit(arg, &event,
		     yaml_sequence_start_event_initialize(
			     &event, NULL, NULL, 1, YAML_BLOCK_SEQUENCE_STYLE));
}

static void
on_close(void *arg, const json_t *container)
{
	yaml_event_t event;

	emit(arg, &event,
	     json_is_object(container)
		     ? yaml_mapping_end_event_initialize(&event)
		     : yaml_sequence_end_event_initialize(&event));
}

static void
on_member(void *arg, const char *key, size_t n)
{
	(void)n;
	emit_string(arg, key, strlen(key));
}

static void
on_item(void *arg, size_t n)
{
	(void)arg;
	(void)n;
}

static void
on_scalar(void *arg, const json_t *value)
{
	struct buf text = BUF_INIT(BUF_UNLIMITED);

	if (json_is_string(value)) {
		emit_string(arg, json_string_value(value),
			    json_string_length(value));
		return;
	}
	js_write(&text, value, &js_style_json);
	emit_scalar(arg, (const char *)text.data, text.len,
		    YAML_PLAIN_SCALAR_STYLE);
	buf_done(&text);
}

char *
yaml_from_json(const json_t *value)
{
	static const struct js_visitor visitor = {
		.open = on_open,
		.member = on_member,
		.item = on_item,
		.scalar = on_scalar,
		.close = on_close,
	};
	struct buf text = BUF_INIT(BUF_UNLIMITED);
	yaml_emitter_t emitter;
	yaml_event_t event;

	if (yaml_emitter_initialize(&emitter) == 0)
		abort();
	yaml_emitter_set_output(&emitter, append, &text);
	yaml_emitter_set_unicode(&emitter, 1);
	yaml_emitter_set_width(&emitter, -1);
	emit(&emitter, &event,
	     yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING));
	emit(&emitter, &event,
	     yaml_document_start_event_initialize(&event, NULL, NULL, NULL, 1));
	js_walk(value, &visitor, &emitter);
	emit(&emitter, &event, yaml_document_end_event_initialize(&event, 1));
	emit(&emitter, &event, yaml_stream_end_event_initialize(&event));
	yaml_emitter_delete(&emitter);
	return (char *)text.data;
}
