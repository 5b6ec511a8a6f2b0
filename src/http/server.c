/* SPDX-License-Identifier: Apache-2.0 */
#include "http/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/loop.h"
#include "base/mem.h"
#include "http/internal.h"

#define ACCEPT_BATCH 64
#define ACCEPT_REST_US (100 * 1000)
#define NS_PER_US 1000
#define US_PER_MS UINT64_C(1000)

static const struct http_limits defaults = {
	.connections = 4096,
	.header_bytes = 128UL * 1024,
	.body_bytes = 3UL * 1024 * 1024 + 64UL * 1024,
	.handshake_ms = 10 * 1000,
	.header_ms = 20 * 1000,
	.body_ms = 60 * 1000,
	.idle_ms = 180 * 1000,
	.write_ms = 60 * 1000,
};

static void
fill_limits(struct http_limits *l)
{
#define FILL(member)                                 \
	do {                                         \
		if (l->member == 0)                  \
			l->member = defaults.member; \
	} while (0)
	FILL(connections);
	FILL(header_bytes);
	FILL(body_bytes);
	FILL(handshake_ms);
	FILL(header_ms);
	FILL(body_ms);
	FILL(idle_ms);
	FILL(write_ms);
#undef FILL
}

static void
remote_text(const struct sockaddr_storage *addr, char *buf, size_t size)
{
	char ip[INET6_ADDRSTRLEN] = "?";

	if (addr->ss_family == AF_INET) {
		const struct sockaddr_in *in = (const void *)addr;

		(void)inet_ntop(AF_INET, &in->sin_addr, ip, sizeof(ip));
		(void)snprintf(buf, size, "%s:%u", ip, ntohs(in->sin_port));
	} else if (addr->ss_family == AF_INET6) {
		const struct sockaddr_in6 *in6 = (const void *)addr;

		(void)inet_ntop(AF_INET6, &in6->sin6_addr, ip, sizeof(ip));
		(void)snprintf(buf, size, "[%s]:%u", ip, ntohs(in6->sin6_port));
	} else {
		(void)snprintf(buf, size, "local");
	}
}

/*
 * Makes room by ending the connection that has been idle longest, or one that
 * pretends to shake hands.
 */
static bool
evict(struct http_server *s)
{
	struct conn *conn = TAILQ_FIRST(&s->idle);

	if (conn == NULL)
		conn = TAILQ_FIRST(&s->shaking);
	if (conn == NULL ||
	    (conn->queue == &s->shaking &&
	     loop_now_ms() - conn->accepted_ms < HTTP_SHAKING_MS))
		return false;
	s->stats.evicted++;
	conn_cut(conn, false);
	return true;
}

static bool
is_at_limit(const struct http_server *s)
{
	return s->stats.connections >= s->limits.connections;
}

static void
rest(struct http_server *s)
{
	loop_io_want(s->listen_io, 0);
	loop_timer_start(s->accept_timer, ACCEPT_REST_US);
}

static void
on_rested(void *arg)
{
	struct http_server *s = arg;

	s->full = false;
	if (s->listen_io != NULL)
		loop_io_want(s->listen_io, LOOP_READ);
}

/* False when there is nothing more to accept now. */
static bool
accept_one(struct http_server *s)
{
	struct sockaddr_storage addr = { 0 };
	socklen_t len = sizeof(addr);
	char remote[sizeof(((struct conn *)NULL)->remote)];
	int fd;

	if (is_at_limit(s) && !evict(s)) {
		/* Until one ends or is idle: accept_again(). */
		s->full = true;
		rest(s);
		return false;
	}
	fd = accept4(s->listen_fd, (struct sockaddr *)&addr, &len,
		     SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd == -1 && (errno == EINTR || errno == ECONNABORTED))
		return true;
	if (fd == -1) {
		/* Short of descriptors or memory: let others give some back. */
		if (errno != EAGAIN && !evict(s))
			rest(s);
		return false;
	}
	remote_text(&addr, remote, sizeof(remote));
	s->stats.accepted++;
	conn_new(s, fd, remote);
	return true;
}

static void
on_accept(unsigned ready, void *arg)
{
	struct http_server *s = arg;

	(void)ready;
	/*
	 * At the limit each one costs another its connection: then only those
	 * are asked for that the loop has seen.
	 */
	for (int i = 0; i < ACCEPT_BATCH; i++) {
		if ((i > 0 && is_at_limit(s)) || !accept_one(s))
			return;
	}
}

static size_t
count_pending(const struct http_server *s)
{
	const struct conn *conn;
	size_t count = 0;

	TAILQ_FOREACH(conn, &s->pending, pending)
	{
		count++;
	}
	return count;
}

/* Who has said nothing until now is not waited for. */
static void
on_newcomers_late(void *arg)
{
	struct http_server *s = arg;
	struct conn *conn;
	struct conn *next;

	for (conn = LIST_FIRST(&s->conns); conn != NULL; conn = next) {
		next = LIST_NEXT(conn, all);
		if (conn->queue != NULL)
			conn_cut(conn, false);
	}
}

