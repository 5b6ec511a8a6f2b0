/* SPDX-License-Identifier: Apache-2.0 */
#include "webhook/diff.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/testjson.h"
#include "meta/patch.h"
#include "meta/status.h"

/* What the patch does is what counts, and that it does no more than needed. */
static const struct {
	const char *before, *after;
	size_t ops;
} cases[] = {
	{ "{}", "{}", 0 },
	{ "{\"a\":1}", "{\"a\":1}", 0 },
	{ "{}", "{\"a\":1}", 1 },
	{ "{\"a\":1}", "{}", 1 },
	{ "{\"a\":1}", "{\"a\":2}", 1 },
	{ "{\"a\":null}", "{\"a\":2}", 1 },
	{ "{\"a\":{\"b\":1,\"c\":2}}", "{\"a\":{\"b\":1,\"c\":3}}", 1 },
	{ "{\"a\":{}}", "{\"a\":[]}", 1 },
	{ "{\"a/b\":1,\"c~d\":2}", "{\"a/b\":2,\"c~d\":3,\"~1/\":4}", 3 },
	{ "{\"a\":[1,2]}", "{\"a\":[1,2,3,4]}", 2 },
	{ "{\"a\":[1,2]}", "{\"a\":[1]}", 1 },
	{ "{\"a\":[{\"b\":1},{\"b\":2}]}", "{\"a\":[{\"b\":1},{\"b\":3}]}", 1 },
	{ "{\"a\":[]}", "{\"a\":[[]]}", 1 },
	{ "{\"\":1}", "{\"\":2}", 1 },
	{ "[1]", "{\"a\":1}", 1 },
};

static void
test_the_patch_makes_one_of_the_other(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(js_unref) json_t *before = testjson(cases[i].before);
		AUTO(js_unref) json_t *after = testjson(cases[i].after);
		AUTO(js_unref) json_t *ops = diff_patch(before, after);
		AUTO(status_done) struct status st = STATUS_INIT;
		AUTO(js_unref) json_t *made = patch_json(before, ops, &st);

		assert_non_null(made);
		assert_true(json_equal(made, after));
		assert_int_equal(json_array_size(ops), cases[i].ops);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_patch_makes_one_of_the_other),
	};

	js_init();
	return cmocka_run_group_tests_name("diff", tests, NULL, NULL);
}
