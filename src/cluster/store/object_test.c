/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/store/object.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/mem.h"
#include "base/test.h"
#include "meta/selector.h"

static struct object *
make(const char *text)
{
	return object_new(NULL, 7, xstrdup(text), strlen(text));
}

static void
test_metadata_is_found_without_parsing(void **state)
{
	static const char text[] =
		"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{"
		"\"annotations\":{\"name\":\"wrong\"},"
		"\"deletionTimestamp\":\"2026-11-16T00:00:00Z\","
		"\"finalizers\":[\"f\"],"
		"\"labels\":{\"app\":\"web\",\"a.b/c\":\"\"},"
		"\"name\":\"p\",\"namespace\":\"n\","
		"\"ownerReferences\":[{\"name\":\"o\",\"uid\":\"u2\"}],"
		"\"uid\":\"u1\"},\"spec\":{\"name\":\"wrong\"}}";
	struct object *object = make(text);

	(void)state;
	assert_non_null(object);
	assert_int_equal(object->rv, 7);
	assert_string_equal(object->namespace_, "n");
	assert_string_equal(object->name, "p");
	assert_string_equal(object->uid, "u1");
	assert_string_equal(object->text, text);
	assert_int_equal(object->len, strlen(text));
	assert_true(object->deleting);
	assert_true(object->has_finalizers);
	assert_true(object->has_owners);
	assert_int_equal(object->label_count, 2);
	assert_string_equal(object->labels[0].key, "app");
	assert_string_equal(object->labels[0].value, "web");
	assert_string_equal(object_label(object, "a.b/c"), "");
	assert_null(object_label(object, "web"));
	object_unref(object);
}

static void
test_what_is_missing_is_empty(void **state)
{
	struct object *object = make(
		"{\"metadata\":{\"name\":\"p\",\"finalizers\":[],\"labels\":{},"
		"\"ownerReferences\":[],\"deletionTimestamp\":null}}");
	char *key;

	(void)state;
	assert_string_equal(object->namespace_, "");
	assert_string_equal(object->uid, "");
	assert_int_equal(object->label_count, 0);
	assert_false(object->deleting);
	assert_false(object->has_finalizers);
	assert_false(object->has_owners);
	key = object_key(object);
	assert_string_equal(key, "p");
	free(key);
	object_unref(object);
}

static void
test_escapes_are_undone(void **state)
{
	struct object *object = make(
		"{\"metadata\":{\"labels\":{\"\\u003ck\\u003e\":\"v\\\"\"},"
		"\"name\":\"a\\u0026b\",\"namespace\":\"n\"}}");
	char *key;

	(void)state;
	assert_string_equal(object->name, "a&b");
	assert_string_equal(object->labels[0].key, "<k>");
	assert_string_equal(object->labels[0].value, "v\"");
	key = object_key(object);
	assert_string_equal(key, "n/a&b");
	free(key);
	object_unref(object);
}

static void
test_text_without_a_name_is_refused(void **state)
{
	static const char *const texts[] = {
		"",
		"null",
		"[]",
		"{}",
		"{\"metadata\":1}",
		"{\"metadata\":{}}",
		"{\"metadata\":{\"name\":1}}",
		"{\"metadata\":{\"name\":\"\"}}",
		"{\"metadata\":{\"name\":\"\\ud800\"}}",
		"{\"metadata\":{\"name\":\"p\"",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		assert_null(make(texts[i]));
}

static void
test_the_text_can_be_parsed(void **state)
{
	struct object *object =
		make("{\"metadata\":{\"name\":\"p\"},\"spec\":{\"x\":5}}");
	json_t *json = object_json(object);

	(void)state;
	assert_int_equal(json_integer_value(json_object_get(
				 json_object_get(json, "spec"), "x")),
			 5);
	json_decref(json);
	object_unref(object);
}

static void
test_an_object_lives_as_long_as_its_references(void **state)
{
	struct object *object = make("{\"metadata\":{\"name\":\"p\"}}");
	struct object **list = xcalloc(2, sizeof(struct object *));
	struct object *other = object_ref(object);

	(void)state;
	list[0] = object_ref(object);
	list[1] = object_ref(object);
	object_unref(object);
	objects_unref(list, 2);
	assert_string_equal(other->name, "p");
	object_drop(&other);
	assert_null(other);
	object_unref(NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_metadata_is_found_without_parsing),
		cmocka_unit_test(test_what_is_missing_is_empty),
		cmocka_unit_test(test_escapes_are_undone),
		cmocka_unit_test(test_text_without_a_name_is_refused),
		cmocka_unit_test(test_the_text_can_be_parsed),
		cmocka_unit_test(
			test_an_object_lives_as_long_as_its_references),
	};

	return cmocka_run_group_tests_name("object", tests, NULL, NULL);
}
