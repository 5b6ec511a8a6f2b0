/* SPDX-License-Identifier: Apache-2.0 */
#include "proxy/conn.h"

#include <assert.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/loop.h"
#include "base/mem.h"
#include "proxy/link.h"
#include "proxy/listener.h"
#include "proxy/stream.h"

static const char *const stages[] = {
	[STAGE_DIAL] = "dial",   [STAGE_HANDSHAKE] = "handshake",
	[STAGE_TURN] = "turn",   [STAGE_REQUEST] = "request",
	[STAGE_LOCAL] = "local",
};
static_assert(ARRAY_LEN(stages) == STAGE_COUNT, "a stage has no name");

const char *
stage_name(enum stage stage)
{
	return stages[stage];
}

struct conn *
conn_new(struct port *port)
{
	struct listener *listener = port->listener;
	struct conn *conn = xmalloc0(sizeof(*conn));

	conn->port = port;
	conn->local_fd = conn->dial_fd = -1;
	conn->counted_insecure = true;
	TAILQ_INSERT_TAIL(&listener->conns, conn, entry);
	listener->n_conns++;
	listener->n_insecure++;
	return conn;
}

static struct handshakes *
handshakes_of(const struct conn *conn)
{
	struct listener *listener = conn->port->listener;

	return &listener->proxy->handshakes[listener->spec.side];
}

static void
leave_insecure(struct conn *conn)
{
	if (!conn->counted_insecure)
		return;
	conn->counted_insecure = false;
	conn->port->listener->n_insecure--;
}

void
conn_secured(struct conn *conn)
{
	leave_insecure(conn);
	handshakes_of(conn)->made++;
}

void
conn_free(struct conn *conn)
{
	struct listener *listener = conn->port->listener;

	if (conn->in_turn)
		TAILQ_REMOVE(&conn->port->turn, conn, turn);
	leave_insecure(conn);
	TAILQ_REMOVE(&listener->conns, conn, entry);
	listener->n_conns--;

	loop_io_free(conn->dial_io);
	loop_timer_free(conn->timer);
	link_free(conn->link);
	close_fd(&conn->dial_fd);
	close_fd(&conn->local_fd);
	free(conn);
}

void
conn_fail(struct conn *conn, const struct failure *failure)
{
	struct listener *listener = conn->port->listener;
	struct log_field ref[LISTENER_REF_FIELDS];

	listener_ref(listener, conn->port->channel, conn->address, failure,
		     ref);
	log_warning(ref, "connection failed at stage '%s': %s",
		    stages[conn->stage], failure->text);
	listener_failed(listener, failure);
	if (conn->stage == STAGE_HANDSHAKE)
		handshakes_of(conn)->failed[failure->reason]++;
	conn_free(conn);
	listener_update_accept(listener);
}

void
conn_carry(struct conn *conn)
{
	struct listener *listener = conn->port->listener;
	struct stream_config config = {
		.listener = listener,
		.channel = conn->port->channel,
		.peer = conn->address,
		.local_fd = TAKE_FD(conn->local_fd),
	};

	config.cipher = listener->spec.plain ? "none" : link_cipher(conn->link);
	link_take(conn->link, &config.link);
	if (listener->spec.plain) {
		/* The peer is known; from here on the bytes are bare. */
		tls_stream_free(config.link.tls);
		config.link.tls = NULL;
	}
	stream_start(&config);
	conn_free(conn);
	listener_update_accept(listener);
}

void
conn_tune(int tcp_fd)
{
	int on = 1;

	(void)setsockopt(tcp_fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}
