/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/preflight.h"

#include <stdlib.h>
#include <string.h>

#include "api/config.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/testjson.h"
#include "ctl/checks.h"
#include "meta/time.h"

#define VMI                                                                 \
	"{\"spec\": {\"domain\": {\"cpu\": {\"model\": \"host-model\"}}}, " \
	"\"status\": {\"phase\": \"Running\", \"nodeName\": \"a\", "        \
	"\"migrationMethod\": \"LiveMigration\", \"conditions\": "          \
	"[{\"type\": \"LiveMigratable\", \"status\": \"True\"}]}}"

#define POD                                                                 \
	"{\"spec\": {\"nodeSelector\": {\"zone\": \"x\"}, \"containers\": " \
	"[{\"resources\": {\"requests\": {\"cpu\": \"100m\", "              \
	"\"memory\": \"256Mi\"}}}, {\"resources\": {\"requests\": "         \
	"{\"memory\": \"256Mi\"}}}], \"tolerations\": [{\"key\": "          \
	"\"soft\", \"operator\": \"Exists\"}]}}"

static void
test_a_machine_that_cannot_move_says_everything_at_once(void **state)
{
	static const char expected[] =
		"machine\n"
		"  FAIL  running             it is Scheduling: only what runs "
		"can move\n"
		"  FAIL  migratable          DisksNotLiveMigratable: not "
		"shared\n"
		"  note  pod                 2 of its pods are alive: it would "
		"wait until only one is\n"
		"  FAIL  other migrations    m1 is not over\n"
		"  FAIL  utility volumes     are attached: it would wait until "
		"they are not\n"
		"  FAIL  backup              goes on: it would wait until that "
		"has ended\n"
		"  FAIL  admission           no\n"
		"  FAIL  storage             the claim one is not "
		"ReadWriteMany\n"
		"  ok    storage             the claim two is shared "
		"(ReadWriteMany)\n"
		"  FAIL  storage             the claim three is gone\n"
		"  FAIL  network             the NetworkAttachmentDefinition "
		"lan does not exist\n"
		"  FAIL  quota               small: the target pod needs 1 "
		"pods, 0 is left\n"
		"  FAIL  quota               small: the target pod needs 512Mi "
		"requests.memory, 256Mi is left\n";
	AUTO(js_unref)
	json_t *vmi = testjson(
		"{\"metadata\": {\"name\": \"vm1\", \"namespace\": \"ns\", "
		"\"uid\": \"u\"}, \"spec\": {\"utilityVolumes\": "
		"[{\"name\": \"u\"}]}, \"status\": {\"phase\": "
		"\"Scheduling\", \"backupStatus\": "
		"{}, \"conditions\": "
		"[{\"type\": \"LiveMigratable\", \"status\": \"False\", "
		"\"reason\": \"DisksNotLiveMigratable\", \"message\": \"not "
		"shared\"}]}}");
	AUTO(js_unref) json_t *own = testjson("[" POD ", " POD "]");
	AUTO(js_unref)
	json_t *vmims =
		testjson("[{\"metadata\": {\"name\": \"m0\"}, "
			 "\"status\": {\"phase\": \"Failed\"}}, "
			 "{\"metadata\": {\"name\": \"m1\"}, \"status\": "
			 "{\"phase\": \"Running\"}}]");
	AUTO(js_unref)
	json_t *claims = testjson(
		"{\"one\": {\"spec\": {\"accessModes\": [\"ReadWriteOnce\"]}}, "
		"\"two\": {\"spec\": {\"accessModes\": [\"ReadWriteMany\"]}}, "
		"\"three\": null}");
	AUTO(js_unref) json_t *nets = testjson("{\"lan\": false}");
	AUTO(js_unref)
	json_t *quotas = testjson(
		"[{\"metadata\": {\"name\": \"small\"}, \"spec\": {\"hard\": "
		"{\"pods\": \"1\", \"requests.memory\": \"1Gi\", "
		"\"requests.cpu\": \"4\"}}, \"status\": {\"used\": {\"pods\": "
		"\"1\", \"requests.memory\": \"768Mi\"}}}]");
	struct preflight_facts facts = {
		.vmi = vmi,
		.own = own,
		.pod = json_array_get(own, 0),
		.config_known = true,
		.vmims = vmims,
		.claims = claims,
		.nets = nets,
		.quotas = quotas,
		.refusal = "no",
	};
	AUTO(js_unref) json_t *checks = json_array();
	AUTO(free_ptr) char *text = NULL;

	(void)state;
	preflight_machine(&facts, checks);
	text = checks_text(checks);
	assert_string_equal(text, expected);
}

