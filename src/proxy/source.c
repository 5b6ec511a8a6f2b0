/* SPDX-License-Identifier: Apache-2.0 */

/*
 * source - the side a migration comes from: unix sockets in, TCP out.
 *
 *	accept -> dial -> handshake -> turn -> request -> answer
 *
 * QEMU takes the first connection that arrives for the main one of a parallel
 * migration and hangs when it is not; an earlier connection that is slow to set
 * up must not be overtaken. So connections are dialled and secured side by
 * side, but ask the target in the order in which they were accepted, and the
 * requests are numbered: the target dials its socket in that order.
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/loop.h"
#include "proxy/creds.h"
#include "proxy/hello.h"
#include "proxy/link.h"
#include "proxy/listener.h"
#include "proxy/opener.h"

#define US_PER_MS 1000ULL

#define ACCEPTS_AT_ONCE 16

int
source_open(struct listener *listener, struct err *err)
{
	struct proxy *proxy = listener->proxy;
	const struct spec *spec = &listener->spec;

	if (getrandom(&listener->run, sizeof(listener->run), 0) !=
	    sizeof(listener->run))
		return err_errno(err, "no random number");
	if (creds_source(proxy->creds) == NULL)
		return err_set(err, ERR_INVALID,
			       "no migration or client certificate is "
			       "configured");
	for (int i = 0; i < CHANNEL_COUNT; i++) {
		struct port *port = &listener->port[listener->n_ports];
		char name[CHANNEL_NAME_SIZE];

		if (spec->address[i].len == 0)
			continue;
		channel_socket_name(spec->key, (enum channel)i, name);
		if (opener_listen(proxy->opener, spec->dir.fd, name,
				  &spec->owner, &port->endpoint, err) == -1)
			return -1;
		port->fd = port->endpoint.fd;
		port->channel = (enum channel)i;
		listener->n_ports++;
	}
	return 0;
}

static void
ask(struct conn *conn)
{
	struct port *port = conn->port;
	struct listener *listener = port->listener;
	const struct proxy_options *options = &listener->proxy->options;
	struct hello_request request = {
		.channel = port->channel,
		.plain = listener->spec.plain,
		.run = listener->run,
		.number = port->next_number++,
	};
	uint8_t data[HELLO_MAX];

	conn->stage = STAGE_REQUEST;
	(void)snprintf(request.key, sizeof(request.key), "%s",
		       listener->spec.key);
	link_send(conn->link, data, hello_request_encode(&request, data));
	link_deadline(conn->link,
		      options->handshake_timeout_ms + options->dial_timeout_ms,
		      REASON_HANDSHAKE_TIMEOUT,
		      "the target did not answer the request in time");
}

/* Lets those ask who are ready and have nobody before them. */
static void
advance(struct port *port)
{
	struct conn *conn;

	while ((conn = TAILQ_FIRST(&port->turn)) != NULL &&
	       conn->stage == STAGE_TURN) {
		TAILQ_REMOVE(&port->turn, conn, turn);
		conn->in_turn = false;
		ask(conn);
	}
}

static void
leave_turn(struct conn *conn)
{
	if (!conn->in_turn)
		return;
	TAILQ_REMOVE(&conn->port->turn, conn, turn);
	conn->in_turn = false;
	advance(conn->port);
}

static void
fail(struct conn *conn, const struct failure *failure)
{
	leave_turn(conn);
	conn_fail(conn, failure);
}

static void
link_failed(const struct failure *failure, void *arg)
{
	fail(arg, failure);
}

static void
answered(const uint8_t *data, size_t len, void *arg)
{
	struct conn *conn = arg;
	struct failure failure;
	struct err err;

	if (conn->stage != STAGE_REQUEST) {
		failure_set(&failure, REASON_BAD_MESSAGE,
			    "the target spoke before it was asked");
		link_fail(conn->link, &failure);
		return;
	}
	if (hello_answer_decode(data, len, &failure, &err) == -1) {
		failure_set(&failure, REASON_BAD_MESSAGE, "%s", err.text);
		link_fail(conn->link, &failure);
		return;
	}
	if (failure.reason != REASON_NONE) {
		link_fail(conn->link, &failure);
		return;
	}
	conn_carry(conn);
}

