/* SPDX-License-Identifier: Apache-2.0 */
#include "handler/probesend.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/mem.h"
#include "handler/probewire.h"
#include "rpc/endpoint.h"

#define NS_PER_US 1000U
#define US_PER_MS 1000U

/* What is waited for. */
enum stage {
	STAGE_GREETING,
	STAGE_PONG,
	STAGE_SENDING,
	STAGE_COUNT, /* how many bytes arrived */
};

struct probesend {
	struct probesend_config config;
	struct probesend_result result;
	enum stage stage;
	int fd;
	struct loop_io *io;
	uint64_t since_us, sent;
	uint8_t count[PROBE_COUNT_LEN];
	size_t count_len;
	uint8_t *chunk;
};

static uint64_t
now_us(void)
{
	return loop_now_ns() / NS_PER_US;
}

static void
end_failed(struct probesend *p, const char *what)
{
	struct err err;

	(void)err_set(&err, ERR_UNAVAILABLE, "%s", what);
	loop_io_want(p->io, 0);
	p->config.done(p->config.arg, NULL, &err);
}

static void
say(struct probesend *p, uint8_t byte)
{
	p->since_us = now_us();
	if (send(p->fd, &byte, sizeof(byte), MSG_NOSIGNAL) != sizeof(byte))
		end_failed(p, "the connection was closed");
}

static void
end_sending(struct probesend *p)
{
	p->stage = STAGE_COUNT;
	loop_io_want(p->io, LOOP_READ);
	if (shutdown(p->fd, SHUT_WR) == -1)
		end_failed(p, "the connection was closed while it was "
			      "written to");
}

static void
send_more(struct probesend *p)
{
	uint64_t left = PROBE_BYTES_MAX - p->sent;
	size_t len = left < PROBE_CHUNK ? (size_t)left : PROBE_CHUNK;
	ssize_t sent;

	if (len == 0 || now_us() - p->since_us > PROBE_SEND_MS * US_PER_MS) {
		end_sending(p);
		return;
	}
	sent = send(p->fd, p->chunk, len, MSG_NOSIGNAL);
	if (sent > 0)
		p->sent += (uint64_t)sent;
	else if (errno != EAGAIN && errno != EINTR)
		end_failed(p, "the connection broke while it was measured");
}

static void
greeted(struct probesend *p)
{
	p->result.handshake_us = now_us() - p->since_us;
	p->stage = STAGE_PONG;
	say(p, PROBE_PING);
}

static void
ponged(struct probesend *p)
{
	p->result.round_trip_us = now_us() - p->since_us;
	p->since_us = now_us();
	p->stage = STAGE_SENDING;
	if (p->config.bulk)
		loop_io_want(p->io, LOOP_WRITE);
	else
		end_sending(p);
}

/* The sink may not tell of more than it was sent. */
static void
counted(struct probesend *p)
{
	uint64_t bytes;

	memcpy(&bytes, p->count, sizeof(bytes));
	p->result.bytes = be64toh(bytes);
	p->result.duration_us = now_us() - p->since_us;
	if (p->result.bytes != p->sent) {
		end_failed(p, "the target has not got what was sent");
		return;
	}
	loop_io_want(p->io, 0);
	p->config.done(p->config.arg, &p->result, NULL);
}

static void
take(struct probesend *p, const uint8_t *data, size_t len)
{
	if (p->stage == STAGE_GREETING && len == 1 &&
	    data[0] == PROBE_GREETING) {
		greeted(p);
	} else if (p->stage == STAGE_PONG && len == 1 &&
		   data[0] == PROBE_PING) {
		ponged(p);
	} else if (p->stage == STAGE_COUNT &&
		   p->count_len + len <= PROBE_COUNT_LEN) {
		memcpy(p->count + p->count_len, data, len);
		p->count_len += len;
		if (p->count_len == PROBE_COUNT_LEN)
			counted(p);
	} else {
		end_failed(p, "the target does not answer as a handler does");
	}
}

static void
on_ready(unsigned ready, void *arg)
{
	struct probesend *p = arg;
	uint8_t data[PROBE_COUNT_LEN + 1];
	ssize_t got;

	if (ready & LOOP_WRITE) {
		send_more(p);
		return;
	}
	got = recv(p->fd, data, sizeof(data), 0);
	if (got > 0)
		take(p, data, (size_t)got);
	else if (got == 0 || (errno != EAGAIN && errno != EINTR))
		end_failed(p, "the connection was closed before the target "
			      "answered");
}

struct probesend *
probesend_new(const struct probesend_config *config, struct err *err)
{
	AUTO(free_ptr)
	char *name = xasprintf(PROBE_SOCKET_FORMAT, config->key);
	uint64_t since_us = now_us();
	struct probesend *p;
	int fd;

	if (endpoint_connect(config->dir_fd, name, &fd, err) == -1)
		return NULL;
	p = xmalloc0(sizeof(*p));
	p->config = *config;
	p->since_us = since_us;
	p->fd = fd;
	p->chunk = xmalloc0(PROBE_CHUNK);
	p->io = loop_io_new(config->loop, fd, on_ready, p);
	loop_io_want(p->io, LOOP_READ);
	return p;
}

void
probesend_free(struct probesend *p)
{
	if (p == NULL)
		return;
	loop_io_free(p->io);
	close_fd(&p->fd);
	free(p->chunk);
	free(p);
}
