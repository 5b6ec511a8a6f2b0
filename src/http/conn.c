/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "http/internal.h"

#define US_PER_MS UINT64_C(1000)
#define DISCARD_SIZE (1024 * 1024)
/* A peer that vanished without a word is found within two minutes. */
#define KEEPALIVE_IDLE_S 60
#define KEEPALIVE_STEP_S 15
#define KEEPALIVE_COUNT 4

static const char plain_answer[] =
	"HTTP/1.0 400 Bad Request\r\n\r\n"
	"Client sent an HTTP request to an HTTPS server.\n";

static bool
is_waiting(const struct conn *c)
{
	return c->state == CONN_READING && !c->in_body && c->out.len == 0 &&
	       c->in.len == c->in_used;
}

static struct conn_queue *
queue_of(const struct conn *c)
{
	if (c->state == CONN_HANDSHAKE)
		return &c->server->shaking;
	return is_waiting(c) ? &c->server->idle : NULL;
}

static bool
is_streaming(const struct conn *c)
{
	return c->state == CONN_ANSWERING && c->req != NULL &&
	       c->req->streaming;
}

static enum conn_wait
wait_of(const struct conn *c)
{
	switch (c->state) {
	case CONN_HANDSHAKE:
		return CONN_WAIT_HANDSHAKE;
	case CONN_READING:
		if (c->in_body)
			return CONN_WAIT_BODY;
		if (c->out.len > 0)
			return CONN_WAIT_TAKER;
		if (c->in.len > c->in_used)
			return CONN_WAIT_HEAD;
		return c->served ? CONN_WAIT_NEXT : CONN_WAIT_FIRST;
	case CONN_ANSWERING:
		return c->out.len > 0 ? CONN_WAIT_TAKER : CONN_WAIT_NOTHING;
	case CONN_CLOSING:
		return CONN_WAIT_TAKER;
	case CONN_LINGERING:
		return CONN_WAIT_LINGER;
	case CONN_BROKEN:
		break;
	}
	return CONN_WAIT_NOTHING;
}

static unsigned
wait_ms(const struct conn *c, enum conn_wait wait)
{
	const struct http_limits *l = &c->server->limits;

	switch (wait) {
	case CONN_WAIT_HANDSHAKE:
		return l->handshake_ms;
	case CONN_WAIT_FIRST:
	case CONN_WAIT_HEAD:
		return l->header_ms;
	case CONN_WAIT_NEXT:
		return l->idle_ms;
	case CONN_WAIT_BODY:
		return l->body_ms;
	case CONN_WAIT_TAKER:
		return l->write_ms;
	case CONN_WAIT_LINGER:
		return HTTP_LINGER_MS;
	case CONN_WAIT_NOTHING:
		break;
	}
	return 0;
}

/* The timer runs from the moment it began to wait for this. */
static void
set_timer(struct conn *c)
{
	enum conn_wait wait = wait_of(c);

	if (wait == c->wait)
		return;
	c->wait = wait;
	if (wait == CONN_WAIT_NOTHING)
		loop_timer_stop(c->timer);
	else
		loop_timer_start(c->timer, wait_ms(c, wait) * US_PER_MS);
}

static void
set_interest(struct conn *c)
{
	unsigned want = 0;

	switch (c->state) {
	case CONN_HANDSHAKE:
	case CONN_LINGERING:
		want = c->blocked ? LOOP_WRITE : LOOP_READ;
		break;
	case CONN_READING:
	case CONN_ANSWERING:
		if (input_has_room(c))
			want |= LOOP_READ;
		else
			c->stuffed = true;
		if (c->blocked || c->read_wants_write)
			want |= LOOP_WRITE;
		if (c->write_wants_read)
			want |= LOOP_READ;
		break;
	case CONN_CLOSING:
		want = c->write_wants_read ? LOOP_READ : LOOP_WRITE;
		break;
	case CONN_BROKEN:
		break;
	}
	loop_io_want(c->io, want);
}

/* Brings the loop in line with the state, once nobody above changes it. */
static void
settle(struct conn *c)
{
	if (c->busy > 0 || c->fd == -1)
		return;
	if (c->in_used == c->in.len) {
		/* Idle connections are many and hold no buffer. */
		buf_done(&c->in);
		c->in_used = 0;
	}
	if (c->server->draining && c->served && is_waiting(c))
		conn_break(c, false);
	/*
	 * With input unread the end of the client cannot be seen, and a stream
	 * may last for ever. No client asks so much while it watches.
	 */
	if (is_streaming(c) && !input_has_room(c))
		conn_break(c, true);
	set_interest(c);
	set_timer(c);
	server_set_queue(c, queue_of(c));
}

