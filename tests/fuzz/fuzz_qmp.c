/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Plays a QEMU that says anything on its second monitor, in pieces: the first
 * byte says how long they are. A command is asked of it whenever it is ready;
 * that is answered once at most, and nothing else is told than what there is.
 */
#include <assert.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "base/js.h"
#include "base/log.h"
#include "base/loop.h"
#include "launcher/qmp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define INPUT_MAX 65536U
#define TIMEOUT_MS 60000U

struct play {
	struct qmp *qmp;
	unsigned asked, answered;
};

static void
on_told(void *ctx, enum qmp_stream stream)
{
	(void)ctx;
	assert(stream < QMP_STREAM_COUNT);
	assert(qmp_stream_name(stream) != NULL);
}

static void
on_done(void *arg, const struct err *err)
{
	struct play *play = arg;

	(void)err;
	play->answered++;
	assert(play->answered <= play->asked);
}

static void
ask(struct play *play)
{
	json_t *arguments = json_object();
	const struct qmp_command command = {
		.name = "migrate-recover",
		.arguments = arguments,
		.out_of_band = true,
		.timeout_ms = TIMEOUT_MS,
	};
	struct err err;

	if (play->asked == play->answered && qmp_ready(play->qmp)) {
		play->asked++;
		if (qmp_call(play->qmp, &command, on_done, play, &err) == -1)
			play->asked--;
	}
	json_decref(arguments);
}

static void
feed(struct play *play, struct loop *loop, int fd, const uint8_t *data,
     size_t size)
{
	size_t piece = size > 0 ? 1U + data[0] * 4U : 1;

	for (size_t at = 1; at < size; at += piece) {
		size_t len = size - at < piece ? size - at : piece;

		if (send(fd, data + at, len, MSG_NOSIGNAL) != (ssize_t)len)
			return;
		loop_poll(loop);
		ask(play);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct loop *loop;
	struct play play = { 0 };
	int fds[2];

	if (size > INPUT_MAX)
		return 0;
	if (loop == NULL) {
		js_init();
		log_init("fuzz", LOG_LEVEL_ERROR, LOG_FORMAT_JSON);
		loop = loop_new();
	}
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0,
		       fds) == -1)
		abort();
	play.qmp = qmp_new(&(struct qmp_config){ .loop = loop,
						 .path = "/nowhere",
						 .told = on_told,
						 .ctx = &play });
	qmp_adopt(play.qmp, fds[0]);
	feed(&play, loop, fds[1], data, size);
	(void)close(fds[1]);
	loop_poll(loop);
	assert(!qmp_ready(play.qmp));
	assert(play.answered == play.asked);
	qmp_free(play.qmp);
	return 0;
}
