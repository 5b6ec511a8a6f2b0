/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/migration/hindsight.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/test.h"

#define TIMES                                            \
	"\"startTimestamp\": \"2026-11-16T10:00:00Z\", " \
	"\"endTimestamp\": \"2026-11-16T10:00:10Z\", "
#define PREDICTED "\"prediction\": {\"copyMs\": 8000, \"downtimeMs\": 50}, "

static json_t *
state_of(const char *text)
{
	struct err err;
	json_t *state = js_parse(text, strlen(text), &err);

	if (state == NULL)
		fail_msg("%s", err.text);
	hindsight_add(state);
	return state;
}

static void
test_what_came_stands_beside_what_was_predicted(void **state)
{
	AUTO(js_unref)
	json_t *s = state_of("{" TIMES PREDICTED
			     "\"completed\": true, \"mode\": \"PreCopy\", "
			     "\"progress\": {\"downtimeMs\": 70}}");
	double ratio = 0;

	(void)state;
	assert_int_equal(js_int_at(s, "prediction.copyMs", 0), 8000);
	assert_int_equal(js_int_at(s, "prediction.actual.copyMs", 0), 10000);
	assert_int_equal(js_int_at(s, "prediction.actual.downtimeMs", 0), 70);
	assert_string_equal(js_str_at(s, "prediction.actual.mode"), "PreCopy");
	assert_true(hindsight_error(s, &ratio));
	assert_true(ratio > 0.199 && ratio < 0.201);
}

static void
test_without_an_end_or_a_prediction_there_is_none(void **state)
{
	static const char *const cases[] = {
		"{" TIMES "\"completed\": true}",
		"{" TIMES PREDICTED "\"completed\": false}",
		"{" TIMES PREDICTED "\"completed\": true, \"failed\": true}",
		"{" PREDICTED "\"completed\": true}",
	};
	double ratio;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		AUTO(js_unref) json_t *s = state_of(cases[i]);

		assert_null(js_at(s, "prediction.actual"));
		assert_false(hindsight_error(s, &ratio));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_what_came_stands_beside_what_was_predicted),
		cmocka_unit_test(
			test_without_an_end_or_a_prediction_there_is_none),
	};

	return cmocka_run_group_tests_name("hindsight", tests, NULL, NULL);
}
