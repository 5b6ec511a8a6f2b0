/* SPDX-License-Identifier: Apache-2.0 */
#include "meta/selector.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/test.h"
#include "meta/status.h"

static json_t *
parse_json(const char *text)
{
	struct err err;
	json_t *value = js_parse(text, strlen(text), &err);

	assert_non_null(value);
	return value;
}

static struct selector *
parse(const char *text)
{
	struct status st = STATUS_INIT;
	struct selector *sel = selector_parse(text, &st);

	if (sel == NULL)
		fail_msg("'%s': %s", text, st.message);
	return sel;
}

static void
check(const char *text, const char *canonical, const char *labels, bool matches)
{
	AUTO(selector_unref) struct selector *sel = parse(text);
	AUTO(free_ptr) char *got = selector_text(sel);
	AUTO(js_unref) json_t *obj = parse_json(labels);
	struct label list[8];
	size_t n = 0;
	const char *key;
	json_t *value;

	assert_string_equal(got, canonical);
	json_object_foreach(obj, key, value) list[n++] =
		(struct label){ key, json_string_value(value) };
	if (selector_matches(sel, obj) != matches ||
	    selector_matches_labels(sel, list, n) != matches)
		fail_msg("'%s' on %s", text, labels);
}

static void
test_requirements_must_all_hold(void **state)
{
	static const char ab[] = "{\"a\":\"b\",\"n\":\"5\",\"e\":\"\"}";

	(void)state;
	check("", "", ab, true);
	check("  ", "", "{}", true);
	check("a=b", "a=b", ab, true);
	check("a==b", "a==b", ab, true);
	check("a = c", "a=c", ab, false);
	check("a!=b", "a!=b", ab, false);
	check("x!=b", "x!=b", ab, true);
	check("a", "a", ab, true);
	check("x", "x", ab, false);
	check("!x", "!x", ab, true);
	check("! a", "!a", ab, false);
	check("a in (c, b)", "a in (b,c)", ab, true);
	check("a in (c)", "a in (c)", ab, false);
	check("x in (c)", "x in (c)", ab, false);
	check("a notin (b,c)", "a notin (b,c)", ab, false);
	check("x notin (b)", "x notin (b)", ab, true);
	check("e=", "e=", ab, true);
	check("e in ()", "e in ()", ab, true);
	check("a in (,b)", "a in (,b)", ab, true);
	check("e in (x,)", "e in (,x)", ab, true);
	check("e in (x,,y)", "e in (,x,y)", ab, true);
	check("in in (in,notin)", "in in (in,notin)", "{\"in\":\"in\"}", true);
	check("n>4", "n>4", ab, true);
	check("n<5", "n<5", ab, false);
	check("a>1", "a>1", ab, false);
	check("b=1,a=b", "a=b,b=1", ab, false);
	check("n=5,a=b,!x", "a=b,n=5,!x", ab, true);
	check("a in (b,b,b)", "a in (b)", ab, true);
	check("kubevirt.io/vmi-name==vm1", "kubevirt.io/vmi-name==vm1",
	      "{\"kubevirt.io/vmi-name\":\"vm1\"}", true);
}

static void
check_error(const char *text, const char *message)
{
	struct status st = STATUS_INIT;

	assert_null(selector_parse(text, &st));
	assert_int_equal(st.code, 400);
	assert_string_equal(st.reason, "BadRequest");
	assert_string_equal(st.message, message);
	status_done(&st);
}

static void
test_errors_are_those_of_kubernetes(void **state)
{
	(void)state;
	check_error("a b", "unable to parse requirement: found 'b', expected: "
			   "in, notin, =, ==, !=, gt, lt");
	check_error("a in b",
		    "unable to parse requirement: found 'b' expected: '('");
	check_error("==",
		    "found '==', expected: !, identifier, or 'end of string'");
	check_error("a in (", "unable to parse requirement: found '', "
			      "expected: ',', ')' or identifier");
	check_error("a,", "found '', expected: identifier after ','");
	check_error("a,,b", "found ',', expected: identifier after ','");
	check_error("a=b c", "found 'c', expected: ',' or 'end of string'");
	check_error("!a=b", "found '=', expected: ',' or 'end of string'");
	check_error("a=(", "unable to parse requirement: found '(', expected: "
			   "identifier");
	check_error("!", "unable to parse requirement: found '', expected: "
			 "identifier");
	check_error("a in (b c)", "unable to parse requirement: found 'c', "
				  "expected: ',' or ')'");
	check_error("a in (b,=)", "unable to parse requirement: found '=', "
				  "expected: ',', or identifier");
	check_error("a>=1", "unable to parse requirement: found '=', expected: "
			    "identifier");
	check_error("a>b", "unable to parse requirement: values[0]: Invalid "
			   "value: \"b\": for 'Gt', 'Lt' operators, the value "
			   "must be an integer");
	check_error("/=b", "unable to parse requirement: <nil>: Invalid value: "
			   "\"/\": prefix part must be non-empty; name part "
			   "must be non-empty; name part must consist of "
			   "alphanumeric characters, '-', '_' or '.', and must "
			   "start and end with an alphanumeric character (e.g. "
			   "'MyName',  or 'my.name',  or '123-abc', regex used "
			   "for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?"
			   "[A-Za-z0-9]')");
	check_error("a=-", "unable to parse requirement: values[0][a]: Invalid "
			   "value: \"-\": a valid label must be an empty "
			   "string or consist of alphanumeric characters, '-', "
			   "'_' or '.', and must start and end with an "
			   "alphanumeric character (e.g. 'MyValue',  or "
			   "'my_value',  or '12345', regex used for validation "
			   "is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')");
}

