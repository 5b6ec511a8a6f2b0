/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RPC_SESSION_H
#define RPC_SESSION_H

/*
 * session - one client of a server, without its socket.
 *
 * Bytes and descriptors go in, complete messages are answered one at a time,
 * replies come out as bytes. server.c puts a socket, deadlines and a check of
 * credentials around it; a fuzzer does without.
 *
 * What a client can make a session keep: one message and one read of input
 * (RPC_MESSAGE_MAX + RPC_SESSION_CHUNK), two messages' descriptors, one reply
 * (RPC_REPLY_MAX), because the next message waits until the reply is gone.
 *
 * Threading: only from the loop's thread.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/js.h"
#include "rpc/fds.h"
#include "rpc/rpc.h"

struct err;
struct rpc_pending;

#define RPC_SESSION_CHUNK (64UL * 1024) /* most that is fed at once */

/*
 * A method. params is an object, an array or NULL, and borrowed. The handler
 * takes the descriptors it wants; the rest are closed after it. On success it
 * stores a new reference in *ret_result (NULL counts as JSON null), on failure
 * it fills err. It runs in the loop's thread and must not wait for anything.
 */
struct rpc_method {
	const char *name;
	int (*fn)(void *ctx, const json_t *params, struct rpc_fds *fds,
		  json_t **ret_result, struct err *err);
};

/*
 * A method that takes its time. The handler returns 0 and answers later, once,
 * by the pending call, which it owns from then on; or -1 with err at once. The
 * client's next message waits until then. A call without an id is answered
 * too; the answer goes nowhere.
 */
struct rpc_late_method {
	const char *name;
	int (*fn)(void *ctx, const json_t *params, struct rpc_pending *pending,
		  struct err *err);
};

/* What a server offers. All of it is borrowed and outlives the sessions. */
struct rpc_service {
	struct rpc_identity self;
	const struct rpc_method *methods; /* "hello" is built in */
	size_t n_methods;
	void *ctx;
	const struct rpc_late_method *late;
	size_t n_late;
};

struct rpc_session {
	const struct rpc_service *service;
	struct buf in;
	struct buf out; /* to be sent, then consumed, by the owner */
	size_t scanned; /* bytes of in without a newline */
	struct {
		int fd;
		size_t last; /* offset in in of the last byte it came with */
	} fds[2 * RPC_FDS_MAX];
	size_t n_fds;
	bool closing;  /* end the connection once out is empty */
	bool notify;   /* the client asked for notifications in its hello */
	bool handling; /* inside of a method */
	struct rpc_pending *owed; /* a call that is not answered yet */
	/* Called when an owed answer has come; the owner's. */
	void (*wake)(void *arg);
	void *wake_arg;
};

void rpc_session_init(struct rpc_session *session,
		      const struct rpc_service *service);
void rpc_session_done(struct rpc_session *session);

/*
 * Adds what was received, at most RPC_SESSION_CHUNK bytes. Takes the
 * descriptors. Not while rpc_session_step() has something to do.
 */
void rpc_session_feed(struct rpc_session *session, const void *data, size_t len,
		      struct rpc_fds *fds);

/*
 * Handles the next complete message, if there is one. Only while out is
 * empty. Returns whether there was one.
 */
bool rpc_session_step(struct rpc_session *session);

/*
 * Answers a pending call and frees it; for a client that is gone, that is all.
 * result is taken, NULL counts as JSON null.
 */
void rpc_pending_result(struct rpc_pending *pending, json_t *result);
void rpc_pending_error(struct rpc_pending *pending, const struct err *err);

/*
 * Adds a notification to out, behind what is there. params is borrowed. Does
 * nothing for a client that did not ask for them. -1: the client has left
 * RPC_NOTIFY_BACKLOG bytes unread.
 */
int rpc_session_notify(struct rpc_session *session, const char *method,
		       json_t *params);

/* Whether the beginning of a message is there without its end. */
bool rpc_session_partial(const struct rpc_session *session);

#endif