void
conn_release(struct conn *c)
{
	if (c->fd != -1) {
		c->server->stats.answering--;
		return;
	}
	if (c->busy > 0 || c->req != NULL)
		return;
	tls_https_conn_free(c->tls);
	free(c);
}

static void
close_socket(struct conn *c, bool reset)
{
	static const struct linger at_once = { .l_onoff = 1 };

	if (reset)
		(void)setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &at_once,
				 sizeof(at_once));
	(void)close(c->fd);
	c->fd = -1;
}

static void
tell_gone(struct request *req)
{
	void (*fn)(struct http_request * pub, void *arg) = req->on_close;

	req->on_close = NULL;
	req->on_drain = NULL;
	if (fn != NULL)
		fn(&req->pub, req->on_close_arg);
}

void
conn_cut(struct conn *c, bool reset)
{
	struct request *req = c->req;
	bool handed = c->state == CONN_ANSWERING || c->state == CONN_BROKEN;

	if (c->fd == -1)
		return;
	if (!reset && !c->reset && c->state != CONN_HANDSHAKE)
		tls_https_close_notify(c->tls);
	server_forget(c);
	loop_io_free(c->io);
	loop_timer_free(c->timer);
	close_socket(c, reset || c->reset);
	outq_done(&c->out);
	buf_done(&c->in);
	c->state = CONN_BROKEN;
	c->busy++;
	if (req != NULL && handed) {
		c->server->stats.answering--;
		tell_gone(req);
	} else {
		request_free(req);
		c->req = NULL;
	}
	c->busy--;
	conn_release(c);
}

void
conn_break(struct conn *c, bool reset)
{
	/* A request that is still being read has nobody who waits for it. */
	if (c->state != CONN_ANSWERING) {
		request_free(c->req);
		c->req = NULL;
	}
	c->state = CONN_BROKEN;
	c->reset = reset;
	outq_done(&c->out);
	server_kick(c, true);
}

/* Leaves conn alone unless it is the last use of it on the stack. */
static void
leave(struct conn *c)
{
	c->busy--;
	if (c->busy > 0)
		return;
	if (c->fd == -1)
		conn_release(c);
	else if (c->state == CONN_BROKEN)
		conn_cut(c, false);
	else
		settle(c);
}

/* All was said; what the client still says is dropped until it closes. */
static void
start_lingering(struct conn *c)
{
	if (c->state != CONN_HANDSHAKE)
		tls_https_close_notify(c->tls);
	(void)shutdown(c->fd, SHUT_WR);
	buf_done(&c->in);
	c->in_used = 0;
	c->blocked = false;
	c->state = CONN_LINGERING;
}

static void
linger(struct conn *c)
{
	ssize_t n = recv(c->fd, NULL, DISCARD_SIZE, MSG_TRUNC | MSG_DONTWAIT);

	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0)
		c->lingered += (size_t)n;
	if (n <= 0 || c->lingered > HTTP_LINGER_BYTES)
		conn_cut(c, true);
}

/* Sends until there is no output or no room; false when the socket failed. */
static bool
send_output(struct conn *c)
{
	const char *data;
	struct err err;
	size_t len;

	while ((data = outq_peek(&c->out, &len)) != NULL) {
		switch (tls_https_write(c->tls, data, len, &len, &err)) {
		case TLS_HTTPS_OK:
			outq_consume(&c->out, len);
			c->server->stats.sent_bytes += len;
			c->progress_ms = 0;
			break;
		case TLS_HTTPS_WANT_WRITE:
			c->blocked = true;
			return true;
		case TLS_HTTPS_WANT_READ:
			c->write_wants_read = true;
			return true;
		case TLS_HTTPS_CLOSED:
		case TLS_HTTPS_PLAIN:
		case TLS_HTTPS_FAILED:
			return false;
		}
	}
	return true;
}

void
conn_flush(struct conn *c)
{
	const struct request *req = c->req;

	if (c->blocked || c->write_wants_read || c->state == CONN_BROKEN)
		return;
	if (!send_output(c)) {
		conn_break(c, false);
		return;
	}
	if (c->out.len > 0 && c->progress_ms == 0)
		c->progress_ms = loop_now_ms();
	if (req != NULL && req->on_drain != NULL &&
	    c->out.len <= req->drain_below)
		server_kick(c, true);
	if (c->state == CONN_CLOSING && c->out.len == 0)
		start_lingering(c);
	settle(c);
}

void
conn_answered(struct conn *c, bool close)
{
	if (c->state == CONN_ANSWERING)
		c->server->stats.answering--;
	c->state = close ? CONN_CLOSING : CONN_READING;
	c->in_body = false;
	c->served = true;
	/* The wait for the next request begins anew. */
	c->wait = CONN_WAIT_NOTHING;
	conn_flush(c);
	/* In the loop of process() that goes on by itself. */
	if (c->busy == 0 && c->state == CONN_READING && c->out.len == 0 &&
	    (c->stuffed || c->in.len > c->in_used))
		server_kick(c, true);
	settle(c);
}

