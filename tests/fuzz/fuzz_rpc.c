/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Feeds bytes to a session of the control protocol as a client would send
 * them: the first byte says in which pieces, and with which of them
 * descriptors come along. Whatever is sent, the session answers in whole lines
 * of JSON, stays within its limits and closes what it was given.
 */
#include <assert.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/js.h"
#include "rpc/session.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Echoes its parameters and keeps no more than one descriptor. */
static int
method_echo(void *ctx, const json_t *params, struct rpc_fds *fds,
	    json_t **ret_result, struct err *err)
{
	int fd = rpc_fds_take(fds, 0);

	(void)ctx;
	if (fd >= 0)
		(void)close(fd);
	if (params == NULL)
		return err_set(err, ERR_INVALID, "no params");
	*ret_result = json_incref((json_t *)(uintptr_t)params);
	return 0;
}

static const struct rpc_method methods[] = { { "echo", method_echo } };
static const struct rpc_service service = {
	.self = { "fuzz", "0" },
	.methods = methods,
	.n_methods = 1,
};

static void
answer(struct rpc_session *session)
{
	struct buf *out = &session->out;
	json_t *reply;
	struct err err;

	while (rpc_session_step(session)) {
		if (out->len == 0)
			continue;
		assert(out->data[out->len - 1] == '\n');
		reply = js_parse((const char *)out->data, out->len, &err);
		assert(json_is_object(reply));
		json_decref(reply);
		buf_clear(out);
	}
	assert(session->in.len < RPC_MESSAGE_MAX || session->closing);
	buf_clear(out);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rpc_session session;
	size_t piece, step;
	unsigned with_fds;
	int before, after;

	if (size == 0)
		return 0;
	before = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	(void)close(before);
	piece = (data[0] & 0x3f) + 1;
	with_fds = data[0] >> 6;
	rpc_session_init(&session, &service);
	for (size_t i = 1; i < size; i += step) {
		struct rpc_fds fds = { .count = 0 };

		step = size - i < piece ? size - i : piece;
		for (; fds.count < with_fds; fds.count++)
			fds.fd[fds.count] =
				fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
		rpc_session_feed(&session, data + i, step, &fds);
		answer(&session);
	}
	rpc_session_done(&session);

	/* The lowest free descriptor is the same as before: none was kept. */
	after = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	assert(after == before);
	(void)close(after);
	return 0;
}
