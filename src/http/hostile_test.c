/* SPDX-License-Identifier: Apache-2.0 */

/* Clients that are slow, greedy, broken or malicious. */

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/array.h"
#include "base/mem.h"
#include "base/test.h"
#include "http/testweb.h"

#define HEADER_BYTES 8192
#define BODY_BYTES 100000

static struct testweb web;
static struct testweb_client client;

static int
set_up(void **state)
{
	static const struct http_limits limits = {
		.connections = 8,
		.header_bytes = HEADER_BYTES,
		.body_bytes = BODY_BYTES,
		.handshake_ms = 400,
		.header_ms = 400,
		.body_ms = 400,
		.idle_ms = 800,
		.write_ms = 400,
	};

	(void)state;
	testweb_start(&web, &limits);
	testweb_connect(&web, &client, NULL);
	return 0;
}

/* Time does not count, only numbers. */
static int
set_up_patient(void **state)
{
	static const struct http_limits limits = { .connections = 8 };

	(void)state;
	testweb_start(&web, &limits);
	testweb_connect(&web, &client, NULL);
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	testweb_disconnect(&client);
	testweb_stop(&web);
	return 0;
}

static const struct http_stats *
stats(void)
{
	return http_server_stats(web.server);
}

/* The server refuses it by itself, and closes. */
static void
check_refused(const char *text, const char *status)
{
	struct testweb_client c;
	uint64_t refused = stats()->refused;

	testweb_connect(&web, &c, NULL);
	testweb_send(&c, text);
	testweb_expect(&c, "HTTP/1.1 ");
	testweb_expect(&c, status);
	testweb_expect(&c, "Connection: close\r\n");
	testweb_expect(&c, "\r\n\r\n");
	testweb_expect(&c, status);
	testweb_expect_end(&c);
	assert_true(c.eof);
	assert_int_equal(stats()->refused, refused + 1);
	assert_int_equal(web.handled, 0);
	testweb_disconnect(&c);
}

static void
test_what_is_no_request_is_refused(void **state)
{
	(void)state;
	check_refused("NONSENSE\r\n\r\n", "400 Bad Request");
	check_refused("GET / HTTP/1.1\r\n\r\n", "400 Bad Request");
	check_refused("GET / HTTP/3.0\r\nHost: h\r\n\r\n",
		      "505 HTTP Version Not Supported");
	check_refused("POST / HTTP/1.1\r\nHost: h\r\n"
		      "Transfer-Encoding: gzip\r\n\r\n",
		      "501 Not Implemented");
	check_refused("POST / HTTP/1.1\r\nHost: h\r\nExpect: x\r\n\r\n",
		      "417 Expectation Failed");
	check_refused("POST / HTTP/1.1\r\nHost: h\r\n"
		      "Transfer-Encoding: chunked\r\n\r\nzz\r\n",
		      "400 Bad Request");
	/* A request smuggled behind the one that is refused is dropped. */
	check_refused("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n"
		      "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
		      "GET /hello HTTP/1.1\r\nHost: h\r\n\r\n",
		      "400 Bad Request");
}

static void
test_heads_are_limited(void **state)
{
	static char text[2 * HEADER_BYTES];
	size_t n;

	(void)state;
	/* Without an end in sight, and with one. */
	n = (size_t)sprintf(text, "GET / HTTP/1.1\r\nHost: h\r\nX: ");
	memset(text + n, 'x', HEADER_BYTES);
	check_refused(text, "431 Request Header Fields Too Large");
	memcpy(text + n + HEADER_BYTES, "\r\n\r\n", 4);
	check_refused(text, "431 Request Header Fields Too Large");
	/* Up to the limit it is fine. */
	memset(text, 0, sizeof(text));
	n = (size_t)sprintf(text, "GET /hello HTTP/1.1\r\nHost: h\r\nX: ");
	memset(text + n, 'x', HEADER_BYTES - n - 4);
	memcpy(text + HEADER_BYTES - 4, "\r\n\r\n", 4);
	testweb_send(&client, text);
	testweb_expect(&client, "hello");
}

static void
test_a_body_over_the_limit_is_answered_by_the_handler(void **state)
{
	static const char *const heads[] = {
		"POST /echo HTTP/1.1\r\nHost: h\r\n"
		"Content-Length: 100001\r\n\r\n",
		"POST /echo HTTP/1.1\r\nHost: h\r\n"
		"Content-Length: 999999999999999999\r\n"
		"Expect: 100-continue\r\n\r\n",
		"POST /echo HTTP/1.1\r\nHost: h\r\n"
		"Transfer-Encoding: chunked\r\n\r\n186a1\r\n",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(heads); i++) {
		struct testweb_client c;

		testweb_connect(&web, &c, NULL);
		testweb_send(&c, heads[i]);
		testweb_expect(&c, "HTTP/1.1 413 Request Entity Too Large\r\n");
		testweb_expect(&c, "Connection: close\r\n");
		testweb_expect(&c, "big");
		testweb_expect_end(&c);
		assert_true(c.eof);
		testweb_disconnect(&c);
	}
	assert_int_equal(web.handled, ARRAY_LEN(heads));
}

