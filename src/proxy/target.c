/* SPDX-License-Identifier: Apache-2.0 */

/*
 * target - the side a migration goes to: TCP in, unix sockets out.
 *
 *	accept -> handshake -> request -> turn -> dial the local socket ->
 *answer
 *
 * The local socket is dialled when the source has asked, not before: QEMU
 * listens on it only once libvirt has prepared the target. Requests come on
 * connections of their own and may overtake each other; their numbers say in
 * which order the socket is dialled, one at a time.
 */

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "base/loop.h"
#include "proxy/creds.h"
#include "proxy/hello.h"
#include "proxy/link.h"
#include "proxy/listener.h"
#include "proxy/opener.h"
#include "proxy/tcplisten.h"

#define US_PER_MS 1000ULL

/* Between tries when the queue of the local socket is full. */
#define LOCAL_RETRY_MS 5

#define ACCEPTS_AT_ONCE 16

int
target_open(struct listener *listener, struct err *err)
{
	struct proxy *proxy = listener->proxy;
	const struct spec *spec = &listener->spec;
	const struct tcplisten_range *range =
		spec->range.lo != 0 ? &spec->range : &proxy->options.range;
	enum channel channels[CHANNEL_COUNT];
	size_t count = channel_list(spec->block, channels);

	if (creds_server(proxy->creds) == NULL)
		return err_set(err, ERR_INVALID,
			       "no server certificate is configured");
	if (bindaddr_resolve(spec->bind ? spec->bind : proxy->options.bind,
			     &listener->address, err) == -1)
		return -1;
	for (size_t i = 0; i < count; i++) {
		struct port *port = &listener->port[i];

		if (tcplisten_open(&listener->address, range, &port->fd,
				   &port->tcp_port, err) == -1)
			return -1;
		port->channel = channels[i];
		listener->n_ports++;
	}
	return 0;
}

static struct run *
find_run(struct port *port, uint64_t id)
{
	struct run run = { .id = id };
	size_t i;

	for (i = 0; i < port->n_runs && port->runs[i].id != id; i++)
		;
	if (i < port->n_runs)
		run = port->runs[i];
	else if (port->n_runs < LISTENER_RUNS)
		port->n_runs++;
	else
		i = LISTENER_RUNS - 1; /* the one longest not heard of goes */
	memmove(&port->runs[1], &port->runs[0], i * sizeof(run));
	port->runs[0] = run;
	return &port->runs[0];
}

static struct conn *
next_in_turn(struct port *port)
{
	struct conn *conn;

	TAILQ_FOREACH(conn, &port->turn, turn)
	{
		if (conn->stage == STAGE_TURN &&
		    find_run(port, conn->run)->next == conn->number)
			return conn;
	}
	return NULL;
}

/* It has been dialled, or has failed; advance() then lets the next one go. */
static void
leave_turn(struct conn *conn)
{
	struct run *run;

	if (!conn->in_turn)
		return;
	TAILQ_REMOVE(&conn->port->turn, conn, turn);
	conn->in_turn = false;
	run = find_run(conn->port, conn->run);
	/* Those before it that never came are not waited for any longer. */
	if (run->next <= conn->number)
		run->next = conn->number + 1;
}

static void
refuse(struct conn *conn, const struct failure *failure)
{
	uint8_t data[HELLO_MAX];
	size_t len = hello_answer_encode(failure, data);

	link_refuse(conn->link, data, len, failure);
	leave_turn(conn);
}

static void
accept_request(struct conn *conn)
{
	const struct failure none = { .reason = REASON_NONE };
	uint8_t data[HELLO_MAX];

	conn->stage = STAGE_REQUEST;
	link_send(conn->link, data, hello_answer_encode(&none, data));
	link_deadline(conn->link,
		      conn->port->listener->proxy->options.handshake_timeout_ms,
		      REASON_HANDSHAKE_TIMEOUT,
		      "the source did not take the answer in time");
	leave_turn(conn);
}

static enum reason
local_reason(const struct err *err)
{
	if (err->kind == ERR_NOT_FOUND || err->kind == ERR_REFUSED)
		return REASON_LOCAL_MISSING;
	return REASON_LOCAL_FAILED;
}

/* Dials the local socket; again a little later if its queue is full. */
static void
dial_local(struct conn *conn)
{
	struct listener *listener = conn->port->listener;
	const struct spec *spec = &listener->spec;
	char name[CHANNEL_NAME_SIZE];
	int dir_fd = spec->dir.fd;
	const char *target = name;
	struct failure failure;
	struct err err;

	channel_socket_name(spec->key, conn->port->channel, name);
	if (conn->port->channel == CHANNEL_CONTROL &&
	    spec->control_dir.fd != -1) {
		dir_fd = spec->control_dir.fd;
		target = spec->control_name;
	}
	if (opener_connect(listener->proxy->opener, dir_fd, target,
			   &conn->local_fd, &err) == 0) {
		accept_request(conn);
		return;
	}
	if (err.kind == ERR_LIMIT && loop_now_ms() < conn->deadline_ms) {
		loop_timer_start(conn->timer, LOCAL_RETRY_MS * US_PER_MS);
		return;
	}
	failure_set(&failure,
		    err.kind == ERR_LIMIT ? REASON_LOCAL_TIMEOUT
					  : local_reason(&err),
		    "the target's socket cannot be dialled: %s", err.text);
	refuse(conn, &failure);
}

