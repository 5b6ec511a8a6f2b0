/* SPDX-License-Identifier: Apache-2.0 */
#include "api/names.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/test.h"
#include "controller/render/render.h"
#include "controller/render/testcase.h"
#include "kube/obj.h"
#include "meta/testyaml.h"

/* The target of a machine with an SELinux context; NULL when there is none. */
static json_t *
render(const char *context, const char *match, struct err *err)
{
	AUTO(free_ptr)
	char *vmi_text = xasprintf(
		"{metadata: {name: vm1, namespace: ns, uid: u1}, spec: "
		"{domain: {cpu: {model: Penryn}, memory: {guest: 1Gi}}}, "
		"status: {selinuxContext: '%s'}}",
		context);
	AUTO(free_ptr)
	char *kubevirt_text =
		xasprintf("{metadata: {name: a}, spec: {configuration: "
			  "{selinuxLauncherType: t, migrations: "
			  "{matchSELinuxLevelOnMigration: %s}}}}",
			  match);
	AUTO(js_unref) json_t *vmi = testyaml(vmi_text);
	AUTO(js_unref) json_t *kubevirt = testyaml(kubevirt_text);
	AUTO(js_unref) json_t *pod = json_object();
	const struct render_migration migration = {
		.uid = "m1",
		.name = "migration",
		.source_pod = pod,
	};
	struct testcase tc;
	json_t *target;

	testcase_open(&tc, kubevirt, NULL);
	target = render_target_pod(vmi, &tc.env, &migration, err);
	testcase_close(&tc);
	return target;
}