static void
test_label_selectors_of_objects(void **state)
{
	AUTO(js_unref)
	json_t *full = parse_json(
		"{\"matchLabels\":{\"a\":\"b\"},\"matchExpressions\":["
		"{\"key\":\"c\",\"operator\":\"In\",\"values\":[\"y\",\"x\"]},"
		"{\"key\":\"d\",\"operator\":\"NotIn\",\"values\":[\"z\"]},"
		"{\"key\":\"e\",\"operator\":\"Exists\"},"
		"{\"key\":\"f\",\"operator\":\"DoesNotExist\",\"values\":[]}]"
		"}");
	AUTO(js_unref)
	json_t *labels = parse_json("{\"a\":\"b\",\"c\":\"x\",\"e\":\"\"}");
	AUTO(js_unref) json_t *empty = json_object();
	struct status st = STATUS_INIT;
	AUTO(selector_unref)
	struct selector *sel = selector_from_json(full, &st);
	AUTO(selector_unref)
	struct selector *all = selector_from_json(empty, &st);
	AUTO(selector_unref)
	struct selector *none = selector_from_json(NULL, &st);
	AUTO(free_ptr) char *text = NULL;

	(void)state;
	assert_non_null(sel);
	text = selector_text(sel);
	assert_string_equal(text, "a=b,c in (x,y),d notin (z),e,!f");
	assert_true(selector_matches(sel, labels));
	assert_false(selector_matches(sel, empty));
	assert_true(selector_is_empty(all) && !selector_is_nothing(all));
	assert_true(selector_matches(all, NULL));
	assert_true(!selector_is_empty(none) && selector_is_nothing(none));
	assert_false(selector_matches(none, NULL));
	assert_false(selector_matches_labels(none, NULL, 0));
	assert_true(selector_matches(NULL, labels));
}

