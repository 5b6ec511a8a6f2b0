/* SPDX-License-Identifier: Apache-2.0 */
#include "webhook/ui.h"

#include <string.h>

#include "base/array.h"
#include "base/test.h"

#define BASE "/apis/subresources.kubevirt.io/v1"

static void
test_the_page_and_its_parts_are_found_with_their_types(void **state)
{
	static const struct {
		const char *path, *type, *begin;
	} files[] = {
		{ BASE "/ui", "text/html; charset=utf-8", "<!DOCTYPE html>" },
		{ BASE "/ui/index.html", "text/html; charset=utf-8",
		  "<!DOCTYPE html>" },
		{ BASE "/ui/ui.css", "text/css; charset=utf-8", "/* SPDX" },
		{ BASE "/ui/ui.js", "text/javascript; charset=utf-8",
		  "// SPDX" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		struct ui_file file = { 0 };

		assert_true(ui_find(files[i].path, &file));
		assert_string_equal(file.type, files[i].type);
		assert_int_equal(strncmp(file.data, files[i].begin,
					 strlen(files[i].begin)),
				 0);
		assert_int_equal(strlen(file.data), file.len);
	}
}

static void
test_nothing_else_is_found(void **state)
{
	static const char *const paths[] = {
		"/",
		"/ui",
		BASE,
		BASE "/ui/",
		BASE "/ui/x",
		BASE "/ui/../ui",
		BASE "/ui/ui.js/x",
		BASE "/uiui",
		"/apis/subresources.kubevirt.io/v9/ui",
		"/apis/kubevirt.io/v1/ui",
	};
	struct ui_file file;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(paths); i++)
		assert_false(ui_find(paths[i], &file));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_the_page_and_its_parts_are_found_with_their_types),
		cmocka_unit_test(test_nothing_else_is_found),
	};

	return cmocka_run_group_tests_name("ui", tests, NULL, NULL);
}