/* The budget: what they kick in turn waits for the next time. */
static void
on_kick(void *arg)
{
	struct http_server *s = arg;
	struct conn *conn;
	void (*drained)(void *arg) = s->drained;
	void *drained_arg = s->drained_arg;
	size_t budget = count_pending(s);

	s->kick_now = false;
	s->round_ns = loop_now_ns();
	while (budget-- > 0 && (conn = TAILQ_FIRST(&s->pending)) != NULL) {
		TAILQ_REMOVE(&s->pending, conn, pending);
		conn->is_pending = false;
		conn_run(conn);
	}
	if (drained != NULL && LIST_EMPTY(&s->conns)) {
		s->drained = NULL;
		drained(drained_arg);
	}
}

struct http_server *
http_server_new(const struct http_config *config)
{
	struct http_server *s = xmalloc0(sizeof(*s));

	s->loop = config->loop;
	s->tls = tls_https_ref(config->tls);
	s->limits = config->limits;
	fill_limits(&s->limits);
	s->handle = config->handle;
	s->arg = config->arg;
	LIST_INIT(&s->conns);
	TAILQ_INIT(&s->idle);
	TAILQ_INIT(&s->shaking);
	TAILQ_INIT(&s->pending);
	s->kick = loop_timer_new(s->loop, on_kick, s);
	s->accept_timer = loop_timer_new(s->loop, on_rested, s);
	s->newcomers = loop_timer_new(s->loop, on_newcomers_late, s);
	s->listen_fd = config->listen_fd;
	s->listen_io = loop_io_new(s->loop, s->listen_fd, on_accept, s);
	loop_io_want(s->listen_io, LOOP_READ);
	return s;
}

void
http_server_stop_listening(struct http_server *s)
{
	if (s->listen_io == NULL)
		return;
	loop_io_free(s->listen_io);
	s->listen_io = NULL;
	(void)close(s->listen_fd);
	s->listen_fd = -1;
}

void
http_server_free(struct http_server *s)
{
	struct conn *conn;

	if (s == NULL)
		return;
	http_server_stop_listening(s);
	while ((conn = LIST_FIRST(&s->conns)) != NULL)
		conn_cut(conn, true);
	loop_timer_free(s->kick);
	loop_timer_free(s->accept_timer);
	loop_timer_free(s->newcomers);
	outq_pool_done(&s->pool);
	tls_https_unref(s->tls);
	free(s);
}

void
http_server_set_tls(struct http_server *s, struct tls_https *tls)
{
	struct tls_https *old = s->tls;

	s->tls = tls_https_ref(tls);
	tls_https_unref(old);
}

void
http_server_drain(struct http_server *s, void (*done)(void *arg), void *arg)
{
	unsigned patience_ms = s->limits.header_ms < HTTP_NEWCOMER_MS
				       ? s->limits.header_ms
				       : HTTP_NEWCOMER_MS;
	struct conn *conn;
	struct conn *next;

	http_server_stop_listening(s);
	s->draining = true;
	s->drained = done;
	s->drained_arg = arg;
	for (conn = LIST_FIRST(&s->conns); conn != NULL; conn = next) {
		next = LIST_NEXT(conn, all);
		if (conn->queue != NULL && conn->served)
			conn_cut(conn, false);
	}
	loop_timer_start(s->newcomers, patience_ms * US_PER_MS);
	s->kick_now = true;
	loop_timer_start(s->kick, 0);
}

const struct http_stats *
http_server_stats(const struct http_server *s)
{
	return &s->stats;
}

void
server_kick(struct conn *conn, bool now)
{
	struct http_server *s = conn->server;
	uint64_t since_us;

	if (!conn->is_pending) {
		TAILQ_INSERT_TAIL(&s->pending, conn, pending);
		conn->is_pending = true;
	}
	if (s->kick_now || (!now && loop_timer_running(s->kick)))
		return;
	since_us = (loop_now_ns() - s->round_ns) / NS_PER_US;
	if (now || since_us >= HTTP_PACE_US) {
		s->kick_now = true;
		loop_timer_start(s->kick, 0);
	} else {
		loop_timer_start(s->kick, HTTP_PACE_US - since_us);
	}
}

/* There may be room for those who wait to be accepted. */
static void
accept_again(struct http_server *s)
{
	if (!s->full || s->listen_io == NULL)
		return;
	s->full = false;
	loop_timer_stop(s->accept_timer);
	loop_io_want(s->listen_io, LOOP_READ);
}

void
server_set_queue(struct conn *conn, struct conn_queue *queue)
{
	struct http_server *s = conn->server;

	if (conn->queue == queue)
		return;
	if (conn->queue != NULL)
		TAILQ_REMOVE(conn->queue, conn, waiting);
	conn->queue = queue;
	if (queue != NULL)
		TAILQ_INSERT_TAIL(queue, conn, waiting);
	if (queue == &s->idle)
		accept_again(s);
}

void
server_forget(struct conn *conn)
{
	struct http_server *s = conn->server;

	server_set_queue(conn, NULL);
	if (conn->is_pending)
		TAILQ_REMOVE(&s->pending, conn, pending);
	conn->is_pending = false;
	LIST_REMOVE(conn, all);
	s->stats.connections--;
	accept_again(s);
	if (s->drained != NULL && LIST_EMPTY(&s->conns)) {
		s->kick_now = true;
		loop_timer_start(s->kick, 0);
	}
}
