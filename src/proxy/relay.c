/* SPDX-License-Identifier: Apache-2.0 */
#include "proxy/relay.h"

#include <assert.h>
#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "base/loop.h"
#include "base/mem.h"
#include "proxy/counters.h"
#include "proxy/limit.h"
#include "proxy/relay_internal.h"
#include "tls/ktls.h"

#define US_PER_MS 1000ULL

/* How often a closing stream looks whether its last bytes have arrived. */
#define LINGER_STEP_MS 10

#define LOCAL_BUFFER (1 << 20) /* bytes that may wait for the local program */

/* Window probes in a row without an answer that make a silent peer dead. */
#define PROBES_UNANSWERED 3

struct relay *
relay_new(const struct relay_config *config)
{
	struct relay *relay = xmalloc0(sizeof(*relay));

	relay->config = *config;
	relay->config.head = NULL;
	relay->pump = config->tls ? &pump_tls : &pump_splice;
	if (config->limit)
		(void)limit_ref(config->limit);
	if (config->head_len > 0) {
		relay->head = xmalloc0(config->head_len);
		memcpy(relay->head, config->head, config->head_len);
		relay->head_len = config->head_len;
	}
	relay->out = (struct half){
		.relay = relay,
		.from_fd = config->local_fd,
		.to_fd = config->net_fd,
		.outward = true,
		.pipe = { .read_fd = -1, .write_fd = -1 },
	};
	relay->in = (struct half){
		.relay = relay,
		.from_fd = config->net_fd,
		.to_fd = config->local_fd,
		.pipe = { .read_fd = -1, .write_fd = -1 },
	};
	return relay;
}

static void
release_half(struct half *half)
{
	struct pool *pool = half->relay->pool;

	if (half->buf)
		pool_put_buf(pool, half->buf);
	half->buf = NULL;
	if (half->pipe.read_fd != -1)
		pool_put_pipe(pool, &half->pipe, half->pipe_len == 0);
}

/* Leaves nothing behind but the memory of the relay itself. */
static void
release(struct relay *relay)
{
	turn_give_back(&relay->turn);
	loop_io_free(relay->local_io);
	loop_io_free(relay->net_io);
	loop_timer_free(relay->watch_timer);
	loop_timer_free(relay->limit_timer);
	relay->local_io = relay->net_io = NULL;
	relay->watch_timer = relay->limit_timer = NULL;
	release_half(&relay->out);
	release_half(&relay->in);

	if (relay->config.net_fd != -1)
		(void)close(relay->config.net_fd);
	if (relay->config.local_fd != -1)
		(void)close(relay->config.local_fd);
	relay->config.net_fd = relay->config.local_fd = -1;

	tls_stream_free(relay->config.tls);
	relay->config.tls = NULL;
	limit_unref(relay->config.limit);
	relay->config.limit = NULL;
	free(relay->head);
	relay->head = NULL;
}

void
relay_free(struct relay *relay)
{
	if (relay == NULL)
		return;
	release(relay);
	free(relay);
}

static void
finish(struct relay *relay)
{
	const struct failure *failure =
		relay->failure.reason == REASON_NONE ? NULL : &relay->failure;

	assert(!relay->ended);
	relay->ended = true;
	if (failure) {
		/* The peer must not take a cut stream for a finished one. */
		struct linger reset = { .l_onoff = 1, .l_linger = 0 };

		(void)setsockopt(relay->config.net_fd, SOL_SOCKET, SO_LINGER,
				 &reset, sizeof(reset));
	}
	release(relay);
	relay->config.done(failure, relay->config.arg);
}

void
relay_abort(struct relay *relay, const struct failure *why)
{
	if (relay->ended)
		return;
	if (relay->failure.reason == REASON_NONE)
		relay->failure = *why;
	finish(relay);
}

/* Since when and on whom a half waits, for the counters. */
static void
note_stall(struct half *half, enum flow flow)
{
	struct counters *counters = half->relay->config.counters;
	bool blocked = flow == FLOW_SINK || flow == FLOW_LIMIT;
	enum stall stall = half->outward ? STALL_NETWORK : STALL_LOCAL;

	if (half->blocked_ns != 0) {
		if (half->flow == FLOW_LIMIT)
			stall = STALL_LIMIT;
		counter_add(&counters->stalled_ns[stall],
			    loop_now_ns() - half->blocked_ns);
		half->blocked_ns = 0;
	}
	if (!blocked)
		return;
	stall = half->outward ? STALL_NETWORK : STALL_LOCAL;
	if (flow == FLOW_LIMIT)
		stall = STALL_LIMIT;
	counter_add(&counters->stalls[stall], 1);
	half->blocked_ns = loop_now_ns();
}

