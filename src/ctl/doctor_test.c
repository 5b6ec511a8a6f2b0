/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/doctor.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/test.h"
#include "ctl/checks.h"

#define NOW INT64_C(1800000000000000) /* 2027-01-15 */

#define GOOD "\"2028-01-01T00:00:00Z\""
#define BAD "\"2026-01-01T00:00:00Z\""
#define NODE(name, until, interface, lists)                                 \
	"{\"name\": \"" name "\", \"status\": {\"uptimeMs\": 5000, "        \
	"\"listeners\": 1, \"credentials\": {\"server\": {\"identity\": "   \
	"\"spiffe://ferry.io/node/" name "\", \"notAfter\": " until "}}}, " \
	"\"interface\": {\"name\": \"mig0\", " interface "}, " lists "}"
#define UP(address) "\"address\": \"" address "\""
#define NONE "\"source\": [], \"target\": []"
#define LISTENER(peer, failures, more)                                  \
	"[{\"key\": \"k\", \"peer\": \"" peer "\", \"streams\": [], "   \
	"\"failures\": {" failures "}, \"lastFailure\": {\"message\": " \
	"\"it said no\"}" more "}]"
#define AS_SOURCE(failures) \
	"\"target\": [], \"source\": " LISTENER("n2", failures, "")
#define AS_TARGET                                                     \
	"\"source\": [], \"target\": " LISTENER(                      \
		"n1", "",                                             \
		", \"address\": \"10.0.0.2\", \"ports\": {\"1000\": " \
		"0, \"1001\": 49152}")
#define MIGRATION(phase)                                               \
	"{\"name\": \"m\", \"phase\": \"" phase "\", \"key\": \"k\", " \
	"\"source\": \"node1\", \"target\": \"node2\", \"address\": "  \
	"\"10.0.0.2\", \"ports\": {\"1000\": 0, \"1001\": 49152}, "    \
	"\"sockets\": {\"k-source.sock\": true}}"
#define PROBE(port, channel, result)                                   \
	"{\"from\": \"node1\", \"to\": \"node2\", \"address\": "       \
	"\"10.0.0.2\", \"port\": " port ", \"channel\": " channel ", " \
	"\"result\": \"" result "\"}"
#define OPEN PROBE("1000", "0", "open") ", " PROBE("1001", "49152", "open")

#define FACTS(node1, node2, phase, probes) \
	"{\"nodes\": [" node1 ", " node2   \
	"], \"migration\": " MIGRATION(phase) ", \"probes\": [" probes "]}"

#define NODE1 NODE("node1", GOOD, UP("10.0.0.1"), AS_SOURCE(""))
#define NODE2 NODE("node2", GOOD, UP("10.0.0.2"), AS_TARGET)

/* What is concluded; NULL when nothing is wrong. */
static char *
conclude(const char *text, json_t *checks)
{
	struct err err;
	AUTO(js_unref) json_t *facts = js_parse(text, strlen(text), &err);

	if (facts == NULL)
		fail_msg("%s", err.text);
	doctor_judge(facts, NOW, checks);
	return doctor_conclude(facts, NOW);
}

static void
check_case(const char *facts, const char *words)
{
	AUTO(js_unref) json_t *checks = json_array();
	AUTO(free_ptr) char *sentence = conclude(facts, checks);

	if (sentence == NULL || strstr(sentence, words) == NULL)
		fail_msg("'%s' instead of '%s'", sentence, words);
}

