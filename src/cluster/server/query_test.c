/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/mem.h"
#include "base/test.h"
#include "cluster/server/query.h"
#include "meta/status.h"

static void
test_decodes_keys_and_values(void **state)
{
	struct status st = STATUS_INIT;
	struct query query;

	(void)state;
	assert_int_equal(query_parse("labelSelector=a%3Db%2Cc&watch&x=1+2&x=3",
				     &query, &st),
			 0);
	assert_string_equal(query_get(&query, "labelSelector"), "a=b,c");
	assert_string_equal(query_get(&query, "x"), "1 2");
	assert_true(query_bool(&query, "watch"));
	assert_null(query_get(&query, "missing"));
	assert_false(query_bool(&query, "missing"));
	query_done(&query);
}

static void
test_refuses_what_is_broken_or_too_much(void **state)
{
	char *many = xmalloc0(4UL * QUERY_PARAMS_MAX + 5);
	char *longer = xmalloc0(QUERY_MAX + 2);
	const char *bad[] = { "a=%", "a=%4", "a=%zz", "%00=1", many, longer };

	(void)state;
	for (size_t i = 0; i <= QUERY_PARAMS_MAX; i++)
		memcpy(many + 4 * i, "a=1&", 4);
	memset(longer, 'a', QUERY_MAX + 1);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct status st = STATUS_INIT;
		struct query query;

		assert_int_equal(query_parse(bad[i], &query, &st), -1);
		assert_int_equal(st.code, 400);
		query_done(&query);
		status_done(&st);
	}
	free(many);
	free(longer);
}

static const struct {
	const char *query;
	bool watch;
	int code;
	const char *message;
} wrong_lists[] = {
	{ "limit=abc", false, 400,
	  "strconv.ParseInt: parsing \"abc\": invalid syntax" },
	{ "resourceVersion=abc", false, 500,
	  "resourceVersion: Invalid value: \"abc\": strconv.ParseUint: parsing "
	  "\"abc\": invalid syntax" },
	{ "continue=x&resourceVersion=5", false, 400,
	  "specifying resource version is not allowed when using continue" },
	{ "resourceVersionMatch=Exact&resourceVersion=0", false, 422,
	  "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: "
	  "Forbidden: resourceVersionMatch \"exact\" is forbidden for "
	  "resourceVersion \"0\"" },
	{ "resourceVersionMatch=Exact", false, 422,
	  "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: "
	  "Forbidden: resourceVersionMatch is forbidden unless "
	  "resourceVersion is provided" },
	{ "resourceVersionMatch=Foo&resourceVersion=1", false, 422,
	  "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: "
	  "Unsupported value: \"Foo\": supported values: \"Exact\", "
	  "\"NotOlderThan\", \"\"" },
	{ "resourceVersionMatch=NotOlderThan", true, 422,
	  "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: "
	  "Forbidden: resourceVersionMatch is forbidden for watch" },
};

static void
test_refuses_list_options_in_the_servers_words(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(wrong_lists); i++) {
		struct status st = STATUS_INIT;
		struct list_options options;
		struct query query;

		assert_int_equal(query_parse(wrong_lists[i].query, &query, &st),
				 0);
		assert_int_equal(query_list_options(&query,
						    wrong_lists[i].watch,
						    &options, &st),
				 -1);
		assert_int_equal(st.code, wrong_lists[i].code);
		assert_string_equal(st.message, wrong_lists[i].message);
		status_done(&st);
		query_done(&query);
	}
}

