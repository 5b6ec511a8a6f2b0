/* SPDX-License-Identifier: Apache-2.0 */

/*
 * pump_splice - bytes of a relay moved by the kernel.
 *
 * Socket to pipe to socket: pages change hands and are never copied to user
 * space. Only what the kernel has not got, the few bytes that came together
 * with the last record of the handshake, is written by hand first.
 *
 * In plain mode the bytes go as they are. Where the kernel does TLS they go as
 * its records, and what is not data is done here: the end of a direction, new
 * keys, and records that are no data, which a splice does not take.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/err.h"
#include "proxy/relay_internal.h"
#include "tls/ktls.h"

static void
return_pipe(struct half *half)
{
	if (half->pipe.read_fd != -1)
		pool_put_pipe(half->relay->pool, &half->pipe,
			      half->pipe_len == 0);
}

static enum flow
borrow_pipe(struct half *half)
{
	if (half->pipe.read_fd != -1 ||
	    pool_get_pipe(half->relay->pool, &half->pipe) == 0)
		return FLOW_SOURCE;
	return relay_fail(half, REASON_RESOURCES, "cannot make a pipe: %s",
			  strerror(errno));
}

/* What a call of tls/ktls.h that sends has come to. */
static enum flow
sent_control(struct half *half, int result, const struct err *err)
{
	if (result == -1)
		return relay_fail(half, REASON_RESOURCES, "%s", err->text);
	return result == 1 ? FLOW_SINK : FLOW_SOURCE;
}

static enum flow
end(struct half *half)
{
	struct relay *relay = half->relay;
	struct err err;

	return_pipe(half);
	if (half->outward && relay->offloaded) {
		enum flow flow = sent_control(
			half,
			tls_ktls_close(relay->config.tls, half->to_fd, &err),
			&err);

		if (flow != FLOW_SOURCE)
			return flow;
	}
	relay_pass_end(half);
	return FLOW_ENDED;
}

/* Changes the key when it is time. FLOW_SOURCE when it is the right one. */
static enum flow
renew_key(struct half *half)
{
	struct relay *relay = half->relay;
	struct err err;

	if (!half->outward || !relay->offloaded ||
	    !tls_ktls_wrote(relay->config.tls, 0))
		return FLOW_SOURCE;
	return sent_control(
		half, tls_ktls_update(relay->config.tls, half->to_fd, &err),
		&err);
}

/* The next record is not data. FLOW_SOURCE when it has been dealt with. */
static enum flow
take_control(struct half *half)
{
	struct tls_failure tls;
	struct failure failure;
	bool closed = false;

	if (tls_ktls_take_control(half->relay->config.tls, half->from_fd,
				  &closed, &tls) == -1) {
		failure_from_tls(&failure, &tls);
		return relay_fail(half, failure.reason, "%s", failure.text);
	}
	return closed ? FLOW_ENDED : FLOW_SOURCE;
}

/* Writes what came before the splicing began. FLOW_SOURCE when all is gone. */
static enum flow
write_head(struct half *half)
{
	struct relay *relay = half->relay;
	ssize_t n;

	while (!half->outward && relay->head_len > 0) {
		n = send(half->to_fd, relay->head, relay->head_len,
			 MSG_NOSIGNAL);
		if (n == -1) {
			enum flow flow = relay_write_error(half);

			if (flow != FLOW_ENDED)
				return flow;
			n = (ssize_t)relay->head_len;
		}
		relay_count(half, (size_t)n);
		relay->head_len -= (size_t)n;
		memmove(relay->head, relay->head + n, relay->head_len);
	}
	return FLOW_SOURCE;
}

/* Throws away what is in the pipe: nobody reads it any more. */
static void
drop_pipe(struct half *half)
{
	if (half->pipe.read_fd != -1)
		pool_put_pipe(half->relay->pool, &half->pipe, 0);
	half->pipe_len = 0;
}

/* Moves the pipe's contents on. FLOW_SOURCE when it is empty. */
static enum flow
empty_pipe(struct half *half)
{
	while (half->pipe_len > 0) {
		ssize_t n;

		if (half->discard) {
			drop_pipe(half);
			break;
		}
		n = splice(half->pipe.read_fd, NULL, half->to_fd, NULL,
			   half->pipe_len, SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
		if (n == -1) {
			enum flow flow = relay_write_error(half);

			if (flow != FLOW_ENDED)
				return flow;
			continue;
		}
		half->pipe_len -= (size_t)n;
		relay_count(half, (size_t)n);
		if (half->outward && half->relay->offloaded &&
		    tls_ktls_wrote(half->relay->config.tls, (size_t)n)) {
			enum flow flow = renew_key(half);

			if (flow != FLOW_SOURCE)
				return flow;
		}
	}
	return FLOW_SOURCE;
}

/* FLOW_SINK when something came, FLOW_ENDED at the end. */
static enum flow
fill_pipe(struct half *half, bool *ret_eager)
{
	bool sealed = !half->outward && half->relay->offloaded;
	size_t allowed = relay_allowance(half, half->pipe.size);
	ssize_t n;

	if (allowed == 0)
		return FLOW_LIMIT;
	n = splice(half->from_fd, NULL, half->pipe.write_fd, NULL, allowed,
		   SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
	relay_unused(half, allowed, n > 0 ? (size_t)n : 0);
	if (n == -1 && sealed && tls_ktls_is_control(errno))
		return take_control(half);
	if (n == -1)
		return relay_read_error(half);
	if (n == 0 && sealed)
		return relay_fail(half, REASON_TRUNCATED,
				  "the peer's stream ended without its close");
	if (n == 0)
		return FLOW_ENDED;
	half->pipe_len = (size_t)n;
	*ret_eager = (size_t)n >= RELAY_EAGER_BYTES;
	return FLOW_SINK;
}

static enum flow
run(struct half *half)
{
	bool eager = true;

	for (int reads = 0; reads <= RELAY_READS; reads++) {
		enum flow flow = write_head(half);

		if (flow == FLOW_SOURCE)
			flow = renew_key(half);
		if (flow == FLOW_SOURCE)
			flow = empty_pipe(half);
		if (flow != FLOW_SOURCE)
			return flow;
		if (half->source_ended)
			return end(half);
		if (!eager || reads == RELAY_READS)
			break;
		if (borrow_pipe(half) == FLOW_FAILED)
			return FLOW_FAILED;
		flow = fill_pipe(half, &eager);
		if (flow == FLOW_ENDED)
			half->source_ended = true;
		else if (flow != FLOW_SINK) {
			return_pipe(half);
			return flow;
		}
	}
	return_pipe(half);
	return FLOW_SOURCE;
}

const struct pump pump_splice = {
	.outward = run,
	.inward = run,
};