static void
test_what_may_not_be_read_is_not_known(void **state)
{
	static const char expected[] =
		"machine\n"
		"  ?     settings            the KubeVirt object may not be "
		"looked at: defaults are taken\n"
		"  ok    running             on a\n"
		"  ok    migratable          LiveMigration\n"
		"  ?     pod                 pods of its namespace may not be "
		"looked at\n"
		"  ?     other migrations    may not be looked at\n"
		"  ?     admission           migrations may not be made, which "
		"is how it is asked\n"
		"  ?     storage             the claim one may not be looked "
		"at\n"
		"  ?     network             lan may not be looked at\n"
		"  ?     quota               quotas may not be looked at\n"
		"  ?     policy              policies, or what they depend on, "
		"may not be looked at; without one: bandwidth no limit, 150 s "
		"per gigabyte\n"
		"  ?     limits              migrations of other namespaces "
		"may not be looked at\n";
	AUTO(js_unref) json_t *vmi = testjson(VMI);
	AUTO(js_unref) json_t *claims = testjson("{\"one\": false}");
	AUTO(js_unref) json_t *nets = testjson("{\"lan\": null}");
	struct preflight_facts facts = { .vmi = vmi,
					 .claims = claims,
					 .nets = nets };
	AUTO(js_unref) json_t *checks = json_array();
	AUTO(free_ptr) char *text = NULL;
	struct migration_config config;

	(void)state;
	migration_config_init(&config);
	preflight_machine(&facts, checks);
	preflight_settings(&facts, &config, "", checks);
	preflight_limits(&facts, &config, checks);
	migration_config_done(&config);
	text = checks_text(checks);
	assert_string_equal(text, expected);
}

static void
test_what_is_not_known_decides_nothing(void **state)
{
	AUTO(js_unref) json_t *checks = json_array();

	(void)state;
	assert_int_equal(preflight_verdict(checks, 1, false), PREFLIGHT_YES);
	assert_int_equal(preflight_verdict(checks, 0, false), PREFLIGHT_NO);
	assert_int_equal(preflight_verdict(checks, 1, true), PREFLIGHT_UNKNOWN);
	assert_int_equal(preflight_verdict(checks, 0, true), PREFLIGHT_UNKNOWN);
	checks_add(checks, PREFLIGHT_MACHINE, CHECK_FAIL, "x", "y");
	assert_int_equal(preflight_verdict(checks, 1, true), PREFLIGHT_NO);
}

#define FAILED(name, ended, automatic)                                    \
	"{\"metadata\": {\"name\": \"" name "\", \"namespace\": \"ns\", " \
	"\"uid\": \"" name "\", \"creationTimestamp\": \"" ended "\""     \
	", \"annotations\": {" automatic "}}, \"spec\": {\"vmiName\": "   \
	"\"vm1\"}, \"status\": {\"phase\": \"Failed\", "                  \
	"\"phaseTransitionTimestamps\": [{\"phase\": \"Failed\", "        \
	"\"phaseTransitionTimestamp\": \"" ended "\"}]}}"
#define DRAIN "\"kubevirt.io/evacuationMigration\": \"a\""

static void
test_what_drains_have_to_wait_for_is_noted(void **state)
{
	AUTO(js_unref) json_t *vmi = testjson(VMI);
	AUTO(js_unref) json_t *own = testjson("[" POD "]");
	AUTO(js_unref)
	json_t *vmims = testjson(
		"[" FAILED("m1", "2027-01-15T07:59:00Z", DRAIN) ", " FAILED(
			"m2", "2027-01-15T07:59:50Z", DRAIN) "]");
	struct preflight_facts facts = {
		.vmi = vmi,
		.own = own,
		.pod = json_array_get(own, 0),
		.vmims = vmims,
		.config_known = true,
		.refusal = "",
	};
	AUTO(js_unref) json_t *checks = json_array();
	AUTO(free_ptr) char *text = NULL;
	struct err err;

	(void)state;
	assert_int_equal(
		time_parse("2027-01-15T08:00:00Z", &facts.now_us, &err), 0);
	preflight_machine(&facts, checks);
	text = checks_text(checks);
	assert_non_null(strstr(text, "note  back-off            drains and "
				     "updates wait until 2027-01-15T08:00:30Z: "
				     "m2 has failed, failures in a row: 2\n"));
	assert_int_equal(checks_count(checks, NULL, CHECK_FAIL), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_a_machine_that_cannot_move_says_everything_at_once),
		cmocka_unit_test(test_what_may_not_be_read_is_not_known),
		cmocka_unit_test(test_what_is_not_known_decides_nothing),
		cmocka_unit_test(test_what_drains_have_to_wait_for_is_noted),
	};

	js_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
