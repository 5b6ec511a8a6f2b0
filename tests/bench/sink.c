/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "block.h"
#include "sink.h"
#include "wire.h"

/* Small enough that the buffers of 64 streams stay in the cache. */
#define TAKE_SIZE (64U * 1024)
#define ECHO_SIZE 65536
#define ECHO_EVENTS 64

struct acceptor {
	int listen_fd;
	unsigned streams;
	enum sink_way way;
};

struct stream {
	int fd;
	enum sink_way way;
	char *buffer; /* TAKE_SIZE */
	int pipe[2];  /* only to discard, as is null_fd */
	int null_fd;
};

static void
start_thread(void *(*run)(void *), void *arg)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, arg) != 0)
		die("cannot start a thread");
	pthread_detach(thread);
}

static void
check_order(const struct block_header *header, uint64_t sequence)
{
	if (header->sequence != sequence)
		die("block %" PRIu64 " of a stream arrived as number %" PRIu64,
		    header->sequence, sequence);
}

/* Moves that many bytes to where nobody reads them, without a copy. */
static bool
discard(const struct stream *stream, size_t size)
{
	while (size > 0) {
		ssize_t n = splice(stream->fd, NULL, stream->pipe[1], NULL,
				   size, SPLICE_F_MOVE);

		if (n == -1 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		size -= (size_t)n;
		while (n > 0) {
			ssize_t gone =
				splice(stream->pipe[0], NULL, stream->null_fd,
				       NULL, (size_t)n, SPLICE_F_MOVE);

			if (gone <= 0)
				die("cannot discard: %m");
			n -= gone;
		}
	}
	return true;
}

/* Reads one block through the buffer, or only its header. */
static bool
take_block(const struct stream *stream, struct block_header *ret_header)
{
	char *buffer = stream->buffer;

	if (stream->way == SINK_DISCARDS)
		return read_full(stream->fd, ret_header, sizeof(*ret_header)) &&
		       discard(stream, BLOCK_SIZE - sizeof(*ret_header));
	for (size_t at = 0; at < BLOCK_SIZE; at += TAKE_SIZE) {
		if (!read_full(stream->fd, buffer, TAKE_SIZE))
			return false;
		if (at == 0)
			memcpy(ret_header, buffer, sizeof(*ret_header));
		if (stream->way == SINK_COMPARES &&
		    !block_is_intact(ret_header, at, buffer, TAKE_SIZE))
			die("block %" PRIu64 " of stream %" PRIu64
			    " arrived damaged",
			    ret_header->sequence, ret_header->stream);
	}
	return true;
}

static struct stream *
open_stream(const struct acceptor *acceptor)
{
	struct stream *stream = malloc(sizeof(*stream));

	if (stream == NULL)
		die("out of memory");
	*stream = (struct stream){ .way = acceptor->way,
				   .buffer = malloc(TAKE_SIZE) };
	if (stream->buffer == NULL)
		die("out of memory");
	stream->null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (stream->null_fd == -1 || pipe2(stream->pipe, O_CLOEXEC) == -1)
		die("cannot open /dev/null and a pipe: %m");
	/* A smaller one will do if this is too large for the user. */
	(void)fcntl(stream->pipe[0], F_SETPIPE_SZ, BLOCK_SIZE);
	stream->fd = address_accept(acceptor->listen_fd);
	return stream;
}

static void
close_stream(struct stream *stream)
{
	close(stream->fd);
	close(stream->null_fd);
	close(stream->pipe[0]);
	close(stream->pipe[1]);
	free(stream->buffer);
	free(stream);
}

static void *
take_stream(void *arg)
{
	struct stream *stream = arg;
	struct block_header header = { 0 };
	uint64_t taken = 0;
	char greeting;

	if (!read_full(stream->fd, &greeting, 1) ||
	    !write_full(stream->fd, &greeting, 1))
		die("a stream ended before it began");
	for (uint64_t i = 0; !header.is_last; i++) {
		if (!take_block(stream, &header))
			die("a stream ended early, after %" PRIu64 " bytes",
			    taken);
		check_order(&header, i);
		taken += BLOCK_SIZE;
	}
	if (!write_full(stream->fd, &taken, sizeof(taken)))
		die("cannot acknowledge a stream: %m");
	/* The client closes first; a relay may still want to tell us so. */
	(void)read_full(stream->fd, &greeting, 1);
	close_stream(stream);
	return NULL;
}

static void *
accept_streams(void *arg)
{
	struct acceptor *acceptor = arg;

	for (unsigned i = 0; i < acceptor->streams; i++)
		start_thread(take_stream, open_stream(acceptor));
	free(acceptor);
	return NULL;
}

void
sink_take_streams(int listen_fd, unsigned streams, enum sink_way way)
{
	struct acceptor *acceptor = malloc(sizeof(*acceptor));

	if (acceptor == NULL)
		die("out of memory");
	*acceptor = (struct acceptor){ listen_fd, streams, way };
	start_thread(accept_streams, acceptor);
}

static void
watch(int epoll_fd, int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) == -1)
		die("cannot watch a connection: %m");
}

static void *
echo_all(void *arg)
{
	int listen_fd = *(int *)arg;
	struct epoll_event events[ECHO_EVENTS];
	static char data[ECHO_SIZE];
	int epoll_fd = epoll_create1(EPOLL_CLOEXEC);

	free(arg);
	if (epoll_fd == -1)
		die("cannot create an epoll descriptor: %m");
	watch(epoll_fd, listen_fd);
	for (;;) {
		int n = epoll_wait(epoll_fd, events, ECHO_EVENTS, -1);

		for (int i = 0; i < n; i++) {
			int fd = events[i].data.fd;
			ssize_t got;

			if (fd == listen_fd) {
				watch(epoll_fd, address_accept(fd));
				continue;
			}
			got = read(fd, data, sizeof(data));
			if (got <= 0 || !write_full(fd, data, (size_t)got))
				close(fd);
		}
	}
	return NULL;
}

void
sink_echo(int listen_fd)
{
	int *arg = malloc(sizeof(*arg));

	if (arg == NULL)
		die("out of memory");
	*arg = listen_fd;
	start_thread(echo_all, arg);
}
