/* SPDX-License-Identifier: Apache-2.0 */
#include "proxy/link.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/loop.h"
#include "base/mem.h"
#include "proxy/hello.h"

#define US_PER_MS 1000ULL

/* A message is far smaller than a record; what follows it may be in, too. */
#define IN_MAX (2 * TLS_RECORD_MAX)
#define OUT_MAX (64UL * 1024)

enum state {
	STATE_HANDSHAKE,
	STATE_SECURE,  /* the peer's message has not come yet */
	STATE_READY,   /* it has */
	STATE_LEAVING, /* failed; the peer may still read why */
};

struct link {
	struct link_config config;
	enum state state;
	struct loop_io *io;
	struct loop_timer *timer;
	struct tls_session *session; /* until the handshake is done */
	struct tls_stream *tls;      /* from then on */
	struct buf in;               /* wire bytes not yet opened */
	struct buf out;              /* wire bytes not yet sent */
	bool sending;                /* sent() is owed */
	enum reason late_reason;
	const char *late_what;
	struct failure failure;
};

void
link_free(struct link *link)
{
	if (link == NULL)
		return;
	loop_io_free(link->io);
	loop_timer_free(link->timer);
	tls_session_free(link->session);
	tls_stream_free(link->tls);
	buf_done(&link->in);
	buf_done(&link->out);
	if (link->config.fd != -1)
		(void)close(link->config.fd);
	free(link);
}

static void
report(struct link *link)
{
	struct failure failure = link->failure;

	link->config.failed(&failure, link->config.arg);
}

/* The peer has read all, or has had its time. */
static void
timed_out(void *arg)
{
	struct link *link = arg;

	if (link->state != STATE_LEAVING)
		failure_set(&link->failure, link->late_reason, "%s",
			    link->late_what);
	report(link);
}

/* Once the peer's message is in, what follows belongs to the stream. */
static void
want(struct link *link)
{
	bool write = link->out.len > 0 || link->sending;

	loop_io_want(link->io, (link->state != STATE_READY ? LOOP_READ : 0U) |
				       (write ? LOOP_WRITE : 0U));
}

/* Sends what can be sent; 0, or -1 with errno. */
static int
flush(struct link *link)
{
	while (link->out.len > 0) {
		ssize_t n = send(link->config.fd, link->out.data, link->out.len,
				 MSG_NOSIGNAL);

		if (n == -1)
			return errno == EAGAIN || errno == EINTR ? 0 : -1;
		buf_consume(&link->out, (size_t)n);
	}
	return 0;
}

static void
leave(struct link *link)
{
	link->state = STATE_LEAVING;
	loop_timer_start(link->timer, LINK_FAREWELL_MS * US_PER_MS);
	(void)flush(link);
	if (link->out.len == 0)
		(void)shutdown(link->config.fd, SHUT_WR);
	want(link);
}

void
link_fail(struct link *link, const struct failure *failure)
{
	if (link->state == STATE_LEAVING)
		return;
	link->failure = *failure;
	leave(link);
}

static void
fail_tls(struct link *link, const struct tls_failure *tls)
{
	struct failure failure;

	failure_from_tls(&failure, tls);
	link_fail(link, &failure);
}

static void
fail_errno(struct link *link, int error)
{
	struct failure failure;
	enum reason reason = REASON_PEER_DEAD;

	if (error == ECONNRESET || error == EPIPE)
		reason = REASON_PEER_RESET;
	failure_set(&failure, reason, "the connection broke during set-up: %s",
		    strerror(error));
	link_fail(link, &failure);
}

static void
fail_message(struct link *link)
{
	struct failure failure;

	failure_set(&failure, REASON_BAD_MESSAGE,
		    "the peer's message is not one of ferry/1");
	link_fail(link, &failure);
}

