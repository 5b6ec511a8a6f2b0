/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/auth/cover.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/test.h"
#include "cluster/auth/testauth.h"
#include "meta/testyaml.h"

static struct rules
rules_of(const char *yaml)
{
	AUTO(js_unref) json_t *list = testyaml(yaml);
	struct rules rules;

	rules_from_json(&rules, list);
	return rules;
}

/* What is missing, "" when nothing is. To be freed. */
static char *
missing(const char *owned, const char *wanted)
{
	struct rules have = rules_of(owned);
	struct rules want = rules_of(wanted);
	const struct rules *const owners[] = { &have };
	char *text = NULL;
	bool held = cover_holds(owners, 1, &want, &text);

	assert_int_equal(held, text == NULL);
	assert_int_equal(cover_holds(owners, 1, &want, NULL), held);
	rules_done(&have);
	rules_done(&want);
	return text ? text : xstrdup("");
}

static const struct {
	const char *owned;
	const char *wanted;
	const char *missing;
} cover_cases[] = {
	{ "[]", "[]", "" },
	{ "[]", "[{apiGroups: [''], resources: [pods], verbs: []}]", "" },
	{ "[{apiGroups: [''], resources: [pods], verbs: [get]}]",
	  "[{apiGroups: [''], resources: [pods], verbs: [get]}]", "" },
	{ "[{apiGroups: [''], resources: [pods], verbs: [get]}]",
	  "[{apiGroups: [''], resources: [pods, nodes], verbs: [get, "
	  "list]}]",
	  "{APIGroups:[\"\"], Resources:[\"nodes\"], Verbs:[\"get\" "
	  "\"list\"]}\n"
	  "{APIGroups:[\"\"], Resources:[\"pods\"], "
	  "Verbs:[\"list\"]}" },
	/* two rules hold together what neither holds alone */
	{ "[{apiGroups: [''], resources: [pods], verbs: [get]}, "
	  "{apiGroups: [''], resources: [nodes], verbs: [get]}]",
	  "[{apiGroups: [''], resources: [pods, nodes], verbs: "
	  "[get]}]",
	  "" },
	/* all of something is more than each of it */
	{ "[{apiGroups: [''], resources: [pods], verbs: [get]}]",
	  "[{apiGroups: [''], resources: [pods], verbs: ['*']}]",
	  "{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"*\"]}" },
	{ "[{apiGroups: ['*'], resources: ['*'], verbs: ['*']}]",
	  "[{apiGroups: [a], resources: [b/c], verbs: ['*']}]", "" },
	{ "[{apiGroups: ['*'], resources: ['*'], verbs: ['*']}]",
	  "[{nonResourceURLs: [/x], verbs: [get]}]",
	  "{NonResourceURLs:[\"/x\"], Verbs:[\"get\"]}" },
	/* subresources */
	{ "[{apiGroups: [''], resources: ['*/log'], verbs: [get]}]",
	  "[{apiGroups: [''], resources: [pods/log], verbs: [get]}]", "" },
	{ "[{apiGroups: [''], resources: ['*/log'], verbs: [get]}]",
	  "[{apiGroups: [''], resources: [pods], verbs: [get]}]",
	  "{APIGroups:[\"\"], Resources:[\"pods\"], "
	  "Verbs:[\"get\"]}" },
	{ "[{apiGroups: [''], resources: [pods], verbs: [get]}]",
	  "[{apiGroups: [''], resources: [pods/log], verbs: [get]}]",
	  "{APIGroups:[\"\"], Resources:[\"pods/log\"], "
	  "Verbs:[\"get\"]}" },
	/* names */
	{ "[{apiGroups: [''], resources: [pods], verbs: [get], "
	  "resourceNames: [a]}]",
	  "[{apiGroups: [''], resources: [pods], verbs: [get]}]",
	  "{APIGroups:[\"\"], Resources:[\"pods\"], "
	  "Verbs:[\"get\"]}" },
	{ "[{apiGroups: [''], resources: [pods], verbs: [get], "
	  "resourceNames: [a]}]",
	  "[{apiGroups: [''], resources: [pods], verbs: [get, list], "
	  "resourceNames: [a, b]}]",
	  "{APIGroups:[\"\"], Resources:[\"pods\"], "
	  "ResourceNames:[\"a\"], Verbs:[\"list\"]}\n"
	  "{APIGroups:[\"\"], Resources:[\"pods\"], "
	  "ResourceNames:[\"b\"], Verbs:[\"get\"]}\n"
	  "{APIGroups:[\"\"], Resources:[\"pods\"], "
	  "ResourceNames:[\"b\"], Verbs:[\"list\"]}" },
	{ "[{apiGroups: [''], resources: [pods], verbs: [get]}]",
	  "[{apiGroups: [''], resources: [pods], verbs: [get], "
	  "resourceNames: [a]}]",
	  "" },
	/* paths */
	{ "[{nonResourceURLs: [/a/*], verbs: [get]}]",
	  "[{nonResourceURLs: [/a/b, /a/b/*], verbs: [get]}]", "" },
	{ "[{nonResourceURLs: [/a/*], verbs: [get]}]",
	  "[{nonResourceURLs: [/a, '*'], verbs: [get]}]",
	  "{NonResourceURLs:[\"*\"], Verbs:[\"get\"]}\n"
	  "{NonResourceURLs:[\"/a\"], Verbs:[\"get\"]}" },
};

static void
test_single_permissions_are_compared(void **state)
{

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cover_cases); i++) {
		AUTO(free_ptr)
		char *text =
			missing(cover_cases[i].owned, cover_cases[i].wanted);

		assert_string_equal(text, cover_cases[i].missing);
	}
}

/* A list of n words. */
static json_t *
many(int n)
{
	json_t *list = json_array();
	char word[16];

	for (int i = 0; i < n; i++) {
		(void)snprintf(word, sizeof(word), "w%d", i);
		(void)json_array_append_new(list, json_string(word));
	}
	return list;
}

static void
test_rules_that_stand_for_too_much_are_not_held(void **state)
{
	AUTO(js_unref)
	json_t *list = json_pack("[{s:o, s:o, s:o}]", "apiGroups", many(3000),
				 "resources", many(3000), "verbs", many(3000));
	struct rules huge;
	struct rules all = rules_of(
		"[{apiGroups: ['*'], resources: ['*'], verbs: ['*']}]");
	const struct rules *owners[] = { &huge };
	char *text;

	(void)state;
	assert_non_null(list);
	rules_from_json(&huge, list);
	assert_false(cover_holds(owners, 1, &huge, &text));
	assert_string_equal(text, "(the rules stand for too many permissions "
				  "to be compared)");
	free(text);
	/* Who has all does not need to be compared. */
	owners[0] = &all;
	assert_true(cover_holds(owners, 1, &huge, NULL));
	/* What is told is neither long nor takes long. */
	assert_false(cover_holds(owners, 0, &huge, &text));
	assert_true(strlen(text) < 65536);
	free(text);
	rules_done(&huge);
	rules_done(&all);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_single_permissions_are_compared),
		cmocka_unit_test(
			test_rules_that_stand_for_too_much_are_not_held),
	};

	return cmocka_run_group_tests_name("cover", tests, NULL, NULL);
}
