/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/kinds/schema.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/test.h"
#include "cluster/kinds/testkinds.h"
#include "meta/causes.h"
#include "meta/testyaml.h"

/* The schema of a custom object with these properties of spec. */
static struct schema *
compile(const char *properties, struct causes *causes)
{
	static const struct schema_options options = { .metadata = NULL };
	AUTO(free_ptr)
	char *text = xasprintf("{type: object, properties: {spec: {type: "
			       "object, properties: {%s}}}}",
			       properties);
	AUTO(js_unref) json_t *openapi = testyaml(text);

	return schema_compile(openapi, "schema", &options, causes);
}

static void
assert_wrong(const char *properties, const char *spec, const char *wanted)
{
	AUTO(causes_done) struct causes causes = CAUSES_INIT;
	struct schema *schema = compile(properties, &causes);
	AUTO(free_ptr) char *text = xasprintf("{spec: %s}", spec);
	AUTO(js_unref) json_t *obj = testyaml(text);
	AUTO(free_ptr) char *wrong = NULL;

	assert_non_null(schema);
	wrong = testkinds_check(schema, obj);
	schema_unref(schema);
	assert_string_equal(wrong, wanted);
}

static void
test_a_wrong_type_is_told_as_kubernetes_does(void **state)
{
	(void)state;
	assert_wrong("vmiName: {type: string}", "{vmiName: 5}",
		     "spec.vmiName: Invalid value: \"integer\": spec.vmiName "
		     "in body must be of type string: \"integer\"");
	assert_wrong(
		"num: {type: integer}", "{num: 1.5}",
		"spec.num: Invalid value: \"number\": spec.num in body must "
		"be of type integer: \"number\"");
	assert_wrong("num: {type: integer}", "{num: 2.0}", "");
	assert_wrong("a: {type: array, items: {type: object}}", "{a: [{}, []]}",
		     "spec.a[1]: Invalid value: \"array\": spec.a[1] in body "
		     "must be of type object: \"array\"");
	assert_wrong("b: {type: boolean}", "{b: null}",
		     "spec.b: Invalid value: \"null\": spec.b in body must be "
		     "of type boolean: \"null\"");
	assert_wrong("b: {type: boolean, nullable: true}", "{b: null}", "");
}

static void
test_what_is_required_is_missed_where_it_belongs(void **state)
{
	(void)state;
	assert_wrong("v: {type: array, items: {type: object, required: [name], "
		     "properties: {name: {type: string}}}}",
		     "{v: [{}, {name: x}]}", "spec.v[0].name: Required value");
}

static void
test_values_outside_of_their_bounds_are_refused(void **state)
{
	(void)state;
	assert_wrong("num: {type: integer, minimum: 1, maximum: 3}", "{num: 0}",
		     "spec.num: Invalid value: 0: spec.num in body should be "
		     "greater than or equal to 1");
	assert_wrong(
		"num: {type: integer, maximum: 3, exclusiveMaximum: true}",
		"{num: 3}",
		"spec.num: Invalid value: 3: spec.num in body should be less "
		"than 3");
	assert_wrong(
		"num: {type: number, multipleOf: 0.5}", "{num: 0.7}",
		"spec.num: Invalid value: 0.7: spec.num in body should be a "
		"multiple of 0.5");
	assert_wrong("s: {type: string, minLength: 2}", "{s: ä}",
		     "spec.s: Invalid value: \"ä\": spec.s in body should be "
		     "at least 2 chars long");
	assert_wrong("s: {type: string, maxLength: 2}", "{s: abc}",
		     "spec.s: Too long: may not be longer than 2");
	assert_wrong("s: {type: string, pattern: '^a+$'}", "{s: b}",
		     "spec.s: Invalid value: \"b\": spec.s in body should "
		     "match '^a+$'");
	assert_wrong("s: {type: string, enum: [a, b]}", "{s: c}",
		     "spec.s: Unsupported value: \"c\": supported values: "
		     "\"a\", \"b\"");
	assert_wrong("a: {type: array, items: {type: integer}, maxItems: 1}",
		     "{a: [1, 2]}",
		     "spec.a: Too many: 2: must have at most 1 items");
	assert_wrong("s: {type: string, format: ipv4}", "{s: 1.2.3}",
		     "spec.s: Invalid value: \"1.2.3\": spec.s in body must "
		     "be of type ipv4: \"1.2.3\"");
	assert_wrong(
		"num: {type: integer, format: int32}", "{num: 3000000000}",
		"spec.num: Invalid value: 3000000000: spec.num in body must "
		"be of type int32: \"3000000000\"");
}

