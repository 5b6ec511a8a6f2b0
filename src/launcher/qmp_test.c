/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/qmp.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/err.h"
#include "base/jsat.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/test.h"

#define PATIENCE_MS 60000
#define GREETING "{\"QMP\": {\"version\": {}, \"capabilities\": [\"oob\"]}}\r\n"
#define EVENT(status)                                                        \
	"{\"event\": \"MIGRATION\", \"data\": {\"status\": \"" status "\"}}" \
	"\r\n"

/* QEMU is played: who listens, and says what a test wants. */
struct fixture {
	struct loop *loop;
	struct qmp *qmp;
	char dir[32];
	char socket[64];
	int listener;
	int peer;
	enum qmp_stream streams[8];
	unsigned told, answered;
	bool failed;
	struct err err;
};

static void
on_told(void *ctx, enum qmp_stream stream)
{
	struct fixture *f = ctx;

	assert_true(f->told < 8);
	f->streams[f->told++] = stream;
}

static void
on_done(void *arg, const struct err *err)
{
	struct fixture *f = arg;

	f->answered++;
	f->failed = err != NULL;
	if (err != NULL)
		f->err = *err;
	loop_stop(f->loop);
}

static int
setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	log_init("test", LOG_LEVEL_ERROR, LOG_FORMAT_JSON);
	f->loop = loop_new();
	f->peer = -1;
	(void)snprintf(f->dir, sizeof(f->dir), "/tmp/qmp-XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	(void)snprintf(f->socket, sizeof(f->socket), "%s/monitor", f->dir);
	memcpy(address.sun_path, f->socket, strlen(f->socket));
	f->qmp = qmp_new(&(struct qmp_config){ .loop = f->loop,
					       .path = f->socket,
					       .told = on_told,
					       .ctx = f });
	/* Nobody is there yet. */
	qmp_dial(f->qmp);
	assert_false(qmp_exists(f->qmp));
	f->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(
		bind(f->listener, (struct sockaddr *)&address, sizeof(address)),
		0);
	assert_int_equal(listen(f->listener, 1), 0);
	*state = f;
	return 0;
}

static int
teardown(void **state)
{
	struct fixture *f = *state;

	qmp_free(f->qmp);
	if (f->peer != -1)
		(void)close(f->peer);
	(void)close(f->listener);
	(void)unlink(f->socket);
	(void)rmdir(f->dir);
	loop_free(f->loop);
	free(f);
	return 0;
}

static void
say(struct fixture *f, const char *text)
{
	assert_int_equal(write(f->peer, text, strlen(text)), strlen(text));
	loop_poll(f->loop);
}

/* What QEMU is told next; the caller drops it. */
static json_t *
hear(struct fixture *f)
{
	char line[512] = "";
	struct err err;
	json_t *message;

	assert_true(read(f->peer, line, sizeof(line) - 1) > 0);
	assert_int_equal(line[strlen(line) - 1], '\n');
	message = js_parse(line, strlen(line), &err);
	assert_non_null(message);
	return message;
}

static void
dial(struct fixture *f)
{
	qmp_dial(f->qmp);
	f->peer = accept(f->listener, NULL, NULL);
	assert_true(f->peer != -1);
	assert_true(qmp_exists(f->qmp));
	assert_false(qmp_ready(f->qmp));
}

static void
get_ready(struct fixture *f)
{
	json_t *message;

	dial(f);
	say(f, GREETING);
	message = hear(f);
	assert_string_equal(js_str_at(message, "execute"), "qmp_capabilities");
	assert_string_equal(json_string_value(json_array_get(
				    js_arr_at(message, "arguments.enable"), 0)),
			    "oob");
	json_decref(message);
	assert_false(qmp_ready(f->qmp));
	say(f, "{\"return\": {}}\r\n");
	assert_true(qmp_ready(f->qmp));
}

/* It was hung up; the next one that dials gets through. */
static void
check_away(struct fixture *f)
{
	assert_false(qmp_ready(f->qmp));
	(void)close(f->peer);
	f->peer = -1;
	get_ready(f);
}

static int
call(struct fixture *f, bool out_of_band, uint64_t timeout_ms)
{
	json_t *arguments = json_pack("{s:s}", "uri", "unix:/x");
	int rc = qmp_call(f->qmp,
			  &(struct qmp_command){ .name = "migrate-recover",
						 .arguments = arguments,
						 .out_of_band = out_of_band,
						 .timeout_ms = timeout_ms },
			  on_done, f, &f->err);

	json_decref(arguments);
	return rc;
}

static void
answer(struct fixture *f, const char *what, json_int_t id)
{
	char text[256];

	(void)snprintf(text, sizeof(text), "{%s, \"id\": %lld}\r\n", what,
		       (long long)id);
	say(f, text);
}

static void
test_what_qemu_says_of_its_stream_is_told(void **state)
{
	static const enum qmp_stream expected[] = { QMP_STREAM_POST_COPY,
						    QMP_STREAM_PAUSED,
						    QMP_STREAM_RECOVERS,
						    QMP_STREAM_COMPLETED };
	struct fixture *f = *state;

	get_ready(f);
	say(f, EVENT("postcopy-active") EVENT("postcopy-paused"));
	/* That somebody listens again changes nothing. */
	say(f, EVENT("setup") "{\"event\": \"STOP\"}\n");
	say(f, EVENT("postcopy-recover"));
	say(f, EVENT("wait-unplug"));
	say(f, EVENT("completed"));
	assert_int_equal(f->told, 4);
	assert_memory_equal(f->streams, expected, sizeof(expected));
}