static void
shake_hands(struct conn *c)
{
	struct err err = { 0 };

	c->blocked = false;
	switch (tls_https_handshake(c->tls, &err)) {
	case TLS_HTTPS_OK:
		c->state = CONN_READING;
		/* The first request may have come with the handshake. */
		input_read(c);
		return;
	case TLS_HTTPS_WANT_READ:
		return;
	case TLS_HTTPS_WANT_WRITE:
		c->blocked = true;
		return;
	case TLS_HTTPS_PLAIN:
		(void)send(c->fd, plain_answer, sizeof(plain_answer) - 1,
			   MSG_NOSIGNAL | MSG_DONTWAIT);
		c->server->stats.tls_failed++;
		start_lingering(c);
		return;
	case TLS_HTTPS_CLOSED:
		break;
	case TLS_HTTPS_FAILED:
		c->server->stats.tls_failed++;
		log_debug(NULL, "%s: %s", c->remote, err.text);
		break;
	}
	conn_break(c, false);
}

static void
on_ready(unsigned ready, void *arg)
{
	struct conn *c = arg;

	if (c->state == CONN_LINGERING) {
		linger(c);
		return;
	}
	c->busy++;
	if (c->state == CONN_HANDSHAKE) {
		shake_hands(c);
		leave(c);
		return;
	}
	if (ready == LOOP_WRITE || c->write_wants_read) {
		c->blocked = false;
		c->write_wants_read = false;
		conn_flush(c);
	}
	if (c->state == CONN_READING || c->state == CONN_ANSWERING)
		input_read(c);
	leave(c);
}

void
conn_run(struct conn *c)
{
	struct request *req;

	c->busy++;
	conn_flush(c);
	req = c->req;
	if (c->state == CONN_ANSWERING && req->on_drain != NULL &&
	    c->out.len <= req->drain_below) {
		void (*fn)(struct http_request * pub, void *arg) =
			req->on_drain;

		req->on_drain = NULL;
		fn(&req->pub, req->on_drain_arg);
	}
	if (c->state == CONN_READING || (c->stuffed && input_has_room(c)))
		input_read(c);
	leave(c);
}

static bool
takes_nothing(const struct conn *c)
{
	return c->out.len > 0 && c->progress_ms != 0 &&
	       loop_now_ms() - c->progress_ms >= c->server->limits.write_ms;
}

static void
on_timer(void *arg)
{
	struct conn *c = arg;

	switch (c->wait) {
	case CONN_WAIT_HEAD:
	case CONN_WAIT_BODY:
		c->busy++;
		reply_refuse(c, 408);
		leave(c);
		return;
	case CONN_WAIT_TAKER:
		if (takes_nothing(c)) {
			conn_cut(c, true);
			return;
		}
		loop_timer_start(c->timer, wait_ms(c, c->wait) * US_PER_MS);
		return;
	case CONN_WAIT_HANDSHAKE:
	case CONN_WAIT_LINGER:
		conn_cut(c, true);
		return;
	case CONN_WAIT_FIRST:
	case CONN_WAIT_NEXT:
		conn_cut(c, false);
		return;
	case CONN_WAIT_NOTHING:
		break;
	}
}

static void
set_option(int fd, int level, int option, int value)
{
	/* Not there for sockets that are not TCP; nothing depends on them. */
	(void)setsockopt(fd, level, option, &value, sizeof(value));
}

void
conn_new(struct http_server *server, int fd, const char *remote)
{
	struct conn *c = xmalloc0(sizeof(*c));

	c->server = server;
	c->accepted_ms = loop_now_ms();
	c->fd = fd;
	/* One write is one record is all there is to send: nothing to gather.
	 */
	set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
	set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, KEEPALIVE_IDLE_S);
	set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, KEEPALIVE_STEP_S);
	set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, KEEPALIVE_COUNT);
	(void)strncpy(c->remote, remote, sizeof(c->remote) - 1);
	c->in = BUF_INIT(server->limits.header_bytes + HTTP_INPUT_MAX +
			 2 * INPUT_PIECE);
	c->out.pool = &server->pool;
	c->tls = tls_https_conn_new(server->tls, fd);
	c->io = loop_io_new(server->loop, fd, on_ready, c);
	c->timer = loop_timer_new(server->loop, on_timer, c);
	LIST_INSERT_HEAD(&server->conns, c, all);
	server->stats.connections++;
	settle(c);
}
