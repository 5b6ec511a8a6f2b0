/* SPDX-License-Identifier: Apache-2.0 */
#include "handler/probewire.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/test.h"
#include "handler/probesend.h"
#include "handler/probesink.h"
#include "rpc/endpoint.h"

#define KEY "probe-k"
#define NAME "probe-k-49152-source.sock"

/* Without proxies: both ends at one socket, which is all they know. */
struct world {
	char path[32];
	int dir_fd;
	struct loop *loop;
	bool ended;
	struct probesend_result result;
	char failure[256];
};

static int
set_up(void **state)
{
	struct world *w = xmalloc0(sizeof(*w));

	(void)snprintf(w->path, sizeof(w->path), "/tmp/probewire-XXXXXX");
	assert_non_null(mkdtemp(w->path));
	w->dir_fd = open(w->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(w->dir_fd >= 0);
	w->loop = loop_new();
	*state = w;
	return 0;
}

/* rmdir() also says whether a socket was left behind. */
static int
tear_down(void **state)
{
	struct world *w = *state;
	int result;

	loop_free(w->loop);
	close_fd(&w->dir_fd);
	result = rmdir(w->path);
	free(w);
	return result;
}

static void
ended(void *arg, const struct probesend_result *result, const struct err *err)
{
	struct world *w = arg;

	w->ended = true;
	if (result != NULL)
		w->result = *result;
	else
		(void)snprintf(w->failure, sizeof(w->failure), "%s", err->text);
	loop_stop(w->loop);
}

static struct probesend *
send_to(struct world *w, bool bulk)
{
	const struct probesend_config config = {
		.loop = w->loop,
		.dir_fd = w->dir_fd,
		.key = KEY,
		.bulk = bulk,
		.done = ended,
		.arg = w,
	};
	struct err err = { .text = "" };
	struct probesend *probe = probesend_new(&config, &err);

	if (probe == NULL)
		fail_msg("%s", err.text);
	return probe;
}

static void
test_a_handshake_is_timed_and_nothing_else_sent(void **state)
{
	struct world *w = *state;
	struct err err;
	struct probesink *sink = probesink_new(w->loop, w->dir_fd, KEY, &err);
	struct probesend *probe = send_to(w, false);

	loop_run(w->loop);
	assert_string_equal(w->failure, "");
	assert_true(w->result.handshake_us > 0);
	assert_int_equal(w->result.bytes, 0);
	probesend_free(probe);
	probesink_free(sink);
}

static void
test_what_arrives_is_counted(void **state)
{
	struct world *w = *state;
	struct err err;
	struct probesink *sink = probesink_new(w->loop, w->dir_fd, KEY, &err);

	/* One after the other, by the same sink. */
	for (int i = 0; i < 2; i++) {
		struct probesend *probe = send_to(w, true);

		loop_run(w->loop);
		assert_string_equal(w->failure, "");
		assert_in_range(w->result.bytes, 1, PROBE_BYTES_MAX);
		assert_true(w->result.duration_us > 0);
		probesend_free(probe);
	}
	probesink_free(sink);
}

/* Says something else than a sink would. */
struct impostor {
	struct world *world;
	struct endpoint endpoint;
	struct loop_io *io;
	const char *text;
	int fd;
};

static void
say(unsigned ready, void *arg)
{
	struct impostor *i = arg;

	(void)ready;
	i->fd = accept4(i->endpoint.fd, NULL, NULL, SOCK_CLOEXEC);
	assert_true(i->fd >= 0);
	assert_int_equal(send(i->fd, i->text, strlen(i->text), MSG_NOSIGNAL),
			 (ssize_t)strlen(i->text));
	(void)shutdown(i->fd, SHUT_RDWR);
}

static void
test_who_does_not_speak_so_is_not_believed(void **state)
{
	static const struct {
		const char *text, *failure;
	} cases[] = {
		{ "", "closed before the target answered" },
		{ "X", "does not answer as a handler does" },
		{ "FF", "does not answer as a handler does" },
	};
	struct world *w = *state;
	struct err err;

	for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
		struct impostor i = { .world = w, .text = cases[k].text };
		struct probesend *probe;

		assert_int_equal(endpoint_listen(w->dir_fd, NAME, NULL,
						 &i.endpoint, &err),
				 0);
		i.io = loop_io_new(w->loop, i.endpoint.fd, say, &i);
		loop_io_want(i.io, LOOP_READ);
		probe = send_to(w, true);
		loop_run(w->loop);
		if (strstr(w->failure, cases[k].failure) == NULL)
			fail_msg("'%s': %s", cases[k].text, w->failure);
		probesend_free(probe);
		loop_io_free(i.io);
		close_fd(&i.fd);
		(void)endpoint_unlink(w->dir_fd, NAME, &i.endpoint, &err);
		close_fd(&i.endpoint.fd);
	}
}

/* A guest of the proxy's that hangs up must not keep the next one out. */
static void
test_a_sink_survives_who_hangs_up(void **state)
{
	struct world *w = *state;
	struct err err;
	struct probesink *sink = probesink_new(w->loop, w->dir_fd, KEY, &err);
	struct probesend *probe;
	int fd;

	assert_int_equal(endpoint_connect(w->dir_fd, NAME, &fd, &err), 0);
	loop_poll(w->loop);
	close_fd(&fd);
	probe = send_to(w, false);
	loop_run(w->loop);
	assert_string_equal(w->failure, "");
	probesend_free(probe);
	probesink_free(sink);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_a_handshake_is_timed_and_nothing_else_sent),
		CASE(test_what_arrives_is_counted),
		CASE(test_who_does_not_speak_so_is_not_believed),
		CASE(test_a_sink_survives_who_hangs_up),
	};

	return cmocka_run_group_tests_name("probewire", tests, NULL, NULL);
}
