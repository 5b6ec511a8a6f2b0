/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/store/object.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/scan.h"
#include "base/str.h"
#include "meta/selector.h"

/* What is wanted of the metadata, where it stands in the text. */
struct places {
	struct span namespace_;
	struct span name;
	struct span uid;
	struct span labels;
	bool deleting;
	bool has_finalizers;
	bool has_owners;
};

static bool
has_elements(struct span value)
{
	struct scan scan;
	struct span element;

	return scan_array(value, &scan) && scan_next_element(&scan, &element);
}

static void
note_member(struct places *places, struct span key, struct span value)
{
	if (scan_is(key, "name"))
		places->name = value;
	else if (scan_is(key, "namespace"))
		places->namespace_ = value;
	else if (scan_is(key, "uid"))
		places->uid = value;
	else if (scan_is(key, "labels"))
		places->labels = value;
	else if (scan_is(key, "deletionTimestamp"))
		places->deleting = value.text[0] == '"';
	else if (scan_is(key, "finalizers"))
		places->has_finalizers = has_elements(value);
	else if (scan_is(key, "ownerReferences"))
		places->has_owners = has_elements(value);
}

static bool
find_places(const char *text, size_t len, struct places *places)
{
	struct span all = { .text = text, .len = len };
	struct span metadata, key, value;
	struct scan scan;

	if (!scan_member(all, "metadata", &metadata) ||
	    !scan_object(metadata, &scan))
		return false;
	while (scan_next_member(&scan, &key, &value))
		note_member(places, key, value);
	return places->name.text != NULL;
}

static uint32_t
count_labels(struct span labels)
{
	struct span key, value;
	struct scan scan;
	uint32_t count = 0;

	if (labels.text == NULL || !scan_object(labels, &scan))
		return 0;
	while (scan_next_member(&scan, &key, &value))
		count++;
	return count;
}

/* Decodes a string to *room and moves it on; "" for what is no string. A string
 * with its quotes is longer than the text with its NUL byte. */
static const char *
take_string(struct span value, char **room)
{
	const char *text = *room;
	long len = value.text != NULL ? scan_string(value, *room) : -1;

	if (len == -1)
		return "";
	*room += len + 1;
	return text;
}

static void
take_labels(struct object *object, struct label *labels, struct span value,
	    char **room)
{
	struct span key, content;
	struct scan scan;

	object->labels = labels;
	if (object->label_count == 0 || !scan_object(value, &scan))
		return;
	while (scan_next_member(&scan, &key, &content)) {
		labels->key = take_string(key, room);
		labels->value = take_string(content, room);
		labels++;
	}
}

struct object *
object_copy(struct collection *collection, uint64_t rv, const char *text,
	    size_t len)
{
	struct places places = { 0 };
	struct object *object;
	struct label *labels;
	uint32_t count;
	char *room;

	if (!find_places(text, len, &places))
		return NULL;

	/* One piece of memory of just the size: the object, its labels, its
	 * text, and the strings of the others. */
	count = count_labels(places.labels);
	object = xmalloc0(sizeof(*object) + count * sizeof(*labels) + len + 1 +
			  places.namespace_.len + places.name.len +
			  places.uid.len + places.labels.len);
	labels = (struct label *)(object + 1);
	room = (char *)(labels + count);
	memcpy(room, text, len);
	object->text = room;
	object->len = len;
	room += len + 1;
	object->refs = 1;
	object->rv = rv;
	object->collection = collection;
	object->deleting = places.deleting;
	object->has_finalizers = places.has_finalizers;
	object->has_owners = places.has_owners;
	object->label_count = count;
	object->name = take_string(places.name, &room);
	object->namespace_ = take_string(places.namespace_, &room);
	object->uid = take_string(places.uid, &room);
	take_labels(object, labels, places.labels, &room);
	if (object->name[0] == '\0') {
		object_unref(object);
		return NULL;
	}
	return object;
}

struct object *
object_new(struct collection *collection, uint64_t rv, char *text, size_t len)
{
	struct object *object = object_copy(collection, rv, text, len);

	free(text);
	return object;
}

struct object *
object_ref(struct object *object)
{
	(void)__atomic_add_fetch(&object->refs, 1, __ATOMIC_RELAXED);
	return object;
}

void
object_unref(struct object *object)
{
	if (object == NULL ||
	    __atomic_sub_fetch(&object->refs, 1, __ATOMIC_ACQ_REL) > 0)
		return;
	free(object);
}

void
object_drop(struct object **object)
{
	object_unref(*object);
	*object = NULL;
}

void
objects_unref(struct object **objects, size_t count)
{
	for (size_t i = 0; i < count; i++)
		object_unref(objects[i]);
	free(objects);
}

const char *
object_label(const struct object *object, const char *key)
{
	for (uint32_t i = 0; i < object->label_count; i++) {
		if (str_equal(object->labels[i].key, key))
			return object->labels[i].value;
	}
	return NULL;
}

json_t *
object_json(const struct object *object)
{
	struct err err;
	json_t *value = js_parse(object->text, object->len, &err);

	/* What is in the store was written by the server, from a json_t. */
	if (value == NULL) {
		log_error(NULL,
			  "stored object '%s' of revision %" PRIu64
			  " is damaged: %s",
			  object->name, object->rv, err.text);
		abort();
	}
	return value;
}

char *
object_key(const struct object *object)
{
	if (object->namespace_[0] == '\0')
		return xstrdup(object->name);
	return xasprintf("%s/%s", object->namespace_, object->name);
}
