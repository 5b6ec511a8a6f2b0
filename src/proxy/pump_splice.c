/* SPDX-License-Identifier: Apache-2.0 */

/*
 * pump_splice - bytes of a relay in the clear, moved by the kernel.
 *
 * Socket to pipe to socket: pages change hands and are never copied to user
 * space. Only what the kernel has not got, the few bytes that came together
 * with the last record of the handshake, is written by hand first.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "proxy/relay_internal.h"

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

static enum flow
end(struct half *half)
{
	return_pipe(half);
	relay_pass_end(half);
	return FLOW_ENDED;
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
	}
	return FLOW_SOURCE;
}

/* FLOW_SINK when something came, FLOW_ENDED at the end. */
static enum flow
fill_pipe(struct half *half, bool *ret_eager)
{
	size_t allowed = relay_allowance(half, half->pipe.size);
	ssize_t n;

	if (allowed == 0)
		return FLOW_LIMIT;
	n = splice(half->from_fd, NULL, half->pipe.write_fd, NULL, allowed,
		   SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
	relay_unused(half, allowed, n > 0 ? (size_t)n : 0);
	if (n == -1)
		return relay_read_error(half);
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

	for (int turn = 0; turn <= RELAY_TURNS; turn++) {
		enum flow flow = write_head(half);

		if (flow == FLOW_SOURCE)
			flow = empty_pipe(half);
		if (flow != FLOW_SOURCE)
			return flow;
		if (half->source_ended)
			return end(half);
		if (!eager || turn == RELAY_TURNS)
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