static void
test_alternatives_are_counted(void **state)
{
	static const char schema[] =
		"o: {type: object, properties: {a: {type: integer}, b: {type: "
		"integer}}, oneOf: [{required: [a]}, {required: [b]}]}";

	(void)state;
	assert_wrong(schema, "{o: {a: 1}}", "");
	assert_wrong(schema, "{o: {}}",
		     "[<nil>: Invalid value: \"\": \"spec.o\" must validate "
		     "one and only one schema (oneOf). Found none valid, "
		     "spec.o.a: Required value]");
	assert_wrong(schema, "{o: {a: 1, b: 2}}",
		     "<nil>: Invalid value: \"\": \"spec.o\" must validate one "
		     "and only one schema (oneOf). Found 2 valid alternatives");
	assert_wrong(
		"num: {type: integer, not: {minimum: 5}}", "{num: 7}",
		"<nil>: Invalid value: \"\": \"spec.num\" must not validate "
		"the schema (not)");
	assert_wrong(
		"num: {type: integer, anyOf: [{minimum: 5}, {maximum: 1}]}",
		"{num: 3}",
		"[<nil>: Invalid value: \"\": \"spec.num\" must validate at "
		"least one schema (anyOf), spec.num: Invalid value: 3: "
		"spec.num in body should be greater than or equal to 5]");
	assert_wrong(
		"num: {type: integer, allOf: [{minimum: 5}, {maximum: 9}]}",
		"{num: 3}",
		"[spec.num: Invalid value: 3: spec.num in body should be "
		"greater than or equal to 5, <nil>: Invalid value: \"\": "
		"\"spec.num\" must validate all the schemas (allOf)]");
}

static void
test_number_or_text_is_one_of_the_two(void **state)
{
	static const char schema[] =
		"p: {x-kubernetes-int-or-string: true, anyOf: [{type: integer},"
		" {type: string}], pattern: '^[0-9]+%?$'}";

	(void)state;
	assert_wrong(schema, "{p: 5}", "");
	assert_wrong(schema, "{p: 5%}", "");
	assert_wrong(schema, "{p: x}",
		     "spec.p: Invalid value: \"x\": spec.p in body should "
		     "match '^[0-9]+%?$'");
	assert_wrong(schema, "{p: true}",
		     "spec.p: Invalid value: \"boolean\": spec.p in body must "
		     "be of type integer,string: \"boolean\"");
}

static void
test_nothing_may_be_twice_in_sets_and_maps(void **state)
{
	(void)state;
	assert_wrong("s: {type: array, x-kubernetes-list-type: set, items: "
		     "{type: string}}",
		     "{s: [a, b, a]}", "spec.s[2]: Duplicate value: \"a\"");
	assert_wrong("m: {type: array, x-kubernetes-list-type: map, "
		     "x-kubernetes-list-map-keys: [k], items: {type: object, "
		     "properties: {k: {type: string}, v: {type: integer}}}}",
		     "{m: [{k: a, v: 1}, {k: a, v: 2}, {k: b, v: 1}]}",
		     "spec.m[1]: Duplicate value: map[string]interface "
		     "{}{\"k\":\"a\"}");
}

