/* SPDX-License-Identifier: Apache-2.0 */

/*
 * tls_peer - a stream of src/tls on a TCP port, for talking to other programs.
 *
 *   tls_peer [OPTION]... server|client PORT
 *
 * What comes on stdin is sent, what is received goes to stdout. A server takes
 * one connection; with port 0 it prints the one it got to stderr. When both
 * directions have ended, or after a failure, one line of JSON on stderr says
 * what happened; the exit code is 0 for a clean end.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TLS_ALLOW_PRIVATE

#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/path.h"
#include "tls/identity.h"
#include "tls/private.h"
#include "tls/session.h"

struct options {
	const char *cert;
	const char *key;
	const char *ca;
	const char *peer;
	enum tls_engine engine;
	bool no_alpn;
	bool echo;       /* send back what is received, instead of stdin */
	bool ask;        /* begin with a KeyUpdate that asks for another */
	uint64_t limit;  /* records under one key; 0: the usual */
	uint64_t expect; /* end once so many bytes came; 0: at the peer's end */
};

struct peer {
	struct options options;
	int fd;
	struct tls_stream *stream;
	struct tls_failure failure;
	uint8_t *out; /* being sent: wire is what is left of it */
	struct iovec wire;
	uint8_t *in;
	size_t in_len;
	uint64_t sent;
	uint64_t received;
	uint64_t behind;    /* bytes after the peer's close_notify */
	bool no_more_input; /* stdin has ended */
	bool said_end;      /* close_notify is sealed */
	bool heard_end;
};

static void
die(const char *text)
{
	(void)fprintf(stderr, "tls_peer: %s\n", text);
	exit(2);
}

static void
die_errno(const char *what)
{
	(void)fprintf(stderr, "tls_peer: %s: %s\n", what, strerror(errno));
	exit(2);
}

static char *
read_file(const char *path, size_t *ret_len)
{
	struct err err;
	char *text;

	if (path == NULL)
		die("--cert, --key, --ca and --peer are needed");
	if (path_read_file(path, TLS_PEM_MAX, &text, ret_len, &err) == -1)
		die(err.text);
	return text;
}

static struct tls_context *
make_context(const struct options *o, enum tls_role role)
{
	struct tls_pem pem = { .name = "tls_peer" };
	AUTO(free_ptr) char *cert = read_file(o->cert, &pem.cert_len);
	AUTO(free_ptr) char *key = read_file(o->key, &pem.key_len);
	AUTO(free_ptr) char *ca = read_file(o->ca, &pem.ca_len);
	struct tls_context *ctx;
	struct err err;

	pem.cert = cert;
	pem.key = key;
	pem.ca = ca;
	if (tls_context_new(role, &pem, &ctx, &err) == -1)
		die(err.text);
	if (o->no_alpn)
		tls_context_without_alpn(ctx);
	return ctx;
}

static int
open_socket(enum tls_role role, uint16_t port)
{
	struct sockaddr_in addr = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t len = sizeof(addr);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int conn;

	if (role == TLS_ROLE_CLIENT) {
		if (connect(fd, (struct sockaddr *)&addr, len) == -1)
			die_errno("connect");
		return fd;
	}
	if (bind(fd, (struct sockaddr *)&addr, len) == -1 ||
	    listen(fd, 1) == -1 ||
	    getsockname(fd, (struct sockaddr *)&addr, &len) == -1)
		die_errno("listen");
	(void)fprintf(stderr, "%u\n", ntohs(addr.sin_port));
	conn = accept(fd, NULL, NULL);
	if (conn == -1)
		die_errno("accept");
	(void)close(fd);
	return conn;
}