static void
secure(void *arg)
{
	struct conn *conn = arg;

	conn_secured(conn);
	conn->stage = STAGE_TURN;
	advance(conn->port);
}

static void
dialled(struct conn *conn)
{
	struct listener *listener = conn->port->listener;
	struct proxy *proxy = listener->proxy;

	loop_io_free(conn->dial_io);
	loop_timer_free(conn->timer);
	conn->dial_io = NULL;
	conn->timer = NULL;
	conn->stage = STAGE_HANDSHAKE;
	conn_tune(conn->dial_fd);
	conn->link = link_new(&(struct link_config){
		.loop = proxy->loop,
		.fd = TAKE_FD(conn->dial_fd),
		.context = creds_source(proxy->creds),
		.peer = listener->spec.peer,
		.engine = proxy->options.engine,
		.secure = secure,
		.message = answered,
		.failed = link_failed,
		.arg = conn,
	});
	link_deadline(conn->link, proxy->options.handshake_timeout_ms,
		      REASON_HANDSHAKE_TIMEOUT,
		      "the handshake was not done in time");
}

static void
dial_failed(struct conn *conn, int error)
{
	struct failure failure;
	enum reason reason = REASON_DIAL_FAILED;

	if (error == ECONNREFUSED)
		reason = REASON_DIAL_REFUSED;
	if (error == ETIMEDOUT)
		reason = REASON_DIAL_TIMEOUT;
	failure_set(&failure, reason, "cannot connect to '%s': %s",
		    conn->address, strerror(error));
	fail(conn, &failure);
}

static void
dial_late(void *arg)
{
	dial_failed(arg, ETIMEDOUT);
}

static void
dial_ready(unsigned ready, void *arg)
{
	struct conn *conn = arg;
	socklen_t len = sizeof(int);
	int error = 0;

	(void)ready;
	if (getsockopt(conn->dial_fd, SOL_SOCKET, SO_ERROR, &error, &len) == -1)
		error = errno;
	if (error != 0)
		dial_failed(conn, error);
	else
		dialled(conn);
}

static void
dial(struct conn *conn)
{
	struct listener *listener = conn->port->listener;
	struct proxy *proxy = listener->proxy;
	const struct bindaddr *to =
		&listener->spec.address[conn->port->channel];

	(void)bindaddr_format_port(to, conn->address);
	conn->dial_fd = socket(to->ss.ss_family,
			       SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (conn->dial_fd == -1 ||
	    (connect(conn->dial_fd, (const struct sockaddr *)&to->ss,
		     to->len) == -1 &&
	     errno != EINPROGRESS)) {
		dial_failed(conn, errno);
		return;
	}
	conn->dial_io =
		loop_io_new(proxy->loop, conn->dial_fd, dial_ready, conn);
	loop_io_want(conn->dial_io, LOOP_WRITE);
	conn->timer = loop_timer_new(proxy->loop, dial_late, conn);
	loop_timer_start(conn->timer,
			 proxy->options.dial_timeout_ms * US_PER_MS);
}

void
source_accept(struct port *port)
{
	for (int i = 0; i < ACCEPTS_AT_ONCE; i++) {
		struct conn *conn;
		int fd;

		/*
		 * A source waits instead of refusing: what it cannot take yet
		 * stays in the queue of its own socket.
		 */
		if (!listener_accepting(port->listener))
			break;
		fd = accept4(port->fd, NULL, NULL,
			     SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd == -1) {
			listener_accept_error(port, errno);
			return;
		}
		conn = conn_new(port);
		conn->local_fd = fd;
		TAILQ_INSERT_TAIL(&port->turn, conn, turn);
		conn->in_turn = true;
		dial(conn);
	}
	listener_update_accept(port->listener);
}
