/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/ssl.h>

#include "../wire.h"
#include "conn.h"

#define READ_SIZE (256U * 1024)
#define HEAD_MAX (16U * 1024)

struct conn_context {
	SSL_CTX *ssl;
	struct addrinfo *address;
	char *host;
};

struct conn {
	struct conn_context *context;
	SSL *ssl;
	int fd;
	char *data; /* what was read and not used up, from start to end */
	size_t start, end, size;
	char *body;
	size_t body_size;
};

static char *
copy(const char *text)
{
	char *s = strdup(text);

	if (s == NULL)
		die("out of memory");
	return s;
}

struct conn_context *
conn_context_new(const char *host, const char *port, const char *ca,
		 const char *cert, const char *key)
{
	struct conn_context *context = calloc(1, sizeof(*context));
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };

	if (context == NULL)
		die("out of memory");
	context->host = copy(host);
	if (getaddrinfo(host, port, &hints, &context->address) != 0)
		die("no such host: %s", host);
	context->ssl = SSL_CTX_new(TLS_client_method());
	if (context->ssl == NULL ||
	    SSL_CTX_load_verify_locations(context->ssl, ca, NULL) != 1 ||
	    SSL_CTX_use_certificate_chain_file(context->ssl, cert) != 1 ||
	    SSL_CTX_use_PrivateKey_file(context->ssl, key, SSL_FILETYPE_PEM) !=
		    1)
		die("cannot load the certificates");
	SSL_CTX_set_verify(context->ssl, SSL_VERIFY_PEER, NULL);
	return context;
}