static void
test_what_is_well_is_said_to_be(void **state)
{
	static const char expected[] =
		"node1\n"
		"  ok    proxy               answers, up for 5 s, listeners: "
		"1\n"
		"  ok    certificate         server: "
		"spiffe://ferry.io/node/node1 until 2028-01-01T00:00:00Z\n"
		"  ok    migration network   mig0, 10.0.0.1\n"
		"  ok    channel 0           10.0.0.2 port 1000: open\n"
		"  ok    channel 49152       10.0.0.2 port 1001: open\n"
		"  ok    source listener     for n2\n"
		"  ok    socket              k-source.sock exists\n"
		"node2\n"
		"  ok    proxy               answers, up for 5 s, listeners: "
		"1\n"
		"  ok    certificate         server: "
		"spiffe://ferry.io/node/node2 until 2028-01-01T00:00:00Z\n"
		"  ok    migration network   mig0, 10.0.0.2\n"
		"  ok    target listener     10.0.0.2, for n1\n"
		"  ok    port map            as the machine says it\n";
	AUTO(js_unref) json_t *checks = json_array();
	AUTO(free_ptr)
	char *sentence = conclude(FACTS(NODE1, NODE2, "Running", OPEN), checks);
	AUTO(free_ptr) char *text = checks_text(checks);

	(void)state;
	assert_null(sentence);
	assert_string_equal(text, expected);
	assert_int_equal(checks_count(checks, NULL, CHECK_FAIL), 0);
}

static void
test_a_target_that_waits_for_a_source_that_does_not_begin(void **state)
{
	(void)state;
	check_case(FACTS(NODE("node1", GOOD, UP("10.0.0.1"), NONE), NODE2,
			 "TargetReady", OPEN),
		   "The target is ready and nothing starts: node1");
	check_case(FACTS(NODE1, NODE("node2", GOOD, UP("10.0.0.2"), NONE),
			 "PreparingTarget", ""),
		   "nothing starts: node2 has opened no port");
}

static void
test_a_handshake_that_fails(void **state)
{
	(void)state;
	check_case(FACTS(NODE1, NODE("node2", BAD, UP("10.0.0.2"), AS_TARGET),
			 "Running", OPEN),
		   "the certificate of node2 has expired");
	check_case(FACTS(NODE("node1", GOOD, UP("10.0.0.1"),
			      AS_SOURCE("\"WrongCA\": 2")),
			 NODE2, "Running", OPEN),
		   "TLS handshake: WrongCA (source): it said no");
}

static void
test_one_port_of_several_that_is_blocked(void **state)
{
	(void)state;
	check_case(FACTS(NODE1, NODE2, "Running",
			 PROBE("1000", "0", "open") ", " PROBE("1001", "49152",
							       "silent")),
		   "channel 49152 (port 1001 of node2)");
}

static void
test_a_migration_network_that_is_missing(void **state)
{
	(void)state;
	check_case(FACTS(NODE1,
			 NODE("node2", GOOD, "\"error\": \"mig0 is down\"",
			      AS_TARGET),
			 "Running", OPEN),
		   "The migration network is missing on node2");
	check_case(FACTS(NODE1, NODE2, "Running",
			 PROBE("1000", "0",
			       "silent") ", " PROBE("1001", "49152", "silent")),
		   "node1 does not reach the migration address of node2");
}

static void
test_a_proxy_that_does_not_answer(void **state)
{
	(void)state;
	check_case(FACTS(NODE1,
			 "{\"name\": \"node2\", \"error\": \"no such "
			 "socket\"}",
			 "Running", ""),
		   "The proxy (ferry-proxy) of node2 does not answer");
}

#define SILENT(name) "{\"name\": \"" name "\", \"silent\": true}"

static void
test_an_agent_that_does_not_answer_is_no_proxy(void **state)
{
	(void)state;
	check_case(FACTS(NODE1, SILENT("node2"), "Running", ""),
		   "The agent (ferry-handler) of node2 does not answer");
	check_case(FACTS(NODE1, SILENT("node2"), "PreparingTarget", ""),
		   "The target pod is there and nothing starts: the agent "
		   "(ferry-handler) of node2 does not answer");
	check_case(FACTS(SILENT("node1"), NODE2, "TargetReady", ""),
		   "The target is ready and nothing starts: the agent "
		   "(ferry-handler) of node1 does not answer");
}

/* As the agent of a node tells. */
#define ASKED(bind, more)                                                     \
	"{\"nodes\": [{\"name\": \"node1\", \"agent\": \"1.0\", \"status\": " \
	"{\"bind\": {" bind "}}, \"source\": [], \"target\": []" more         \
	"}], \"probes\": [], \"paths\": []}"

