/* SPDX-License-Identifier: Apache-2.0 */
#include "rpc/server.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "rpc/message.h"

#define ACCEPT_PAUSE_US 100000U /* when descriptors have run out */
#define US_PER_MS 1000U

/* What the deadline of a connection is for. */
enum waiting {
	WAITING_REQUEST, /* no deadline: a client may stay connected */
	WAITING_ANSWER,  /* the same: from a method that takes its time */
	WAITING_NEWLINE,
	WAITING_READER,
};

struct conn {
	struct rpc_server *server;
	int fd;
	struct loop_io *io;
	struct loop_timer *timer;
	enum waiting waiting;
	struct rpc_session session;
};

struct rpc_server {
	struct loop *loop;
	struct rpc_service service;
	uid_t *uids;
	size_t n_uids;
	uint64_t receive_timeout_ms;
	uint64_t send_timeout_ms;
	int listen_fd;
	struct loop_io *io;
	struct loop_timer *pause;
	struct conn *conns[RPC_CONNECTIONS_MAX];
	size_t n_conns;
};

static void
conn_free(struct conn *conn)
{
	loop_timer_free(conn->timer);
	loop_io_free(conn->io);
	(void)close(conn->fd);
	rpc_session_done(&conn->session);
	free(conn);
}

static void
conn_end(struct conn *conn)
{
	struct rpc_server *server = conn->server;

	for (size_t i = 0; i < server->n_conns; i++) {
		if (server->conns[i] == conn) {
			server->conns[i] = server->conns[--server->n_conns];
			break;
		}
	}
	conn_free(conn);
}

static void
conn_late(void *arg)
{
	struct conn *conn = arg;

	log_warning(NULL, "ending a control connection: %s",
		    conn->waiting == WAITING_READER
			    ? "the client does not read its reply"
			    : "the client sent only half a message");
	conn_end(conn);
}

/* Sends what fits. -1: the client is gone. */
static int
conn_flush(struct conn *conn)
{
	struct buf *out = &conn->session.out;
	ssize_t sent;

	while (out->len > 0) {
		sent = send(conn->fd, out->data, out->len, MSG_NOSIGNAL);
		if (sent == -1 && errno == EINTR)
			continue;
		if (sent == -1)
			return errno == EAGAIN ? 0 : -1;
		buf_consume(out, (size_t)sent);
	}
	if (out->size > RPC_SESSION_CHUNK)
		buf_done(out);
	return 0;
}

/* The deadline starts with the state, and is not put off within it. */
static void
conn_wait(struct conn *conn, enum waiting waiting)
{
	const struct rpc_server *server = conn->server;
	uint64_t timeout_ms = waiting == WAITING_READER
				      ? server->send_timeout_ms
				      : server->receive_timeout_ms;

	static const unsigned wanted[] = {
		[WAITING_REQUEST] = LOOP_READ,
		[WAITING_ANSWER] = 0,
		[WAITING_NEWLINE] = LOOP_READ,
		[WAITING_READER] = LOOP_WRITE,
	};

	loop_io_want(conn->io, wanted[waiting]);
	if (waiting == conn->waiting)
		return;
	conn->waiting = waiting;
	if (waiting == WAITING_REQUEST || waiting == WAITING_ANSWER)
		loop_timer_stop(conn->timer);
	else
		loop_timer_start(conn->timer, timeout_ms * US_PER_MS);
}

/* Answers what has arrived until that would need waiting. */
static void
conn_pump(struct conn *conn)
{
	struct rpc_session *session = &conn->session;

	for (;;) {
		if (conn_flush(conn) == -1) {
			conn_end(conn);
			return;
		}
		if (session->out.len > 0) {
			conn_wait(conn, WAITING_READER);
			return;
		}
		if (session->closing) {
			conn_end(conn);
			return;
		}
		if (!rpc_session_step(session))
			break;
		conn_wait(conn, WAITING_REQUEST);
	}
	if (session->owed != NULL)
		conn_wait(conn, WAITING_ANSWER);
	else if (rpc_session_partial(session))
		conn_wait(conn, WAITING_NEWLINE);
	else
		conn_wait(conn, WAITING_REQUEST);
}

static void
conn_wake(void *arg)
{
	conn_pump(arg);
}

/* -1: the connection is over. */
static int
conn_receive(struct conn *conn)
{
	static uint8_t chunk[RPC_SESSION_CHUNK]; /* one thread, see server.h */
	struct rpc_fds fds;
	ssize_t got;

	got = rpc_fds_receive(conn->fd, chunk, sizeof(chunk), &fds);
	if (got == -1)
		return errno == EAGAIN || errno == EINTR ? 0 : -1;
	if (got == 0) {
		rpc_fds_done(&fds);
		return -1;
	}
	rpc_session_feed(&conn->session, chunk, (size_t)got, &fds);
	return 0;
}

static void
conn_ready(unsigned ready, void *arg)
{
	struct conn *conn = arg;

	if ((ready & LOOP_READ) && conn_receive(conn) == -1) {
		conn_end(conn);
		return;
	}
	conn_pump(conn);
}