static void
run_half(struct half *half)
{
	const struct pump *pump = half->relay->pump;
	enum flow flow;

	half->moved = 0;
	flow = half->outward ? pump->outward(half) : pump->inward(half);
	note_stall(half, flow);
	half->flow = flow;
}

static void
set_peer_timeout(struct relay *relay, unsigned timeout_ms)
{
	(void)setsockopt(relay->config.net_fd, IPPROTO_TCP, TCP_USER_TIMEOUT,
			 &timeout_ms, sizeof(timeout_ms));
}

/*
 * After the network refused what the local program sends: the program is told
 * by its next write, and what the peer had sent before is still delivered.
 */
static void
outward_failed(struct relay *relay)
{
	relay->out.flow = FLOW_ENDED;
	(void)shutdown(relay->config.local_fd, SHUT_RD);
	relay->linger_until_ms = loop_now_ms() + relay->config.peer_timeout_ms;
}

/* Whether something of TLS's own is to be sent though there is no data. */
static bool
tls_is_due(struct relay *relay)
{
	struct tls_stream *tls = relay->config.tls;

	if (tls == NULL)
		return false;
	return relay->offloaded ? tls_ktls_wrote(tls, 0)
				: tls_stream_wants_to_send(tls);
}

/* What is waited for now; also called when a turn has come. */
static void
want(void *arg)
{
	struct relay *relay = arg;
	const struct half *out = &relay->out, *in = &relay->in;
	bool reads = out->flow == FLOW_SOURCE && !turn_waits(&relay->turn);

	loop_io_want(relay->local_io,
		     (reads ? LOOP_READ : 0U) |
			     (in->flow == FLOW_SINK ? LOOP_WRITE : 0U));
	loop_io_want(relay->net_io,
		     (in->flow == FLOW_SOURCE ? LOOP_READ : 0U) |
			     (out->flow == FLOW_SINK ? LOOP_WRITE : 0U));
}

/* Sets what to wait for, or ends the relay; it may be finished after this. */
static void
settle(struct relay *relay)
{
	struct half *out = &relay->out, *in = &relay->in;

	/* An answer to the peer's key update may be due. */
	if (out->flow == FLOW_SOURCE && tls_is_due(relay))
		run_half(out);

	if (in->flow == FLOW_FAILED) {
		finish(relay);
		return;
	}
	if (out->flow == FLOW_FAILED) {
		if (in->flow == FLOW_SOURCE)
			run_half(in);
		if (in->flow == FLOW_FAILED) {
			finish(relay);
			return;
		}
		outward_failed(relay);
	}
	if (out->flow == FLOW_ENDED && in->flow == FLOW_ENDED) {
		finish(relay);
		return;
	}
	if (out->flow == FLOW_ENDED && in->discard &&
	    relay->linger_until_ms == 0) {
		relay->linger_until_ms =
			loop_now_ms() + relay->config.peer_timeout_ms;
		loop_timer_start(relay->watch_timer,
				 LINGER_STEP_MS * US_PER_MS);
	}

	want(relay);
}

/* Who has little to say, or has to wait for tokens, needs no turn. */
static void
run_outward(struct relay *relay)
{
	struct half *out = &relay->out;

	run_half(out);
	if ((out->flow == FLOW_SOURCE || out->flow == FLOW_SINK) &&
	    out->moved >= RELAY_BULK_BYTES)
		turn_use(&relay->turn, out->moved);
	else
		turn_give_back(&relay->turn);
}

/*
 * Reads from the local program; in its turn, if there was much to read the last
 * time. Inward there are no turns: what is on its way has been let go by the
 * other side, in its own order.
 */
static void
read_local(struct relay *relay)
{
	bool bulk =
		relay->out.moved >= RELAY_EAGER_BYTES && !relay->config.urgent;

	if (!bulk || turn_take(&relay->turn))
		run_outward(relay);
}

static void
local_ready(unsigned ready, void *arg)
{
	struct relay *relay = arg;

	if ((ready & LOOP_READ) && relay->out.flow == FLOW_SOURCE)
		read_local(relay);
	if ((ready & LOOP_WRITE) && relay->in.flow == FLOW_SINK)
		run_half(&relay->in);
	settle(relay);
}

static void
net_ready(unsigned ready, void *arg)
{
	struct relay *relay = arg;

	if ((ready & LOOP_READ) && relay->in.flow == FLOW_SOURCE)
		run_half(&relay->in);
	if ((ready & LOOP_WRITE) && relay->out.flow == FLOW_SINK)
		run_outward(relay);
	settle(relay);
}