/* Fetches an alert that is due after a failure, so that it is sent. */
static void
queue_due(struct link *link)
{
	uint8_t buf[TLS_HEADROOM];
	struct iovec wire = { 0 };
	struct tls_failure tls;

	if (tls_stream_seal(link->tls, buf, 0, &wire, &tls) == 0 &&
	    wire.iov_len > 0)
		(void)buf_append(&link->out, wire.iov_base, wire.iov_len);
}

static void
seal(struct link *link, const uint8_t *data, size_t len)
{
	/* Room for one small record in the layout of tls/stream.h. */
	uint8_t buf[TLS_HEADROOM + TLS_RECORD_HEADER + HELLO_MAX + 32];
	struct iovec iov[TLS_BATCH_RECORDS], wire;
	struct tls_failure tls;

	assert(len <= HELLO_MAX);
	(void)tls_stream_plain_iov(buf, len, iov);
	memcpy(iov[0].iov_base, data, len);
	if (tls_stream_seal(link->tls, buf, len, &wire, &tls) == -1) {
		fail_tls(link, &tls);
		return;
	}
	(void)buf_append(&link->out, wire.iov_base, wire.iov_len);
}

void
link_send(struct link *link, const uint8_t *data, size_t len)
{
	assert(link->state == STATE_SECURE || link->state == STATE_READY);
	seal(link, data, len);
	if (link->state == STATE_LEAVING)
		return;
	link->sending = true;
	/* From the loop, so that the owner is not called while it calls. */
	want(link);
}

void
link_refuse(struct link *link, const uint8_t *data, size_t len,
	    const struct failure *failure)
{
	seal(link, data, len);
	link_fail(link, failure);
}

void
link_deadline(struct link *link, unsigned timeout_ms, enum reason reason,
	      const char *what)
{
	link->late_reason = reason;
	link->late_what = what;
	loop_timer_start(link->timer, timeout_ms * US_PER_MS);
}

const char *
link_cipher(const struct link *link)
{
	return tls_stream_cipher(link->tls);
}

void
link_take(struct link *link, struct link_result *ret_result)
{
	assert(link->state == STATE_READY && link->out.len == 0);
	loop_io_free(link->io);
	link->io = NULL;
	*ret_result = (struct link_result){
		.fd = link->config.fd,
		.tls = link->tls,
		.head_len = link->in.len,
	};
	if (link->in.len > 0) {
		ret_result->head = xmalloc0(link->in.len);
		memcpy(ret_result->head, link->in.data, link->in.len);
	}
	link->config.fd = -1;
	link->tls = NULL;
}

/* The handshake is through and its last flight has left. */
static void
finish_handshake(struct link *link)
{
	uint8_t left[TLS_SESSION_LEFT_MAX];
	size_t left_len = 0;

	link->tls = tls_session_finish(link->session, link->config.engine, left,
				       sizeof(left), &left_len);
	link->session = NULL;
	link->state = STATE_SECURE;
	loop_timer_stop(link->timer);
	(void)buf_append(&link->in, left, left_len);
}

/* Gives the session what came. Returns whether the handshake is through. */
static bool
shake(struct link *link, const uint8_t *data, size_t len)
{
	struct tls_failure tls;
	enum tls_progress progress;
	const uint8_t *output;
	size_t output_len;

	progress = tls_session_step(link->session, data, len, &tls);
	output_len = tls_session_output(link->session, &output);
	if (output_len > 0) {
		(void)buf_append(&link->out, output, output_len);
		tls_session_sent(link->session, output_len);
	}
	if (progress == TLS_FAILED) {
		fail_tls(link, &tls);
		return false;
	}
	return progress == TLS_DONE;
}

/* Opens the one message that is due. */
static void
take_message(struct link *link)
{
	struct tls_opened opened;
	struct tls_failure tls;
	uint8_t data[HELLO_MAX];
	size_t len = 0;

	if (tls_stream_open(link->tls, link->in.data, link->in.len, 1, &opened,
			    &tls) == -1) {
		queue_due(link);
		fail_tls(link, &tls);
		return;
	}
	if (opened.plain_len > sizeof(data) || opened.closed) {
		fail_message(link);
		return;
	}
	for (int i = 0; i < opened.iovcnt; i++) {
		memcpy(data + len, opened.iov[i].iov_base,
		       opened.iov[i].iov_len);
		len += opened.iov[i].iov_len;
	}
	buf_consume(&link->in, opened.consumed);
	if (len == 0) /* incomplete, or a message of the TLS layer */
		return;
	link->state = STATE_READY;
	loop_timer_stop(link->timer);
	want(link);
	link->config.message(data, len, link->config.arg);
}

