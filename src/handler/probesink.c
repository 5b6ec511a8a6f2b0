/* SPDX-License-Identifier: Apache-2.0 */
#include "handler/probesink.h"

#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/mem.h"
#include "handler/probewire.h"
#include "rpc/endpoint.h"

struct probesink {
	struct loop *loop;
	int dir_fd;
	char *name;
	struct endpoint endpoint;
	struct loop_io *accept_io, *io;
	int fd; /* -1: nobody is connected */
	bool pinged;
	uint64_t bytes;
	uint8_t *chunk;
};

static void
hang_up(struct probesink *sink)
{
	loop_io_free(sink->io);
	sink->io = NULL;
	close_fd(&sink->fd);
	sink->pinged = false;
	sink->bytes = 0;
	loop_io_want(sink->accept_io, LOOP_READ);
}

/* A few bytes, for which an empty socket has room. */
static bool
say(struct probesink *sink, const void *data, size_t len)
{
	return send(sink->fd, data, len, MSG_NOSIGNAL) == (ssize_t)len;
}

static void
finish(struct probesink *sink)
{
	uint64_t count = htobe64(sink->bytes);

	(void)say(sink, &count, PROBE_COUNT_LEN);
	hang_up(sink);
}

static void
on_bytes(unsigned ready, void *arg)
{
	struct probesink *sink = arg;
	ssize_t got = recv(sink->fd, sink->chunk, PROBE_CHUNK, 0);

	(void)ready;
	if (got == -1 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got == 0 && sink->pinged) {
		finish(sink);
		return;
	}
	if (got > 0 && !sink->pinged && say(sink, sink->chunk, 1)) {
		sink->pinged = true;
		got--;
	} else if (!sink->pinged || got <= 0) {
		hang_up(sink);
		return;
	}
	sink->bytes += (uint64_t)got;
	if (sink->bytes > PROBE_BYTES_MAX)
		hang_up(sink);
}

static void
on_connection(unsigned ready, void *arg)
{
	static const uint8_t greeting = PROBE_GREETING;
	struct probesink *sink = arg;

	(void)ready;
	sink->fd = accept4(sink->endpoint.fd, NULL, NULL,
			   SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (sink->fd == -1)
		return;
	/* The next one when this one is over. */
	loop_io_want(sink->accept_io, 0);
	sink->io = loop_io_new(sink->loop, sink->fd, on_bytes, sink);
	loop_io_want(sink->io, LOOP_READ);
	if (!say(sink, &greeting, sizeof(greeting)))
		hang_up(sink);
}

struct probesink *
probesink_new(struct loop *loop, int dir_fd, const char *key, struct err *err)
{
	struct probesink *sink = xmalloc0(sizeof(*sink));

	sink->loop = loop;
	sink->dir_fd = dir_fd;
	sink->fd = -1;
	sink->name = xasprintf(PROBE_SOCKET_FORMAT, key);
	if (endpoint_listen(dir_fd, sink->name, NULL, &sink->endpoint, err) ==
	    -1) {
		free(sink->name);
		free(sink);
		return NULL;
	}
	sink->chunk = xmalloc0(PROBE_CHUNK);
	sink->accept_io =
		loop_io_new(loop, sink->endpoint.fd, on_connection, sink);
	loop_io_want(sink->accept_io, LOOP_READ);
	return sink;
}

void
probesink_free(struct probesink *sink)
{
	struct err ignored;

	if (sink == NULL)
		return;
	loop_io_free(sink->io);
	close_fd(&sink->fd);
	loop_io_free(sink->accept_io);
	(void)endpoint_unlink(sink->dir_fd, sink->name, &sink->endpoint,
			      &ignored);
	close_fd(&sink->endpoint.fd);
	free(sink->name);
	free(sink->chunk);
	free(sink);
}
