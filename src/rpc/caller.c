/* SPDX-License-Identifier: Apache-2.0 */
#include "rpc/caller.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/bucket.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/mem.h"
#include "rpc/client.h"
#include "rpc/fds.h"
#include "rpc/message.h"

#define CHUNK (64UL * 1024)
#define US_PER_MS 1000U

struct call {
	uint64_t id;
	uint64_t deadline_ms;
	char *method;
	rpc_answer_fn fn;
	void *arg;
	/* Descriptors that go with it, until they have gone. */
	struct rpc_fds fds;
	uint64_t start; /* where it begins in all that was ever queued */
	size_t len;
};

struct rpc_caller {
	struct rpc_caller_config config;
	int fd;
	struct loop_io *io;
	struct loop_timer *timer; /* the earliest deadline */
	struct loop_timer *pause; /* runs while nothing is read */
	bool paused;
	struct bucket notes, note_bytes; /* that may still come */
	struct buf in;
	struct buf out;
	size_t scanned; /* bytes of in without a newline */
	uint64_t sent;  /* bytes that have left, ever */
	uint64_t last_id;
	struct call calls[RPC_CALLS_MAX]; /* oldest first */
	size_t n_calls;
	unsigned busy; /* inside of callbacks */
	bool ended;
	bool freed; /* by a callback: goes when the last of them returns */
};

static void
caller_destroy(struct rpc_caller *caller)
{
	for (size_t i = 0; i < caller->n_calls; i++) {
		free(caller->calls[i].method);
		rpc_fds_done(&caller->calls[i].fds);
	}
	loop_timer_free(caller->timer);
	loop_timer_free(caller->pause);
	loop_io_free(caller->io);
	close_fd(&caller->fd);
	buf_done(&caller->in);
	buf_done(&caller->out);
	free(caller);
}

static void
enter(struct rpc_caller *caller)
{
	caller->busy++;
}

/* -1: the caller is no more. */
static int
leave(struct rpc_caller *caller)
{
	caller->busy--;
	if (!caller->freed)
		return 0;
	if (caller->busy == 0)
		caller_destroy(caller);
	return -1;
}

static void
set_timer(struct rpc_caller *caller)
{
	uint64_t now = loop_now_ms(), first = UINT64_MAX;

	for (size_t i = 0; i < caller->n_calls; i++) {
		if (caller->calls[i].deadline_ms < first)
			first = caller->calls[i].deadline_ms;
	}
	if (first == UINT64_MAX)
		loop_timer_stop(caller->timer);
	else
		loop_timer_start(caller->timer,
				 first > now ? (first - now) * US_PER_MS : 0);
}

/* Answers the oldest call and takes it out. */
static void
answer_first(struct rpc_caller *caller, const json_t *result,
	     const struct err *err)
{
	struct call call = caller->calls[0];

	memmove(&caller->calls[0], &caller->calls[1],
		--caller->n_calls * sizeof(call));
	free(call.method);
	rpc_fds_done(&call.fds);
	if (call.fn != NULL)
		call.fn(call.arg, result, err);
}

/* Everybody who waits learns why; then the owner does. */
static void
end(struct rpc_caller *caller, const struct err *err)
{
	if (caller->ended)
		return;
	caller->ended = true;
	loop_timer_stop(caller->timer);
	loop_timer_stop(caller->pause);
	loop_io_want(caller->io, 0);
	while (caller->n_calls > 0 && !caller->freed)
		answer_first(caller, NULL, err);
	if (!caller->freed && caller->config.ended != NULL)
		caller->config.ended(caller->config.ctx, err);
}

static void
take_notification(struct rpc_caller *caller, const char *text, size_t len)
{
	AUTO(rpc_request_done) struct rpc_request request = { 0 };
	struct err err;
	int code;

	if (rpc_request_parse(text, len, &request, &code, &err) == -1) {
		end(caller, &err);
		return;
	}
	if (request.id == NULL && caller->config.notified != NULL)
		caller->config.notified(caller->config.ctx, request.method,
					request.params);
}

static void
take_reply(struct rpc_caller *caller, const char *text, size_t len)
{
	AUTO(js_unref) json_t *result = NULL;
	struct err err;

	if (caller->n_calls == 0) {
		(void)err_set(&err, ERR_UNAVAILABLE,
			      "the server answers what nobody asked");
		end(caller, &err);
		return;
	}
	if (rpc_reply_parse(text, len, caller->calls[0].id, &result, &err) == 0)
		answer_first(caller, result, NULL);
	else
		answer_first(caller, NULL, &err);
}

static bool
is_notification(const char *text, size_t len)
{
	struct err err;
	AUTO(js_unref) json_t *value = js_parse(text, len, &err);

	return json_object_get(value, "method") != NULL;
}

static void
want(struct rpc_caller *caller)
{
	loop_io_want(caller->io,
		     (caller->paused ? 0 : LOOP_READ) |
			     (caller->out.len > 0 ? LOOP_WRITE : 0));
}

