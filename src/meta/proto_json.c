/* SPDX-License-Identifier: Apache-2.0 */
#include "meta/proto_json.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/base64.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/str.h"
#include "meta/proto/authorization.pb-c.h"
#include "meta/proto/meta.pb-c.h"
#include "meta/status.h"
#include "meta/time.h"

/* No message contains itself, and the deepest kind, Pod, needs half of it. */
#define DEPTH_MAX 24

/* The years 0 to 9999, which are those that RFC 3339 can write. */
#define SECONDS_MIN INT64_C(-62167219200)
#define SECONDS_MAX INT64_C(253402300799)
#define NS_PER_SECOND 1000000000
#define NS_PER_US 1000

struct conversion {
	unsigned depth;
	struct status *st;
};

static json_t *convert_message(struct conversion *c,
			       const ProtobufCMessage *message);

/* A value inside of a message: where it lies, and whether it was sent. */
struct slot {
	const ProtobufCFieldDescriptor *field;
	const void *value;
	bool present;
	size_t count; /* of a repeated one */
};

static struct slot
slot_of(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field)
{
	const char *base = (const char *)message;
	struct slot slot = { .field = field, .value = base + field->offset };
	const void *quantifier = base + field->quantifier_offset;

	if (field->label == PROTOBUF_C_LABEL_REPEATED) {
		slot.count = *(const size_t *)quantifier;
		slot.present = slot.count > 0;
	} else if (field->type == PROTOBUF_C_TYPE_STRING ||
		   field->type == PROTOBUF_C_TYPE_MESSAGE) {
		const void *p = *(const void *const *)slot.value;

		slot.present = p != NULL && p != field->default_value;
	} else {
		slot.present = *(const protobuf_c_boolean *)quantifier != 0;
	}
	return slot;
}

static json_t *
not_utf8(const struct conversion *c, const ProtobufCFieldDescriptor *field)
{
	(void)status_bad_request(c->st, "the text of field '%s' is not UTF-8",
				 field->name);
	return NULL;
}

static json_t *
convert_bytes(const ProtobufCBinaryData *data)
{
	AUTO(free_ptr)
	char *text = base64_encode(BASE64_STD, data->data, data->len);

	return json_string_nocheck(text);
}

/* NOLINTBEGIN(misc-no-recursion): as deep as messages lie in messages, which is
 * below DEPTH_MAX. */

/* One value of a field: the only one, or one of a repeated field's. */
static json_t *
convert_value(struct conversion *c, const ProtobufCFieldDescriptor *field,
	      const void *value)
{
	json_t *text;

	switch (field->type) {
	case PROTOBUF_C_TYPE_INT32:
		return json_integer(*(const int32_t *)value);
	case PROTOBUF_C_TYPE_INT64:
		return json_integer(*(const int64_t *)value);
	case PROTOBUF_C_TYPE_BOOL:
		return json_boolean(*(const protobuf_c_boolean *)value != 0);
	case PROTOBUF_C_TYPE_STRING:
		text = json_string(*(const char *const *)value);
		return text != NULL ? text : not_utf8(c, field);
	case PROTOBUF_C_TYPE_BYTES:
		return convert_bytes(value);
	case PROTOBUF_C_TYPE_MESSAGE:
		return convert_message(c,
				       *(const ProtobufCMessage *const *)value);
	case PROTOBUF_C_TYPE_SINT32:
	case PROTOBUF_C_TYPE_SFIXED32:
	case PROTOBUF_C_TYPE_SINT64:
	case PROTOBUF_C_TYPE_SFIXED64:
	case PROTOBUF_C_TYPE_UINT32:
	case PROTOBUF_C_TYPE_FIXED32:
	case PROTOBUF_C_TYPE_UINT64:
	case PROTOBUF_C_TYPE_FIXED64:
	case PROTOBUF_C_TYPE_FLOAT:
	case PROTOBUF_C_TYPE_DOUBLE:
	case PROTOBUF_C_TYPE_ENUM:
		break;
	}
	assert(!"a type of field that no .proto file has");
	return NULL;
}