static void
test_the_network_that_a_proxy_says_it_uses_is_told(void **state)
{
	static const struct {
		const char *facts, *words;
	} cases[] = {
		{ ASKED("\"name\": \"mig0\", \"address\": \"10.0.0.1\"", ""),
		  "ok    migration network   mig0, 10.0.0.1\n" },
		{ ASKED("\"name\": \"*\", \"address\": \"::\"",
			", \"address\": \"192.0.2.1\""),
		  "ok    migration network   none of its own: every address, "
		  "others use 192.0.2.1\n" },
		{ ASKED("\"name\": \"mig0\", \"error\": \"mig0 is down\"", ""),
		  "FAIL  migration network   mig0 is down\n" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		AUTO(js_unref) json_t *checks = json_array();
		AUTO(free_ptr)
		char *sentence = conclude(cases[i].facts, checks);
		AUTO(free_ptr) char *text = checks_text(checks);

		if (strstr(text, cases[i].words) == NULL)
			fail_msg("'%s' is not in\n%s", cases[i].words, text);
		assert_non_null(strstr(text, "agent               answers, "
					     "1.0\n"));
		assert_int_equal(sentence == NULL,
				 strstr(text, "FAIL") == NULL);
	}
	check_case(cases[2].facts, "The migration network is missing on node1");
}

#define PATHS(path)                                                           \
	"{\"nodes\": [" NODE("node1", GOOD, UP("10.0.0.1"), NONE) ", " NODE(  \
		"node2", GOOD, UP("10.0.0.2"), NONE) "], \"probes\": [], "    \
						     "\"paths\": [{\"from\":" \
						     " \"node1\", \"to\": "   \
						     "\"node2\", " path "}]}"

static void
test_a_path_through_both_proxies(void **state)
{
	AUTO(js_unref) json_t *checks = json_array();
	AUTO(free_ptr)
	char *sentence = conclude(PATHS("\"address\": \"10.0.0.2\", "
					"\"handshakeUs\": 9500, "
					"\"roundTripUs\": 100"),
				  checks);
	AUTO(free_ptr) char *text = checks_text(checks);

	(void)state;
	assert_null(sentence);
	assert_non_null(strstr(text, "path to node2       10.0.0.2: handshake "
				     "9.5 ms, there and back 0.1 ms"));
	check_case(PATHS("\"reason\": \"WrongCA\", \"message\": \"no\""),
		   "TLS handshake from node1 to node2: WrongCA: no");
	check_case(PATHS("\"reason\": \"DialTimeout\", \"message\": \"m\""),
		   "No connection from node1 to node2: DialTimeout: m");
}

static void
test_connections_of_probes_are_no_trouble(void **state)
{
	AUTO(js_unref) json_t *checks = json_array();
	AUTO(free_ptr)
	char *sentence = conclude(FACTS(NODE("node1", GOOD, UP("10.0.0.1"),
					     AS_SOURCE("\"Truncated\": 3")),
					NODE2, "Running", OPEN),
				  checks);

	(void)state;
	assert_null(sentence);
	assert_int_equal(checks_count(checks, NULL, CHECK_FAIL), 0);
	assert_int_equal(checks_count(checks, "node1", CHECK_NOTE), 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_well_is_said_to_be),
		cmocka_unit_test(
			test_a_target_that_waits_for_a_source_that_does_not_begin),
		cmocka_unit_test(test_a_handshake_that_fails),
		cmocka_unit_test(test_one_port_of_several_that_is_blocked),
		cmocka_unit_test(test_a_migration_network_that_is_missing),
		cmocka_unit_test(test_a_proxy_that_does_not_answer),
		cmocka_unit_test(
			test_an_agent_that_does_not_answer_is_no_proxy),
		cmocka_unit_test(
			test_the_network_that_a_proxy_says_it_uses_is_told),
		cmocka_unit_test(test_a_path_through_both_proxies),
		cmocka_unit_test(test_connections_of_probes_are_no_trouble),
	};

	js_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