static void
test_unknown_fields_are_pruned_and_named(void **state)
{
	AUTO(causes_done) struct causes causes = CAUSES_INIT;
	struct schema *schema = compile(
		"known: {type: object, properties: {a: {type: string}}}, "
		"open: {type: object, x-kubernetes-preserve-unknown-fields: "
		"true, properties: {a: {type: object, properties: {x: {type: "
		"string}}}}}, "
		"map: {type: object, additionalProperties: {type: object, "
		"properties: {a: {type: string}}}}, "
		"list: {type: array, items: {type: object}}",
		&causes);
	AUTO(js_unref)
	json_t *obj = testyaml(
		"{spec: {known: {a: x, b: w}, open: {b: {c: 1}, a: {x: w, z: "
		"1}}, map: {k: {a: x, c: 1}}, list: [{q: 1}]}, bogus: 1}");
	struct unknown unknown = { 0 };

	(void)state;
	schema_prune(schema, obj, &unknown);
	schema_unref(schema);
	testkinds_equal(obj, "{\"spec\":{\"known\":{\"a\":\"x\"},\"list\":[{}],"
			     "\"map\":{\"k\":{\"a\":\"x\"}},\"open\":{\"a\":{"
			     "\"x\":\"w\"},\"b\":{\"c\":1}}}}");
	assert_int_equal(unknown.count, 5);
	unknown_sort(&unknown);
	assert_string_equal(unknown.paths[0], "bogus");
	assert_string_equal(unknown.paths[1], "spec.known.b");
	assert_string_equal(unknown.paths[2], "spec.list[0].q");
	assert_string_equal(unknown.paths[3], "spec.map.k.c");
	assert_string_equal(unknown.paths[4], "spec.open.a.z");
	unknown_done(&unknown);
}

static void
test_a_million_unknown_fields_are_not_all_remembered(void **state)
{
	AUTO(causes_done) struct causes causes = CAUSES_INIT;
	struct schema *schema = compile("a: {type: string}", &causes);
	AUTO(js_unref) json_t *obj = json_object();
	struct unknown unknown = { 0 };
	char name[32];

	(void)state;
	for (int i = 0; i < 10000; i++) {
		(void)snprintf(name, sizeof(name), "f%d", i);
		(void)json_object_set_new(obj, name, json_null());
	}
	schema_prune(schema, obj, &unknown);
	schema_unref(schema);
	assert_int_equal(json_object_size(obj), 0);
	assert_int_equal(unknown.count, SCHEMA_CAUSES_MAX);
	unknown_done(&unknown);
}

static void
test_defaults_fill_what_is_missing_at_any_depth(void **state)
{
	AUTO(causes_done) struct causes causes = CAUSES_INIT;
	struct schema *schema = compile(
		"o: {type: object, default: {}, properties: {num: {type: "
		"integer, default: 7}}}, l: {type: array, items: {type: "
		"object, properties: {p: {type: string, default: TCP}}}}, z: "
		"{type: string, default: x}",
		&causes);
	AUTO(js_unref)
	json_t *obj = testyaml("{spec: {l: [{}, {p: UDP}], z: null}}");
	AUTO(js_unref) json_t *again = NULL;

	(void)state;
	schema_default(schema, obj);
	testkinds_equal(obj,
			"{\"spec\":{\"l\":[{\"p\":\"TCP\"},{\"p\":\"UDP\"}]"
			",\"o\":{\"num\":7},\"z\":\"x\"}}");
	/* What was filled in is the object's own. */
	(void)json_object_set_new(
		json_object_get(json_object_get(obj, "spec"), "o"), "num",
		json_integer(1));
	again = testyaml("{spec: {l: [], z: w}}");
	schema_default(schema, again);
	schema_unref(schema);
	testkinds_equal(again, "{\"spec\":{\"l\":[],\"o\":{\"num\":7},\"z\":"
			       "\"w\"}}");
}

static void
assert_refused(const char *properties, const char *wanted)
{
	AUTO(causes_done) struct causes causes = CAUSES_INIT;
	AUTO(free_ptr) char *text = NULL;

	assert_null(compile(properties, &causes));
	text = causes_text(&causes);
	assert_string_equal(text, wanted);
}