static void
limit_passed(void *arg)
{
	struct relay *relay = arg;

	if (relay->out.flow == FLOW_LIMIT)
		run_outward(relay);
	settle(relay);
}

/*
 * TCP_USER_TIMEOUT also ends a connection whose peer answers but has no room:
 * a target that writes to a slow disk. As long as the peer is alive, a closed
 * window is no reason to give up, so the timeout is off meanwhile.
 */
static void
watch_closed_window(struct relay *relay, const struct tcp_info *info)
{
	bool closed = relay->out.flow == FLOW_SINK && info->tcpi_unacked == 0;

	if (closed == relay->probing)
		return;
	relay->probing = closed;
	set_peer_timeout(relay, closed ? 0 : relay->config.peer_timeout_ms);
}

static bool
peer_is_dead(const struct relay *relay, const struct tcp_info *info)
{
	return relay->probing && info->tcpi_probes >= PROBES_UNANSWERED &&
	       info->tcpi_last_ack_recv > relay->config.peer_timeout_ms;
}

/* Whether all that was sent has been acknowledged by the peer. */
static bool
all_sent(const struct relay *relay)
{
	int queued = 0;

	return ioctl(relay->config.net_fd, SIOCOUTQ, &queued) == 0 &&
	       queued == 0;
}

static bool
local_is_gone(const struct relay *relay)
{
	struct pollfd poll_fd = { .fd = relay->config.local_fd };

	return poll(&poll_fd, 1, 0) == 1 && (poll_fd.revents & POLLHUP);
}

/*
 * Looks after what raises no event: a half-closed connection that breaks, a
 * local program that has gone, a peer that is silent behind a closed window.
 */
static void
watch(void *arg)
{
	struct relay *relay = arg;
	uint64_t next_ms = relay->config.peer_timeout_ms / 3 + 1;
	struct tcp_info info = { 0 };
	socklen_t len = sizeof(info);

	if (getsockopt(relay->config.net_fd, IPPROTO_TCP, TCP_INFO, &info,
		       &len) == 0) {
		watch_closed_window(relay, &info);
		/* A socket the kernel has closed: reading tells why. */
		if (info.tcpi_state == TCP_CLOSE &&
		    relay->in.flow == FLOW_ENDED) {
			errno = ETIMEDOUT;
			(void)relay_write_error(&relay->out);
			finish(relay);
			return;
		}
		if (peer_is_dead(relay, &info)) {
			(void)relay_fail(&relay->in, REASON_PEER_DEAD,
					 "the peer does not answer any more");
			finish(relay);
			return;
		}
	}
	if (relay->out.flow == FLOW_ENDED && !relay->in.discard &&
	    local_is_gone(relay)) {
		relay->in.discard = true;
		if (relay->in.flow == FLOW_SINK)
			run_half(&relay->in);
		settle(relay);
		return;
	}
	if (relay->linger_until_ms != 0) {
		if (all_sent(relay) || loop_now_ms() > relay->linger_until_ms) {
			finish(relay);
			return;
		}
		next_ms = LINGER_STEP_MS;
	}
	loop_timer_start(relay->watch_timer, next_ms * US_PER_MS);
}

static void
set_keepalive(struct relay *relay)
{
	unsigned seconds = relay->config.peer_timeout_ms / 3000;
	int on = 1, count = 2, idle;

	idle = seconds > 0 ? (int)seconds : 1;
	(void)setsockopt(relay->config.net_fd, SOL_SOCKET, SO_KEEPALIVE, &on,
			 sizeof(on));
	(void)setsockopt(relay->config.net_fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle,
			 sizeof(idle));
	(void)setsockopt(relay->config.net_fd, IPPROTO_TCP, TCP_KEEPINTVL,
			 &idle, sizeof(idle));
	(void)setsockopt(relay->config.net_fd, IPPROTO_TCP, TCP_KEEPCNT, &count,
			 sizeof(count));
	set_peer_timeout(relay, relay->config.peer_timeout_ms);
}

/*
 * Gives the records to the kernel, if it is to and will have them; what has
 * been received already it could not open. -1 when the connection is lost.
 */
static int
offload(struct relay *relay)
{
	struct err err;

	if (!relay->config.ktls || relay->config.tls == NULL ||
	    relay->head_len > 0)
		return 0;
	if (tls_stream_offload(relay->config.tls, relay->config.net_fd, &err) ==
	    0) {
		relay->offloaded = true;
		relay->pump = &pump_splice;
		return 0;
	}
	if (err.kind != ERR_INTERNAL)
		return 0;
	(void)relay_fail(&relay->in, REASON_RESOURCES, "%s", err.text);
	return -1;
}

