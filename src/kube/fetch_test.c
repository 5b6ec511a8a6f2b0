/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/fetch.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/test.h"
#include "tls/https.h"
#include "tls/pki.h"

#define REQUEST_MAX (1024UL * 1024)
#define WATCHDOG_US (20UL * 1000 * 1000)

/*
 * A server that answers whatever it is asked with the same bytes, and a
 * fetcher that asks it, on one loop.
 */
struct world {
	struct loop *loop;
	struct loop_timer *watchdog;
	struct fetcher *fetcher;
	struct fetch *fetch;
	struct fetch *other;

	int listen_fd;
	uint16_t port;
	struct loop_io *listen_io;
	int fd;
	struct loop_io *io;
	struct tls_https *tls; /* NULL: plain */
	struct tls_https_conn *tls_conn;
	bool secured;
	struct buf request;
	const char *answer; /* NULL: none, ever */
	bool close_after;
	bool answered;
	unsigned accepted;
	char client[64]; /* the name in its certificate */

	/* What done() was told. */
	bool done;
	enum fetch_error error;
	int code;
	char text[512];
	char cause[512];
	char type[64];
	struct buf body;
	/* What came before that. */
	unsigned heads;
	unsigned pieces;
	struct buf data;
};

static struct tls_pki_pem ca;
static struct tls_pki_pem server_pem;
static struct tls_pki_pem client_pem;
static struct tls_pki_pem other_ca;

static void
drop_conn(struct world *w)
{
	loop_io_free(w->io);
	w->io = NULL;
	tls_https_conn_free(w->tls_conn);
	w->tls_conn = NULL;
	if (w->fd != -1)
		(void)close(w->fd);
	w->fd = -1;
}

static void
send_answer(struct world *w)
{
	size_t len = strlen(w->answer);
	struct err err;
	size_t sent;

	w->answered = true;
	if (w->tls_conn == NULL) {
		assert_int_equal(send(w->fd, w->answer, len, MSG_NOSIGNAL),
				 len);
	} else {
		assert_int_equal(tls_https_write(w->tls_conn, w->answer, len,
						 &sent, &err),
				 TLS_HTTPS_OK);
	}
	if (w->close_after)
		drop_conn(w);
}

/* Whether the whole request is here. */
static bool
is_complete(const struct buf *request)
{
	const char *text = (const char *)request->data;
	const char *end = text != NULL ? strstr(text, "\r\n\r\n") : NULL;
	const char *length;

	if (end == NULL)
		return false;
	length = strstr(text, "Content-Length: ");
	return length == NULL || length > end ||
	       strlen(end + 4) >= strtoul(length + 16, NULL, 10);
}

static ssize_t
receive(struct world *w, char *data, size_t size)
{
	enum tls_https_io r;
	struct err err;
	size_t len = 0;

	if (w->tls_conn == NULL)
		return recv(w->fd, data, size, 0);
	if (!w->secured) {
		r = tls_https_handshake(w->tls_conn, &err);
		if (r == TLS_HTTPS_WANT_READ)
			return -1;
		if (r != TLS_HTTPS_OK)
			return 0;
		w->secured = true;
		(void)snprintf(w->client, sizeof(w->client), "%s",
			       tls_https_peer(w->tls_conn)->common_name);
	}
	r = tls_https_read(w->tls_conn, data, size, &len, &err);
	if (r == TLS_HTTPS_WANT_READ)
		return -1;
	return r == TLS_HTTPS_OK ? (ssize_t)len : 0;
}

static void
on_server_ready(unsigned ready, void *arg)
{
	struct world *w = arg;
	char data[4096];
	ssize_t n;

	(void)ready;
	while (w->fd != -1 && (n = receive(w, data, sizeof(data))) >= 0) {
		if (n == 0) {
			drop_conn(w);
			return;
		}
		if (w->answered)
			buf_clear(&w->request);
		w->answered = false;
		assert_int_equal(buf_append(&w->request, data, (size_t)n), 0);
		if (w->answer != NULL && is_complete(&w->request))
			send_answer(w);
	}
}