static void
test_who_sends_too_much_can_still_read_the_answer(void **state)
{
	char *body = xmalloc0(65536);
	size_t left = 10UL * 1024 * 1024;
	bool sending = true;

	(void)state;
	testweb_send(&client, "POST /echo HTTP/1.1\r\nHost: h\r\n"
			      "Content-Length: 10485760\r\n\r\n");
	/* All of it, before a byte of the answer is read. */
	while (left > 0 && sending) {
		size_t n = left < 65536 ? left : 65536;
		ssize_t sent = testclient_write(client.tls, body, n);

		if (sent > 0)
			left -= (size_t)sent;
		else
			sending = errno == EAGAIN;
		testweb_turn(&web);
	}
	assert_int_equal(left, 0);
	testweb_expect(&client, "HTTP/1.1 413 ");
	testweb_expect(&client, "big");
	free(body);
}

static void
test_a_body_at_the_limit_is_taken(void **state)
{
	char *text = xmalloc0(BODY_BYTES + 200);
	size_t n = (size_t)sprintf(text,
				   "POST /echo HTTP/1.1\r\nHost: h\r\n"
				   "Content-Length: %d\r\n\r\n",
				   BODY_BYTES);

	(void)state;
	memset(text + n, 'b', BODY_BYTES);
	testweb_send(&client, text);
	testweb_expect(&client, "POST /echo  100000 bbbb");
	free(text);
}

static void
test_whoever_says_nothing_is_let_go(void **state)
{
	struct testweb_client half_open;

	(void)state;
	/* Not even TLS. */
	testweb_connect(&web, &half_open, NULL);
	testweb_turn(&web);
	/* TLS, but no request. */
	while (testclient_handshake(client.tls) == -1)
		testweb_turn(&web);
	testweb_expect_end(&client);
	assert_true(client.eof);
	testweb_expect_end(&half_open);
	assert_int_equal(stats()->connections, 0);
	assert_int_equal(web.handled, 0);
	testweb_disconnect(&half_open);
}

static void
test_a_slow_head_is_given_up(void **state)
{
	static const char drip[] = "GET /hello HTTP/1.1\r\nHost: h\r\nX: y";
	uint64_t start = loop_now_ms();
	size_t i = 0;

	(void)state;
	/* A byte every 20 ms is activity, but no request. */
	while (!client.eof && !client.failed && i < sizeof(drip) - 1) {
		if (loop_now_ms() - start >= i * 20)
			i += testweb_send_some(&client, drip + i, 1);
		testweb_turn(&web);
		(void)testweb_receive(&client);
	}
	assert_true(i < sizeof(drip) - 1);
	testweb_expect(&client, "HTTP/1.1 408 Request Timeout\r\n");
	assert_int_equal(web.handled, 0);
}

static void
test_a_slow_body_is_given_up(void **state)
{
	(void)state;
	testweb_send(&client, "POST /echo HTTP/1.1\r\nHost: h\r\n"
			      "Content-Length: 10\r\n\r\nabc");
	testweb_expect(&client, "HTTP/1.1 408 Request Timeout\r\n");
	testweb_expect_end(&client);
	assert_int_equal(web.handled, 0);
}

static void
test_an_idle_connection_is_closed_in_order(void **state)
{
	uint64_t start;

	(void)state;
	testweb_get(&client, "/hello");
	testweb_expect(&client, "hello");
	start = loop_now_ms();
	/* Each request begins the time anew. */
	while (loop_now_ms() - start < 500)
		testweb_turn(&web);
	testweb_get(&client, "/hello");
	testweb_expect(&client, "hello");
	while (loop_now_ms() - start < 1000)
		testweb_turn(&web);
	assert_false(testweb_receive(&client));
	assert_false(client.eof || client.failed);
	testweb_expect_end(&client);
	assert_true(client.eof);
}

static void
test_a_request_may_take_its_time(void **state)
{
	(void)state;
	testweb_get(&client, "/hold");
	testweb_until(&web, &web.held_count, 1);
	testweb_spend(&web, 1000);
	assert_int_equal(web.gone, 0);
	http_reply(web.held[0], 200, NULL, 0, "at last", 7);
	testweb_expect(&client, "at last");
}

