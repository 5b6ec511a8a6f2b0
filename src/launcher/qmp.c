/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/qmp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/str.h"

#define READ_BYTES 4096U
#define US_PER_MS 1000U

enum state {
	STATE_AWAY,   /* not connected */
	STATE_DIALED, /* its greeting is waited for */
	STATE_AGREES, /* on what is possible */
	STATE_READY,
};

struct qmp {
	struct loop *loop;
	char *path;
	void (*told)(void *ctx, enum qmp_stream stream);
	void *ctx;
	enum state state;
	int fd;
	struct loop_io *io;
	struct loop_timer *timer; /* until it is ready; then of a command */
	struct buf in;
	uint64_t id;       /* of the last command */
	qmp_done_fn *done; /* NULL: nobody waits for an answer */
	void *arg;
};

/* QEMU's names of what a migration is. Others are of no interest; "setup" says
 * that somebody listens, whatever is broken. */
static const struct {
	const char *name;
	enum qmp_stream stream;
} streams[] = {
	{ "active", QMP_STREAM_PRE_COPY },
	{ "device", QMP_STREAM_PRE_COPY },
	{ "pre-switchover", QMP_STREAM_PRE_COPY },
	{ "postcopy-active", QMP_STREAM_POST_COPY },
	{ "postcopy-paused", QMP_STREAM_PAUSED },
	{ "postcopy-recover", QMP_STREAM_RECOVERS },
	{ "completed", QMP_STREAM_COMPLETED },
	{ "failed", QMP_STREAM_FAILED },
	{ "cancelled", QMP_STREAM_FAILED },
};

static const char *const stream_names[] = {
	[QMP_STREAM_NONE] = "none",
	[QMP_STREAM_PRE_COPY] = "pre-copy",
	[QMP_STREAM_POST_COPY] = "post-copy",
	[QMP_STREAM_PAUSED] = "paused",
	[QMP_STREAM_RECOVERS] = "recovers",
	[QMP_STREAM_COMPLETED] = "completed",
	[QMP_STREAM_FAILED] = "failed",
};
_Static_assert(ARRAY_LEN(stream_names) == QMP_STREAM_COUNT, "each");

const char *
qmp_stream_name(enum qmp_stream stream)
{
	return stream_names[stream];
}

static void
finish(struct qmp *qmp, const struct err *err)
{
	qmp_done_fn *done = qmp->done;

	qmp->done = NULL;
	loop_timer_stop(qmp->timer);
	done(qmp->arg, err);
}

/* Whoever is told may call again, and is refused. */
static void
hang_up(struct qmp *qmp, const char *why)
{
	bool ready = qmp->state == STATE_READY;
	struct err err;

	log_info(NULL, "QEMU's second monitor: %s", why);
	qmp->state = STATE_AWAY;
	loop_io_free(qmp->io);
	qmp->io = NULL;
	close_fd(&qmp->fd);
	buf_clear(&qmp->in);
	loop_timer_stop(qmp->timer);
	if (qmp->done != NULL) {
		(void)err_set(&err, ERR_UNAVAILABLE,
			      "QEMU's second monitor: %s", why);
		finish(qmp, &err);
	}
	if (ready)
		qmp->told(qmp->ctx, QMP_STREAM_NONE);
}

void
qmp_free(struct qmp *qmp)
{
	if (qmp == NULL)
		return;
	loop_io_free(qmp->io);
	loop_timer_free(qmp->timer);
	close_fd(&qmp->fd);
	buf_done(&qmp->in);
	free(qmp->path);
	free(qmp);
}

bool
qmp_ready(const struct qmp *qmp)
{
	return qmp->state == STATE_READY;
}

bool
qmp_exists(const struct qmp *qmp)
{
	return qmp->state != STATE_AWAY || access(qmp->path, F_OK) == 0;
}

/* A few hundred bytes into a socket that is empty: all of it or none. */
static int
say(struct qmp *qmp, const json_t *message)
{
	AUTO(free_ptr) char *text = js_text(message);
	AUTO(free_ptr) char *line = xasprintf("%s\n", text);
	size_t len = strlen(line);

	return send(qmp->fd, line, len, MSG_NOSIGNAL) == (ssize_t)len ? 0 : -1;
}

static void
on_greeting(struct qmp *qmp, const json_t *message)
{
	AUTO(js_unref)
	json_t *agree =
		json_pack("{s:s, s:{s:[s]}}", "execute", "qmp_capabilities",
			  "arguments", "enable", "oob");
	const json_t *offered = js_arr_at(message, "QMP.capabilities");
	bool possible = false;
	const json_t *item;
	size_t i;

	json_array_foreach(offered, i, item)
	{
		possible |= str_equal(json_string_value(item), "oob");
	}
	if (!possible)
		hang_up(qmp, "it does nothing out of band");
	else if (say(qmp, agree) == -1)
		hang_up(qmp, "it takes no question");
	else
		qmp->state = STATE_AGREES;
}

static void
on_event(struct qmp *qmp, const json_t *message)
{
	const char *status = js_str_at(message, "data.status");

	if (!str_equal(js_str_at(message, "event"), "MIGRATION"))
		return;
	for (size_t i = 0; i < ARRAY_LEN(streams); i++) {
		if (str_equal(streams[i].name, status)) {
			qmp->told(qmp->ctx, streams[i].stream);
			return;
		}
	}
}