static int
write_all(int fd, const void *data, size_t len)
{
	const uint8_t *p = data;

	while (len > 0) {
		ssize_t n = write(fd, p, len);

		if (n == -1)
			return -1;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

/* 0, or -1 with p->failure set. */
static int
shake_hands(struct peer *p, struct tls_context *ctx, const char *uri)
{
	struct tls_session *s = tls_session_new(ctx, uri);
	enum tls_progress progress = TLS_WANT_READ;
	uint8_t in[TLS_SESSION_STEP_MAX];
	ssize_t n = 0;

	for (;;) {
		const uint8_t *out;
		size_t len;

		progress = tls_session_step(s, in, (size_t)n, &p->failure);
		len = tls_session_output(s, &out);
		if (len > 0) {
			if (write_all(p->fd, out, len) == -1)
				die_errno("send");
			tls_session_sent(s, len);
		}
		if (progress != TLS_WANT_READ)
			break;
		n = read(p->fd, in, sizeof(in));
		if (n <= 0) {
			(void)tls_session_eof(s, &p->failure);
			progress = TLS_FAILED;
			break;
		}
	}
	if (progress == TLS_FAILED) {
		tls_session_free(s);
		return -1;
	}
	p->stream = tls_session_finish(s, p->options.engine, p->in,
				       TLS_BUF_SIZE, &p->in_len);
	return 0;
}

static int
seal(struct peer *p, size_t len)
{
	if (tls_stream_seal(p->stream, p->out, len, &p->wire, &p->failure) ==
	    -1)
		return -1;
	p->sent += len;
	return 0;
}

/* A batch from stdin, or the end of it. */
static int
take_input(struct peer *p)
{
	struct iovec iov[TLS_BATCH_RECORDS];
	int count = tls_stream_plain_iov(p->out, TLS_BATCH_PLAIN, iov);
	ssize_t n = readv(STDIN_FILENO, iov, count);

	if (n == -1)
		die_errno("stdin");
	if (n == 0)
		p->no_more_input = true;
	return n > 0 ? seal(p, (size_t)n) : 0;
}

/* As much of the wire bytes as the socket takes. */
static void
send_some(struct peer *p)
{
	ssize_t n = write(p->fd, p->wire.iov_base, p->wire.iov_len);

	if (n == -1 && errno == EAGAIN)
		return;
	if (n == -1)
		die_errno("send");
	p->wire.iov_base = (uint8_t *)p->wire.iov_base + n;
	p->wire.iov_len -= (size_t)n;
}

/* Blocking, and only for short answers: sends back what was opened. */
static int
send_back(struct peer *p, const struct iovec *piece)
{
	struct iovec iov[TLS_BATCH_RECORDS];

	while (p->wire.iov_len > 0)
		send_some(p);
	if (piece->iov_len > TLS_RECORD_PLAIN)
		die("too much to echo");
	(void)tls_stream_plain_iov(p->out, piece->iov_len, iov);
	memcpy(iov[0].iov_base, piece->iov_base, piece->iov_len);
	return seal(p, piece->iov_len);
}

/* Everything that is complete in the buffer. */
static int
deliver(struct peer *p)
{
	struct tls_opened o;

	do {
		if (tls_stream_open(p->stream, p->in, p->in_len, 0, &o,
				    &p->failure) == -1)
			return -1;
		for (int i = 0; i < o.iovcnt; i++) {
			if (write_all(STDOUT_FILENO, o.iov[i].iov_base,
				      o.iov[i].iov_len) == -1)
				die_errno("stdout");
			if (p->options.echo && send_back(p, &o.iov[i]) == -1)
				return -1;
		}
		p->received += o.plain_len;
		p->in_len -= o.consumed;
		memmove(p->in, p->in + o.consumed, p->in_len);
	} while (p->in_len > 0 && o.need == 0 && !o.closed);
	p->heard_end |= o.closed;
	return 0;
}

static int
receive(struct peer *p)
{
	ssize_t n = read(p->fd, p->in + p->in_len, TLS_BUF_SIZE - p->in_len);

	if (n == -1 && errno == EAGAIN)
		return 0;
	if (n == -1)
		die_errno("receive");
	if (n == 0) {
		p->heard_end = true;
		return tls_stream_eof(p->stream, &p->failure);
	}
	p->in_len += (size_t)n;
	return deliver(p);
}

static bool
is_time_to_end(const struct peer *p)
{
	if (p->options.expect > 0)
		return p->received >= p->options.expect && p->no_more_input;
	return p->heard_end ? true : p->no_more_input && !p->options.echo;
}

/* What is to be sent next, if the socket is free; -1 after a failure. */
static int
prepare(struct peer *p)
{
	if (p->wire.iov_len > 0 || p->said_end)
		return 0;
	if (tls_stream_wants_to_send(p->stream))
		return seal(p, 0);
	if (!is_time_to_end(p))
		return 0;
	p->said_end = true;
	return tls_stream_seal_close(p->stream, p->out, &p->wire, &p->failure);
}

static int
relay(struct peer *p)
{
	if (p->in_len > 0 && deliver(p) == -1)
		return -1;
	for (;;) {
		struct pollfd fds[2] = { { .fd = p->fd }, { .fd = -1 } };

		if (prepare(p) == -1)
			return -1;
		if (p->said_end && p->heard_end && p->wire.iov_len == 0)
			return 0;
		fds[0].events = (short)((p->heard_end ? 0 : POLLIN) |
					(p->wire.iov_len > 0 ? POLLOUT : 0));
		if (p->wire.iov_len == 0 && !p->no_more_input)
			fds[1] = (struct pollfd){ .fd = STDIN_FILENO,
						  .events = POLLIN };
		if (poll(fds, 2, -1) == -1)
			die_errno("poll");
		if ((fds[0].revents & POLLOUT) && p->wire.iov_len > 0)
			send_some(p);
		if ((fds[0].revents & (POLLIN | POLLHUP | POLLERR)) &&
		    !p->heard_end && receive(p) == -1)
			return -1;
		if (fds[1].revents != 0 && p->wire.iov_len == 0 &&
		    take_input(p) == -1)
			return -1;
	}
}

/*
 * Closing while bytes still come would reset the connection, and the peer would
 * lose what it has not read yet.
 */
static void
drain(struct peer *p)
{
	ssize_t n;

	(void)shutdown(p->fd, SHUT_WR);
	(void)fcntl(p->fd, F_SETFL, 0);
	while ((n = read(p->fd, p->in, TLS_BUF_SIZE)) > 0)
		p->behind += (uint64_t)n;
}

static void
report(const struct peer *p)
{
	unsigned sent = 0;
	unsigned received = 0;

	if (p->stream != NULL && p->options.engine == TLS_ENGINE_RECORD)
		tls_record_updates(p->stream, &sent, &received);
	(void)fprintf(stderr,
		      "{\"reason\":\"%s\",\"byPeer\":%s,\"text\":\"%s\","
		      "\"cipher\":\"%s\",\"sent\":%lu,\"received\":%lu,"
		      "\"updatesSent\":%u,\"updatesReceived\":%u,"
		      "\"behind\":%lu}\n",
		      tls_reason_name(p->failure.reason),
		      p->failure.by_peer ? "true" : "false", p->failure.text,
		      p->stream != NULL ? tls_stream_cipher(p->stream) : "",
		      p->sent, p->received, sent, received, p->behind);
}

static void
parse_options(int argc, char **argv, struct options *o)
{
	static const struct option names[] = {
		{ "cert", required_argument, NULL, 'c' },
		{ "key", required_argument, NULL, 'k' },
		{ "ca", required_argument, NULL, 'a' },
		{ "peer", required_argument, NULL, 'p' },
		{ "libssl", no_argument, NULL, 'l' },
		{ "no-alpn", no_argument, NULL, 'n' },
		{ "echo", no_argument, NULL, 'e' },
		{ "ask", no_argument, NULL, 'q' },
		{ "limit", required_argument, NULL, 'L' },
		{ "expect", required_argument, NULL, 'E' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	/* NOLINTNEXTLINE(concurrency-mt-unsafe): the only thread */
	while ((c = getopt_long(argc, argv, "", names, NULL)) != -1) {
		switch (c) {
		case 'c':
			o->cert = optarg;
			break;
		case 'k':
			o->key = optarg;
			break;
		case 'a':
			o->ca = optarg;
			break;
		case 'p':
			o->peer = optarg;
			break;
		case 'l':
			o->engine = TLS_ENGINE_LIBSSL;
			break;
		case 'n':
			o->no_alpn = true;
			break;
		case 'e':
			o->echo = true;
			break;
		case 'q':
			o->ask = true;
			break;
		case 'L':
			o->limit = strtoull(optarg, NULL, 10);
			break;
		case 'E':
			o->expect = strtoull(optarg, NULL, 10);
			break;
		default:
			exit(2);
		}
	}
}

int
main(int argc, char **argv)
{
	struct peer p = { 0 };
	char uri[TLS_IDENTITY_SIZE];
	struct tls_context *ctx;
	enum tls_role role;
	struct err err;
	int result;

	parse_options(argc, argv, &p.options);
	if (argc - optind != 2 || p.options.peer == NULL)
		die("usage: tls_peer [OPTION]... server|client PORT");
	role = strcmp(argv[optind], "server") == 0 ? TLS_ROLE_SERVER
						   : TLS_ROLE_CLIENT;
	if (tls_identity_uri(p.options.peer, uri, sizeof(uri), &err) == -1)
		die(err.text);
	p.out = xmalloc0(TLS_BUF_SIZE);
	p.in = xmalloc0(TLS_BUF_SIZE);
	p.no_more_input = p.options.echo;
	ctx = make_context(&p.options, role);
	p.fd = open_socket(role, (uint16_t)strtoul(argv[optind + 1], NULL, 10));
	result = shake_hands(&p, ctx, uri);
	if (result == 0) {
		if (p.options.limit > 0)
			tls_stream_set_limit(p.stream, p.options.limit);
		if (p.options.ask)
			tls_stream_start_update(p.stream);
		(void)fcntl(p.fd, F_SETFL, O_NONBLOCK);
		result = relay(&p);
		/* An alert, if one is due: best effort. */
		if (result == -1 && seal(&p, 0) == 0 && p.wire.iov_len > 0)
			(void)write_all(p.fd, p.wire.iov_base, p.wire.iov_len);
	}
	drain(&p);
	report(&p);
	tls_stream_free(p.stream);
	tls_context_unref(ctx);
	free(p.out);
	free(p.in);
	(void)close(p.fd);
	return result == 0 ? 0 : 1;
}