/* Dials for those whose turn it is. */
static void
advance(struct port *port)
{
	struct conn *conn;

	while ((conn = next_in_turn(port)) != NULL) {
		conn->stage = STAGE_LOCAL;
		dial_local(conn);
	}
}

static void
retry_due(void *arg)
{
	struct conn *conn = arg;
	struct port *port = conn->port;

	dial_local(conn);
	advance(port);
}

/* What of a request is not as the listener was told it would be. */
static int
check_request(const struct port *port, const struct hello_request *request,
	      struct failure *failure)
{
	const struct spec *spec = &port->listener->spec;

	if (strcmp(request->key, spec->key) != 0) {
		failure_set(failure, REASON_WRONG_MIGRATION,
			    "the source asks for migration '%s', this is '%s'",
			    request->key, spec->key);
		return -1;
	}
	if (request->channel != port->channel) {
		failure_set(failure, REASON_WRONG_CHANNEL,
			    "the source asks for channel '%s', this is '%s'",
			    channel_name(request->channel),
			    channel_name(port->channel));
		return -1;
	}
	if (request->plain != spec->plain) {
		failure_set(failure, REASON_WRONG_MODE,
			    "the source wants %s, this side was told %s",
			    request->plain ? "plain" : "TLS",
			    spec->plain ? "plain" : "TLS");
		return -1;
	}
	return 0;
}

static void
requested(const uint8_t *data, size_t len, void *arg)
{
	struct conn *conn = arg;
	struct proxy *proxy = conn->port->listener->proxy;
	struct hello_request request;
	struct failure failure;
	struct err err;

	if (hello_request_decode(data, len, &request, &err) == -1) {
		failure_set(&failure, REASON_BAD_MESSAGE, "%s", err.text);
		refuse(conn, &failure);
		return;
	}
	if (check_request(conn->port, &request, &failure) == -1) {
		refuse(conn, &failure);
		return;
	}
	conn->stage = STAGE_TURN;
	conn->run = request.run;
	conn->number = request.number;
	conn->deadline_ms = loop_now_ms() + proxy->options.dial_timeout_ms;
	conn->timer = loop_timer_new(proxy->loop, retry_due, conn);
	link_deadline(conn->link,
		      proxy->options.handshake_timeout_ms +
			      proxy->options.dial_timeout_ms,
		      REASON_HANDSHAKE_TIMEOUT,
		      "an earlier connection did not come in time");
	TAILQ_INSERT_TAIL(&conn->port->turn, conn, turn);
	conn->in_turn = true;
	advance(conn->port);
}

static void
secure(void *arg)
{
	struct conn *conn = arg;
	struct proxy *proxy = conn->port->listener->proxy;

	conn_secured(conn);
	conn->stage = STAGE_REQUEST;
	/* The source may have to wait for its turn, each dial at its slowest.
	 */
	link_deadline(conn->link,
		      proxy->options.handshake_timeout_ms +
			      2 * proxy->options.dial_timeout_ms,
		      REASON_HANDSHAKE_TIMEOUT,
		      "the source sent no request in time");
}

static void
link_failed(const struct failure *failure, void *arg)
{
	struct conn *conn = arg;
	struct port *port = conn->port;

	leave_turn(conn);
	conn_fail(conn, failure);
	advance(port);
}

static void
answered(void *arg)
{
	conn_carry(arg);
}

/*
 * Makes room for a new connection: who has been in the handshake longest has
 * had its chance, so silent clients cannot keep others out.
 */
static void
evict_oldest(struct listener *listener)
{
	struct conn *conn;
	struct failure failure;

	TAILQ_FOREACH(conn, &listener->conns, entry)
	{
		if (!conn->counted_insecure)
			continue;
		failure_set(&failure, REASON_TOO_MANY_HANDSHAKES,
			    "%u handshakes are open, the oldest gives way",
			    listener->proxy->options.max_handshakes);
		conn_fail(conn, &failure);
		return;
	}
}

static void
begin(struct port *port, int fd, const struct bindaddr *from)
{
	struct listener *listener = port->listener;
	struct proxy *proxy = listener->proxy;
	struct conn *conn;

	if (listener->n_insecure >= proxy->options.max_handshakes)
		evict_oldest(listener);
	conn = conn_new(port);
	conn->stage = STAGE_HANDSHAKE;
	(void)bindaddr_format_port(from, conn->address);
	conn_tune(fd);
	conn->link = link_new(&(struct link_config){
		.loop = proxy->loop,
		.fd = fd,
		.context = creds_server(proxy->creds),
		.peer = listener->spec.peer,
		.engine = proxy->options.engine,
		.secure = secure,
		.message = requested,
		.sent = answered,
		.failed = link_failed,
		.arg = conn,
	});
	link_deadline(conn->link, proxy->options.handshake_timeout_ms,
		      REASON_HANDSHAKE_TIMEOUT,
		      "the handshake was not done in time");
}

void
target_accept(struct port *port)
{
	struct listener *listener = port->listener;

	for (int i = 0; i < ACCEPTS_AT_ONCE; i++) {
		struct sockaddr_storage ss;
		socklen_t len = sizeof(ss);
		struct bindaddr from;
		int fd = accept4(port->fd, (struct sockaddr *)&ss, &len,
				 SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd == -1) {
			listener_accept_error(port, errno);
			return;
		}
		bindaddr_from_sockaddr((struct sockaddr *)&ss, len, &from);
		begin(port, fd, &from);
		listener_update_accept(listener);
		if (!listener_accepting(listener))
			return;
	}
}
