/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/follow.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/testjson.h"

#define STATE(mode)                                                            \
	"{\"migrationUid\": \"m1\", \"mode\": \"" mode                         \
	"\", \"progress\": {\"percent\": 50, \"bytesProcessed\": 1073741824, " \
	"\"bytesRemaining\": 1048576, \"rateBytesPerSecond\": 1048576, "       \
	"\"dirtyRateBytesPerSecond\": 1024, \"iteration\": 3, "                \
	"\"etaSeconds\": 9}}"
#define BAR                                                            \
	"[##########..........]  50%  ETA 9s, 1.0 MiB/s, dirties 1.0 " \
	"KiB/s, pass 3, 1.0 MiB left, 1.0 GiB sent"

#define VMIM(phase, type, reason)                                          \
	"{\"metadata\": {\"name\": \"mig1\", \"uid\": \"m1\"}, \"spec\": " \
	"{\"vmiName\": \"vm1\"}, \"status\": {\"phase\": \"" phase         \
	"\", \"conditions\": [{\"type\": \"ferry.io/" type                 \
	"\", \"status\": \"True\", \"reason\": \"" reason                  \
	"\", \"message\": \"Why.\"}]}}"

static void
expect_line(const char *vmim_text, const char *state_text, const char *line)
{
	AUTO(js_unref) json_t *vmim = testjson(vmim_text);
	AUTO(js_unref) json_t *state = testjson(state_text);
	AUTO(free_ptr) char *text = follow_line(vmim, state);

	assert_string_equal(text, line);
}

static void
test_a_transfer_is_a_bar(void **state)
{
	(void)state;
	expect_line(VMIM("Running", "Waiting", "Transfer"), STATE("PreCopy"),
		    "Running " BAR);
	expect_line(VMIM("Running", "Waiting", "Transfer"), STATE("PostCopy"),
		    "Running PostCopy " BAR);
	expect_line("{\"status\": {\"phase\": \"Running\"}}", STATE("PreCopy"),
		    "Running " BAR);
}

/* A cancel that nobody has acknowledged: the bar stands still. */
static void
test_a_transfer_that_waits_for_something_else_says_so(void **state)
{
	(void)state;
	expect_line(VMIM("Running", "Waiting", "AbortAcknowledgement"),
		    STATE("PreCopy"),
		    "Running, waiting: AbortAcknowledgement " BAR "; Why.");
	expect_line(VMIM("Running", "Waiting", "AbortAcknowledgement"),
		    STATE("PostCopy"),
		    "Running, waiting: AbortAcknowledgement PostCopy " BAR
		    "; Why.");
}

static void
test_what_waits_or_failed_says_why(void **state)
{
	(void)state;
	expect_line(VMIM("Pending", "Waiting", "Backoff"), "{}",
		    "Pending, waiting: Backoff: Why.");
	expect_line(VMIM("Running", "Waiting", "Transfer"), "{}",
		    "Running, waiting: Transfer: Why.");
	expect_line(VMIM("Failed", "Failure", "Canceled"), STATE("PreCopy"),
		    "Failed: Canceled: Why.");
	expect_line("{}", "{}", "Accepted");
}

static void
test_the_machines_copy_of_the_state_is_taken_if_it_is_of_the_same(void **state)
{
	AUTO(js_unref)
	json_t *vmim = testjson("{\"metadata\": {\"uid\": \"m1\"}, \"status\": "
				"{\"migrationState\": {\"mode\": \"own\"}}}");
	AUTO(js_unref)
	json_t *same =
		testjson("{\"status\": {\"migrationState\": "
			 "{\"migrationUid\": \"m1\", \"mode\": \"new\"}}}");
	AUTO(js_unref)
	json_t *other =
		testjson("{\"status\": {\"migrationState\": "
			 "{\"migrationUid\": \"m0\", \"mode\": \"old\"}}}");

	(void)state;
	assert_string_equal(js_str_at(follow_state(vmim, same), "mode"), "new");
	assert_string_equal(js_str_at(follow_state(vmim, other), "mode"),
			    "own");
	assert_string_equal(js_str_at(follow_state(vmim, NULL), "mode"), "own");
}

static void
test_scripts_are_told_the_same(void **state)
{
	AUTO(js_unref)
	json_t *vmim =
		testjson(VMIM("Running", "Waiting", "AbortAcknowledgement"));
	AUTO(js_unref) json_t *of = testjson(STATE("PreCopy"));
	AUTO(js_unref) json_t *object = follow_json(vmim, of);

	(void)state;
	assert_string_equal(js_str_at(object, "migration"), "mig1");
	assert_string_equal(js_str_at(object, "vmi"), "vm1");
	assert_string_equal(js_str_at(object, "phase"), "Running");
	assert_string_equal(js_str_at(object, "waiting.reason"),
			    "AbortAcknowledgement");
	assert_int_equal(js_int_at(object, "progress.percent", 0), 50);
	assert_null(js_at(object, "failure"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_transfer_is_a_bar),
		cmocka_unit_test(
			test_a_transfer_that_waits_for_something_else_says_so),
		cmocka_unit_test(test_what_waits_or_failed_says_why),
		cmocka_unit_test(
			test_the_machines_copy_of_the_state_is_taken_if_it_is_of_the_same),
		cmocka_unit_test(test_scripts_are_told_the_same),
	};

	js_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
