/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/checks.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/test.h"

static void
test_what_others_wrote_steers_no_terminal(void **state)
{
	AUTO(js_unref) json_t *checks = json_array();
	AUTO(free_ptr) char *text = NULL;

	(void)state;
	checks_add(checks, "node1", CHECK_FAIL, "proxy", "%s",
		   "\033[2Jgone\n  ok    proxy               well");
	checks_add(checks, "node1", CHECK_UNKNOWN, "path", "%s", "\xc2\x9b");
	checks_add(checks, "node2", CHECK_OK, "proxy", "%s", "answers");
	text = checks_text(checks);
	assert_string_equal(
		text, "node1\n"
		      "  FAIL  proxy               ?[2Jgone?  ok    proxy     "
		      "          well\n"
		      "  ?     path                ??\n"
		      "node2\n"
		      "  ok    proxy               answers\n");
}

static void
test_places_are_put_together(void **state)
{
	AUTO(js_unref) json_t *checks = json_array();
	AUTO(js_unref) json_t *grouped = NULL;
	AUTO(free_ptr) char *text = NULL;

	(void)state;
	checks_add(checks, "b", CHECK_OK, "x", "1");
	checks_add(checks, "a", CHECK_OK, "x", "2");
	checks_add(checks, "b", CHECK_NOTE, "x", "3");
	grouped = checks_grouped(checks);
	text = checks_text(grouped);
	assert_string_equal(text, "b\n"
				  "  ok    x                   1\n"
				  "  note  x                   3\n"
				  "a\n"
				  "  ok    x                   2\n");
	assert_int_equal(checks_count(grouped, "b", CHECK_OK), 1);
	assert_int_equal(checks_count(grouped, NULL, CHECK_OK), 2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_others_wrote_steers_no_terminal),
		cmocka_unit_test(test_places_are_put_together),
	};

	js_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
