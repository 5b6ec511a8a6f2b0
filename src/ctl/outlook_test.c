/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/outlook.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/testjson.h"
#include "ctl/checks.h"
#include "meta/time.h"

#define VMI                                                                 \
	"{'metadata': {'name': 'vm1', 'labels': {'app': 'db'}}, 'status': " \
	"{'nodeName': 'a'}}"
#define PROXY(until)                                                           \
	"'handler': '1', 'proxy': {'version': '1', 'status': {'credentials': " \
	"{'server': {'identity': 'spiffe://n', 'notAfter': '" until "'}}}}"
#define FOREVER "2999-01-01T00:00:00Z"
#define GUEST(rate)                                              \
	"'guest': {'memoryBytes': 1073741824, 'residentBytes': " \
	"536870912, 'dirtyRateBytesPerSecond': " rate "}"
#define PATH                                                      \
	"'path': {'address': '192.0.2.2', 'handshakeUs': 12500, " \
	"'roundTripUs': 800, 'bytes': 1, 'bytesPerSecond': 536870912}"

static json_t *
judged(const char *status, json_t *checks)
{
	AUTO(js_unref) json_t *vmi = testjson(VMI);
	AUTO(js_unref) json_t *answers = testjson(status);
	const struct outlook_facts facts = { .vmi = vmi };
	AUTO(free_ptr) char *policy = NULL;
	struct migration_config config;
	struct err err;
	json_t *outlook;

	assert_int_equal(outlook_settings(&facts, &config, &policy, &err), 0);
	assert_string_equal(policy, "");
	outlook = outlook_judge(&facts, &config, "b", answers, time_now_us(),
				checks);
	migration_config_done(&config);
	return outlook;
}

static void
test_what_was_measured_is_told_and_reckoned_with(void **state)
{
	static const char expected[] =
		"b\n"
		"  ok    certificate         server: spiffe://n "
		"2999-01-01T00:00:00Z\n"
		"  ok    certificate         server: spiffe://n "
		"2999-01-01T00:00:00Z\n"
		"  ok    version             1\n"
		"  ok    path                192.0.2.2: handshake 12.5 ms, "
		"there and back 0.8 ms, 512 MiB/s\n"
		"  ok    guest               1.0 GiB of memory, 512 MiB "
		"touched, 1.0 MiB/s written to\n"
		"  ok    prediction          It moves in about 2.1 s";
	AUTO(js_unref) json_t *checks = json_array();
	AUTO(js_unref)
	json_t *outlook =
		judged("{'source': {" PROXY(FOREVER) ", " GUEST(
			       "1048576") ", " PATH
					  "}, 'target': {" PROXY(FOREVER) "}}",
		       checks);
	AUTO(free_ptr) char *text = checks_text(checks);

	(void)state;
	text[strlen(expected)] = '\0';
	assert_string_equal(text, expected);
	assert_string_equal(js_str_at(outlook, "prediction.verdict"),
			    "Converges");
	/* What the guest has not touched is not sent. */
	assert_int_equal(js_int_at(outlook, "prediction.bytes", 0), 536870912);
	assert_int_equal(js_int_at(outlook, "path.handshakeUs", 0), 12500);
}