static void
take_note(struct rpc_caller *caller, const char *text, size_t len)
{
	uint64_t now = loop_now_ns();
	struct err err;

	if (len > RPC_NOTIFY_BYTES_BURST) {
		(void)err_set(&err, ERR_LIMIT,
			      "the server's notification is too long");
		end(caller, &err);
		return;
	}
	bucket_charge(&caller->notes, 1, now);
	bucket_charge(&caller->note_bytes, (double)len, now);
	take_notification(caller, text, len);
}

/* Whether the server has said so much that nobody listens for a while. */
static bool
has_enough(struct rpc_caller *caller)
{
	uint64_t now = loop_now_ns();
	uint64_t count_us = bucket_wait_us(&caller->notes, now);
	uint64_t bytes_us = bucket_wait_us(&caller->note_bytes, now);
	uint64_t wait_us = count_us > bytes_us ? count_us : bytes_us;

	if (wait_us == 0)
		return false;
	caller->paused = true;
	loop_timer_start(caller->pause, wait_us);
	return true;
}

/* Handles the complete lines. Stops when the caller has ended, or has had
 * enough. */
static void
take_lines(struct rpc_caller *caller)
{
	struct buf *in = &caller->in;
	const uint8_t *newline;
	size_t len;

	while (!caller->ended && !caller->freed && in->len > caller->scanned) {
		newline = memchr(in->data + caller->scanned, '\n',
				 in->len - caller->scanned);
		if (newline == NULL) {
			caller->scanned = in->len;
			return;
		}
		if (has_enough(caller))
			return;
		len = (size_t)(newline - in->data);
		if (is_notification((const char *)in->data, len))
			take_note(caller, (const char *)in->data, len);
		else
			take_reply(caller, (const char *)in->data, len);
		buf_consume(in, len + 1);
		caller->scanned = 0;
	}
}

static void
receive(struct rpc_caller *caller)
{
	uint8_t *to = buf_reserve(&caller->in, CHUNK);
	struct err err;
	ssize_t got;

	if (to == NULL) {
		(void)err_set(&err, ERR_LIMIT,
			      "the server's reply is too long");
		end(caller, &err);
		return;
	}
	got = recv(caller->fd, to, CHUNK, 0);
	if (got > 0) {
		buf_commit(&caller->in, (size_t)got);
		take_lines(caller);
		return;
	}
	if (got == -1 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got == 0)
		(void)err_set(&err, ERR_UNAVAILABLE,
			      "the server ended the connection");
	else
		(void)err_errno(&err, "cannot read from the server");
	end(caller, &err);
}

/* The next message that has descriptors; NULL: none. */
static struct call *
next_with_fds(struct rpc_caller *caller)
{
	for (size_t i = 0; i < caller->n_calls; i++) {
		struct call *call = &caller->calls[i];

		if (call->fds.count > 0 && call->start >= caller->sent)
			return call;
	}
	return NULL;
}

/* What may go at once: up to a message with descriptors, or that one alone. */
static ssize_t
send_some(struct rpc_caller *caller)
{
	struct call *call = next_with_fds(caller);
	size_t len = caller->out.len;
	ssize_t sent;

	if (call == NULL || call->start > caller->sent) {
		if (call != NULL)
			len = (size_t)(call->start - caller->sent);
		return send(caller->fd, caller->out.data, len, MSG_NOSIGNAL);
	}
	sent = rpc_fds_send(caller->fd, caller->out.data, call->len,
			    call->fds.fd, call->fds.count);
	if (sent > 0)
		rpc_fds_done(&call->fds);
	return sent;
}

/* A server that has gone may have said why, which is read next. */
static void
flush(struct rpc_caller *caller)
{
	ssize_t sent;

	while (caller->out.len > 0) {
		sent = send_some(caller);
		if (sent == -1 && errno == EINTR)
			continue;
		if (sent == -1 && errno == EAGAIN)
			break;
		if (sent == -1) {
			buf_clear(&caller->out);
		} else {
			buf_consume(&caller->out, (size_t)sent);
			caller->sent += (size_t)sent;
		}
	}
	want(caller);
}

/* The end of a loop's turn with the caller, which may have gone meanwhile. */
static void
settle(struct rpc_caller *caller)
{
	if (leave(caller) == -1 || caller->ended)
		return;
	set_timer(caller);
	want(caller);
}

static void
caller_ready(unsigned ready, void *arg)
{
	struct rpc_caller *caller = arg;

	enter(caller);
	if (ready & LOOP_WRITE)
		flush(caller);
	if ((ready & LOOP_READ) && !caller->paused)
		receive(caller);
	settle(caller);
}

/* What has been read already comes first. */
static void
caller_listens(void *arg)
{
	struct rpc_caller *caller = arg;

	enter(caller);
	caller->paused = false;
	take_lines(caller);
	settle(caller);
}

static void
caller_late(void *arg)
{
	struct rpc_caller *caller = arg;
	uint64_t now = loop_now_ms();
	struct err err;

	enter(caller);
	for (size_t i = 0; i < caller->n_calls; i++) {
		if (caller->calls[i].deadline_ms > now)
			continue;
		(void)err_set(&err, ERR_TIMEOUT,
			      "the server did not answer '%s' in time",
			      caller->calls[i].method);
		end(caller, &err);
		break;
	}
	settle(caller);
}