/* How far apart the values of a repeated field lie. */
static size_t
stride_of(const ProtobufCFieldDescriptor *field)
{
	switch ((unsigned)field->type) {
	case PROTOBUF_C_TYPE_INT32:
		return sizeof(int32_t);
	case PROTOBUF_C_TYPE_INT64:
		return sizeof(int64_t);
	case PROTOBUF_C_TYPE_BOOL:
		return sizeof(protobuf_c_boolean);
	case PROTOBUF_C_TYPE_BYTES:
		return sizeof(ProtobufCBinaryData);
	default:
		return sizeof(void *);
	}
}

static json_t *
convert_list(struct conversion *c, const struct slot *slot)
{
	AUTO(js_unref) json_t *list = json_array();
	const char *values = *(const char *const *)slot->value;
	size_t stride = stride_of(slot->field);

	for (size_t i = 0; i < slot->count; i++) {
		json_t *item =
			convert_value(c, slot->field, values + i * stride);

		if (item == NULL)
			return NULL;
		(void)json_array_append_new(list, item);
	}
	return TAKE_PTR(list);
}

/* The language has no maps on the wire: they are lists of pairs. */
static bool
is_map(const ProtobufCFieldDescriptor *field)
{
	const ProtobufCMessageDescriptor *entry = field->descriptor;

	return field->label == PROTOBUF_C_LABEL_REPEATED &&
	       field->type == PROTOBUF_C_TYPE_MESSAGE && entry->n_fields == 2 &&
	       str_equal(entry->fields[0].name, "key") &&
	       str_equal(entry->fields[1].name, "value");
}

static json_t *
convert_entry_value(struct conversion *c, const struct slot *value)
{
	if (value->present)
		return convert_value(c, value->field, value->value);
	if (value->field->type != PROTOBUF_C_TYPE_MESSAGE)
		return json_string_nocheck("");
	(void)status_bad_request(c->st, "an entry of a map has no value");
	return NULL;
}

static json_t *
convert_map(struct conversion *c, const struct slot *slot)
{
	AUTO(js_unref) json_t *map = json_object();
	ProtobufCMessage *const *entries =
		*(ProtobufCMessage *const *const *)slot->value;

	for (size_t i = 0; i < slot->count; i++) {
		const ProtobufCFieldDescriptor *fields =
			entries[i]->descriptor->fields;
		struct slot key = slot_of(entries[i], &fields[0]);
		struct slot value = slot_of(entries[i], &fields[1]);
		json_t *item = convert_entry_value(c, &value);

		if (item == NULL)
			return NULL;
		if (json_object_set_new(
			    map,
			    key.present ? *(const char *const *)key.value : "",
			    item) == -1)
			return not_utf8(c, slot->field);
	}
	return TAKE_PTR(map);
}

/* Whether JSON leaves the value out, as told by a default in the .proto. */
static bool
is_left_out(const struct slot *slot)
{
	const ProtobufCFieldDescriptor *field = slot->field;

	if (!slot->present)
		return true;
	if (field->default_value == NULL ||
	    field->label == PROTOBUF_C_LABEL_REPEATED)
		return false;
	switch ((unsigned)field->type) {
	case PROTOBUF_C_TYPE_INT32:
		return *(const int32_t *)slot->value == 0;
	case PROTOBUF_C_TYPE_INT64:
		return *(const int64_t *)slot->value == 0;
	case PROTOBUF_C_TYPE_BOOL:
		return *(const protobuf_c_boolean *)slot->value == 0;
	case PROTOBUF_C_TYPE_STRING:
		return **(const char *const *)slot->value == '\0';
	case PROTOBUF_C_TYPE_BYTES:
		return ((const ProtobufCBinaryData *)slot->value)->len == 0;
	default:
		return false;
	}
}

static int
convert_field(struct conversion *c, const struct slot *slot, json_t *obj)
{
	json_t *value;

	if (is_left_out(slot))
		return 0;
	if (is_map(slot->field))
		value = convert_map(c, slot);
	else if (slot->field->label == PROTOBUF_C_LABEL_REPEATED)
		value = convert_list(c, slot);
	else
		value = convert_value(c, slot->field, slot->value);
	if (value == NULL)
		return -1;

	if (str_equal(slot->field->name, "inline")) {
		(void)json_object_update(obj, value);
		json_decref(value);
		return 0;
	}
	(void)json_object_set_new_nocheck(obj, slot->field->name, value);
	return 0;
}

