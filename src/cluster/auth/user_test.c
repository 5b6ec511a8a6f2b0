/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/auth/user.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/test.h"

static void
test_a_service_account_has_its_groups(void **state)
{
	AUTO(user_release)
	struct user *user = user_service_account("w", "default", "u-1");

	(void)state;
	assert_string_equal(user->name, "system:serviceaccount:w:default");
	assert_string_equal(user->uid, "u-1");
	assert_int_equal(user->n_groups, 3);
	assert_string_equal(user->groups[0], "system:serviceaccounts");
	assert_string_equal(user->groups[1], "system:serviceaccounts:w");
	assert_string_equal(user->groups[2], "system:authenticated");
}

static void
test_a_group_is_added_once(void **state)
{
	const char *const groups[] = { "a", "system:authenticated", "a" };
	AUTO(user_release)
	struct user *user =
		user_authenticated("x", NULL, groups, ARRAY_LEN(groups));

	(void)state;
	assert_int_equal(user->n_groups, 2);
	assert_true(user_in_group(user, "a"));
	assert_false(user_in_group(user, "b"));
}

static void
test_a_user_lives_as_long_as_somebody_holds_it(void **state)
{
	struct user *user = user_new("x", "");
	struct user *again = user_ref(user);

	(void)state;
	user_unref(user);
	assert_string_equal(again->name, "x");
	assert_null(again->uid);
	user_unref(again);
	user_unref(NULL);
}

static void
test_a_node_needs_the_name_and_the_group(void **state)
{
	static const struct {
		const char *name;
		const char *group;
		const char *node; /* NULL: no node */
	} cases[] = {
		{ "system:node:n1", "system:nodes", "n1" },
		{ "system:node:", "system:nodes", "" },
		{ "system:node:n1", "other", NULL },
		{ "n1", "system:nodes", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(user_release)
		struct user *user = user_new(cases[i].name, NULL);
		const char *node;

		user_add_group(user, cases[i].group);
		assert_int_equal(user_is_node(user, &node),
				 cases[i].node != NULL);
		if (cases[i].node)
			assert_string_equal(node, cases[i].node);
	}
}

static void
test_names_of_service_accounts_are_taken_apart(void **state)
{
	static const char *const others[] = {
		"w:default",
		"system:serviceaccount:w",
		"system:serviceaccount:w:",
		"system:serviceaccount::default",
		"system:serviceaccount:w:a:b",
	};
	AUTO(free_ptr) char *ns = NULL;
	const char *name;

	(void)state;
	assert_true(user_name_is_service_account("system:serviceaccount:w:d",
						 &ns, &name));
	assert_string_equal(ns, "w");
	assert_string_equal(name, "d");
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		assert_false(
			user_name_is_service_account(others[i], &ns, &name));
}

static void
test_the_json_has_what_is_known(void **state)
{
	AUTO(user_release) struct user *user = user_new("x", "u-1");
	AUTO(user_release) struct user *bare = user_new("y", NULL);
	AUTO(js_unref) json_t *json = NULL;
	AUTO(js_unref) json_t *other = NULL;
	AUTO(free_ptr) char *text = NULL;
	AUTO(free_ptr) char *short_text = NULL;

	(void)state;
	user_add_group(user, "g");
	user_add_extra(user, "k", "1");
	user_add_extra(user, "k", "2");
	json = user_json(user);
	text = js_text_sorted(json, NULL);
	assert_string_equal(text, "{\"extra\":{\"k\":[\"1\",\"2\"]},"
				  "\"groups\":[\"g\"],\"uid\":\"u-1\","
				  "\"username\":\"x\"}");
	other = user_json(bare);
	short_text = js_text_sorted(other, NULL);
	assert_string_equal(short_text, "{\"username\":\"y\"}");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_service_account_has_its_groups),
		cmocka_unit_test(test_a_group_is_added_once),
		cmocka_unit_test(
			test_a_user_lives_as_long_as_somebody_holds_it),
		cmocka_unit_test(test_a_node_needs_the_name_and_the_group),
		cmocka_unit_test(
			test_names_of_service_accounts_are_taken_apart),
		cmocka_unit_test(test_the_json_has_what_is_known),
	};

	return cmocka_run_group_tests_name("user", tests, NULL, NULL);
}