static void
test_a_line_may_come_in_pieces(void **state)
{
	static const char event[] = EVENT("postcopy-paused");
	struct fixture *f = *state;

	get_ready(f);
	for (size_t i = 0; i < sizeof(event) - 1; i++)
		say(f, (char[]){ event[i], '\0' });
	assert_int_equal(f->told, 1);
}

static void
test_a_command_is_answered_by_its_number(void **state)
{
	struct fixture *f = *state;
	json_t *message;
	json_int_t id;

	get_ready(f);
	assert_int_equal(call(f, true, PATIENCE_MS), 0);
	message = hear(f);
	assert_string_equal(js_str_at(message, "exec-oob"), "migrate-recover");
	assert_string_equal(js_str_at(message, "arguments.uri"), "unix:/x");
	id = js_int_at(message, "id", 0);
	json_decref(message);
	/* One at a time. */
	assert_int_equal(call(f, false, PATIENCE_MS), -1);
	assert_int_equal(f->err.kind, ERR_CONFLICT);
	answer(f, "\"return\": {}", id + 1);
	say(f, EVENT("postcopy-paused"));
	assert_int_equal(f->answered, 0);
	answer(f, "\"return\": {}", id);
	assert_int_equal(f->answered, 1);
	assert_false(f->failed);
	answer(f, "\"return\": {}", id);
	assert_int_equal(f->answered, 1);

	assert_int_equal(call(f, false, PATIENCE_MS), 0);
	message = hear(f);
	assert_string_equal(js_str_at(message, "execute"), "migrate-recover");
	id = js_int_at(message, "id", 0);
	json_decref(message);
	answer(f, "\"error\": {\"desc\": \"not now\"}", id);
	assert_int_equal(f->answered, 2);
	assert_true(f->failed);
	assert_int_equal(f->err.kind, ERR_REFUSED);
	assert_non_null(strstr(f->err.text, "not now"));
}

static void
test_an_answer_is_not_waited_for_forever(void **state)
{
	struct fixture *f = *state;
	json_t *message;
	json_int_t id;

	get_ready(f);
	assert_int_equal(call(f, true, 1), 0);
	loop_run(f->loop);
	assert_true(f->failed);
	assert_int_equal(f->err.kind, ERR_TIMEOUT);
	message = hear(f);
	id = js_int_at(message, "id", 0);
	json_decref(message);
	/* What comes late is for nobody, and another one can be asked. */
	assert_int_equal(call(f, true, PATIENCE_MS), 0);
	answer(f, "\"return\": {}", id);
	assert_int_equal(f->answered, 1);
	answer(f, "\"return\": {}", id + 1);
	assert_int_equal(f->answered, 2);
	assert_false(f->failed);
}

static void
test_who_is_closed_answers_nobody_and_is_dialed_again(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(call(f, true, PATIENCE_MS), -1);
	assert_int_equal(f->err.kind, ERR_UNAVAILABLE);
	get_ready(f);
	assert_int_equal(call(f, true, PATIENCE_MS), 0);
	(void)close(f->peer);
	f->peer = -1;
	loop_run(f->loop);
	assert_int_equal(f->answered, 1);
	assert_true(f->failed);
	assert_int_equal(f->err.kind, ERR_UNAVAILABLE);
	assert_int_equal(f->told, 1);
	assert_int_equal(f->streams[0], QMP_STREAM_NONE);
	get_ready(f);
}

static void
test_what_cannot_work_out_of_band_is_of_no_use(void **state)
{
	struct fixture *f = *state;

	dial(f);
	say(f, "{\"QMP\": {\"capabilities\": []}}\r\n");
	check_away(f);
	(void)close(f->peer);
	loop_poll(f->loop);
	dial(f);
	say(f, GREETING "{\"error\": {\"desc\": \"no\"}}\r\n");
	check_away(f);
}

static void
test_what_makes_no_sense_is_hung_up(void **state)
{
	static const char *const lines[] = { "nothing\n", "[]\n", "\n",
					     "{\"a\": 1, \"a\": 2}\n" };
	struct fixture *f = *state;

	get_ready(f);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		say(f, lines[i]);
		check_away(f);
	}
}

static void
test_a_line_that_does_not_end_is_hung_up(void **state)
{
	struct fixture *f = *state;
	char text[1001];
	size_t sent;

	get_ready(f);
	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	for (sent = 0; qmp_ready(f->qmp); sent += sizeof(text) - 1) {
		assert_true(sent < 2 * QMP_LINE_MAX);
		say(f, text);
	}
	assert_true(sent > QMP_LINE_MAX / 2);
	check_away(f);
}

int
main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	static const struct CMUnitTest tests[] = {
		CASE(test_what_qemu_says_of_its_stream_is_told),
		CASE(test_a_line_may_come_in_pieces),
		CASE(test_a_command_is_answered_by_its_number),
		CASE(test_an_answer_is_not_waited_for_forever),
		CASE(test_who_is_closed_answers_nobody_and_is_dialed_again),
		CASE(test_what_cannot_work_out_of_band_is_of_no_use),
		CASE(test_what_makes_no_sense_is_hung_up),
		CASE(test_a_line_that_does_not_end_is_hung_up),
	};
#undef CASE

	return cmocka_run_group_tests_name("qmp", tests, NULL, NULL);
}