static int
check_peer(const struct rpc_server *server, int fd, struct err *err)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) == -1)
		return err_errno(err, "cannot find out who is calling");
	for (size_t i = 0; i < server->n_uids; i++) {
		if (server->uids[i] == cred.uid)
			return 0;
	}
	return err_set(err, ERR_DENIED,
		       "user id %u (process %d) may not use this socket",
		       cred.uid, cred.pid);
}

static int
admit(const struct rpc_server *server, int fd, struct err *err)
{
	if (check_peer(server, fd, err) == -1)
		return -1;
	if (server->n_conns == RPC_CONNECTIONS_MAX)
		return err_set(err, ERR_LIMIT,
			       "there are %u connections already",
			       RPC_CONNECTIONS_MAX);
	return 0;
}

/* Says why, as far as that is possible without waiting. */
static void
refuse(int fd, const struct err *err)
{
	AUTO(js_unref)
	json_t *reply = rpc_reply_error(NULL, rpc_code_from_err(err), err);
	AUTO(free_ptr) char *text = js_text(reply);
	size_t len = strlen(text);

	log_warning(NULL, "refusing a control connection: %s", err->text);
	text[len] = '\n';
	(void)send(fd, text, len + 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void
set_nonblocking(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	(void)fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

void
rpc_server_adopt(struct rpc_server *server, int fd)
{
	AUTO(close_fd) int taken = fd;
	struct conn *conn;
	struct err err;

	if (admit(server, fd, &err) == -1) {
		refuse(fd, &err);
		return;
	}
	set_nonblocking(fd);
	conn = xmalloc0(sizeof(*conn));
	conn->server = server;
	conn->fd = TAKE_FD(taken);
	rpc_session_init(&conn->session, &server->service);
	conn->session.wake = conn_wake;
	conn->session.wake_arg = conn;
	conn->timer = loop_timer_new(server->loop, conn_late, conn);
	conn->io = loop_io_new(server->loop, conn->fd, conn_ready, conn);
	loop_io_want(conn->io, LOOP_READ);
	server->conns[server->n_conns++] = conn;
}

static void
accept_again(void *arg)
{
	struct rpc_server *server = arg;

	loop_io_want(server->io, LOOP_READ);
}

static void
accept_ready(unsigned ready, void *arg)
{
	struct rpc_server *server = arg;
	int fd;

	(void)ready;
	for (;;) {
		fd = accept4(server->listen_fd, NULL, NULL,
			     SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd == -1)
			break;
		rpc_server_adopt(server, fd);
	}
	if (errno != EMFILE && errno != ENFILE && errno != ENOBUFS &&
	    errno != ENOMEM)
		return;
	/* The caller stays in the queue: trying at once would only spin. */
	log_warning(NULL, "cannot accept a control connection, waiting: %s",
		    strerrorname_np(errno));
	loop_io_want(server->io, 0);
	loop_timer_start(server->pause, ACCEPT_PAUSE_US);
}

struct rpc_server *
rpc_server_new(const struct rpc_server_config *config, int listen_fd)
{
	struct rpc_server *server = xmalloc0(sizeof(*server));

	server->loop = config->loop;
	server->service = config->service;
	server->n_uids = config->n_uids;
	server->uids = xcalloc(config->n_uids, sizeof(*server->uids));
	for (size_t i = 0; i < config->n_uids; i++)
		server->uids[i] = config->uids[i];
	server->receive_timeout_ms = config->receive_timeout_ms > 0
					     ? config->receive_timeout_ms
					     : RPC_RECEIVE_TIMEOUT_MS;
	server->send_timeout_ms = config->send_timeout_ms > 0
					  ? config->send_timeout_ms
					  : RPC_SEND_TIMEOUT_MS;
	server->listen_fd = listen_fd;
	if (listen_fd >= 0) {
		set_nonblocking(listen_fd);
		server->pause =
			loop_timer_new(server->loop, accept_again, server);
		server->io = loop_io_new(server->loop, listen_fd, accept_ready,
					 server);
		loop_io_want(server->io, LOOP_READ);
	}
	return server;
}

void
rpc_server_free(struct rpc_server *server)
{
	if (server == NULL)
		return;
	for (size_t i = 0; i < server->n_conns; i++)
		conn_free(server->conns[i]);
	if (server->listen_fd >= 0) {
		loop_io_free(server->io);
		loop_timer_free(server->pause);
		(void)close(server->listen_fd);
	}
	free(server->uids);
	free(server);
}

/* Inside of a method of this client the pump goes on by itself. */
static void
conn_notify(struct conn *conn, const char *method, json_t *params)
{
	if (!conn->session.notify)
		return;
	if (rpc_session_notify(&conn->session, method, params) == -1) {
		log_warning(NULL, "ending a control connection: the client "
				  "does not read its notifications");
		conn->session.closing = true;
		buf_clear(&conn->session.out);
	}
	if (!conn->session.handling)
		conn_pump(conn);
}

void
rpc_server_notify(struct rpc_server *server, const char *method, json_t *params)
{
	/* From the end: one that ends is replaced by the last. */
	for (size_t i = server->n_conns; i > 0; i--)
		conn_notify(server->conns[i - 1], method, params);
}

size_t
rpc_server_connections(const struct rpc_server *server)
{
	return server->n_conns;
}