static void
test_the_target_has_the_source_s_selinux_level(void **state)
{
	static const struct {
		const char *context, *match, *level;
	} cases[] = {
		{ "system_u:system_r:container_t:s0:c1,c2", "true",
		  "s0:c1,c2" },
		{ "system_u:system_r:container_t:s0:c1,c2", "null",
		  "s0:c1,c2" },
		{ "u:r:t:s0", "null", "s0" },
		{ "u:r:t:s0:c1", "false", "" },
		{ "none", "true", "" },
		{ "", "false", "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct err err;
		AUTO(js_unref)
		json_t *pod = render(cases[i].context, cases[i].match, &err);
		const json_t *options =
			js_obj_at(pod, "spec.securityContext.seLinuxOptions");

		if (pod == NULL)
			fail_msg("%s", err.text);
		assert_string_equal(js_str_at(options, "level"),
				    cases[i].level);
		assert_string_equal(js_str_at(options, "type"), "t");
	}
}

static void
test_a_context_that_is_missing_or_malformed_is_an_error(void **state)
{
	struct err err;

	(void)state;
	assert_null(render("", "null", &err));
	assert_string_equal(err.text, "VMI is missing SELinux context");
	assert_int_equal(err.kind, ERR_CONFLICT);
	assert_null(render("u:r:t", "true", &err));
	assert_string_equal(err.text, "VMI has invalid SELinux context: u:r:t");
}

static void
test_the_target_is_found_by_its_migration(void **state)
{
	struct err err;
	AUTO(js_unref) json_t *pod = render("none", "null", &err);

	(void)state;
	assert_non_null(pod);
	assert_string_equal(obj_label(pod, LABEL_MIGRATION_UID), "m1");
	assert_string_equal(obj_annotation(pod, ANNOTATION_MIGRATION_NAME),
			    "migration");
	assert_string_equal(obj_label(pod, LABEL_CREATED_BY), "u1");
}

static json_t *
render_named(const char *vmi_text, uint32_t random, struct err *err)
{
	AUTO(js_unref) json_t *vmi = testyaml(vmi_text);
	struct testcase tc;
	json_t *pod;

	testcase_open(&tc, NULL, NULL);
	tc.env.random = random;
	tc.env.launcher_command = "/opt/launcher";
	pod = render_pod(vmi, &tc.env, err);
	testcase_close(&tc);
	return pod;
}

/* What follows an option in the command of the launcher. */
static const char *
option(const json_t *pod, const char *name)
{
	const json_t *command =
		js_arr_at(json_array_get(js_arr_at(pod, "spec.containers"), 0),
			  "command");
	json_t *word;
	size_t i;

	json_array_foreach(command, i, word)
	{
		if (str_equal(json_string_value(word), name))
			return json_string_value(
				json_array_get(command, i + 1));
	}
	return "";
}

static void
test_launchers_wait_between_240_and_359_seconds(void **state)
{
	static const struct {
		uint32_t random;
		const char *timeout;
	} cases[] = {
		{ 0, "240s" },
		{ 119, "359s" },
		{ 120, "240s" },
		{ UINT32_MAX, "255s" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct err err;
		AUTO(js_unref)
		json_t *pod = render_named(
			"{metadata: {name: a, namespace: b, uid: c}, spec: "
			"{domain: {memory: {guest: 1Gi}}}}",
			cases[i].random, &err);

		assert_string_equal(option(pod, "--qemu-timeout"),
				    cases[i].timeout);
	}
}

static void
test_the_pod_outlives_the_grace_of_its_guest(void **state)
{
	struct err err;
	AUTO(js_unref)
	json_t *pod = render_named("{metadata: {name: a, namespace: b, uid: "
				   "c}, spec: {terminationGracePeriodSeconds: "
				   "0, domain: {memory: {guest: 1Gi}}}}",
				   0, &err);

	(void)state;
	assert_string_equal(option(pod, "--grace-period-seconds"), "15");
	assert_int_equal(
		js_int_at(pod, "spec.terminationGracePeriodSeconds", 0), 30);
}

static void
test_an_instance_without_identity_gets_no_pod(void **state)
{
	struct err err;

	(void)state;
	assert_null(render_named("{metadata: {name: a, namespace: b}, spec: "
				 "{domain: {memory: {guest: 1Gi}}}}",
				 0, &err));
	assert_int_equal(err.kind, ERR_INVALID);
}

static void
test_a_target_keeps_apart_besides_what_the_machine_says(void **state)
{
	AUTO(js_unref)
	json_t *vmi = testyaml(
		"{metadata: {name: vm1, namespace: ns, uid: u1}, spec: "
		"{affinity: {podAntiAffinity: "
		"{requiredDuringSchedulingIgnoredDuringExecution: "
		"[{topologyKey: zone}]}}, domain: {cpu: {model: Penryn}, "
		"memory: {guest: 1Gi}}}, status: {selinuxContext: none}}");
	AUTO(js_unref) json_t *pod = json_object();
	AUTO(js_unref) json_t *target = NULL;
	const struct render_migration migration = {
		.uid = "m1",
		.name = "migration",
		.source_pod = pod,
	};
	struct testcase tc;
	struct err err;

	(void)state;
	testcase_open(&tc, NULL, NULL);
	target = render_target_pod(vmi, &tc.env, &migration, &err);
	testcase_close(&tc);
	assert_non_null(target);
	assert_yaml(
		js_at(target, "spec.affinity"),
		"podAntiAffinity: "
		"{requiredDuringSchedulingIgnoredDuringExecution: "
		"[{topologyKey: zone}, {topologyKey: kubernetes.io/hostname, "
		"labelSelector: {matchLabels: {kubevirt.io/created-by: "
		"u1}}}]}");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_the_target_has_the_source_s_selinux_level),
		cmocka_unit_test(
			test_a_context_that_is_missing_or_malformed_is_an_error),
		cmocka_unit_test(test_the_target_is_found_by_its_migration),
		cmocka_unit_test(
			test_launchers_wait_between_240_and_359_seconds),
		cmocka_unit_test(test_the_pod_outlives_the_grace_of_its_guest),
		cmocka_unit_test(test_an_instance_without_identity_gets_no_pod),
		cmocka_unit_test(
			test_a_target_keeps_apart_besides_what_the_machine_says),
	};

	return cmocka_run_group_tests_name("target", tests, NULL, NULL);
}