static json_t *
convert_fields(struct conversion *c, const ProtobufCMessage *message)
{
	AUTO(js_unref) json_t *obj = json_object();

	for (unsigned i = 0; i < message->descriptor->n_fields; i++) {
		struct slot slot =
			slot_of(message, &message->descriptor->fields[i]);

		if (convert_field(c, &slot, obj) == -1)
			return NULL;
	}
	return TAKE_PTR(obj);
}

/* NOLINTEND(misc-no-recursion) */

/* A time that was never set is sent as an empty message, and null in JSON. */
static json_t *
convert_point(struct conversion *c, int64_t seconds, int32_t nanos, bool micro)
{
	char text[TIME_TEXT_SIZE];
	int64_t us;

	if (seconds < SECONDS_MIN || seconds > SECONDS_MAX || nanos < 0 ||
	    nanos >= NS_PER_SECOND) {
		(void)status_bad_request(c->st, "a time is out of range");
		return NULL;
	}
	us = seconds * TIME_US_PER_SECOND + nanos / NS_PER_US;
	return json_string(micro ? time_text_micro(us, text)
				 : time_text(us, text));
}

static json_t *
convert_time(struct conversion *c, const ProtobufCMessage *message)
{
	const Meta__Time *t = (const Meta__Time *)message;

	if (!t->has_seconds && !t->has_nanos)
		return json_null();
	return convert_point(c, t->seconds, t->nanos, false);
}

static json_t *
convert_micro_time(struct conversion *c, const ProtobufCMessage *message)
{
	const Meta__MicroTime *t = (const Meta__MicroTime *)message;

	if (!t->has_seconds && !t->has_nanos)
		return json_null();
	return convert_point(c, t->seconds, t->nanos, true);
}

static json_t *
convert_quantity(struct conversion *c, const ProtobufCMessage *message)
{
	const Meta__Quantity *q = (const Meta__Quantity *)message;
	json_t *text = json_string(q->string == NULL ? "0" : q->string);

	return text != NULL ? text
			    : not_utf8(c, &q->base.descriptor->fields[0]);
}

static json_t *
convert_int_or_string(struct conversion *c, const ProtobufCMessage *message)
{
	const Meta__IntOrString *v = (const Meta__IntOrString *)message;
	json_t *text;

	if (v->type == 0)
		return json_integer(v->intval);
	text = json_string(v->strval == NULL ? "" : v->strval);
	return text != NULL ? text
			    : not_utf8(c, &v->base.descriptor->fields[2]);
}

/* NOLINTBEGIN(misc-no-recursion): as above. */

/* A list inside of a map needs a message around it, which JSON does not. */
static json_t *
convert_extra(struct conversion *c, const ProtobufCMessage *message)
{
	struct slot slot = slot_of(message, &message->descriptor->fields[0]);

	return convert_list(c, &slot);
}

/* The messages that are no objects in JSON. */
static const struct special {
	const ProtobufCMessageDescriptor *descriptor;
	json_t *(*convert)(struct conversion *, const ProtobufCMessage *);
} specials[] = {
	{ &meta__time__descriptor, convert_time },
	{ &meta__micro_time__descriptor, convert_micro_time },
	{ &meta__quantity__descriptor, convert_quantity },
	{ &meta__int_or_string__descriptor, convert_int_or_string },
	{ &authorization__extra_value__descriptor, convert_extra },
};

static json_t *
convert_message(struct conversion *c, const ProtobufCMessage *message)
{
	json_t *value = NULL;
	size_t i = 0;

	assert(c->depth < DEPTH_MAX);
	c->depth++;
	while (i < ARRAY_LEN(specials) &&
	       specials[i].descriptor != message->descriptor)
		i++;
	value = i < ARRAY_LEN(specials) ? specials[i].convert(c, message)
					: convert_fields(c, message);
	c->depth--;
	return value;
}

/* NOLINTEND(misc-no-recursion) */

json_t *
proto_json(const ProtobufCMessage *message, struct status *st)
{
	struct conversion c = { .st = st };

	return convert_message(&c, message);
}
