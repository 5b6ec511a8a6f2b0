/* SPDX-License-Identifier: Apache-2.0 */

/*
 * pump_tls - bytes of a relay as TLS records, up to sixteen at a time.
 *
 * Outward, the local socket is read straight into the insides of sixteen
 * records, which are sealed in place and sent with one call; inward the same
 * backwards. Nothing is copied in user space, and the number of system calls
 * per record, which is what other relays spend their time on, is an eighth.
 */

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "proxy/relay_internal.h"

static bool
has_output(const struct half *half)
{
	return half->out_at < half->out_count;
}

static void
return_buf(struct half *half)
{
	if (half->buf == NULL)
		return;
	/* The output lies in the buffer; another stream is about to use it. */
	assert(!has_output(half));
	pool_put_buf(half->relay->pool, half->buf);
	half->buf = NULL;
}

static void
borrow_buf(struct half *half)
{
	if (half->buf == NULL)
		half->buf = pool_get_buf(half->relay->pool);
}

static enum flow
tls_failed(struct half *half, const struct tls_failure *tls)
{
	struct failure failure;

	failure_from_tls(&failure, tls);
	return relay_fail(half, failure.reason, "%s", failure.text);
}

/* Steps over n bytes that have been written. */
static void
advance(struct half *half, size_t n)
{
	while (n > 0) {
		struct iovec *iov = &half->out[half->out_at];

		if (n < iov->iov_len) {
			iov->iov_base = (uint8_t *)iov->iov_base + n;
			iov->iov_len -= n;
			return;
		}
		n -= iov->iov_len;
		half->out_at++;
	}
}

/* Writes what is there. FLOW_SOURCE when all has gone. */
static enum flow
write_output(struct half *half)
{
	struct msghdr msg = { 0 };
	ssize_t n;

	while (has_output(half)) {
		if (half->discard) {
			half->out_at = half->out_count;
			break;
		}
		msg.msg_iov = &half->out[half->out_at];
		msg.msg_iovlen = (size_t)(half->out_count - half->out_at);
		n = sendmsg(half->to_fd, &msg, MSG_NOSIGNAL);
		if (n == -1) {
			enum flow flow = relay_write_error(half);

			if (flow != FLOW_ENDED)
				return flow;
			continue;
		}
		advance(half, (size_t)n);
		if (has_output(half))
			return FLOW_SINK;
	}
	return FLOW_SOURCE;
}

static enum flow
seal(struct half *half, size_t plain_len)
{
	struct tls_failure tls;

	if (tls_stream_seal(half->relay->config.tls, half->buf, plain_len,
			    &half->out[0], &tls) == -1)
		return tls_failed(half, &tls);
	half->out_at = 0;
	half->out_count = half->out[0].iov_len > 0 ? 1 : 0;
	return FLOW_SOURCE;
}

static enum flow
end_outward(struct half *half)
{
	struct tls_failure tls;
	enum flow flow;

	borrow_buf(half);
	if (!half->source_ended) {
		half->source_ended = true;
		if (tls_stream_seal_close(half->relay->config.tls, half->buf,
					  &half->out[0], &tls) == -1)
			return tls_failed(half, &tls);
		half->out_at = 0;
		half->out_count = 1;
	}
	flow = write_output(half);
	if (flow != FLOW_SOURCE)
		return flow;
	return_buf(half);
	relay_pass_end(half);
	return FLOW_ENDED;
}

/*
 * Reads and seals one batch. FLOW_SINK when there is something to send;
 * *ret_eager says that more is likely to be there.
 */
static enum flow
read_outward(struct half *half, bool *ret_eager)
{
	struct iovec iov[TLS_BATCH_RECORDS];
	size_t allowed = relay_allowance(half, TLS_BATCH_PLAIN);
	ssize_t n;
	int count;

	if (allowed == 0)
		return FLOW_LIMIT;
	borrow_buf(half);
	count = tls_stream_plain_iov(half->buf, allowed, iov);
	n = readv(half->from_fd, iov, count);
	relay_unused(half, allowed, n > 0 ? (size_t)n : 0);
	if (n == -1)
		return relay_read_error(half);
	if (n == 0)
		return FLOW_ENDED;
	*ret_eager = (size_t)n >= RELAY_EAGER_BYTES;
	relay_count(half, (size_t)n);
	if (seal(half, (size_t)n) == FLOW_FAILED)
		return FLOW_FAILED;
	return FLOW_SINK;
}

