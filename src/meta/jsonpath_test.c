/* SPDX-License-Identifier: Apache-2.0 */
#include "meta/jsonpath.h"

#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/test.h"

static const char object_text[] =
	"{\"metadata\":{\"name\":\"x\",\"labels\":{\"a.b/c\":\"L\",\"q'\":1}},"
	"\"spec\":{\"n\":[10,20,30,40]},"
	"\"status\":{\"conditions\":["
	"{\"type\":\"Ready\",\"status\":\"True\",\"n\":1},"
	"{\"type\":\"Paused\",\"status\":\"False\",\"n\":2.5},"
	"{\"type\":\"Ready\",\"status\":\"Later\",\"b\":true},7]}}";

static bool
note(void *arg, json_t *value)
{
	AUTO(free_ptr) char *text = js_text_sorted(value, NULL);

	(void)buf_printf(arg, "%s;", text);
	return true;
}

static void
check(const char *text, const char *values)
{
	struct err err = { 0 };
	AUTO(js_unref)
	json_t *object = js_parse(object_text, strlen(object_text), &err);
	AUTO(jsonpath_unref)
	struct jsonpath *path = jsonpath_compile(text, &err);
	AUTO(buf_done) struct buf found = BUF_INIT(1 << 16);
	json_t *first;

	if (path == NULL)
		fail_msg("%s", err.text);
	(void)buf_append_str(&found, "");
	jsonpath_each(path, object, note, &found);
	assert_string_equal((const char *)found.data, values);
	first = jsonpath_first(path, object);
	if (first == NULL)
		assert_string_equal(values, "");
	else
		assert_int_not_equal(values[0], '\0');
}

static void
test_paths_find_their_values_in_order(void **state)
{
	static const char *const cases[][2] = {
		{ ".metadata.name", "\"x\";" },
		{ "{.metadata.name}", "\"x\";" },
		{ " { $.metadata.name } ", "\"x\";" },
		{ "$['metadata']['name']", "\"x\";" },
		{ "['metadata'].name", "\"x\";" },
		{ ".metadata.['name']", "\"x\";" },
		{ ".metadata.labels.a\\.b/c", "\"L\";" },
		{ ".metadata.labels['a.b/c']", "\"L\";" },
		{ ".metadata.labels[\"a.b/c\"]", "\"L\";" },
		{ ".metadata.labels['q\\'']", "1;" },
		{ ".metadata.labels['q\\'', 'a.b/c','x']", "1;\"L\";" },
		{ ".metadata.missing.more", "" },
		{ ".metadata.name.more", "" },
		{ ".spec.n[0]", "10;" },
		{ ".spec.n[-1]", "40;" },
		{ ".spec.n[4]", "" },
		{ ".spec.n[-5]", "" },
		{ ".spec.n[*]", "10;20;30;40;" },
		{ ".spec.n[1:3]", "20;30;" },
		{ ".spec.n[:2]", "10;20;" },
		{ ".spec.n[2:]", "30;40;" },
		{ ".spec.n[-2:]", "30;40;" },
		{ ".spec.n[::2]", "10;30;" },
		{ ".spec.n[0:-1]", "10;20;30;" },
		{ ".spec.n[3:1]", "" },
		{ ".metadata.labels.*", "\"L\";1;" },
		{ ".status.conditions[?(@.type==\"Ready\")].status",
		  "\"True\";\"Later\";" },
		{ ".status.conditions[?(@.type=='Paused')].status",
		  "\"False\";" },
		{ ".status.conditions[?( @.type != 'Ready' )].status",
		  "\"False\";" },
		{ ".status.conditions[?(@.n>1)].type", "\"Paused\";" },
		{ ".status.conditions[?(@.n>=1)].n", "1;2.5;" },
		{ ".status.conditions[?(@.n<2)].n", "1;" },
		{ ".status.conditions[?(@.n<=2.5)].n", "1;2.5;" },
		{ ".status.conditions[?(@.b)].status", "\"Later\";" },
		{ ".status.conditions[?(@.b==true)].status", "\"Later\";" },
		{ ".status.conditions[?(@['b']==false)].status", "" },
		{ ".status.conditions[?(@.n=='1')].status", "" },
		{ ".status.conditions[?(@==7)]", "7;" },
		{ ".status.conditions[*].n", "1;2.5;" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		check(cases[i][0], cases[i][1]);
}

static void
test_the_whole_value_can_be_meant(void **state)
{
	struct err err;
	AUTO(js_unref) json_t *value = json_integer(5);
	AUTO(jsonpath_unref) struct jsonpath *dot = jsonpath_compile(".", &err);
	AUTO(jsonpath_unref)
	struct jsonpath *dollar = jsonpath_compile("{$}", &err);

	(void)state;
	assert_ptr_equal(jsonpath_first(dot, value), value);
	assert_ptr_equal(jsonpath_first(dollar, value), value);
}

static void
test_malformed_paths_are_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"a",
		"{.a",
		".a}",
		".a..b",
		"..a",
		".a[",
		".a[]",
		".a['x]",
		".a['x'",
		".a[x]",
		".a[1",
		".a[1:2:0]",
		".a[-]",
		".a[?(@.b",
		".a[?(@.b==)]",
		".a[?(.b)]",
		".a[?(@.b=='x')",
		".a[?(@.b[?(@.c)])]",
		".a b",
		".a[9999999999]",
		".a[?(@.b==x)]",
		".a,b",
		"{.a}{.b}",
		".a['x',]",
	};
	struct err err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		if (jsonpath_compile(bad[i], &err) != NULL)
			fail_msg("'%s' should not compile", bad[i]);
		assert_int_equal(err.kind, ERR_INVALID);
	}
	assert_null(jsonpath_compile(".a[x]", &err));
	assert_string_equal(
		err.text,
		"JSONPath '.a[x]': an index is missing at character 4");
}

static void
test_the_number_of_steps_is_limited(void **state)
{
	char text[2 * (JSONPATH_MAX_STEPS + 1) + 1] = "";
	AUTO(free_ptr) char *large = xmalloc0(JSONPATH_MAX_BYTES + 2);
	struct err err;

	(void)state;
	for (size_t i = 0; i <= JSONPATH_MAX_STEPS; i++)
		memcpy(text + 2 * i, ".a", 2);
	assert_null(jsonpath_compile(text, &err));
	text[(size_t)2 * JSONPATH_MAX_STEPS] = '\0';
	{
		AUTO(jsonpath_unref)
		struct jsonpath *path = jsonpath_compile(text, &err);

		assert_non_null(path);
	}
	memset(large, '.', JSONPATH_MAX_BYTES + 1);
	assert_null(jsonpath_compile(large, &err));
}

static void
test_simple_paths_are_known(void **state)
{
	static const struct {
		const char *text;
		bool simple;
	} cases[] = {
		{ ".spec.replicas", true },
		{ "['spec'].x", true },
		{ ".spec.n[0]", false },
		{ ".spec.*", false },
		{ ".spec['a','b']", false },
		{ ".a[?(@.b)]", false },
		{ ".", false },
	};
	struct err err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(jsonpath_unref)
		struct jsonpath *path = jsonpath_compile(cases[i].text, &err);

		assert_non_null(path);
		assert_int_equal(jsonpath_is_simple(path), cases[i].simple);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paths_find_their_values_in_order),
		cmocka_unit_test(test_the_whole_value_can_be_meant),
		cmocka_unit_test(test_malformed_paths_are_refused),
		cmocka_unit_test(test_the_number_of_steps_is_limited),
		cmocka_unit_test(test_simple_paths_are_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
