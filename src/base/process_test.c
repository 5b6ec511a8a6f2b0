/* SPDX-License-Identifier: Apache-2.0 */
#include "base/process.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/err.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/test.h"

struct seen {
	struct loop *loop;
	int calls;
	int status;
	bool failed;
	bool cut;
	enum err_kind kind;
	char text[256];
	char out[256];
	char err_out[256];
	size_t out_len;
};

static void
on_done(const struct process_result *result, void *arg)
{
	struct seen *seen = arg;

	seen->calls++;
	seen->status = result->status;
	seen->failed = result->err != NULL;
	seen->cut = result->cut;
	if (result->err != NULL) {
		seen->kind = result->err->kind;
		(void)snprintf(seen->text, sizeof(seen->text), "%s",
			       result->err->text);
	}
	(void)snprintf(seen->out, sizeof(seen->out), "%s", result->out);
	(void)snprintf(seen->err_out, sizeof(seen->err_out), "%s",
		       result->err_out);
	seen->out_len = result->out_len;
	loop_stop(seen->loop);
}

static struct seen
run(const struct process_spec *spec)
{
	struct seen seen = { .loop = loop_new() };

	(void)process_start(seen.loop, spec, on_done, &seen);
	loop_run(seen.loop);
	assert_int_equal(seen.calls, 1);
	loop_free(seen.loop);
	return seen;
}

#define SHELL(script) ((const char *const[]){ "/bin/sh", "-c", (script), NULL })

static void
test_output_and_errors_are_kept_apart(void **state)
{
	struct seen seen = run(&(struct process_spec){
		.argv = SHELL("echo out; echo err >&2"), .timeout_ms = 60000 });

	(void)state;
	assert_false(seen.failed);
	assert_int_equal(seen.status, 0);
	assert_string_equal(seen.out, "out\n");
	assert_string_equal(seen.err_out, "err\n");
}

static void
test_input_arrives_whole(void **state)
{
	size_t len = 300000;
	char *input = xmalloc0(len);
	struct seen seen;

	(void)state;
	memset(input, 'x', len);
	seen = run(&(struct process_spec){ .argv = SHELL("wc -c"),
					   .input = input,
					   .input_len = len,
					   .timeout_ms = 60000 });
	free(input);
	assert_int_equal(strtol(seen.out, NULL, 10), 300000);
}

static void
test_a_failure_tells_what_the_program_said(void **state)
{
	struct seen seen = run(&(struct process_spec){
		.argv = SHELL("echo no such bridge >&2; exit 3"),
		.timeout_ms = 60000 });

	(void)state;
	assert_true(seen.failed);
	assert_int_equal(WEXITSTATUS(seen.status), 3);
	assert_string_equal(seen.text,
			    "'/bin/sh': exit status 3: no such bridge");
}

static void
test_a_program_that_is_not_there_fails(void **state)
{
	struct seen seen = run(&(struct process_spec){
		.argv = (const char *const[]){ "/nonexistent/x", NULL },
		.timeout_ms = 60000 });

	(void)state;
	assert_true(seen.failed);
	assert_non_null(strstr(seen.text, "No such file"));
}

static void
test_who_is_late_is_killed_with_its_children(void **state)
{
	struct seen seen = run(&(struct process_spec){
		.argv = SHELL("sleep 1000 & wait"), .timeout_ms = 50 });

	(void)state;
	assert_true(seen.failed);
	assert_int_equal(seen.kind, ERR_TIMEOUT);
	assert_true(WIFSIGNALED(seen.status));
}

static void
test_output_beyond_the_limit_is_dropped(void **state)
{
	struct seen seen = run(&(struct process_spec){
		.argv = SHELL("head -c 100000 /dev/zero | tr '\\0' x"),
		.output_max = 10,
		.timeout_ms = 60000 });

	(void)state;
	assert_false(seen.failed);
	assert_true(seen.cut);
	assert_string_equal(seen.out, "xxxxxxxxxx");
}

static void
test_the_environment_and_the_directory_are_as_given(void **state)
{
	struct seen seen = run(&(struct process_spec){
		.argv = SHELL("echo $A $PWD"),
		.env = (const char *const[]){ "A=b", NULL },
		.cwd = "/usr",
		.timeout_ms = 60000 });

	(void)state;
	assert_string_equal(seen.out, "b /usr\n");
}

static void
test_a_cancelled_process_is_gone_and_nobody_is_told(void **state)
{
	struct seen seen = { .loop = loop_new() };
	struct process *p =
		process_start(seen.loop,
			      &(struct process_spec){ .argv = SHELL("sleep "
								    "1000") },
			      on_done, &seen);
	pid_t pid = process_pid(p);

	(void)state;
	assert_true(pid > 0);
	process_cancel(p);
	assert_int_equal(kill(pid, 0), -1);
	loop_poll(seen.loop);
	assert_int_equal(seen.calls, 0);
	loop_free(seen.loop);
}

static void
test_a_detached_process_leads_its_own_session(void **state)
{
	struct seen seen = run(&(struct process_spec){
		.argv = SHELL("test \"$(ps -o sid= $$ | tr -d ' ')\" = $$"),
		.detached = true });

	(void)state;
	assert_false(seen.failed);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_output_and_errors_are_kept_apart),
		cmocka_unit_test(test_input_arrives_whole),
		cmocka_unit_test(test_a_failure_tells_what_the_program_said),
		cmocka_unit_test(test_a_program_that_is_not_there_fails),
		cmocka_unit_test(test_who_is_late_is_killed_with_its_children),
		cmocka_unit_test(test_output_beyond_the_limit_is_dropped),
		cmocka_unit_test(
			test_the_environment_and_the_directory_are_as_given),
		cmocka_unit_test(
			test_a_cancelled_process_is_gone_and_nobody_is_told),
		cmocka_unit_test(test_a_detached_process_leads_its_own_session),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
