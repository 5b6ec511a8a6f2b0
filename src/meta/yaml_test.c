/* SPDX-License-Identifier: Apache-2.0 */
#include "meta/yaml.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/test.h"

static void
check(const char *yaml, const char *json)
{
	struct err err = { 0 };
	AUTO(js_unref) json_t *value = yaml_to_json(yaml, strlen(yaml), &err);
	AUTO(free_ptr) char *text = NULL;

	if (value == NULL)
		fail_msg("%s", err.text);
	text = js_text_sorted(value, NULL);
	assert_string_equal(text, json);
}

static void
check_error(const char *yaml, const char *text)
{
	struct err err = { 0 };

	assert_null(yaml_to_json(yaml, strlen(yaml), &err));
	assert_int_equal(err.kind, ERR_INVALID);
	assert_string_equal(err.text, text);
}

static void
test_scalars_mean_what_they_mean_to_kubectl(void **state)
{
	static const char *const cases[][2] = {
		{ "a", "\"a\"" },
		{ "'1'", "\"1\"" },
		{ "\"true\"", "\"true\"" },
		{ "yes", "true" },
		{ "Off", "false" },
		{ "y", "true" },
		{ "yEs", "\"yEs\"" },
		{ "~", "null" },
		{ "", "null" },
		{ "Null", "null" },
		{ "1", "1" },
		{ "-7", "-7" },
		{ "+7", "7" },
		{ "0x1F", "31" },
		{ "-0x10", "-16" },
		{ "010", "8" },
		{ "08", "8" },
		{ "0o17", "15" },
		{ "0b101", "5" },
		{ "1_000", "1000" },
		{ "0x0x1", "\"0x0x1\"" },
		{ "1.50", "1.5" },
		{ "1e3", "1000" },
		{ ".5", "0.5" },
		{ "1.", "1" },
		{ "1.2.3", "\"1.2.3\"" },
		{ "-", "[null]" },
		{ "-.5e1", "-5" },
		{ "1e400", "\"1e400\"" },
		{ "9223372036854775807", "9223372036854775807" },
		{ "-9223372036854775808", "-9223372036854775808" },
		{ "9223372036854775808", "9.223372036854776e+18" },
		{ "2026-11-16", "\"2026-11-16\"" },
		{ "2026-11-16T03:48:24Z", "\"2026-11-16T03:48:24Z\"" },
		{ "12:30:45", "\"12:30:45\"" },
		{ "!!str 12", "\"12\"" },
		{ "!!int \"12\"", "12" },
		{ "! 12", "\"12\"" },
		{ "!!binary aGVsbG8=", "\"hello\"" },
		{ "!custom 12", "\"12\"" },
		{ "100m", "\"100m\"" },
		{ "1Gi", "\"1Gi\"" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		check(cases[i][0], cases[i][1]);
}

static void
test_containers_nest_and_keys_become_strings(void **state)
{
	(void)state;
	check("a:\n  b: [1, {c: d}]\n  e:\n  - f\n  -\n    g: |\n      x\n"
	      "      y\n",
	      "{\"a\":{\"b\":[1,{\"c\":\"d\"}],\"e\":[\"f\",{\"g\":\"x\\ny\\n\""
	      "}]}}");
	check("1: a\ntrue: b\n1.5: c\n\"x\": d\n",
	      "{\"1\":\"a\",\"1.5\":\"c\",\"true\":\"b\",\"x\":\"d\"}");
	check("{\"a\": [1, 2, {\"b\": null}]}", "{\"a\":[1,2,{\"b\":null}]}");
	check("# nothing\n", "null");
	check("a: b\n---\nc: d\n", "{\"a\":\"b\"}");
}

static void
test_anchors_are_copied_and_merged(void **state)
{
	struct err err;
	static const char text[] = "a: &x {k: [1]}\nb: *x\n";
	AUTO(js_unref) json_t *value = yaml_to_json(text, strlen(text), &err);

	(void)state;
	check(text, "{\"a\":{\"k\":[1]},\"b\":{\"k\":[1]}}");
	assert_ptr_not_equal(json_object_get(value, "a"),
			     json_object_get(value, "b"));
	check("a: &x {k: 1, l: 2}\nb:\n  k: 3\n  <<: *x\n",
	      "{\"a\":{\"k\":1,\"l\":2},\"b\":{\"k\":3,\"l\":2}}");
	check("- &x {a: 1}\n- &y {a: 2, b: 2}\n- {<<: [*x, *y], c: 3}\n",
	      "[{\"a\":1},{\"a\":2,\"b\":2},{\"a\":1,\"b\":2,\"c\":3}]");
	check("a: &x 1\nb: &x 2\nc: *x\n", "{\"a\":1,\"b\":2,\"c\":2}");
	check("\"<<\": 1\n", "{\"\\u003c\\u003c\":1}");
}

static void
test_errors_say_where(void **state)
{
	(void)state;
	check_error("a: b\nc: d: e\n",
		    "error converting YAML to JSON: yaml: line 2: mapping "
		    "values are not allowed in this context");
	check_error("a: [1, 2\n", "error converting YAML to JSON: yaml: line "
				  "1: did not find expected ',' or ']'");
	check_error("*x\n", "error converting YAML to JSON: yaml: unknown "
			    "anchor 'x' referenced");
	check_error("&x [*x]\n", "error converting YAML to JSON: yaml: anchor "
				 "'x' value contains itself");
	check_error("a: .inf\n", "error converting YAML to JSON: json: "
				 "unsupported value: .inf");
	check_error("<<: 1\n", "error converting YAML to JSON: yaml: map merge "
			       "requires map or sequence of maps as the value");
	check_error("[a]: 1\n",
		    "error converting YAML to JSON: unsupported map key");
	check_error("\"a\\0b\"", "error converting YAML to JSON: yaml: control "
				 "characters are not allowed");
	check_error("!!int x", "error converting YAML to JSON: yaml: cannot "
			       "decode !!str `x` as a !!int");
}

static void
test_what_grows_by_aliases_is_refused(void **state)
{
	AUTO(buf_done) struct buf text = BUF_INIT(1 << 20);
	AUTO(buf_done) struct buf deep = BUF_INIT(1 << 20);
	AUTO(free_ptr) char *large = xmalloc0((1 << 19) + 1);

	(void)state;
	(void)buf_append_str(&text, "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n");
	for (int i = 1; i < 10; i++) {
		(void)buf_printf(&text,
				 "a%d: &a%d [*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,"
				 "*a%d,*a%d,*a%d,*a%d]\n",
				 i, i, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1,
				 i - 1, i - 1, i - 1, i - 1);
	}
	check_error((const char *)text.data,
		    "error converting YAML to JSON: yaml: document contains "
		    "excessive aliasing");
	(void)buf_append_str(&deep, "a0: &a0 [x]\n");
	for (int i = 1; i < 100; i++)
		(void)buf_printf(&deep, "a%d: &a%d [*a%d]\n", i, i, i - 1);
	check_error((const char *)deep.data,
		    "error converting YAML to JSON: yaml: document is nested "
		    "too deep");
	memset(large, 'x', 1 << 19);
	buf_clear(&text);
	(void)buf_printf(&text, "- &x %s\n", large);
	for (int i = 0; i < 100; i++)
		(void)buf_append_str(&text, "- *x\n");
	check_error((const char *)text.data,
		    "error converting YAML to JSON: yaml: document contains "
		    "excessive aliasing");
}

static void
test_nesting_is_limited(void **state)
{
	char text[2 * (JS_MAX_DEPTH + 1) + 1] = "";
	AUTO(free_ptr) char *many = xmalloc0(100001);

	(void)state;
	memset(text, '[', JS_MAX_DEPTH);
	memset(text + JS_MAX_DEPTH, ']', JS_MAX_DEPTH);
	check(text, text);
	memset(many, '[', 100000);
	check_error(many, "error converting YAML to JSON: yaml: document is "
			  "nested too deep");
}

static void
note(void *arg, const char *path)
{
	(void)buf_printf(arg, "%s;", path);
}

static void
test_duplicates_are_reported_by_path_and_the_last_counts(void **state)
{
	static const char text[] = "s:\n  v: 1\n  v: 2\nl:\n- a: 1\n- b: 1\n"
				   "  b: [x]\nm: {<<: {k: 1}, k: 2}\n";
	AUTO(buf_done) struct buf paths = BUF_INIT(1 << 16);
	struct err err;
	AUTO(js_unref)
	json_t *value =
		yaml_to_json_strict(text, strlen(text), note, &paths, &err);
	AUTO(free_ptr) char *json = NULL;

	(void)state;
	assert_non_null(value);
	json = js_text_sorted(value, NULL);
	assert_string_equal(json, "{\"l\":[{\"a\":1},{\"b\":[\"x\"]}],\"m\":{"
				  "\"k\":2},\"s\":{\"v\":2}}");
	assert_string_equal((const char *)paths.data, "s.v;l[1].b;");
}

static void
test_documents_come_one_after_the_other(void **state)
{
	static const char text[] = "a: &x 1\n---\n# empty\n---\nb: 2\n...\n"
				   "---\nc: *x\n";
	AUTO(yaml_docs_unref)
	struct yaml_docs *docs = yaml_docs_new(text, strlen(text));
	static const char *const want[] = { "{\"a\":1}", "null", "{\"b\":2}" };
	struct err err;
	json_t *doc = NULL;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(want); i++) {
		AUTO(free_ptr) char *json = NULL;

		assert_int_equal(yaml_docs_next(docs, &doc, &err), 1);
		json = js_text(doc);
		assert_string_equal(json, want[i]);
		json_decref(doc);
	}
	/* An anchor ends with its document. */
	assert_int_equal(yaml_docs_next(docs, &doc, &err), -1);
	assert_int_equal(yaml_docs_next(docs, &doc, &err), 0);
}

static void
check_written(const char *json, const char *yaml)
{
	struct err err;
	AUTO(js_unref) json_t *value = js_parse(json, strlen(json), &err);
	AUTO(free_ptr) char *text = yaml_from_json(value);
	AUTO(js_unref) json_t *back = NULL;

	assert_string_equal(text, yaml);
	back = yaml_to_json(text, strlen(text), &err);
	assert_true(json_equal(value, back));
}

static void
test_objects_are_written_as_kubectl_writes_them(void **state)
{
	(void)state;
	check_written(
		"{\"spec\":{\"list\":[{\"b\":1,\"a\":[]},\"x\",[1,2]],\"e\":{}"
		"},\"kind\":\"Pod\",\"metadata\":{\"creationTimestamp\":"
		"\"2026-11-16T03:48:24Z\",\"name\":null}}",
		"kind: Pod\n"
		"metadata:\n"
		"  creationTimestamp: \"2026-11-16T03:48:24Z\"\n"
		"  name: null\n"
		"spec:\n"
		"  e: {}\n"
		"  list:\n"
		"  - a: []\n"
		"    b: 1\n"
		"  - x\n"
		"  - - 1\n"
		"    - 2\n");
	check_written("{\"a\":\"1\",\"b\":\"true\",\"c\":\"\",\"d\":\"a: b\","
		      "\"e\":\"x\\ny\\n\",\"f\":\"12:30\",\"g\":\"- z\",\"h\":"
		      "\"2026-11-16\",\"i\":\"<<\",\"n\":1.5,\"on\":true}",
		      "a: \"1\"\n"
		      "b: \"true\"\n"
		      "c: \"\"\n"
		      "d: 'a: b'\n"
		      "e: |\n"
		      "  x\n"
		      "  y\n"
		      "f: \"12:30\"\n"
		      "g: '- z'\n"
		      "h: \"2026-11-16\"\n"
		      "i: \"<<\"\n"
		      "\"n\": 1.5\n"
		      "\"on\": true\n");
	check_written("[]", "[]\n");
	check_written("\"a\\u2028b\\u2029\\u0085c\\r\"",
		      "\"a\\Lb\\P\\Nc\\r\"\n");
	check_written("\"\\u00e4\\u0001\"", "\"\303\244\\x01\"\n");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scalars_mean_what_they_mean_to_kubectl),
		cmocka_unit_test(test_containers_nest_and_keys_become_strings),
		cmocka_unit_test(test_anchors_are_copied_and_merged),
		cmocka_unit_test(test_errors_say_where),
		cmocka_unit_test(test_what_grows_by_aliases_is_refused),
		cmocka_unit_test(test_nesting_is_limited),
		cmocka_unit_test(
			test_duplicates_are_reported_by_path_and_the_last_counts),
		cmocka_unit_test(test_documents_come_one_after_the_other),
		cmocka_unit_test(
			test_objects_are_written_as_kubectl_writes_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