static void
test_each_trouble_fails_the_node(void **state)
{
	static const struct {
		const char *status, *words;
	} cases[] = {
		{ "{}", "agent               that of a does not answer" },
		{ "{'source': {" PROXY(FOREVER) "}}",
		  "agent               that of b does not answer" },
		{ "{'source': {" PROXY(FOREVER) "}, 'target': {'proxy': "
						"{'error': 'gone'}}}",
		  "that of b does not answer: gone" },
		{ "{'source': {" PROXY(FOREVER) "}, 'target': {" PROXY(
			  "2001-01-01T00:00:00Z") "}}",
		  "spiffe://n has expired" },
		{ "{'source': {" PROXY(FOREVER) ", 'path': {'reason': "
						"'WrongCA', 'message': 'no'}},"
						" 'target': {" PROXY(
							FOREVER) "}}",
		  "FAIL  path                WrongCA: no" },
		{ "{'source': {" PROXY(FOREVER) ", " GUEST(
			  "1073741824") ", " PATH
					"}, 'target': {" PROXY(FOREVER) "}}",
		  "FAIL  prediction" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		AUTO(js_unref) json_t *checks = json_array();
		AUTO(js_unref)
		json_t *outlook = judged(cases[i].status, checks);
		AUTO(free_ptr) char *text = checks_text(checks);

		assert_non_null(js_obj_at(outlook, "prediction"));
		assert_true(checks_count(checks, "b", CHECK_FAIL) > 0);
		if (strstr(text, cases[i].words) == NULL)
			fail_msg("%s not in:\n%s", cases[i].words, text);
	}
}

static void
test_a_node_that_is_busy_is_not_refused_for_it(void **state)
{
	AUTO(js_unref) json_t *checks = json_array();
	AUTO(js_unref)
	json_t *outlook =
		judged("{'source': {" PROXY(FOREVER) ", 'path': {'reason': "
						     "'Busy', 'message': 'm'}},"
						     " 'target': {" PROXY(
							     FOREVER) "}}",
		       checks);

	(void)state;
	assert_int_equal(checks_count(checks, "b", CHECK_FAIL), 0);
	assert_string_equal(js_str_at(outlook, "prediction.verdict"),
			    "Unknown");
}

#define LAUNCHER \
	"'launcher': {'version': '1', 'libvirt': '9.0.0', 'qemu': '7.2.22'}"
#define MACHINE(labels, qemu)                                                  \
	"[{'metadata': {'name': 'x', 'labels': {" labels "}, "                 \
	"'annotations': {'ferry.io/launcher-versions': '{\\'qemu\\': \\'" qemu \
	"\\'}'}}, 'status': {'nodeName': 'b'}}]"

static void
test_a_launcher_that_cannot_take_the_guest_is_foreseen(void **state)
{
	static const struct {
		const char *vmi, *machines, *line;
	} cases[] = {
		{ VMI, "[]",
		  "ok    launcher            1 with libvirt 9.0.0 and QEMU "
		  "7.2.22\n" },
		{ VMI, MACHINE("", "8.1.0"),
		  "ok    launcher            1 with libvirt 9.0.0 and QEMU "
		  "7.2.22, there QEMU 8.1.0\n" },
		{ VMI, MACHINE("", "7.0.0"),
		  "FAIL  launcher            QEMU 7.0.0 is older than "
		  "7.2.22" },
		/* That one has an old launcher, and tells nothing. */
		{ VMI,
		  MACHINE("'kubevirt.io/outdatedLauncherImage': ''", "7.0.0"),
		  "ok    launcher            1 with libvirt 9.0.0 and QEMU "
		  "7.2.22\n" },
		{ "{'metadata': {'labels': {'kubevirt.io/outdatedLauncherImage'"
		  ": ''}}, 'status': {'nodeName': 'a'}}",
		  "[]",
		  "note  launcher            1 with libvirt 9.0.0 and QEMU "
		  "7.2.22: outdated, it gets a newer one\n" },
	};
	AUTO(js_unref)
	json_t *status = testjson(
		"{'source': {" PROXY(FOREVER) ", " LAUNCHER "}, 'target': "
					      "{" PROXY(FOREVER) "}}");
	struct migration_config config;

	(void)state;
	migration_config_init(&config);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		AUTO(js_unref) json_t *vmi = testjson(cases[i].vmi);
		AUTO(js_unref) json_t *machines = testjson(cases[i].machines);
		AUTO(js_unref) json_t *checks = json_array();
		const struct outlook_facts facts = { .vmi = vmi,
						     .machines = machines };
		AUTO(js_unref)
		json_t *outlook = outlook_judge(&facts, &config, "b", status,
						time_now_us(), checks);
		AUTO(free_ptr) char *text = checks_text(checks);

		if (outlook == NULL || strstr(text, cases[i].line) == NULL)
			fail_msg("'%s' not in:\n%s", cases[i].line, text);
	}
	migration_config_done(&config);
}

static void
test_the_policy_of_the_machine_counts(void **state)
{
	AUTO(js_unref) json_t *vmi = testjson(VMI);
	AUTO(js_unref)
	json_t *policies = testjson(
		"[{'metadata': {'name': 'slow'}, 'spec': {'selectors': "
		"{'virtualMachineInstanceSelector': {'app': 'db'}}, "
		"'bandwidthPerMigration': '1Mi', 'allowPostCopy': true}}]");
	const struct outlook_facts facts = { .vmi = vmi, .policies = policies };
	AUTO(free_ptr) char *policy = NULL;
	struct migration_config config;
	struct err err;

	(void)state;
	assert_int_equal(outlook_settings(&facts, &config, &policy, &err), 0);
	assert_string_equal(policy, "slow");
	assert_int_equal(quantity_value(&config.bandwidth), 1048576);
	assert_true(config.allow_post_copy);
	migration_config_done(&config);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_what_was_measured_is_told_and_reckoned_with),
		cmocka_unit_test(test_each_trouble_fails_the_node),
		cmocka_unit_test(
			test_a_node_that_is_busy_is_not_refused_for_it),
		cmocka_unit_test(
			test_a_launcher_that_cannot_take_the_guest_is_foreseen),
		cmocka_unit_test(test_the_policy_of_the_machine_counts),
	};

	return cmocka_run_group_tests_name("outlook", tests, NULL, NULL);
}