static void
test_malformed_label_selectors_are_refused(void **state)
{
	static const char *const bad[][2] = {
		{ "[]", "label selector is no object" },
		{ "{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"Is\"}]"
		  "}",
		  "\"Is\" is not a valid label selector operator" },
		{ "{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"In\"}]"
		  "}",
		  "values: Invalid value: []string{}: for 'in', 'notin' "
		  "operators, values set can't be empty" },
		{ "{\"matchExpressions\":[{\"key\":\"a\",\"operator\":"
		  "\"Exists\",\"values\":[\"x\"]}]}",
		  "values: Invalid value: []string{\"x\"}: values set must be "
		  "empty for exists and does not exist" },
		{ "{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"In\","
		  "\"values\":[1]}]}",
		  "values of a label selector must be strings" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		AUTO(js_unref) json_t *obj = parse_json(bad[i][0]);
		AUTO(status_done) struct status st = STATUS_INIT;

		assert_null(selector_from_json(obj, &st));
		assert_string_equal(st.message, bad[i][1]);
	}
}

static void
test_an_exact_value_can_be_asked_for(void **state)
{
	AUTO(selector_unref)
	struct selector *sel = parse("a=b,c in (d),e in (f,g),h!=i");

	(void)state;
	assert_string_equal(selector_exact_value(sel, "a"), "b");
	assert_string_equal(selector_exact_value(sel, "c"), "d");
	assert_null(selector_exact_value(sel, "e"));
	assert_null(selector_exact_value(sel, "h"));
	assert_null(selector_exact_value(sel, "x"));
	assert_null(selector_exact_value(NULL, "a"));
}

static void
test_all_exact_values_can_be_gone_through(void **state)
{
	AUTO(selector_unref)
	struct selector *sel = parse("a=b,c in (d),e in (f,g),h!=i");
	struct label label;
	size_t at = 0;

	(void)state;
	assert_true(selector_next_exact(sel, &at, &label));
	assert_string_equal(label.key, "a");
	assert_string_equal(label.value, "b");
	assert_true(selector_next_exact(sel, &at, &label));
	assert_string_equal(label.key, "c");
	assert_false(selector_next_exact(sel, &at, &label));
	at = 0;
	assert_false(selector_next_exact(NULL, &at, &label));
}

static void
test_many_labels_are_searched_in_either_order(void **state)
{
	struct label up[100];
	struct label down[100];
	char keys[100][8];
	AUTO(selector_unref) struct selector *has = parse("k042=v,k099,!k100");
	AUTO(selector_unref) struct selector *not = parse("k042=w");

	(void)state;
	for (size_t i = 0; i < 100; i++) {
		(void)snprintf(keys[i], sizeof(keys[i]), "k%03zu", i);
		up[i] = (struct label){ keys[i], "v" };
		down[99 - i] = up[i];
	}
	assert_true(selector_matches_labels(has, up, 100));
	assert_true(selector_matches_labels(has, down, 100));
	assert_false(selector_matches_labels(not, up, 100));
	assert_false(selector_matches_labels(not, down, 100));
}

static void
test_a_map_selects_what_has_its_values(void **state)
{
	AUTO(js_unref) json_t *map = parse_json("{\"a\":\"b\",\"c\":\"d\"}");
	AUTO(js_unref)
	json_t *more = parse_json("{\"a\":\"b\",\"c\":\"d\",\"e\":\"f\"}");
	AUTO(selector_unref) struct selector *sel = selector_from_map(map);
	AUTO(selector_unref) struct selector *all = selector_from_map(NULL);

	(void)state;
	assert_true(selector_matches(sel, more));
	(void)json_object_del(more, "a");
	assert_false(selector_matches(sel, more));
	assert_true(selector_is_empty(all));
}

static void
test_a_long_selector_is_refused(void **state)
{
	AUTO(free_ptr) char *text = xmalloc0(SELECTOR_MAX_BYTES + 2);
	AUTO(status_done) struct status st = STATUS_INIT;

	(void)state;
	memset(text, ' ', SELECTOR_MAX_BYTES + 1);
	assert_null(selector_parse(text, &st));
	assert_null(fieldsel_parse(text, &st));
	assert_int_equal(st.code, 400);
}

static const char *
get_field(void *arg, const char *path)
{
	return json_string_value(json_object_get(arg, path));
}

static void
test_field_selectors(void **state)
{
	AUTO(status_done) struct status st = STATUS_INIT;
	AUTO(fieldsel_unref)
	struct fieldsel *sel = fieldsel_parse(
		"spec.nodeName=n1,status.phase!=Failed,,x==a\\,b\\=c\\\\", &st);
	AUTO(fieldsel_unref) struct fieldsel *empty = fieldsel_parse("", &st);
	AUTO(js_unref)
	json_t *obj =
		parse_json("{\"spec.nodeName\":\"n1\",\"x\":\"a,b=c\\\\\"}");

	(void)state;
	assert_non_null(sel);
	assert_int_equal(sel->len, 3);
	assert_string_equal(sel->terms[1].path, "status.phase");
	assert_string_equal(sel->terms[1].value, "Failed");
	assert_false(sel->terms[1].equal);
	assert_string_equal(fieldsel_exact_value(sel, "spec.nodeName"), "n1");
	assert_null(fieldsel_exact_value(sel, "status.phase"));
	assert_true(fieldsel_matches(sel, get_field, obj));
	(void)json_object_set_new(obj, "status.phase", json_string("Failed"));
	assert_false(fieldsel_matches(sel, get_field, obj));
	assert_int_equal(empty->len, 0);
	assert_true(fieldsel_matches(empty, get_field, obj));
	assert_true(fieldsel_matches(NULL, get_field, obj));
}

static void
test_errors_of_field_selectors(void **state)
{
	static const char *const bad[][2] = {
		{ "xx", "invalid selector: 'xx'; can't understand 'xx'" },
		{ "a=b,c", "invalid selector: 'a=b,c'; can't understand 'c'" },
		{ "a=b=c", "invalid field selector: unescaped character in "
			   "value: 61" },
		{ "a=b\\x",
		  "invalid field selector: invalid escape sequence: \\x" },
		{ "a=b\\",
		  "invalid field selector: invalid escape sequence: \\" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		AUTO(status_done) struct status st = STATUS_INIT;

		assert_null(fieldsel_parse(bad[i][0], &st));
		assert_string_equal(st.message, bad[i][1]);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_requirements_must_all_hold),
		cmocka_unit_test(test_errors_are_those_of_kubernetes),
		cmocka_unit_test(test_label_selectors_of_objects),
		cmocka_unit_test(test_malformed_label_selectors_are_refused),
		cmocka_unit_test(test_an_exact_value_can_be_asked_for),
		cmocka_unit_test(test_all_exact_values_can_be_gone_through),
		cmocka_unit_test(test_many_labels_are_searched_in_either_order),
		cmocka_unit_test(test_a_map_selects_what_has_its_values),
		cmocka_unit_test(test_a_long_selector_is_refused),
		cmocka_unit_test(test_field_selectors),
		cmocka_unit_test(test_errors_of_field_selectors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