struct conn *
conn_open(struct conn_context *context)
{
	struct conn *conn = calloc(1, sizeof(*conn));
	int on = 1;

	if (conn == NULL)
		die("out of memory");
	conn->context = context;
	conn->fd = socket(context->address->ai_family, SOCK_STREAM, 0);
	if (conn->fd == -1 || connect(conn->fd, context->address->ai_addr,
				      context->address->ai_addrlen) == -1)
		die("cannot connect: %m");
	(void)setsockopt(conn->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	conn->ssl = SSL_new(context->ssl);
	if (conn->ssl == NULL || SSL_set_fd(conn->ssl, conn->fd) != 1 ||
	    SSL_connect(conn->ssl) != 1)
		die("the TLS handshake failed: %s",
		    ERR_error_string(ERR_get_error(), NULL));
	return conn;
}

void
conn_close(struct conn *conn)
{
	SSL_free(conn->ssl);
	(void)close(conn->fd);
	free(conn->data);
	free(conn->body);
	free(conn);
}

static void
make_room(struct conn *conn)
{
	if (conn->start > 0) {
		memmove(conn->data, conn->data + conn->start,
			conn->end - conn->start);
		conn->end -= conn->start;
		conn->start = 0;
	}
	if (conn->size - conn->end < READ_SIZE) {
		conn->size = conn->end + 2 * READ_SIZE;
		conn->data = realloc(conn->data, conn->size + 1);
		if (conn->data == NULL)
			die("out of memory");
	}
}

/* 1: something came, 0: nothing now, -1: the end. */
static int
read_some(struct conn *conn)
{
	int n;

	make_room(conn);
	n = SSL_read(conn->ssl, conn->data + conn->end, READ_SIZE);
	if (n > 0) {
		conn->end += (size_t)n;
		conn->data[conn->end] = '\0';
		return 1;
	}
	return SSL_get_error(conn->ssl, n) == SSL_ERROR_WANT_READ ? 0 : -1;
}

static void
need_more(struct conn *conn)
{
	if (read_some(conn) != 1)
		die("the server closed a connection");
}

static void
send_request(struct conn *conn, const char *method, const char *path,
	     const char *body)
{
	size_t len = body == NULL ? 0 : strlen(body);
	size_t size = strlen(path) + len + 512;
	char *text = malloc(size);
	int n;

	if (text == NULL)
		die("out of memory");
	n = snprintf(text, size,
		     "%s %s HTTP/1.1\r\nHost: %s\r\nAccept: application/json"
		     "\r\nUser-Agent: kubeload/1\r\nContent-Type: "
		     "application/json\r\nContent-Length: %zu\r\n\r\n%s",
		     method, path, conn->context->host, len,
		     body == NULL ? "" : body);
	if (SSL_write(conn->ssl, text, n) != n)
		die("cannot send a request");
	free(text);
}

struct head {
	int code;
	bool chunked;
	size_t length;
};

static void
read_head(struct conn *conn, struct head *ret)
{
	char *begin, *end, *field;

	while (conn->end == conn->start ||
	       (end = strstr(conn->data + conn->start, "\r\n\r\n")) == NULL) {
		if (conn->end - conn->start > HEAD_MAX)
			die("the head of an answer is too long");
		need_more(conn);
	}
	begin = conn->data + conn->start;
	*end = '\0';
	*ret = (struct head){ .code = (int)strtol(begin + strlen("HTTP/1.1 "),
						  NULL, 10) };
	field = strcasestr(begin, "\r\nContent-Length:");
	if (field != NULL)
		ret->length = strtoul(field + 17, NULL, 10);
	ret->chunked =
		strcasestr(begin, "\r\nTransfer-Encoding: chunked") != NULL;
	conn->start = (size_t)(end - conn->data) + 4;
}

/* Passes n bytes of body on to out (or nowhere). */
static void
take(struct conn *conn, size_t n, char *out)
{
	while (n > 0) {
		size_t part;

		if (conn->start == conn->end)
			need_more(conn);
		part = conn->end - conn->start;
		if (part > n)
			part = n;
		if (out != NULL) {
			memcpy(out, conn->data + conn->start, part);
			out += part;
		}
		conn->start += part;
		n -= part;
	}
}

/* The size of the next chunk; its line is used up. */
static size_t
next_chunk(struct conn *conn)
{
	char *end;
	size_t n;

	while (conn->end == conn->start ||
	       (end = strstr(conn->data + conn->start, "\r\n")) == NULL)
		need_more(conn);
	n = strtoul(conn->data + conn->start, NULL, 16);
	conn->start = (size_t)(end - conn->data) + 2;
	return n;
}

static char *
room_for_body(struct conn *conn, size_t len)
{
	if (len + 1 > conn->body_size) {
		conn->body_size = 2 * (len + 1);
		conn->body = realloc(conn->body, conn->body_size);
		if (conn->body == NULL)
			die("out of memory");
	}
	conn->body[len] = '\0';
	return conn->body;
}

static size_t
read_chunks(struct conn *conn, bool keep)
{
	size_t total = 0, n;

	while ((n = next_chunk(conn)) > 0) {
		if (keep)
			(void)room_for_body(conn, total + n);
		take(conn, n, keep ? conn->body + total : NULL);
		take(conn, 2, NULL);
		total += n;
	}
	take(conn, 2, NULL);
	if (keep)
		(void)room_for_body(conn, total);
	return total;
}

void
conn_request(struct conn *conn, const char *method, const char *path,
	     const char *body, struct reply *ret)
{
	struct head head;

	send_request(conn, method, path, body);
	read_head(conn, &head);
	if (head.chunked) {
		head.length = read_chunks(conn, true);
	} else {
		(void)room_for_body(conn, head.length);
		take(conn, head.length, conn->body);
	}
	*ret = (struct reply){ head.code, conn->body, head.length };
}

size_t
conn_fetch(struct conn *conn, const char *path, int *ret_code)
{
	struct head head;

	send_request(conn, "GET", path, NULL);
	read_head(conn, &head);
	*ret_code = head.code;
	if (head.chunked)
		return read_chunks(conn, false);
	take(conn, head.length, NULL);
	return head.length;
}

void
conn_watch(struct conn *conn, const char *path)
{
	struct head head;

	send_request(conn, "GET", path, NULL);
	read_head(conn, &head);
	if (head.code != 200 || !head.chunked)
		die("a watch was answered with %d", head.code);
	if (fcntl(conn->fd, F_SETFL, O_NONBLOCK) == -1)
		die("cannot make a socket non-blocking: %m");
}

int
conn_fd(const struct conn *conn)
{
	return conn->fd;
}

/*
 * Lines of JSON begin with a brace; what stands between them is the framing of
 * chunks, which may also fall inside a line when the server likes it so. An
 * event that is cut by a chunk's end still counts once, by its end of line.
 */
bool
conn_lines(struct conn *conn, void (*fn)(const char *line, void *arg),
	   void *arg)
{
	int more;

	while ((more = read_some(conn)) == 1) {
		char *at = conn->data + conn->start;
		char *end;

		while ((end = memchr(at, '\n',
				     (size_t)(conn->data + conn->end - at))) !=
		       NULL) {
			*end = '\0';
			if (*at == '{')
				fn(at, arg);
			at = end + 1;
		}
		conn->start = (size_t)(at - conn->data);
	}
	return more == 0;
}