static void
on_answer(struct qmp *qmp, const json_t *message)
{
	const json_t *failure = js_obj_at(message, "error");
	struct err err;

	if (qmp->state == STATE_AGREES) {
		if (failure != NULL) {
			hang_up(qmp, "it does not agree");
			return;
		}
		qmp->state = STATE_READY;
		loop_timer_stop(qmp->timer);
		log_info(NULL, "QEMU's second monitor is ready");
		return;
	}
	/* Of one that was given up, or of nobody's. */
	if (qmp->done == NULL ||
	    js_int_at(message, "id", 0) != (int64_t)qmp->id)
		return;
	if (failure == NULL) {
		finish(qmp, NULL);
		return;
	}
	(void)err_set(&err, ERR_REFUSED, "QEMU: %s",
		      js_str_at(failure, "desc"));
	finish(qmp, &err);
}

static void
on_line(struct qmp *qmp, const char *line, size_t len)
{
	AUTO(js_unref) json_t *message = NULL;
	struct err err;

	message = js_parse(line, len, &err);
	if (message == NULL || !json_is_object(message))
		hang_up(qmp, "it says what makes no sense");
	else if (qmp->state == STATE_DIALED)
		on_greeting(qmp, message);
	else if (js_at(message, "event") != NULL)
		on_event(qmp, message);
	else
		on_answer(qmp, message);
}

/* Each whole line; one may be the last that is taken. */
static void
take_lines(struct qmp *qmp)
{
	while (qmp->state != STATE_AWAY && qmp->in.len > 0) {
		const char *data = (const char *)qmp->in.data;
		const char *end = memchr(data, '\n', qmp->in.len);
		size_t len;

		if (end == NULL) {
			if (qmp->in.len > QMP_LINE_MAX)
				hang_up(qmp, "it says more than it may");
			return;
		}
		len = (size_t)(end - data);
		{
			AUTO(free_ptr) char *line = xmalloc0(len + 1);

			memcpy(line, data, len);
			buf_consume(&qmp->in, len + 1);
			on_line(qmp, line, len);
		}
	}
}

static void
on_readable(unsigned ready, void *arg)
{
	struct qmp *qmp = arg;
	ssize_t got =
		read(qmp->fd, buf_reserve(&qmp->in, READ_BYTES), READ_BYTES);

	(void)ready;
	if (got == -1 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0) {
		hang_up(qmp, "it was closed");
		return;
	}
	buf_commit(&qmp->in, (size_t)got);
	take_lines(qmp);
}

static void
on_timeout(void *arg)
{
	struct qmp *qmp = arg;
	struct err err;

	if (qmp->state != STATE_READY) {
		hang_up(qmp, "it does not get ready");
		return;
	}
	if (qmp->done == NULL)
		return;
	(void)err_set(&err, ERR_TIMEOUT, "QEMU does not answer");
	finish(qmp, &err);
}

struct qmp *
qmp_new(const struct qmp_config *config)
{
	struct qmp *qmp = xmalloc0(sizeof(*qmp));

	qmp->loop = config->loop;
	qmp->path = xstrdup(config->path);
	qmp->told = config->told;
	qmp->ctx = config->ctx;
	qmp->fd = -1;
	qmp->timer = loop_timer_new(config->loop, on_timeout, qmp);
	qmp->in = BUF_INIT(QMP_LINE_MAX + READ_BYTES);
	return qmp;
}

int
qmp_connect(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd;

	if (strlen(path) >= sizeof(address.sun_path))
		return -1;
	memcpy(address.sun_path, path, strlen(path));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd != -1 && connect(fd, (const struct sockaddr *)&address,
				sizeof(address)) == -1)
		close_fd(&fd);
	return fd;
}

void
qmp_adopt(struct qmp *qmp, int fd)
{
	qmp->fd = fd;
	qmp->state = STATE_DIALED;
	qmp->io = loop_io_new(qmp->loop, fd, on_readable, qmp);
	loop_io_want(qmp->io, LOOP_READ);
	loop_timer_start(qmp->timer, QMP_READY_MS * US_PER_MS);
}

void
qmp_dial(struct qmp *qmp)
{
	int fd;

	if (qmp->state != STATE_AWAY)
		return;
	fd = qmp_connect(qmp->path);
	if (fd != -1)
		qmp_adopt(qmp, fd);
}

int
qmp_call(struct qmp *qmp, const struct qmp_command *command, qmp_done_fn *done,
	 void *arg, struct err *err)
{
	AUTO(js_unref) json_t *message = NULL;

	if (qmp->state != STATE_READY)
		return err_set(err, ERR_UNAVAILABLE,
			       "QEMU's second monitor is not there");
	if (qmp->done != NULL)
		return err_set(err, ERR_CONFLICT,
			       "QEMU has not answered the last question");
	message = json_pack("{s:s, s:O, s:I}",
			    command->out_of_band ? "exec-oob" : "execute",
			    command->name, "arguments", command->arguments,
			    "id", (json_int_t)++qmp->id);
	if (say(qmp, message) == -1) {
		hang_up(qmp, "it takes no question");
		return err_set(err, ERR_UNAVAILABLE,
			       "QEMU's second monitor takes no question");
	}
	qmp->done = done;
	qmp->arg = arg;
	loop_timer_start(qmp->timer, command->timeout_ms * US_PER_MS);
	return 0;
}