static enum flow
outward(struct half *half)
{
	for (int reads = 0; reads < RELAY_READS; reads++) {
		bool eager = false;
		enum flow flow;

		if (half->source_ended)
			return end_outward(half);
		flow = write_output(half);
		if (flow != FLOW_SOURCE)
			return flow;

		flow = read_outward(half, &eager);
		if (flow == FLOW_ENDED)
			return end_outward(half);
		if (flow == FLOW_SOURCE &&
		    tls_stream_wants_to_send(half->relay->config.tls)) {
			if (seal(half, 0) == FLOW_FAILED)
				return FLOW_FAILED;
			flow = FLOW_SINK;
		}
		if (flow == FLOW_SINK)
			flow = write_output(half);
		if (flow == FLOW_SINK || flow == FLOW_FAILED)
			return flow;
		if (flow == FLOW_LIMIT || !eager) {
			return_buf(half);
			return flow;
		}
	}
	return_buf(half);
	return FLOW_SOURCE;
}

/* Tells the peer why, if that fits between what is being sent. */
static void
send_alert(struct relay *relay)
{
	uint8_t buf[TLS_HEADROOM];
	struct iovec wire = { 0 };
	struct tls_failure tls;

	if (has_output(&relay->out) || relay->out.flow == FLOW_ENDED ||
	    tls_stream_seal(relay->config.tls, buf, 0, &wire, &tls) == -1 ||
	    wire.iov_len == 0)
		return;
	(void)send(relay->config.net_fd, wire.iov_base, wire.iov_len,
		   MSG_NOSIGNAL);
}

/* Opens the complete records that are there, as output to be written. */
static enum flow
open_records(struct half *half)
{
	struct tls_opened opened;
	struct tls_failure tls;

	if (tls_stream_open(half->relay->config.tls, half->buf + half->rest_at,
			    half->rest_len, 0, &opened, &tls) == -1) {
		send_alert(half->relay);
		return tls_failed(half, &tls);
	}
	half->rest_at += opened.consumed;
	half->rest_len -= opened.consumed;
	half->rest_complete =
		half->rest_len > 0 && opened.need == 0 && opened.consumed > 0;
	half->source_ended = opened.closed;
	memcpy(half->out, opened.iov,
	       (size_t)opened.iovcnt * sizeof(opened.iov[0]));
	half->out_at = 0;
	half->out_count = opened.iovcnt;
	relay_count(half, opened.plain_len);
	return FLOW_SOURCE;
}

/* Puts what came with the handshake where received bytes go. */
static void
take_head(struct half *half)
{
	struct relay *relay = half->relay;

	memcpy(half->buf, relay->head, relay->head_len);
	half->rest_at = 0;
	half->rest_len = relay->head_len;
	free(relay->head);
	relay->head = NULL;
	relay->head_len = 0;
}

/* FLOW_SINK when something came. */
static enum flow
receive(struct half *half, bool *ret_eager)
{
	ssize_t n;

	borrow_buf(half);
	*ret_eager = true;
	if (half->relay->head_len > 0) {
		take_head(half);
		return FLOW_SINK;
	}
	if (half->rest_at > 0 && half->rest_len > 0)
		memmove(half->buf, half->buf + half->rest_at, half->rest_len);
	half->rest_at = 0;
	n = recv(half->from_fd, half->buf + half->rest_len,
		 POOL_BUF_SIZE - half->rest_len, 0);
	if (n == -1)
		return relay_read_error(half);
	if (n == 0)
		return relay_fail(half, REASON_TRUNCATED,
				  "the peer's stream ended without its close");
	*ret_eager = (size_t)n >= RELAY_EAGER_BYTES;
	half->rest_len += (size_t)n;
	return FLOW_SINK;
}

static enum flow
end_inward(struct half *half)
{
	return_buf(half);
	relay_pass_end(half);
	return FLOW_ENDED;
}

/* Nothing more to do for now; an incomplete record keeps its buffer. */
static enum flow
rest_inward(struct half *half)
{
	if (half->rest_len == 0)
		return_buf(half);
	return FLOW_SOURCE;
}

static enum flow
inward(struct half *half)
{
	bool eager = true;

	for (int reads = 0;;) {
		enum flow flow = write_output(half);

		if (flow != FLOW_SOURCE)
			return flow;
		if (half->source_ended)
			return end_inward(half);
		/* Only here, with nothing left to write, may the half rest. */
		if (!half->rest_complete) {
			if (!eager || reads++ == RELAY_READS)
				return rest_inward(half);
			flow = receive(half, &eager);
			if (flow == FLOW_SOURCE)
				return rest_inward(half);
			if (flow != FLOW_SINK)
				return flow;
		}
		if (open_records(half) == FLOW_FAILED)
			return FLOW_FAILED;
	}
}

const struct pump pump_tls = {
	.outward = outward,
	.inward = inward,
};