static void
on_accept(unsigned ready, void *arg)
{
	struct world *w = arg;
	int fd =
		accept4(w->listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	(void)ready;
	if (fd == -1)
		return;
	drop_conn(w);
	w->fd = fd;
	w->accepted++;
	w->secured = false;
	buf_clear(&w->request);
	if (w->tls != NULL)
		w->tls_conn = tls_https_conn_new(w->tls, fd);
	w->io = loop_io_new(w->loop, fd, on_server_ready, w);
	loop_io_want(w->io, LOOP_READ);
}

static void
on_watchdog(void *arg)
{
	(void)arg;
	fail_msg("nothing happened for a long time");
}

static int
set_up(void **state)
{
	struct world *w = xmalloc0(sizeof(*w));
	struct sockaddr_in addr = { .sin_family = AF_INET };
	socklen_t len = sizeof(addr);

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	w->loop = loop_new();
	w->watchdog = loop_timer_new(w->loop, on_watchdog, w);
	loop_timer_start(w->watchdog, WATCHDOG_US);
	w->fetcher = fetcher_new(w->loop);
	w->fd = -1;
	w->request = BUF_INIT(REQUEST_MAX);
	w->body = BUF_INIT(REQUEST_MAX);
	w->data = BUF_INIT(REQUEST_MAX);
	w->listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(
		bind(w->listen_fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(listen(w->listen_fd, 16), 0);
	assert_int_equal(
		getsockname(w->listen_fd, (struct sockaddr *)&addr, &len), 0);
	w->port = ntohs(addr.sin_port);
	w->listen_io = loop_io_new(w->loop, w->listen_fd, on_accept, w);
	loop_io_want(w->listen_io, LOOP_READ);
	*state = w;
	return 0;
}

static int
tear_down(void **state)
{
	struct world *w = *state;

	fetcher_free(w->fetcher);
	drop_conn(w);
	tls_https_unref(w->tls);
	loop_io_free(w->listen_io);
	if (w->listen_fd != -1)
		(void)close(w->listen_fd);
	loop_timer_free(w->watchdog);
	loop_free(w->loop);
	buf_done(&w->request);
	buf_done(&w->body);
	buf_done(&w->data);
	free(w);
	return 0;
}

static void
on_done(const struct fetch_result *r, void *arg)
{
	struct world *w = arg;
	const char *type = fetch_header_of(r, "content-TYPE");

	w->done = true;
	w->fetch = NULL;
	w->error = r->error;
	w->code = r->code;
	(void)snprintf(w->text, sizeof(w->text), "%s", r->text);
	(void)snprintf(w->cause, sizeof(w->cause), "%s", r->cause);
	(void)snprintf(w->type, sizeof(w->type), "%s",
		       type != NULL ? type : "");
	buf_clear(&w->body);
	assert_int_equal(buf_append(&w->body, r->body, r->body_len), 0);
	assert_int_equal(strlen(r->body), r->body_len);
	loop_stop(w->loop);
}

/* "http://127.0.0.1:PORT/path", with another scheme or host if need be. */
static const char *
url_of(const struct world *w, const char *format)
{
	static char url[200];

	(void)snprintf(url, sizeof(url), "%s:%u/path?q=1", format, w->port);
	return url;
}

static void
ask(struct world *w, const struct fetch_request *request)
{
	w->done = false;
	w->fetch = fetch_start(w->fetcher, request, on_done, w);
	assert_false(w->done);
	loop_run(w->loop);
	assert_true(w->done);
}

static void
test_an_answer_comes_with_code_headers_and_body(void **state)
{
	static const struct fetch_header headers[] = { { "X-One", "1" },
						       { "X-Empty", "" } };
	struct world *w = *state;
	char host[40];
	const char *sent;

	w->answer = "HTTP/1.1 100 Continue\r\nX-Early: 1\r\n\r\n"
		    "HTTP/1.1 404 Not Found\r\n"
		    "Content-Type:   text/plain \r\nContent-Length: 5\r\n\r\n"
		    "hello";
	ask(w, &(struct fetch_request){ .method = "GET",
					.url = url_of(w, "http://127.0.0.1"),
					.headers = headers,
					.header_count = 2 });
	assert_int_equal(w->error, FETCH_OK);
	assert_int_equal(w->code, 404);
	assert_string_equal(w->text, "");
	assert_true(strncmp(w->type, "text/plain", 10) == 0);
	assert_string_equal((char *)w->body.data, "hello");
	sent = (const char *)w->request.data;
	assert_true(strncmp(sent, "GET /path?q=1 HTTP/1.1\r\n", 24) == 0);
	(void)snprintf(host, sizeof(host), "Host: 127.0.0.1:%u\r\n", w->port);
	assert_non_null(strstr(sent, host));
	assert_non_null(strstr(sent, "X-One: 1\r\n"));
	assert_non_null(strstr(sent, "X-Empty:\r\n"));
	assert_null(strstr(sent, "Accept"));
	assert_null(strstr(sent, "Content"));
}

static void
test_a_body_is_sent_with_the_type_that_was_given(void **state)
{
	static const struct fetch_header headers[] = { { "Content-Type",
							 "application/json" } };
	struct world *w = *state;
	const char *sent;

	w->answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
	ask(w, &(struct fetch_request){ .method = "POST",
					.url = url_of(w, "http://127.0.0.1"),
					.headers = headers,
					.header_count = 1,
					.body = "{\"a\":1}",
					.body_len = 7 });
	assert_int_equal(w->code, 200);
	assert_int_equal(w->body.len, 0);
	sent = (const char *)w->request.data;
	assert_true(strncmp(sent, "POST /path?q=1 HTTP/1.1\r\n", 25) == 0);
	assert_non_null(strstr(sent, "Content-Type: application/json\r\n"));
	assert_non_null(strstr(sent, "\r\n\r\n{\"a\":1}"));
	assert_null(strstr(sent, "Expect"));
	assert_null(strstr(sent, "urlencoded"));
}

static void
test_every_method_is_sent_as_it_is_called(void **state)
{
	static const struct {
		const char *method;
		const char *body;
	} cases[] = { { "PUT", "x" },
		      { "PUT", NULL },
		      { "PATCH", "[]" },
		      { "DELETE", NULL },
		      { "DELETE", "{}" } };
	struct world *w = *state;

	w->answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const char *body = cases[i].body;
		const char *sent;

		ask(w, &(struct fetch_request){
			       .method = cases[i].method,
			       .url = url_of(w, "http://127.0.0.1"),
			       .body = body,
			       .body_len = body != NULL ? strlen(body) : 0 });
		assert_int_equal(w->code, 200);
		sent = (const char *)w->request.data;
		assert_true(strncmp(sent, cases[i].method,
				    strlen(cases[i].method)) == 0);
		sent = strstr(sent, "\r\n\r\n");
		assert_string_equal(sent + 4, body != NULL ? body : "");
	}
	/* All of them over one connection. */
	assert_int_equal(w->accepted, 1);
}

static void
test_a_port_where_nobody_listens_is_named(void **state)
{
	struct world *w = *state;
	char expected[300];
	const char *url = url_of(w, "http://127.0.0.1");

	loop_io_free(w->listen_io);
	w->listen_io = NULL;
	(void)close(w->listen_fd);
	w->listen_fd = -1;
	ask(w, &(struct fetch_request){ .method = "POST", .url = url });
	assert_int_equal(w->error, FETCH_REFUSED);
	assert_int_equal(w->code, 0);
	(void)snprintf(expected, sizeof(expected),
		       "Post \"%s\": dial tcp 127.0.0.1:%u: connect: "
		       "connection refused",
		       url, w->port);
	assert_string_equal(w->text, expected);
}

static void
test_a_server_that_never_answers_is_given_up(void **state)
{
	struct world *w = *state;
	char expected[300];
	const char *url = url_of(w, "http://127.0.0.1");

	ask(w, &(struct fetch_request){
		       .method = "POST", .url = url, .timeout_ms = 30 });
	assert_int_equal(w->error, FETCH_TIMEOUT);
	(void)snprintf(expected, sizeof(expected),
		       "Post \"%s\": context deadline exceeded", url);
	assert_string_equal(w->text, expected);
	assert_string_equal(w->cause, "context deadline exceeded");
}

static void
test_an_answer_that_does_not_begin_is_given_up(void **state)
{
	struct world *w = *state;

	ask(w, &(struct fetch_request){ .method = "GET",
					.url = url_of(w, "http://127.0.0.1"),
					.head_ms = 30 });
	assert_int_equal(w->error, FETCH_TIMEOUT);
	assert_string_equal(w->cause,
			    "net/http: timeout awaiting response headers");
}

static void
test_a_connection_that_breaks_is_an_error(void **state)
{
	struct world *w = *state;

	w->close_after = true;
	w->answer = "";
	ask(w, &(struct fetch_request){ .method = "GET",
					.url = url_of(w, "http://127.0.0.1") });
	assert_int_equal(w->error, FETCH_OTHER);
	assert_string_equal(w->cause, "EOF");
	w->answer = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf";
	ask(w, &(struct fetch_request){ .method = "GET",
					.url = url_of(w, "http://127.0.0.1") });
	assert_int_equal(w->error, FETCH_OTHER);
	assert_string_equal(w->cause, "unexpected EOF");
}

static void
test_an_answer_that_is_too_large_is_not_kept(void **state)
{
	struct world *w = *state;

	w->answer = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
	ask(w, &(struct fetch_request){ .method = "GET",
					.url = url_of(w, "http://127.0.0.1"),
					.body_max = 4 });
	assert_int_equal(w->error, FETCH_TOO_LARGE);
	ask(w, &(struct fetch_request){ .method = "GET",
					.url = url_of(w, "http://127.0.0.1"),
					.body_max = 5 });
	assert_int_equal(w->error, FETCH_OK);
}

static void
test_headers_without_end_are_refused(void **state)
{
	struct world *w = *state;
	static char answer[FETCH_HEADER_BYTES_MAX + 100];
	size_t n;

	n = (size_t)sprintf(answer, "HTTP/1.1 200 OK\r\n");
	for (int i = 0; i <= FETCH_HEADERS_MAX; i++)
		n += (size_t)sprintf(answer + n, "X-%d: v\r\n", i);
	(void)sprintf(answer + n, "Content-Length: 0\r\n\r\n");
	w->answer = answer;
	ask(w, &(struct fetch_request){ .method = "GET",
					.url = url_of(w, "http://127.0.0.1") });
	assert_int_equal(w->error, FETCH_OTHER);

	n = (size_t)sprintf(answer, "HTTP/1.1 200 OK\r\nX: ");
	memset(answer + n, 'v', FETCH_HEADER_BYTES_MAX);
	(void)sprintf(answer + n + FETCH_HEADER_BYTES_MAX,
		      "\r\nContent-Length: 0\r\n\r\n");
	ask(w, &(struct fetch_request){ .method = "GET",
					.url = url_of(w, "http://127.0.0.1") });
	assert_int_equal(w->error, FETCH_OTHER);
}

static void
test_what_cannot_be_asked_is_reported_all_the_same(void **state)
{
	static const struct fetch_header split[] = { { "X", "1\r\nEvil: 1" } };
	struct world *w = *state;

	w->answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
	ask(w, &(struct fetch_request){ .method = "GET", .url = "no url" });
	assert_int_equal(w->error, FETCH_OTHER);
	assert_true(strncmp(w->text, "Get \"no url\": ", 14) == 0);
	ask(w, &(struct fetch_request){ .method = "GET",
					.url = "file:///etc/passwd" });
	assert_int_equal(w->error, FETCH_OTHER);
	ask(w, &(struct fetch_request){ .method = "GET",
					.url = url_of(w, "http://127.0.0.1"),
					.headers = split,
					.header_count = 1 });
	assert_int_equal(w->error, FETCH_OTHER);
	assert_int_equal(w->accepted, 0);
}

static void
note_head(const struct fetch_result *head, void *arg)
{
	struct world *w = arg;

	w->heads++;
	assert_int_equal(head->code, 200);
	assert_string_equal(fetch_header_of(head, "X"), "y");
}

static void
note_data(const void *data, size_t len, void *arg)
{
	struct world *w = arg;

	w->pieces++;
	assert_int_equal(buf_append(&w->data, data, len), 0);
}

static void
test_a_stream_is_handed_over_as_it_comes(void **state)
{
	struct world *w = *state;

	w->answer = "HTTP/1.1 200 OK\r\nX: y\r\nTransfer-Encoding: chunked"
		    "\r\n\r\n3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n";
	ask(w, &(struct fetch_request){ .method = "GET",
					.url = url_of(w, "http://127.0.0.1"),
					.body_max = 1,
					.on_head = note_head,
					.on_data = note_data });
	assert_int_equal(w->error, FETCH_OK);
	assert_int_equal(w->heads, 1);
	assert_string_equal((char *)w->data.data, "abcdefg");
	assert_int_equal(w->body.len, 0);
}

static void
stop_loop(const void *data, size_t len, void *arg)
{
	struct world *w = arg;

	note_data(data, len, arg);
	fetch_pause(w->fetch, true);
	loop_stop(w->loop);
}

static void
test_a_paused_stream_rests_until_it_goes_on(void **state)
{
	struct world *w = *state;

	w->answer = "HTTP/1.1 200 OK\r\nX: y\r\nTransfer-Encoding: chunked"
		    "\r\n\r\n3\r\nabc\r\n";
	w->fetch = fetch_start(
		w->fetcher,
		&(struct fetch_request){ .method = "GET",
					 .url = url_of(w, "http://127.0.0.1"),
					 .on_data = stop_loop },
		on_done, w);
	loop_run(w->loop);
	assert_int_equal(w->pieces, 1);
	w->answer = "4\r\ndefg\r\n0\r\n\r\n";
	send_answer(w);
	for (int i = 0; i < 100; i++)
		loop_poll(w->loop);
	assert_int_equal(w->pieces, 1);
	assert_false(w->done);
	fetch_pause(w->fetch, false);
	assert_int_equal(w->pieces, 1);
	loop_run(w->loop);
	assert_int_equal(w->pieces, 2);
	fetch_pause(w->fetch, false);
	loop_run(w->loop);
	assert_true(w->done);
	assert_string_equal((char *)w->data.data, "abcdefg");
}

static void
cancel_it(const void *data, size_t len, void *arg)
{
	struct world *w = arg;

	note_data(data, len, arg);
	fetch_cancel(w->fetch);
	fetch_cancel(w->other);
	loop_stop(w->loop);
}

static void
test_a_stream_may_cancel_itself_and_others(void **state)
{
	struct world *w = *state;
	struct fetch_request request = { .method = "GET",
					 .url = url_of(w, "http://127.0.0.1"),
					 .on_data = cancel_it };

	w->answer = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nabc";
	w->fetch = fetch_start(w->fetcher, &request, on_done, w);
	while (w->accepted == 0)
		loop_poll(w->loop);
	w->other = fetch_start(w->fetcher, &request, on_done, w);
	loop_run(w->loop);
	for (int i = 0; i < 100; i++)
		loop_poll(w->loop);
	assert_int_equal(w->pieces, 1);
	assert_false(w->done);
}

static void
test_what_was_cancelled_is_never_reported(void **state)
{
	struct world *w = *state;
	struct fetch_request request = { .method = "GET",
					 .url = url_of(w, "http://127.0.0.1") };

	w->answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
	w->fetch = fetch_start(w->fetcher, &request, on_done, w);
	fetch_cancel(w->fetch);
	fetch_cancel(NULL);
	w->fetch = fetch_start(w->fetcher, &request, on_done, w);
	while (w->accepted == 0)
		loop_poll(w->loop);
	fetch_cancel(w->fetch);
	for (int i = 0; i < 100; i++)
		loop_poll(w->loop);
	assert_false(w->done);
	/* One that is under way when the fetcher goes. */
	w->fetch = fetch_start(w->fetcher, &request, on_done, w);
	loop_poll(w->loop);
}

static void
start_tls(struct world *w)
{
	struct err err;

	assert_int_equal(tls_https_new(
				 &(struct tls_https_pem){
					 .cert = server_pem.cert,
					 .cert_len = server_pem.cert_len,
					 .key = server_pem.key,
					 .key_len = server_pem.key_len,
					 .client_ca = ca.cert,
					 .client_ca_len = ca.cert_len,
					 .name = "test" },
				 &w->tls, &err),
			 0);
	w->answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";
}

static void
test_a_server_is_known_by_its_ca_and_name(void **state)
{
	struct world *w = *state;
	struct fetch_request request = { .method = "GET",
					 .ca_pem = ca.cert,
					 .cert_pem = client_pem.cert,
					 .key_pem = client_pem.key };
	char address[64];

	start_tls(w);
	(void)snprintf(address, sizeof(address), "127.0.0.1:%u", w->port);
	request.url = "https://hook.ns.svc/path";
	request.connect_to = address;
	ask(w, &request);
	assert_string_equal(w->text, "");
	assert_int_equal(w->code, 200);
	assert_string_equal(w->client, "front-proxy");
	assert_non_null(
		strstr((char *)w->request.data, "Host: hook.ns.svc\r\n"));

	request.url = url_of(w, "https://127.0.0.1");
	request.connect_to = NULL;
	ask(w, &request);
	assert_int_equal(w->error, FETCH_TLS);
	assert_string_equal(w->cause,
			    "x509: certificate is not valid for 127.0.0.1");

	request.tls_name = "hook.ns.svc";
	ask(w, &request);
	assert_string_equal(w->text, "");
	assert_non_null(strstr((char *)w->request.data, "Host: 127.0.0.1:"));
}

static void
test_a_server_of_another_ca_is_refused_unless_nobody_cares(void **state)
{
	struct world *w = *state;
	struct fetch_request request = { .method = "POST",
					 .url = url_of(w, "https://127.0.0.1"),
					 .tls_name = "hook.ns.svc",
					 .ca_pem = other_ca.cert };

	start_tls(w);
	ask(w, &request);
	assert_int_equal(w->error, FETCH_TLS);
	assert_string_equal(w->cause,
			    "x509: certificate signed by unknown authority");
	assert_true(strncmp(w->text, "Post \"https://127.0.0.1:", 24) == 0);
	/* The CAs of the system do not know it either. */
	request.ca_pem = NULL;
	ask(w, &request);
	assert_int_equal(w->error, FETCH_TLS);
	request.insecure = true;
	ask(w, &request);
	assert_int_equal(w->code, 200);
	assert_string_equal(w->client, "");
}

static void
test_plain_http_where_tls_is_wanted_is_an_error(void **state)
{
	struct world *w = *state;

	w->answer = "HTTP/1.1 400 Bad Request\r\n\r\n";
	w->close_after = true;
	ask(w, &(struct fetch_request){ .method = "GET",
					.url = url_of(w, "https://127.0.0.1"),
					.timeout_ms = 200 });
	assert_int_not_equal(w->error, FETCH_OK);
}

static int
make_certificates(void **state)
{
	static const char *const names[] = { "hook.ns.svc", NULL };
	struct tls_pki_validity days = tls_pki_days(1);
	struct err err;

	(void)state;
	return tls_pki_make_ca("ca", &days, &ca, &err) |
	       tls_pki_make_ca("other", &days, &other_ca, &err) |
	       tls_pki_make_cert(
		       &ca,
		       &(struct tls_pki_subject){ .common_name = "hook",
						  .names = names,
						  .validity = days,
						  .usage = TLS_PKI_SERVER },
		       &server_pem, &err) |
	       tls_pki_make_cert(
		       &ca,
		       &(struct tls_pki_subject){ .common_name = "front-proxy",
						  .validity = days,
						  .usage = TLS_PKI_CLIENT },
		       &client_pem, &err);
}

static int
drop_certificates(void **state)
{
	(void)state;
	tls_pki_pem_done(&ca);
	tls_pki_pem_done(&other_ca);
	tls_pki_pem_done(&server_pem);
	tls_pki_pem_done(&client_pem);
	return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_an_answer_comes_with_code_headers_and_body),
		TEST(test_a_body_is_sent_with_the_type_that_was_given),
		TEST(test_every_method_is_sent_as_it_is_called),
		TEST(test_a_port_where_nobody_listens_is_named),
		TEST(test_a_server_that_never_answers_is_given_up),
		TEST(test_an_answer_that_does_not_begin_is_given_up),
		TEST(test_a_connection_that_breaks_is_an_error),
		TEST(test_an_answer_that_is_too_large_is_not_kept),
		TEST(test_headers_without_end_are_refused),
		TEST(test_what_cannot_be_asked_is_reported_all_the_same),
		TEST(test_a_stream_is_handed_over_as_it_comes),
		TEST(test_a_paused_stream_rests_until_it_goes_on),
		TEST(test_a_stream_may_cancel_itself_and_others),
		TEST(test_what_was_cancelled_is_never_reported),
		TEST(test_a_server_is_known_by_its_ca_and_name),
		TEST(test_a_server_of_another_ca_is_refused_unless_nobody_cares),
		TEST(test_plain_http_where_tls_is_wanted_is_an_error),
	};

	return cmocka_run_group_tests_name("fetch", tests, make_certificates,
					   drop_certificates);
}
