/* SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "base/cleanup.h"
#include "base/test.h"
#include "controller/render/podpatch.h"
#include "controller/render/testcase.h"
#include "meta/testyaml.h"

#define PREFIX "descheduler.alpha.kubernetes.io/"

static void
test_the_descheduler_is_told_what_has_changed(void **state)
{
	static const struct {
		const char *vmi, *pod;
		const char *patch; /* of annotations; NULL for none */
	} cases[] = {
		{ "{}", "{}", NULL },
		{ "{status: {evacuationNodeName: a}}", "{}",
		  "{" PREFIX "eviction-in-progress: 'true'}" },
		{ "{status: {evacuationNodeName: a}}",
		  "{" PREFIX "eviction-in-progress: 'true', other: x}", NULL },
		{ "{status: {}}", "{" PREFIX "eviction-in-progress: 'true'}",
		  "{" PREFIX "eviction-in-progress: null}" },
		{ "{metadata: {annotations: {" PREFIX "evict: 'true', other: "
		  "x}}}",
		  "{}", "{" PREFIX "evict: 'true'}" },
		{ "{metadata: {annotations: {" PREFIX "evict: 'true'}}}",
		  "{" PREFIX "prefer-no-eviction: ''}",
		  "{" PREFIX "evict: 'true', " PREFIX
		  "prefer-no-eviction: null}" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(js_unref) json_t *vmi = testyaml(cases[i].vmi);
		AUTO(js_unref)
		json_t *pod = json_pack("{s:{s:o}}", "metadata", "annotations",
					testyaml(cases[i].pod));
		AUTO(js_unref) json_t *patch = podpatch_descheduler(vmi, pod);

		if (cases[i].patch == NULL) {
			assert_null(patch);
			continue;
		}
		assert_non_null(patch);
		assert_yaml(json_object_get(json_object_get(patch, "metadata"),
					    "annotations"),
			    cases[i].patch);
	}
}

static void
test_networks_are_told_that_the_guest_is_here(void **state)
{
	AUTO(js_unref)
	json_t *patch = podpatch_target_ready("2026-11-16T05:00:00Z");

	(void)state;
	assert_yaml(patch, "metadata: {annotations: "
			   "{kubevirt.io/migration-target-ready-timestamp: "
			   "'2026-11-16T05:00:00Z'}}");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_descheduler_is_told_what_has_changed),
		cmocka_unit_test(test_networks_are_told_that_the_guest_is_here),
	};

	return cmocka_run_group_tests_name("podpatch", tests, NULL, NULL);
}
