/* SPDX-License-Identifier: Apache-2.0 */
#include "rpc/session.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "rpc/message.h"

#define NO_SUCH_METHOD 1
#define ANSWERED_LATER 2

/* A call that was taken and not answered. */
struct rpc_pending {
	struct rpc_session *session; /* NULL once the client is gone */
	json_t *id;                  /* NULL: nobody waits */
};

void
rpc_session_init(struct rpc_session *session, const struct rpc_service *service)
{
	*session = (struct rpc_session){
		.service = service,
		.in = BUF_INIT(RPC_MESSAGE_MAX + RPC_SESSION_CHUNK),
		.out = BUF_INIT(RPC_REPLY_MAX),
	};
}

void
rpc_session_done(struct rpc_session *session)
{
	for (size_t i = 0; i < session->n_fds; i++)
		(void)close(session->fds[i].fd);
	session->n_fds = 0;
	if (session->owed != NULL)
		session->owed->session = NULL;
	session->owed = NULL;
	buf_done(&session->in);
	buf_done(&session->out);
}

static int
put_reply(struct rpc_session *session, const json_t *reply)
{
	AUTO(free_ptr) char *text = js_text(reply);
	size_t len = strlen(text);

	/* The newline takes the place of the NUL. */
	text[len] = '\n';
	return buf_append(&session->out, text, len + 1);
}

/* Takes the reply. One that is too long is replaced by an error. */
static void
send_reply(struct rpc_session *session, json_t *id, json_t *taken)
{
	AUTO(js_unref) json_t *reply = taken;
	AUTO(js_unref) json_t *instead = NULL;
	struct err err;

	if (put_reply(session, reply) == 0)
		return;
	(void)err_set(&err, ERR_LIMIT, "the reply exceeds %lu bytes",
		      RPC_REPLY_MAX);
	instead = rpc_reply_error(id, rpc_code_from_err(&err), &err);
	(void)put_reply(session, instead);
}

static void
send_error(struct rpc_session *session, json_t *id, int code,
	   const struct err *err)
{
	send_reply(session, id, rpc_reply_error(id, code, err));
}

static int
say_hello(struct rpc_session *session, const json_t *params,
	  json_t **ret_result, struct err *err)
{
	if (params != NULL && rpc_hello_check(params, err) == -1)
		return -1;
	session->notify = json_is_true(json_object_get(params, "notify"));
	*ret_result = rpc_hello(&session->service->self);
	return 0;
}

static int
call_later(struct rpc_session *session, const struct rpc_late_method *method,
	   const struct rpc_request *request, struct err *err)
{
	struct rpc_pending *pending = xmalloc0(sizeof(*pending));

	pending->session = session;
	pending->id = json_incref(request->id);
	session->owed = pending;
	if (method->fn(session->service->ctx, request->params, pending, err) ==
	    0)
		return ANSWERED_LATER;
	session->owed = NULL;
	js_unref(&pending->id);
	free(pending);
	return -1;
}

/* As a method returns; or NO_SUCH_METHOD or ANSWERED_LATER, without touching
 * err. */
static int
call_method(struct rpc_session *session, const struct rpc_request *request,
	    struct rpc_fds *fds, json_t **ret_result, struct err *err)
{
	const struct rpc_service *service = session->service;

	if (str_equal(request->method, "hello"))
		return say_hello(session, request->params, ret_result, err);
	for (size_t i = 0; i < service->n_methods; i++) {
		const struct rpc_method *m = &service->methods[i];

		if (!str_equal(m->name, request->method))
			continue;
		return m->fn(service->ctx, request->params, fds, ret_result,
			     err);
	}
	for (size_t i = 0; i < service->n_late; i++) {
		if (str_equal(service->late[i].name, request->method))
			return call_later(session, &service->late[i], request,
					  err);
	}
	return NO_SUCH_METHOD;
}

static void
handle(struct rpc_session *session, const char *text, size_t len,
       struct rpc_fds *fds)
{
	AUTO(rpc_request_done) struct rpc_request request;
	AUTO(js_unref) json_t *result = NULL;
	struct err err;
	int code, rc;

	if (rpc_request_parse(text, len, &request, &code, &err) == -1) {
		send_error(session, request.id, code, &err);
		return;
	}
	session->handling = true;
	rc = call_method(session, &request, fds, &result, &err);
	session->handling = false;
	if (request.id == NULL || rc == ANSWERED_LATER)
		return;
	if (rc == 0) {
		send_reply(session, request.id,
			   rpc_reply_result(request.id, TAKE_PTR(result)));
		return;
	}
	if (rc == NO_SUCH_METHOD) {
		(void)err_set(&err, ERR_NOT_FOUND, "unknown method '%s'",
			      request.method);
		send_error(session, request.id, RPC_CODE_METHOD, &err);
		return;
	}
	send_error(session, request.id, rpc_code_from_err(&err), &err);
}