static void
peer_ended(struct link *link)
{
	struct tls_failure tls = { 0 };

	if (link->session)
		(void)tls_session_eof(link->session, &tls);
	else
		(void)tls_stream_eof(link->tls, &tls);
	if (tls.reason == TLS_REASON_NONE)
		(void)tls_failure_set(&tls, TLS_REASON_TRUNCATED,
				      "the peer closed during set-up");
	fail_tls(link, &tls);
}

static void
received_handshake(struct link *link, const uint8_t *data, size_t len)
{
	bool done = shake(link, data, len);

	if (link->state == STATE_LEAVING)
		return;
	if (flush(link) == -1) {
		fail_errno(link, errno);
		return;
	}
	if (done)
		finish_handshake(link);
	want(link);
	if (!done)
		return;
	link->config.secure(link->config.arg);
	if (link->state == STATE_SECURE && link->in.len > 0)
		take_message(link);
}

static void
received(struct link *link, const uint8_t *data, size_t len)
{
	if (link->state == STATE_HANDSHAKE) {
		received_handshake(link, data, len);
		return;
	}
	if (buf_append(&link->in, data, len) == -1) {
		fail_message(link);
		return;
	}
	take_message(link);
}

static void
drain(struct link *link)
{
	uint8_t data[4096];
	ssize_t n = recv(link->config.fd, data, sizeof(data), 0);

	if (n > 0 || (n == -1 && (errno == EAGAIN || errno == EINTR)))
		return;
	report(link);
}

static void
readable(struct link *link)
{
	uint8_t data[TLS_SESSION_STEP_MAX];
	ssize_t n;

	if (link->state == STATE_LEAVING) {
		drain(link);
		return;
	}
	n = recv(link->config.fd, data, sizeof(data), 0);
	if (n == -1) {
		if (errno != EAGAIN && errno != EINTR)
			fail_errno(link, errno);
		return;
	}
	if (n == 0)
		peer_ended(link);
	else
		received(link, data, (size_t)n);
}

/* Returns whether the link may still be used. */
static int
writable(struct link *link)
{
	if (flush(link) == -1) {
		if (link->state == STATE_LEAVING) {
			report(link);
			return 0;
		}
		fail_errno(link, errno);
		return 1;
	}
	if (link->out.len > 0)
		return 1;
	if (link->state == STATE_LEAVING) {
		(void)shutdown(link->config.fd, SHUT_WR);
		link->sending = false;
	}
	if (!link->sending) {
		want(link);
		return 1;
	}
	link->sending = false;
	want(link);
	if (link->config.sent == NULL)
		return 1;
	link->config.sent(link->config.arg);
	return 0;
}

static void
ready(unsigned events, void *arg)
{
	struct link *link = arg;

	if ((events & LOOP_WRITE) && !writable(link))
		return;
	if (events & LOOP_READ)
		readable(link);
}

struct link *
link_new(const struct link_config *config)
{
	struct link *link = xmalloc0(sizeof(*link));

	link->config = *config;
	link->session = tls_session_new(config->context, config->peer);
	link->in = BUF_INIT(IN_MAX);
	link->out = BUF_INIT(OUT_MAX);
	link->io = loop_io_new(config->loop, config->fd, ready, link);
	link->timer = loop_timer_new(config->loop, timed_out, link);
	if (tls_context_role(config->context) == TLS_ROLE_CLIENT)
		(void)shake(link, NULL, 0);
	want(link);
	link->config.context = NULL; /* the session has its own reference */
	return link;
}