static void
test_a_schema_that_is_not_structural_is_refused(void **state)
{
#define SPEC "schema.properties[spec].properties"

	(void)state;
	assert_refused("a: {}", SPEC "[a].type: Required value: must not be "
				     "empty for specified object fields");
	assert_refused("a: {type: array}",
		       SPEC "[a].items: Required value: must be specified");
	assert_refused("a: {type: array, items: {}}",
		       SPEC "[a].items.type: Required value: must not be "
			    "empty for specified array items");
	assert_refused("a: {type: text}",
		       SPEC "[a].type: Unsupported value: \"text\": supported "
			    "values: \"array\", \"boolean\", \"integer\", "
			    "\"number\", \"object\", \"string\"");
	assert_refused("a: {type: object, properties: {x: {type: string}}, "
		       "additionalProperties: {type: string}}",
		       SPEC "[a].additionalProperties: Forbidden: "
			    "additionalProperties and properties are mutual "
			    "exclusive");
	assert_refused("a: {type: object, $ref: b}",
		       SPEC "[a].$ref: Forbidden: $ref is not supported");
	assert_refused("a: {type: array, uniqueItems: true, items: {type: "
		       "string}}",
		       SPEC "[a].uniqueItems: Forbidden: uniqueItems cannot be "
			    "set to true since the runtime complexity becomes "
			    "quadratic");
	assert_refused("a: {type: integer, default: x}",
		       SPEC "[a].default: Invalid value: \"string\": " SPEC
			    "[a].default in body must be of type integer: "
			    "\"string\"");
	assert_refused("a: {type: object, default: {x: 1}}",
		       SPEC "[a].default: Invalid value: "
			    "map[string]interface {}{\"x\":1}: must not have "
			    "fields that the schema does not know");
#undef SPEC
}

static void
test_a_pattern_that_is_none_is_refused(void **state)
{
	AUTO(causes_done) struct causes causes = CAUSES_INIT;

	(void)state;
	assert_null(compile("a: {type: string, pattern: '('}", &causes));
	assert_int_equal(causes_count(&causes), 1);
	assert_string_equal(causes.list[0].field,
			    "schema.properties[spec].properties[a].pattern");
}

static void
test_a_schema_that_is_too_deep_is_refused(void **state)
{
	static const struct schema_options options = { .metadata = NULL };
	AUTO(causes_done) struct causes causes = CAUSES_INIT;
	json_t *node = json_pack("{s:s}", "type", "string");

	(void)state;
	for (int i = 0; i < 300; i++)
		node = json_pack("{s:s, s:o}", "type", "array", "items", node);
	assert_null(schema_compile(node, "schema", &options, &causes));
	assert_int_not_equal(causes_count(&causes), 0);
	json_decref(node);
}

static void
test_an_object_of_many_mistakes_gets_a_bounded_answer(void **state)
{
	AUTO(causes_done) struct causes causes = CAUSES_INIT;
	struct schema *schema =
		compile("l: {type: array, items: {type: string}}", &causes);
	AUTO(js_unref) json_t *list = json_array(), *obj = NULL;

	(void)state;
	for (int i = 0; i < 100000; i++)
		(void)json_array_append_new(list, json_integer(i));
	obj = json_pack("{s:{s:O}}", "spec", "l", list);
	assert_int_equal(schema_validate(schema, obj, &causes), -1);
	assert_in_range(causes_count(&causes), 1, SCHEMA_CAUSES_MAX);
	schema_unref(schema);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_wrong_type_is_told_as_kubernetes_does),
		cmocka_unit_test(
			test_what_is_required_is_missed_where_it_belongs),
		cmocka_unit_test(
			test_values_outside_of_their_bounds_are_refused),
		cmocka_unit_test(test_alternatives_are_counted),
		cmocka_unit_test(test_number_or_text_is_one_of_the_two),
		cmocka_unit_test(test_nothing_may_be_twice_in_sets_and_maps),
		cmocka_unit_test(test_unknown_fields_are_pruned_and_named),
		cmocka_unit_test(
			test_a_million_unknown_fields_are_not_all_remembered),
		cmocka_unit_test(
			test_defaults_fill_what_is_missing_at_any_depth),
		cmocka_unit_test(
			test_a_schema_that_is_not_structural_is_refused),
		cmocka_unit_test(test_a_pattern_that_is_none_is_refused),
		cmocka_unit_test(test_a_schema_that_is_too_deep_is_refused),
		cmocka_unit_test(
			test_an_object_of_many_mistakes_gets_a_bounded_answer),
	};

	js_init();
	return cmocka_run_group_tests_name("schema", tests, NULL, NULL);
}
