/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/overview.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/testjson.h"
#include "meta/time.h"

#define NOW "2026-11-16T12:00:00Z"

static const char *const vmims =
	"["
	"{\"metadata\": {\"namespace\": \"default\", \"name\": \"old\", "
	"\"uid\": \"u0\","
	"  \"creationTimestamp\": \"2026-11-16T11:00:00Z\"},"
	" \"spec\": {\"vmiName\": \"vm0\"}, \"status\": {\"phase\": "
	"\"Succeeded\","
	"  \"phaseTransitionTimestamps\": [{\"phase\": \"Succeeded\","
	"   \"phaseTransitionTimestamp\": \"2026-11-16T11:00:09Z\"}]}},"
	"{\"metadata\": {\"namespace\": \"default\", \"name\": \"bad\", "
	"\"uid\": \"u1\","
	"  \"creationTimestamp\": \"2026-11-16T11:58:00Z\"},"
	" \"spec\": {\"vmiName\": \"vm1\"}, \"status\": {\"phase\": \"Failed\","
	"  \"conditions\": [{\"type\": \"ferry.io/Failure\", \"status\": "
	"\"True\","
	"   \"reason\": \"ConnectFailed\", \"message\": \"no way\"}],"
	"  \"migrationState\": {\"sourceNode\": \"n1\", \"targetNode\": "
	"\"n2\"},"
	"  \"phaseTransitionTimestamps\": [{\"phase\": \"Failed\","
	"   \"phaseTransitionTimestamp\": \"2026-11-16T11:59:00Z\"}]}},"
	"{\"metadata\": {\"namespace\": \"default\", \"name\": \"well\", "
	"\"uid\": \"u2\","
	"  \"creationTimestamp\": \"2026-11-16T11:59:00Z\"},"
	" \"spec\": {\"vmiName\": \"vm2\"}, \"status\": {\"phase\": "
	"\"Succeeded\","
	"  \"migrationState\": {\"sourceNode\": \"n1\", \"targetNode\": \"n2\","
	"   \"progress\": {\"percent\": 100, \"downtimeMs\": 45, "
	"\"blackoutMs\": 43}},"
	"  \"phaseTransitionTimestamps\": [{\"phase\": \"Succeeded\","
	"   \"phaseTransitionTimestamp\": \"2026-11-16T11:59:34Z\"}]}},"
	"{\"metadata\": {\"namespace\": \"default\", \"name\": \"late\", "
	"\"uid\": \"u3\","
	"  \"creationTimestamp\": \"2026-11-16T11:59:50Z\"},"
	" \"spec\": {\"vmiName\": \"vm3\"}, \"status\": {\"phase\": "
	"\"Pending\","
	"  \"conditions\": [{\"type\": \"ferry.io/Waiting\", \"status\": "
	"\"True\","
	"   \"reason\": \"SourceNodeLimit\", \"message\": \"2 of 2\"}]}},"
	"{\"metadata\": {\"namespace\": \"default\", \"name\": \"now\", "
	"\"uid\": \"u4\","
	"  \"creationTimestamp\": \"2026-11-16T11:59:55Z\"},"
	" \"spec\": {\"vmiName\": \"vm4\"}, \"status\": {\"phase\": "
	"\"Running\"}},"
	"{\"metadata\": {\"namespace\": \"other\", \"name\": \"theirs\", "
	"\"uid\": \"u5\", \"creationTimestamp\": \"2026-11-16T11:59:55Z\"},"
	" \"spec\": {\"vmiName\": \"vm4\"}, \"status\": {\"phase\": "
	"\"Running\", \"migrationState\": {\"sourceNode\": \"n2\", "
	"\"targetNode\": \"n4\"}}}]";

static const char *const vmis =
	"["
	"{\"metadata\": {\"namespace\": \"default\", \"name\": \"vm3\"},"
	" \"status\": {\"nodeName\": \"n1\", \"evacuationNodeName\": \"n1\"}},"
	"{\"metadata\": {\"namespace\": \"other\", \"name\": \"vm4\"},"
	" \"status\": {\"nodeName\": \"n2\"}},"
	"{\"metadata\": {\"namespace\": \"default\", \"name\": \"vm4\"},"
	" \"status\": {\"nodeName\": \"n1\", \"migrationState\": {"
	"  \"migrationUid\": \"u4\", \"sourceNode\": \"n1\", \"targetNode\": "
	"\"n2\","
	"  \"mode\": \"PostCopy\", \"progress\": {\"percent\": 63,"
	"   \"rateBytesPerSecond\": 104857600, \"dirtyRateBytesPerSecond\": "
	"1048576,"
	"   \"iteration\": 2, \"etaSeconds\": 75}}}}]";

#define READY                            \
	"\"status\": {\"conditions\": [" \
	"{\"type\": \"Ready\", \"status\": \"True\"}]}"
#define LABELS "\"labels\": {\"kubevirt.io/schedulable\": \"true\"}"

static const char *const nodes =
	"["
	"{\"metadata\": {\"name\": \"n3\", " LABELS "},"
	" \"spec\": {\"unschedulable\": true}, " READY "},"
	"{\"metadata\": {\"name\": \"n1\", " LABELS "}, \"spec\": {}, " READY
	"},"
	"{\"metadata\": {\"name\": \"n2\", " LABELS "}, \"spec\": {},"
	" \"status\": {\"conditions\": []}},"
	"{\"metadata\": {\"name\": \"n4\"}, \"spec\": {}, " READY "}]";