/*
 * A unix socket's usual buffer is smaller than one batch: each would be written
 * in two pieces, with a wait between them. The kernel gives what it allows.
 */
static void
enlarge_local_buffer(const struct relay *relay)
{
	int size = LOCAL_BUFFER;

	(void)setsockopt(relay->config.local_fd, SOL_SOCKET, SO_SNDBUF, &size,
			 sizeof(size));
}

void
relay_start(struct relay *relay, struct loop *loop, struct pool *pool,
	    struct turns *turns)
{
	relay->loop = loop;
	relay->pool = pool;
	turn_init(&relay->turn, turns, want, relay);
	if (offload(relay) == -1) {
		finish(relay);
		return;
	}
	set_keepalive(relay);
	enlarge_local_buffer(relay);
	relay->local_io =
		loop_io_new(loop, relay->config.local_fd, local_ready, relay);
	relay->net_io =
		loop_io_new(loop, relay->config.net_fd, net_ready, relay);
	relay->watch_timer = loop_timer_new(loop, watch, relay);
	relay->limit_timer = loop_timer_new(loop, limit_passed, relay);
	loop_timer_start(relay->watch_timer,
			 (relay->config.peer_timeout_ms / 3 + 1) * US_PER_MS);

	/* What came with the handshake raises no event. */
	run_half(&relay->in);
	if (relay->in.flow != FLOW_FAILED)
		run_half(&relay->out);
	settle(relay);
}

size_t
relay_allowance(struct half *half, size_t want)
{
	struct relay *relay = half->relay;
	struct limit *limit = relay->config.limit;
	uint64_t wait_us = 0;
	size_t allowed;

	if (limit == NULL || !half->outward || relay->config.urgent)
		return want;
	allowed = (size_t)limit_take(limit, want, &wait_us);
	if (allowed == 0)
		loop_timer_start(relay->limit_timer, wait_us);
	return allowed;
}

void
relay_unused(struct half *half, size_t allowed, size_t used)
{
	struct limit *limit = half->relay->config.limit;

	if (limit == NULL || !half->outward)
		return;
	if (half->relay->config.urgent)
		limit_charge(limit, used);
	else
		limit_give_back(limit, allowed - used);
}

void
relay_count(struct half *half, size_t bytes)
{
	struct counters *counters = half->relay->config.counters;

	half->moved += bytes;
	counter_add(half->outward ? &counters->sent_bytes
				  : &counters->received_bytes,
		    bytes);
}

enum flow
relay_fail(struct half *half, enum reason reason, const char *fmt, ...)
{
	struct relay *relay = half->relay;
	va_list ap;

	/* Nobody is left to miss what the peer would still have sent. */
	if (!half->outward && half->discard && relay->out.flow == FLOW_ENDED)
		return FLOW_ENDED;
	if (relay->failure.reason == REASON_NONE) {
		relay->failure.reason = reason;
		va_start(ap, fmt);
		(void)vsnprintf(relay->failure.text,
				sizeof(relay->failure.text), fmt, ap);
		va_end(ap);
	}
	return FLOW_FAILED;
}

static enum flow
net_error(struct half *half, int error)
{
	switch (error) {
	case ECONNRESET:
	case EPIPE:
		return relay_fail(half, REASON_PEER_RESET,
				  "the peer has cut the connection: %s",
				  strerror(error));
	default:
		return relay_fail(half, REASON_PEER_DEAD,
				  "the peer does not answer any more: %s",
				  strerror(error));
	}
}

enum flow
relay_read_error(struct half *half)
{
	int error = errno;

	if (error == EAGAIN || error == EINTR)
		return FLOW_SOURCE;
	if (!half->outward)
		return net_error(half, error);
	if (error == ECONNRESET || error == EPIPE)
		return FLOW_ENDED;
	return relay_fail(half, REASON_LOCAL_FAILED,
			  "cannot read from the local socket: %s",
			  strerror(error));
}

enum flow
relay_write_error(struct half *half)
{
	int error = errno;

	if (error == EAGAIN || error == EINTR)
		return FLOW_SINK;
	if (half->outward)
		return net_error(half, error);
	if (error == ECONNRESET || error == EPIPE) {
		half->discard = true;
		return FLOW_ENDED;
	}
	return relay_fail(half, REASON_LOCAL_FAILED,
			  "cannot write to the local socket: %s",
			  strerror(error));
}

void
relay_pass_end(struct half *half)
{
	(void)shutdown(half->to_fd, SHUT_WR);
}
