/* SPDX-License-Identifier: Apache-2.0 */
#include "rpc/client.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/mem.h"
#include "rpc/fds.h"
#include "rpc/message.h"

#define CHUNK (64UL * 1024)

struct rpc_client {
	int fd; /* non-blocking; -1 after a call without an answer */
	uint64_t last_id;
	struct buf in; /* starts with the reply to come, if anything */
	json_t *peer;
};

/* Waits for events until the deadline. */
static int
wait_until(int fd, short events, uint64_t deadline_ms, struct err *err)
{
	struct pollfd pfd = { .fd = fd, .events = events };
	uint64_t now;
	int rc;

	do {
		now = loop_now_ms();
		if (now >= deadline_ms)
			return err_set(err, ERR_TIMEOUT,
				       "the server did not answer in time");
		now = deadline_ms - now;
		rc = poll(&pfd, 1, now < INT_MAX ? (int)now : INT_MAX);
	} while (rc == 0 || (rc == -1 && errno == EINTR));
	if (rc == -1)
		return err_errno(err, "cannot wait for the server");
	return 0;
}

/*
 * Sends text with the call's descriptors. A server that has gone is no error
 * yet: it may have said why, which is read next.
 */
static int
send_request(const struct rpc_client *client, const char *text,
	     const struct rpc_call *call, uint64_t deadline_ms, struct err *err)
{
	size_t len = strlen(text), done = 0;
	ssize_t sent;

	while (done < len) {
		/* The descriptors go with the first byte, and once. */
		sent = rpc_fds_send(client->fd, text + done, len - done,
				    call->fds, done == 0 ? call->n_fds : 0);
		if (sent >= 0) {
			done += (size_t)sent;
			continue;
		}
		if (errno == EPIPE || errno == ECONNRESET)
			return 0;
		if (errno != EAGAIN && errno != EINTR)
			return err_errno(err, "cannot send to the server");
		if (wait_until(client->fd, POLLOUT, deadline_ms, err) == -1)
			return -1;
	}
	return 0;
}

/* Reads until there is a line; its length without the newline. */
static int
receive_line(struct rpc_client *client, uint64_t deadline_ms, size_t *ret_len,
	     struct err *err)
{
	size_t scanned = 0;
	const uint8_t *newline;
	uint8_t *to;
	ssize_t got;

	for (;;) {
		newline = client->in.len == scanned
				  ? NULL
				  : memchr(client->in.data + scanned, '\n',
					   client->in.len - scanned);
		if (newline != NULL) {
			*ret_len = (size_t)(newline - client->in.data);
			return 0;
		}
		scanned = client->in.len;
		to = buf_reserve(&client->in, CHUNK);
		if (to == NULL)
			return err_set(err, ERR_LIMIT,
				       "the server's reply is too long");
		got = recv(client->fd, to, CHUNK, 0);
		if (got > 0) {
			buf_commit(&client->in, (size_t)got);
			continue;
		}
		if (got == 0)
			return err_set(err, ERR_UNAVAILABLE,
				       "the server ended the connection");
		if (errno != EAGAIN && errno != EINTR)
			return err_errno(err, "cannot read from the server");
		if (wait_until(client->fd, POLLIN, deadline_ms, err) == -1)
			return -1;
	}
}

static char *
request_text(uint64_t id, const struct rpc_call *call)
{
	AUTO(js_unref)
	json_t *request = rpc_request_new(id, call->method, call->params);
	char *text;
	size_t len;

	text = js_text(request);
	len = strlen(text);
	text = xrealloc(text, len + 2);
	memcpy(text + len, "\n", 2);
	return text;
}

int
rpc_client_call(struct rpc_client *client, const struct rpc_call *call,
		json_t **ret_result, struct err *err)
{
	uint64_t timeout_ms =
		call->timeout_ms > 0 ? call->timeout_ms : RPC_CLIENT_TIMEOUT_MS;
	uint64_t deadline_ms = loop_now_ms() + timeout_ms;
	AUTO(free_ptr) char *text = NULL;
	size_t len = 0;
	int rc;

	if (client->fd == -1)
		return err_set(err, ERR_UNAVAILABLE,
			       "the connection to the server is lost");
	text = request_text(++client->last_id, call);
	if (strlen(text) > RPC_MESSAGE_MAX || call->n_fds > RPC_FDS_MAX)
		return err_set(err, ERR_INVALID,
			       "the request '%s' is too large", call->method);

	if (send_request(client, text, call, deadline_ms, err) == -1 ||
	    receive_line(client, deadline_ms, &len, err) == -1) {
		close_fd(&client->fd);
		return -1;
	}
	rc = rpc_reply_parse((const char *)client->in.data, len,
			     client->last_id, ret_result, err);
	buf_consume(&client->in, len + 1);
	return rc;
}

static int
exchange_hello(struct rpc_client *client, const struct rpc_identity *self,
	       struct err *err)
{
	AUTO(js_unref) json_t *params = rpc_hello(self);
	struct rpc_call call = { .method = "hello", .params = params };

	if (rpc_client_call(client, &call, &client->peer, err) == -1)
		return -1;
	return rpc_hello_check(client->peer, err);
}

int
rpc_client_new(int fd, const struct rpc_identity *self,
	       struct rpc_client **ret_client, struct err *err)
{
	AUTO(rpc_client_done) struct rpc_client *client = NULL;

	client = xmalloc0(sizeof(*client));
	client->fd = fd;
	(void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	client->in = BUF_INIT(RPC_REPLY_MAX + CHUNK);
	if (exchange_hello(client, self, err) == -1)
		return -1;
	*ret_client = TAKE_PTR(client);
	return 0;
}

int
rpc_client_connect(const char *path, const struct rpc_identity *self,
		   struct rpc_client **ret_client, struct err *err)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	AUTO(close_fd) int fd = -1;

	if (strlen(path) >= sizeof(addr.sun_path))
		return err_set(err, ERR_INVALID, "path '%s' is too long", path);
	memcpy(addr.sun_path, path, strlen(path));

	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd == -1)
		return err_errno(err, "cannot create a socket");
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) == -1) {
		if (errno == EAGAIN)
			return err_set(err, ERR_UNAVAILABLE,
				       "'%s' is too busy to answer", path);
		return err_errno(err, "cannot connect to '%s'", path);
	}
	if (rpc_client_new(TAKE_FD(fd), self, ret_client, err) == -1)
		return err_prefix(err, "'%s'", path);
	return 0;
}

const json_t *
rpc_client_peer(const struct rpc_client *client)
{
	return client->peer;
}

void
rpc_client_free(struct rpc_client *client)
{
	if (client == NULL)
		return;
	close_fd(&client->fd);
	buf_done(&client->in);
	js_unref(&client->peer);
	free(client);
}

void
rpc_client_done(struct rpc_client **client)
{
	rpc_client_free(*client);
	*client = NULL;
}