static json_t *
overview(const char *trouble)
{
	AUTO(js_unref) json_t *of_vmims = testjson(vmims);
	AUTO(js_unref) json_t *of_vmis = testjson(vmis);
	AUTO(js_unref) json_t *of_nodes = testjson(nodes);
	AUTO(js_unref) json_t *unseen = json_array();
	struct overview_facts facts = {
		.ns = "default",
		.vmims = of_vmims,
		.vmis = of_vmis,
		.nodes = of_nodes,
		.unseen = unseen,
		.trouble = trouble,
	};
	struct err err;

	assert_int_equal(time_parse(NOW, &facts.now_us, &err), 0);
	return overview_json(&facts);
}

static void
test_the_table_shows_what_runs_waits_and_has_ended(void **state)
{
	AUTO(js_unref) json_t *o = overview("");
	AUTO(free_ptr) char *text = overview_text(o, 0, 0);

	(void)state;
	assert_string_equal(
		text,
		"12:00:00 UTC  namespace default  migrations: 1 running, 1 "
		"waiting, 2 ended in the last 10 min\n"
		"\n"
		"MIGRATION  VM   FROM  TO  PHASE      DONE  RATE       "
		"DIRTY      PASS  ETA  NOTE\n"
		"now        vm4  n1    n2  Running    63%   100 MiB/s  1.0 "
		"MiB/s  2     75s  PostCopy\n"
		"late       vm3  n1    -   Pending    -     -          -       "
		"   -     -    SourceNodeLimit: 2 of 2\n"
		"well       vm2  n1    n2  Succeeded  -     -          -       "
		"   -     -    26s ago, took 34s, stood still 45 ms, "
		"blackout 43 ms\n"
		"bad        vm1  n1    n2  Failed     -     -          -       "
		"   -     -    60s ago, took 60s; ConnectFailed: no way\n"
		"\n"
		"NODE  STATE       VMS  IN  OUT  DRAIN\n"
		"n1    Ready       2    0   1    draining, 1 to go\n"
		"n2    NotReady    1    1   1\n"
		"n3    Ready       0    0   0    drained\n"
		"n4    NoMachines  0    1   0\n");
}

static void
test_a_narrow_window_shows_why_below(void **state)
{
	AUTO(js_unref) json_t *o = overview("");
	AUTO(free_ptr) char *text = overview_text(o, 80, 0);
	AUTO(free_ptr) char *narrower = overview_text(o, 66, 0);

	(void)state;
	assert_non_null(strstr(
		text,
		"MIGRATION  VM   FROM  TO  PHASE      DONE  RATE       "
		"DIRTY      PASS  ETA\n"
		"now        vm4  n1    n2  Running    63%   100 MiB/s  1.0 "
		"MiB/s  2     75s\n"
		"    PostCopy\n"
		"late       vm3  n1    -   Pending    -     -          -       "
		"   -     -\n"
		"    SourceNodeLimit: 2 of 2\n"));
	assert_non_null(strstr(
		narrower,
		"VM   FROM  TO  PHASE      DONE  RATE       DIRTY      PASS  "
		"ETA\n"
		"vm4  n1    n2  Running    63%   100 MiB/s  1.0 MiB/s  2     "
		"75s\n"
		"    PostCopy\n"));
}

static void
test_the_object_has_the_same(void **state)
{
	AUTO(js_unref) json_t *o = overview("away");
	const json_t *running = json_array_get(js_arr_at(o, "migrations"), 0);

	(void)state;
	assert_int_equal(json_array_size(js_arr_at(o, "migrations")), 4);
	assert_string_equal(js_str_at(running, "name"), "now");
	assert_string_equal(js_str_at(running, "state"), "running");
	assert_int_equal(js_int_at(running, "progress.percent", 0), 63);
	assert_string_equal(js_str_at(o, "time"), NOW);
	assert_string_equal(js_str_at(o, "trouble"), "away");
	assert_int_equal(json_array_size(js_arr_at(o, "nodes")), 4);
}

static size_t
lines_of(const char *text)
{
	size_t lines = 0;

	for (; *text != '\0'; text++)
		lines += *text == '\n';
	return lines;
}

static void
test_a_small_window_shows_some_of_both(void **state)
{
	AUTO(js_unref) json_t *o = overview("");

	(void)state;
	for (unsigned rows = 9; rows < 16; rows++) {
		AUTO(free_ptr) char *text = overview_text(o, 0, rows);

		AUTO(free_ptr) char *narrow = overview_text(o, 66, rows);

		assert_true(lines_of(text) <= rows);
		assert_non_null(strstr(text, "MIGRATION"));
		assert_non_null(strstr(text, "NODE"));
		assert_true(lines_of(narrow) <= rows);
		assert_non_null(strstr(narrow, "FROM"));
		assert_non_null(strstr(narrow, "NODE"));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_the_table_shows_what_runs_waits_and_has_ended),
		cmocka_unit_test(test_a_narrow_window_shows_why_below),
		cmocka_unit_test(test_the_object_has_the_same),
		cmocka_unit_test(test_a_small_window_shows_some_of_both),
	};

	return cmocka_run_group_tests_name("overview", tests, NULL, NULL);
}