/* An error after which the rest of the input makes no sense. */
static void
give_up(struct rpc_session *session, const char *why)
{
	struct err err;

	(void)err_set(&err, ERR_LIMIT, "%s", why);
	send_error(session, NULL, RPC_CODE_REQUEST, &err);
	session->closing = true;
}

void
rpc_session_feed(struct rpc_session *session, const void *data, size_t len,
		 struct rpc_fds *fds)
{
	assert(len <= RPC_SESSION_CHUNK);
	if (len == 0 || session->closing) {
		rpc_fds_done(fds);
		return;
	}
	/* Cannot fail: a message that is too long was found out before. */
	if (buf_append(&session->in, data, len) == -1) {
		rpc_fds_done(fds);
		give_up(session, "message is too long");
		return;
	}
	for (size_t i = 0; i < fds->count; i++) {
		int fd = rpc_fds_take(fds, i);

		if (session->n_fds == 2UL * RPC_FDS_MAX) {
			(void)close(fd);
			give_up(session, "too many descriptors");
			continue;
		}
		session->fds[session->n_fds].fd = fd;
		session->fds[session->n_fds].last = session->in.len - 1;
		session->n_fds++;
	}
	rpc_fds_done(fds);
}

/*
 * Moves the descriptors of the message that ends at offset end to *ret, and
 * lets the others move up with their bytes. -1 if there are too many.
 */
static int
claim_fds(struct rpc_session *session, size_t end, struct rpc_fds *ret)
{
	size_t kept = 0;
	int rc = 0;

	ret->count = 0;
	for (size_t i = 0; i < session->n_fds; i++) {
		int fd = session->fds[i].fd;

		if (session->fds[i].last > end) {
			session->fds[kept].fd = fd;
			session->fds[kept].last =
				session->fds[i].last - (end + 1);
			kept++;
		} else if (ret->count < RPC_FDS_MAX) {
			ret->fd[ret->count++] = fd;
		} else {
			(void)close(fd);
			rc = -1;
		}
	}
	session->n_fds = kept;
	return rc;
}

bool
rpc_session_step(struct rpc_session *session)
{
	AUTO(rpc_fds_done) struct rpc_fds fds = { .count = 0 };
	struct buf *in = &session->in;
	const uint8_t *newline;
	size_t len;

	if (session->closing || session->owed != NULL ||
	    in->len == session->scanned)
		return false;
	newline = memchr(in->data + session->scanned, '\n',
			 in->len - session->scanned);
	session->scanned = in->len;
	len = newline != NULL ? (size_t)(newline - in->data) : in->len;
	if (len >= RPC_MESSAGE_MAX) {
		give_up(session, "message is too long");
		return true;
	}
	if (newline == NULL)
		return false;

	if (claim_fds(session, len, &fds) == -1) {
		give_up(session, "too many descriptors");
		return true;
	}
	/* Blank lines keep a person with a terminal from surprises. */
	if (len > 0)
		handle(session, (const char *)in->data, len, &fds);
	buf_consume(in, len + 1);
	session->scanned = 0;
	/* A client that once sent a long message does not keep its memory. */
	if (in->len == 0 && in->size > RPC_SESSION_CHUNK)
		buf_done(in);
	return true;
}

/* Takes the reply. */
static void
settle(struct rpc_pending *pending, json_t *taken)
{
	AUTO(js_unref) json_t *reply = taken;
	struct rpc_session *session = pending->session;

	if (session != NULL) {
		session->owed = NULL;
		if (pending->id != NULL)
			send_reply(session, pending->id, TAKE_PTR(reply));
	}
	js_unref(&pending->id);
	free(pending);
	if (session != NULL && !session->handling && session->wake != NULL)
		session->wake(session->wake_arg);
}

void
rpc_pending_result(struct rpc_pending *pending, json_t *result)
{
	settle(pending, rpc_reply_result(pending->id, result));
}

void
rpc_pending_error(struct rpc_pending *pending, const struct err *err)
{
	settle(pending,
	       rpc_reply_error(pending->id, rpc_code_from_err(err), err));
}

int
rpc_session_notify(struct rpc_session *session, const char *method,
		   json_t *params)
{
	AUTO(js_unref) json_t *request = NULL;

	if (!session->notify || session->closing)
		return 0;
	if (session->out.len > RPC_NOTIFY_BACKLOG)
		return -1;
	request = rpc_request_new(0, method, params);
	return put_reply(session, request);
}

bool
rpc_session_partial(const struct rpc_session *session)
{
	return session->in.len > 0;
}