static void
hello_answered(void *arg, const json_t *result, const struct err *failure)
{
	struct rpc_caller *caller = arg;
	struct err err;

	if (failure != NULL) {
		err = *failure;
		end(caller, &err);
	} else if (rpc_hello_check(result, &err) == -1) {
		end(caller, &err);
	} else if (caller->config.ready != NULL) {
		caller->config.ready(caller->config.ctx, result);
	}
}

struct rpc_caller *
rpc_caller_new(const struct rpc_caller_config *config, int fd)
{
	struct rpc_caller *caller = xmalloc0(sizeof(*caller));
	AUTO(js_unref) json_t *hello = rpc_hello(&config->self);
	struct err err;

	caller->config = *config;
	caller->fd = fd;
	(void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	caller->in = BUF_INIT(RPC_REPLY_MAX + CHUNK);
	caller->out = BUF_INIT(RPC_CALLS_MAX * RPC_MESSAGE_MAX);
	bucket_init(&caller->notes, RPC_NOTIFY_PER_S, RPC_NOTIFY_BURST,
		    loop_now_ns());
	bucket_init(&caller->note_bytes, RPC_NOTIFY_BYTES_PER_S,
		    RPC_NOTIFY_BYTES_BURST, loop_now_ns());
	caller->timer = loop_timer_new(config->loop, caller_late, caller);
	caller->pause = loop_timer_new(config->loop, caller_listens, caller);
	caller->io = loop_io_new(config->loop, fd, caller_ready, caller);
	if (config->notified != NULL)
		(void)json_object_set_new(hello, "notify", json_true());
	(void)rpc_caller_call(caller, "hello", hello, 0, hello_answered, caller,
			      &err);
	return caller;
}

/* Descriptors are kept until they are sent, and stay the caller's. */
static int
copy_fds(const struct rpc_call *from, struct rpc_fds *ret_fds, struct err *err)
{
	ret_fds->count = 0;
	if (from->n_fds > RPC_FDS_MAX)
		return err_set(err, ERR_LIMIT, "more than %u descriptors",
			       RPC_FDS_MAX);
	for (size_t i = 0; i < from->n_fds; i++) {
		int fd = fcntl(from->fds[i], F_DUPFD_CLOEXEC, 0);

		if (fd == -1) {
			(void)err_errno(err, "cannot pass a descriptor");
			rpc_fds_done(ret_fds);
			return -1;
		}
		ret_fds->fd[ret_fds->count++] = fd;
	}
	return 0;
}

int
rpc_caller_send(struct rpc_caller *caller, const struct rpc_call *what,
		rpc_answer_fn fn, void *arg, struct err *err)
{
	AUTO(js_unref) json_t *request = NULL;
	AUTO(free_ptr) char *text = NULL;
	struct call *call = &caller->calls[caller->n_calls];
	uint64_t start = caller->sent + caller->out.len;
	uint64_t timeout_ms = what->timeout_ms > 0 ? what->timeout_ms
						   : RPC_RECEIVE_TIMEOUT_MS;
	struct rpc_fds fds;
	size_t len;

	if (caller->ended)
		return err_set(err, ERR_UNAVAILABLE,
			       "the connection to the server is lost");
	if (caller->n_calls == RPC_CALLS_MAX)
		return err_set(err, ERR_LIMIT,
			       "%u calls wait for their answer already",
			       RPC_CALLS_MAX);
	if (copy_fds(what, &fds, err) == -1)
		return -1;
	request = rpc_request_new(caller->last_id + 1, what->method,
				  what->params);
	text = js_text(request);
	len = strlen(text);
	text[len] = '\n'; /* in place of the NUL */
	if (len >= RPC_MESSAGE_MAX ||
	    buf_append(&caller->out, text, len + 1) == -1) {
		rpc_fds_done(&fds);
		return err_set(err, ERR_INVALID,
			       "the request '%s' is too large", what->method);
	}
	*call = (struct call){
		.id = ++caller->last_id,
		.deadline_ms = loop_now_ms() + timeout_ms,
		.method = xstrdup(what->method),
		.fn = fn,
		.arg = arg,
		.fds = fds,
		.start = start,
		.len = len + 1,
	};
	caller->n_calls++;
	flush(caller);
	set_timer(caller);
	return 0;
}

/* NOLINTBEGIN(readability-function-size): a call in one line */
int
rpc_caller_call(struct rpc_caller *caller, const char *method, json_t *params,
		uint64_t timeout_ms, rpc_answer_fn fn, void *arg,
		struct err *err)
{
	struct rpc_call call = { .method = method,
				 .params = params,
				 .timeout_ms = timeout_ms };

	return rpc_caller_send(caller, &call, fn, arg, err);
}
/* NOLINTEND(readability-function-size) */

void
rpc_caller_free(struct rpc_caller *caller)
{
	if (caller == NULL)
		return;
	if (caller->busy > 0) {
		caller->freed = true;
		caller->config.ended = NULL;
		return;
	}
	caller_destroy(caller);
}