static void
test_reads_list_options(void **state)
{
	struct status st = STATUS_INIT;
	struct list_options options;
	struct query query;

	(void)state;
	assert_int_equal(
		query_parse("limit=-1&timeoutSeconds=7&resourceVersion=12&"
			    "allowWatchBookmarks=true&sendInitialEvents=true&"
			    "resourceVersionMatch=NotOlderThan",
			    &query, &st),
		0);
	assert_int_equal(query_list_options(&query, true, &options, &st), 0);
	assert_int_equal(options.limit, 0);
	assert_int_equal(options.timeout_s, 7);
	assert_int_equal(options.rv, 12);
	assert_true(options.has_rv && options.bookmarks);
	assert_true(options.send_initial_events);
	assert_int_equal(options.rv_match, RV_MATCH_NOT_OLDER);
	query_done(&query);
}

static void
expect_write_options(const char *text, const char *kind, const char *message)
{
	struct status st = STATUS_INIT;
	struct write_options options;
	struct query query;

	assert_int_equal(query_parse(text, &query, &st), 0);
	assert_int_equal(query_write_options(&query, kind, &options, &st), -1);
	assert_int_equal(st.code, 422);
	assert_string_equal(st.message, message);
	status_done(&st);
	query_done(&query);
}

static void
test_refuses_write_options_in_the_servers_words(void **state)
{
	(void)state;
	expect_write_options(
		"dryRun=Foo", "CreateOptions",
		"CreateOptions.meta.k8s.io \"\" is invalid: dryRun: "
		"Unsupported value: []string{\"Foo\"}: supported values: "
		"\"All\"");
	expect_write_options(
		"fieldValidation=Zork", "CreateOptions",
		"CreateOptions.meta.k8s.io \"\" is invalid: fieldValidation: "
		"Unsupported value: \"Zork\": supported values: \"\", "
		"\"Ignore\", \"Strict\", \"Warn\"");
	expect_write_options("force=true", "PatchOptions",
			     "PatchOptions.meta.k8s.io \"\" is invalid: force: "
			     "Forbidden: may not be specified for non-apply "
			     "patch");
}

static void
test_delete_options_come_from_body_and_query(void **state)
{
	struct status st = STATUS_INIT;
	json_t *body =
		json_pack("{s:s, s:i, s:{s:s}, s:[s]}", "propagationPolicy",
			  "Foreground", "gracePeriodSeconds", 5,
			  "preconditions", "uid", "u1", "dryRun", "All");
	struct delete_options options;
	struct query query;

	(void)state;
	assert_int_equal(query_parse("gracePeriodSeconds=9", &query, &st), 0);
	assert_int_equal(query_delete_options(&query, body, &options, &st), 0);
	assert_int_equal(options.propagation, PROPAGATION_FOREGROUND);
	assert_int_equal(options.grace_s, 5);
	assert_string_equal(options.uid, "u1");
	assert_true(options.dry_run);
	assert_int_equal(query_delete_options(&query, NULL, &options, &st), 0);
	assert_int_equal(options.grace_s, 9);
	assert_int_equal(options.propagation, PROPAGATION_DEFAULT);
	query_done(&query);
	json_decref(body);
}

static void
test_an_unknown_propagation_policy_is_refused(void **state)
{
	struct status st = STATUS_INIT;
	struct delete_options options;
	struct query query;

	(void)state;
	assert_int_equal(query_parse("propagationPolicy=Zork", &query, &st), 0);
	assert_int_equal(query_delete_options(&query, NULL, &options, &st), -1);
	assert_string_equal(
		st.message,
		"DeleteOptions.meta.k8s.io \"\" is invalid: propagationPolicy: "
		"Unsupported value: \"Zork\": supported values: "
		"\"Foreground\", \"Background\", \"Orphan\", \"nil\"");
	status_done(&st);
	query_done(&query);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_decodes_keys_and_values),
		cmocka_unit_test(test_refuses_what_is_broken_or_too_much),
		cmocka_unit_test(
			test_refuses_list_options_in_the_servers_words),
		cmocka_unit_test(test_reads_list_options),
		cmocka_unit_test(
			test_refuses_write_options_in_the_servers_words),
		cmocka_unit_test(test_delete_options_come_from_body_and_query),
		cmocka_unit_test(test_an_unknown_propagation_policy_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