/* Sends requests until the server takes no more; how many bytes that were. */
static size_t
flood(struct testweb_client *c)
{
	static const char text[] = "GET /hello HTTP/1.1\r\nHost: h\r\n\r\n";
	char *block = xmalloc0(sizeof(text) * 1000);
	uint64_t last = loop_now_ms();
	size_t len = 1000 * (sizeof(text) - 1);
	size_t sent = 0;
	int room = 65536;

	/* The client's own kernel should not take megabytes. */
	(void)setsockopt(c->fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	for (size_t i = 0; i < 1000; i++)
		memcpy(block + i * (sizeof(text) - 1), text, sizeof(text) - 1);
	while (loop_now_ms() - last < 50 && web.gone == 0) {
		size_t at = sent % len;
		size_t n = testweb_send_some(c, block + at, len - at);

		sent += n;
		if (n > 0)
			last = loop_now_ms();
		testweb_turn(&web);
	}
	free(block);
	return sent;
}

static void
test_input_behind_a_request_stays_in_the_socket(void **state)
{
	size_t before;
	size_t sent;

	(void)state;
	testweb_get(&client, "/hold");
	testweb_until(&web, &web.held_count, 1);
	before = mallinfo2().uordblks + mallinfo2().hblkhd;
	sent = flood(&client);
	assert_true(sent > HTTP_INPUT_MAX);
	assert_true(mallinfo2().uordblks + mallinfo2().hblkhd <
		    before + (size_t)6 * HTTP_INPUT_MAX);
	assert_int_equal(web.handled, 1);
	http_reply(web.held[0], 200, NULL, 0, "", 0);
}

static void
test_a_stream_is_not_for_asking(void **state)
{
	(void)state;
	testweb_get(&client, "/stream");
	testweb_until(&web, &web.held_count, 1);
	/* A little is fine. */
	for (int i = 0; i < 100; i++)
		testweb_get(&client, "/hello");
	http_stream_write(web.held[0], "event", 5);
	testweb_expect(&client, "event");
	(void)flood(&client);
	testweb_until(&web, &web.gone, 1);
	assert_int_equal(web.handled, 1);
	assert_int_equal(stats()->connections, 0);
}

static void
test_what_was_flooded_is_answered_in_the_end(void **state)
{
	size_t sent;

	(void)state;
	testweb_get(&client, "/hold");
	testweb_until(&web, &web.held_count, 1);
	sent = flood(&client);
	http_reply(web.held[0], 200, NULL, 0, "first", 5);
	testweb_expect(&client, "first");
	/* Only whole requests count; the last may have been cut. */
	for (size_t i = 0; i < sent / 36 - 1; i++)
		testweb_expect(&client, "hello");
}

static void
test_who_asks_and_never_reads_is_not_served_for_ever(void **state)
{
	static const char text[] = "GET /large HTTP/1.1\r\nHost: h\r\n\r\n";
	unsigned sent = 0;

	(void)state;
	while (sent < 2000 &&
	       testweb_send_some(&client, text, sizeof(text) - 1) > 0)
		sent++;
	testweb_spend(&web, 100);
	while (sent < 2000 &&
	       testweb_send_some(&client, text, sizeof(text) - 1) > 0)
		sent++;
	/* A megabyte each: without a bound that would be two gigabytes. */
	assert_true(sent > 100);
	testweb_spend(&web, 50);
	assert_in_range(web.handled, 1, 30);
	while (stats()->connections > 0)
		testweb_turn(&web);
}

static void
test_plain_http_is_told_so(void **state)
{
	static const char request[] = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";
	char answer[200] = "";
	size_t len = 0;
	ssize_t n;

	(void)state;
	assert_int_equal(send(client.fd, request, sizeof(request) - 1, 0),
			 sizeof(request) - 1);
	while ((n = recv(client.fd, answer + len, sizeof(answer) - 1 - len,
			 0)) != 0) {
		if (n > 0)
			len += (size_t)n;
		testweb_turn(&web);
	}
	assert_string_equal(answer, "HTTP/1.0 400 Bad Request\r\n\r\nClient "
				    "sent an HTTP request to an HTTPS "
				    "server.\n");
	assert_int_equal(stats()->tls_failed, 1);
}

static void
test_junk_instead_of_tls_ends_the_connection(void **state)
{
	(void)state;
	assert_int_equal(send(client.fd, "\x80junk junk junk", 15, 0), 15);
	testweb_expect_end(&client);
	assert_int_equal(stats()->tls_failed, 1);
	assert_int_equal(stats()->connections, 0);
}

static void
test_the_longest_idle_makes_room(void **state)
{
	struct testweb_client many[8];

	(void)state;
	testweb_get(&client, "/hello");
	testweb_expect(&client, "hello");
	for (int i = 0; i < 8; i++) {
		testweb_connect(&web, &many[i], NULL);
		testweb_get(&many[i], "/hello");
		testweb_expect(&many[i], "hello");
	}
	testweb_expect_end(&client);
	assert_true(client.eof);
	assert_int_equal(stats()->evicted, 1);
	assert_int_equal(stats()->connections, 8);
	testweb_get(&many[0], "/hello");
	testweb_expect(&many[0], "hello");
	for (int i = 0; i < 8; i++)
		testweb_disconnect(&many[i]);
}

static void
test_without_idle_ones_newcomers_wait(void **state)
{
	struct testweb_client many[8];

	(void)state;
	for (int i = 0; i < 8; i++) {
		if (i > 0)
			testweb_connect(&web, &many[i], NULL);
		testweb_get(i > 0 ? &many[i] : &client, "/hold");
	}
	testweb_until(&web, &web.held_count, 8);
	testweb_connect(&web, &many[0], NULL);
	testweb_spend(&web, 50);
	assert_int_equal(stats()->connections, 8);
	assert_int_equal(stats()->evicted, 0);
	assert_int_equal(stats()->accepted, 8);
	/* The first that becomes idle goes. */
	http_reply(web.held[3], 200, NULL, 0, "x", 1);
	web.held[3] = NULL;
	testweb_disconnect(&many[3]);
	testweb_get(&many[0], "/hello");
	testweb_expect(&many[0], "hello");
	for (int i = 0; i < 8; i++) {
		if (web.held[i] != NULL)
			http_stream_abort(web.held[i]);
		if (i != 3)
			testweb_disconnect(&many[i]);
	}
}

static void
test_half_open_connections_make_room(void **state)
{
	struct testweb_client many[7];
	struct testweb_client ninth;

	(void)state;
	for (int i = 0; i < 7; i++)
		testweb_connect(&web, &many[i], NULL);
	while (stats()->connections < 8)
		testweb_turn(&web);
	/* All eight never begin their handshake; a ninth gets in. */
	testweb_connect(&web, &ninth, NULL);
	testweb_get(&ninth, "/hello");
	testweb_expect(&ninth, "hello");
	assert_int_equal(stats()->evicted, 1);
	testweb_disconnect(&ninth);
	for (int i = 0; i < 7; i++)
		testweb_disconnect(&many[i]);
}

static void
test_clients_come_and_go_at_any_moment(void **state)
{
	static const char text[] = "POST /echo HTTP/1.1\r\nHost: h\r\n"
				   "Transfer-Encoding: chunked\r\n\r\n"
				   "3\r\nabc\r\n0\r\n\r\n"
				   "GET /stream HTTP/1.1\r\nHost: h\r\n\r\n";

	(void)state;
	for (size_t n = 0; n < sizeof(text); n++) {
		struct testweb_client c;
		size_t sent = 0;

		testweb_connect(&web, &c, NULL);
		while (sent < n) {
			sent += testweb_send_some(&c, text + sent, n - sent);
			testweb_turn(&web);
		}
		testweb_disconnect(&c);
		testweb_turn(&web);
	}
	testweb_disconnect(&client);
	testweb_spend(&web, 20);
	assert_int_equal(stats()->connections, 0);
	assert_int_equal(stats()->answering, 0);
	testweb_connect(&web, &client, NULL);
	testweb_get(&client, "/hello");
	testweb_expect(&client, "hello");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#define TEST_PATIENT(name) \
	cmocka_unit_test_setup_teardown(name, set_up_patient, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_what_is_no_request_is_refused),
		TEST(test_heads_are_limited),
		TEST(test_a_body_over_the_limit_is_answered_by_the_handler),
		TEST(test_who_sends_too_much_can_still_read_the_answer),
		TEST(test_a_body_at_the_limit_is_taken),
		TEST(test_whoever_says_nothing_is_let_go),
		TEST(test_a_slow_head_is_given_up),
		TEST(test_a_slow_body_is_given_up),
		TEST(test_an_idle_connection_is_closed_in_order),
		TEST(test_a_request_may_take_its_time),
		TEST(test_input_behind_a_request_stays_in_the_socket),
		TEST(test_a_stream_is_not_for_asking),
		TEST_PATIENT(test_what_was_flooded_is_answered_in_the_end),
		TEST(test_who_asks_and_never_reads_is_not_served_for_ever),
		TEST(test_plain_http_is_told_so),
		TEST(test_junk_instead_of_tls_ends_the_connection),
		TEST_PATIENT(test_the_longest_idle_makes_room),
		TEST_PATIENT(test_without_idle_ones_newcomers_wait),
		TEST_PATIENT(test_half_open_connections_make_room),
		TEST(test_clients_come_and_go_at_any_moment),
	};

	return cmocka_run_group_tests_name("hostile", tests, NULL, NULL);
}
