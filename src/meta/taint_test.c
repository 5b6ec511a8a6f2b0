/* SPDX-License-Identifier: Apache-2.0 */
#include "meta/taint.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/testjson.h"

/* Whether a pod with these tolerations can be where this taint is. */
static bool
is_covered(const char *tolerations_text, const char *taint_text)
{
	AUTO(js_unref) json_t *pod = testjson(tolerations_text);
	AUTO(js_unref) json_t *node = testjson(taint_text);
	size_t len, count;
	struct taint *taints = taints_from_json(node, &count);
	struct toleration *tolerations = tolerations_from_json(pod, &len);
	bool covered;

	assert_int_equal(count, 1);
	covered = tolerations_cover(tolerations, len, &taints[0]);
	tolerations_free(tolerations, len);
	taints_free(taints, count);
	return covered;
}

#define TAINT "[{'key':'a','value':'1','effect':'NoSchedule'}]"

static void
test_a_toleration_covers_what_it_names(void **state)
{
	static const struct {
		const char *tolerations;
		bool covers;
	} cases[] = {
		{ "[]", false },
		{ "[{'operator':'Exists'}]", true },
		{ "[{'key':'a','operator':'Exists'}]", true },
		{ "[{'key':'b','operator':'Exists'}]", false },
		{ "[{'key':'a','value':'1'}]", true },
		{ "[{'key':'a','operator':'Equal','value':'1'}]", true },
		{ "[{'key':'a','value':'2'}]", false },
		{ "[{'key':'a'}]", false },
		{ "[{'key':'a','value':'1','effect':'NoSchedule'}]", true },
		{ "[{'operator':'Exists','effect':'NoExecute'}]", false },
		{ "[{'key':'b'},{'key':'a','operator':'Exists'}]", true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		if (is_covered(cases[i].tolerations, TAINT) != cases[i].covers)
			fail_msg("%s", cases[i].tolerations);
	}
}

static void
test_only_two_effects_keep_pods_away(void **state)
{
	static const struct {
		const char *effect;
		bool hard;
	} cases[] = {
		{ "[{'key':'a','effect':'NoSchedule'}]", true },
		{ "[{'key':'a','effect':'NoExecute'}]", true },
		{ "[{'key':'a','effect':'PreferNoSchedule'}]", false },
		{ "[{'key':'a','effect':'Other'}]", false },
		{ "[{'key':'a'}]", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(js_unref) json_t *array = testjson(cases[i].effect);
		size_t len;
		struct taint *taints = taints_from_json(array, &len);

		assert_int_equal(taint_is_hard(&taints[0]), cases[i].hard);
		taints_free(taints, len);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_toleration_covers_what_it_names),
		cmocka_unit_test(test_only_two_effects_keep_pods_away),
	};

	return cmocka_run_group_tests_name("taint", tests, NULL, NULL);
}
