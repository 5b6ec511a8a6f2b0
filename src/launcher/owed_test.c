/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/owed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log.h"
#include "base/loop.h"
#include "base/test.h"

#define PATIENCE_MS 60000
#define FLOOD 3000000

/* QEMU is played: who listens, and answers what a test wants. */
struct fixture {
	struct loop *loop;
	struct owed *owed;
	char dir[32];
	char socket[64];
	char pattern[64];
	int listener;
	int peer;
	int called;
};

static int
setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	log_init("test", LOG_LEVEL_ERROR, LOG_FORMAT_JSON);
	f->loop = loop_new();
	f->peer = -1;
	(void)snprintf(f->dir, sizeof(f->dir), "/tmp/owed-XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	(void)snprintf(f->socket, sizeof(f->socket), "%s/monitor.sock", f->dir);
	(void)snprintf(f->pattern, sizeof(f->pattern), "%s/mon*.sock", f->dir);
	memcpy(address.sun_path, f->socket, strlen(f->socket));
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

	owed_free(f->owed);
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
on_done(void *arg)
{
	struct fixture *f = arg;

	f->called++;
	owed_free(f->owed);
	f->owed = NULL;
	loop_stop(f->loop);
}

static void
begin(struct fixture *f, uint64_t timeout_ms)
{
	f->owed = owed_new(f->loop, f->pattern, timeout_ms, on_done, f);
	assert_non_null(f->owed);
	f->peer = accept(f->listener, NULL, NULL);
	assert_true(f->peer != -1);
}

static void
say(struct fixture *f, const char *text)
{
	assert_int_equal(write(f->peer, text, strlen(text)), strlen(text));
	loop_poll(f->loop);
}

/* The id of the question, in quotes. */
static void
read_id(struct fixture *f, char id[64])
{
	char line[256] = "";
	char *start;

	assert_true(read(f->peer, line, sizeof(line) - 1) > 0);
	assert_int_equal(line[strlen(line) - 1], '\n');
	assert_non_null(strstr(line, "\"qmp_capabilities\""));
	start = strstr(line, "\"id\":");
	assert_non_null(start);
	(void)snprintf(id, 64, "%.*s", (int)strcspn(start + 5, "}"), start + 5);
}

static void
test_nobody_is_asked_where_nobody_listens(void **state)
{
	struct fixture *f = *state;

	(void)close(f->listener);
	assert_null(owed_new(f->loop, f->pattern, PATIENCE_MS, on_done, f));
	(void)unlink(f->socket);
	assert_null(owed_new(f->loop, f->pattern, PATIENCE_MS, on_done, f));
	f->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

static void
test_what_others_asked_for_is_waited_for(void **state)
{
	struct fixture *f = *state;
	char id[64], half[64] = "";

	begin(f, PATIENCE_MS);
	read_id(f, id);
	say(f, "{\"QMP\": {}}\r\n");
	say(f, "{\"return\": {}, \"id\": \"libvirt-7\"}\r\n");
	/* An answer may come in pieces. */
	memcpy(half, id, 5);
	say(f, "{\"return\": {}, \"id\": ");
	say(f, half);
	assert_int_equal(f->called, 0);
	say(f, id + 5);
	assert_int_equal(f->called, 1);
}

static void
test_much_may_be_owed(void **state)
{
	struct fixture *f = *state;
	char text[1001];
	char id[64];

	begin(f, PATIENCE_MS);
	read_id(f, id);
	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	for (size_t sent = 0; sent < FLOOD; sent += sizeof(text) - 1)
		say(f, text);
	assert_int_equal(f->called, 0);
	say(f, id);
	assert_int_equal(f->called, 1);
}

static void
test_one_that_ends_owes_nothing(void **state)
{
	struct fixture *f = *state;

	begin(f, PATIENCE_MS);
	(void)close(f->peer);
	f->peer = -1;
	loop_run(f->loop);
	assert_int_equal(f->called, 1);
}

static void
test_it_is_not_waited_for_forever(void **state)
{
	struct fixture *f = *state;

	begin(f, 1);
	loop_run(f->loop);
	assert_int_equal(f->called, 1);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_nobody_is_asked_where_nobody_listens, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			test_what_others_asked_for_is_waited_for, setup,
			teardown),
		cmocka_unit_test_setup_teardown(test_much_may_be_owed, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_one_that_ends_owes_nothing,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_it_is_not_waited_for_forever, setup, teardown),
	};

	return cmocka_run_group_tests_name("owed", tests, NULL, NULL);
}
