/* SPDX-License-Identifier: Apache-2.0 */
#include "http/server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/test.h"
#include "http/testweb.h"

static struct testweb web;
static struct testweb_client client;

static int
set_up(void **state)
{
	(void)state;
	testweb_start(&web, NULL);
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

static void
test_a_request_is_handed_over_and_answered(void **state)
{
	(void)state;
	testweb_send(&client, "POST /echo?a=b HTTP/1.1\r\nHost: h\r\n"
			      "Content-Length: 4\r\n\r\nbody");
	testweb_expect(&client, "HTTP/1.1 200 OK\r\nDate: ");
	testweb_expect(&client, " GMT\r\n");
	testweb_expect(&client, "Content-Type: text/plain\r\n");
	testweb_expect(&client, "Content-Length: 21\r\n\r\n");
	testweb_expect(&client, "POST /echo a=b 4 body");
	assert_int_equal(client.in.len, 0);
	assert_int_equal(http_server_stats(web.server)->requests, 1);
	assert_int_equal(http_server_stats(web.server)->connections, 1);
	assert_int_equal(http_server_stats(web.server)->answering, 0);
}

static void
test_a_connection_serves_many_requests(void **state)
{
	(void)state;
	for (int i = 0; i < 100; i++) {
		testweb_get(&client, "/hello");
		testweb_expect(&client, "\r\n\r\nhello");
	}
	assert_int_equal(http_server_stats(web.server)->accepted, 1);
	testweb_send(&client, "GET /hello HTTP/1.1\r\nHost: h\r\n"
			      "Connection: close\r\n\r\n");
	testweb_expect(&client, "Connection: close\r\n");
	testweb_expect(&client, "hello");
	testweb_expect_end(&client);
	assert_true(client.eof);
}

static void
test_requests_that_come_together_are_answered_in_order(void **state)
{
	char *all = xmalloc0(100000);
	size_t n = 0;

	(void)state;
	for (int i = 0; i < 500; i++)
		n += (size_t)sprintf(all + n,
				     "POST /echo?%d HTTP/1.1\r\nHost: h\r\n"
				     "Content-Length: 3\r\n\r\nabc",
				     i);
	testweb_send(&client, all);
	for (int i = 0; i < 500; i++) {
		char text[40];

		(void)snprintf(text, sizeof(text), "POST /echo %d 3 abc", i);
		testweb_expect(&client, text);
	}
	assert_int_equal(client.in.len, 0);
	free(all);
}

static void
test_a_later_answer_lets_the_next_request_in(void **state)
{
	(void)state;
	testweb_send(&client, "GET /hold HTTP/1.1\r\nHost: h\r\n\r\n"
			      "GET /hello HTTP/1.1\r\nHost: h\r\n\r\n");
	testweb_until(&web, &web.held_count, 1);
	testweb_spend(&web, 20);
	assert_int_equal(web.handled, 1);
	assert_int_equal(http_server_stats(web.server)->answering, 1);
	http_reply(web.held[0], 201, NULL, 0, "late", 4);
	testweb_expect(&client, "201 Created");
	testweb_expect(&client, "\r\n\r\nlate");
	testweb_expect(&client, "\r\n\r\nhello");
	assert_int_equal(web.gone, 0);
}

static void
test_head_has_the_length_and_no_body(void **state)
{
	(void)state;
	testweb_send(&client, "HEAD /hello HTTP/1.1\r\nHost: h\r\n\r\n"
			      "HEAD /taken HTTP/1.1\r\nHost: h\r\n\r\n"
			      "GET /hello HTTP/1.1\r\nHost: h\r\n\r\n");
	testweb_expect(&client, "Content-Length: 5\r\n\r\n");
	testweb_expect(&client, "HTTP/1.1 200 OK\r\n");
	testweb_expect(&client, "Content-Length: 1048576\r\n\r\n");
	testweb_expect(&client, "HTTP/1.1 200 OK\r\n");
	testweb_expect(&client, "Content-Length: 5\r\n\r\nhello");
	assert_int_equal(client.in.len, 0);
}

static void
test_no_content_has_no_body(void **state)
{
	(void)state;
	testweb_get(&client, "/empty");
	testweb_expect(&client, "HTTP/1.1 204 No Content\r\n");
	testweb_get(&client, "/hello");
	testweb_expect(&client, "\r\n\r\nHTTP/1.1 200 OK");
}

static void
test_a_large_answer_arrives_whole(void **state)
{
	static const char *const paths[] = { "/large", "/taken" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		testweb_get(&client, paths[i]);
		testweb_expect(&client, "Content-Length: 1048576\r\n\r\n");
		while (client.in.len < TESTWEB_LARGE) {
			testweb_turn(&web);
			(void)testweb_receive(&client);
		}
		assert_int_equal(client.in.len, TESTWEB_LARGE);
		for (size_t k = 0; k < client.in.len; k++)
			assert_int_equal(client.in.data[k], 'l');
		buf_clear(&client.in);
	}
	testweb_get(&client, "/hello");
	testweb_expect(&client, "hello");
}

static void
test_a_chunked_body_is_put_together(void **state)
{
	(void)state;
	testweb_send(&client, "POST /echo HTTP/1.1\r\nHost: h\r\n"
			      "Transfer-Encoding: chunked\r\n\r\n"
			      "3\r\nabc\r\n");
	testweb_send(&client, "2;x\r\nde\r\n0\r\nTrailer: t\r\n\r\n"
			      "GET /hello HTTP/1.1\r\nHost: h\r\n\r\n");
	testweb_expect(&client, "POST /echo  5 abcde");
	testweb_expect(&client, "hello");
}

static void
test_a_client_that_waits_is_told_to_continue(void **state)
{
	(void)state;
	testweb_send(&client, "POST /echo HTTP/1.1\r\nHost: h\r\n"
			      "Content-Length: 3\r\n"
			      "Expect: 100-continue\r\n\r\n");
	testweb_expect(&client, "HTTP/1.1 100 Continue\r\n\r\n");
	assert_int_equal(web.handled, 0);
	testweb_send(&client, "abc");
	testweb_expect(&client, "POST /echo  3 abc");
	/* Nobody waits when the body is there already. */
	testweb_send(&client, "POST /echo HTTP/1.1\r\nHost: h\r\n"
			      "Content-Length: 3\r\n"
			      "Expect: 100-continue\r\n\r\nabc");
	testweb_expect(&client, "HTTP/1.1 200 OK");
	testweb_expect(&client, "POST /echo  3 abc");
}

static void
test_an_old_client_gets_its_answer_and_the_end(void **state)
{
	(void)state;
	testweb_send(&client, "GET /hello HTTP/1.0\r\n\r\n");
	testweb_expect(&client, "Connection: close\r\n");
	testweb_expect(&client, "hello");
	testweb_expect_end(&client);
	testweb_disconnect(&client);
	testweb_connect(&web, &client, NULL);
	testweb_send(&client, "GET /hello HTTP/1.0\r\n"
			      "Connection: keep-alive\r\n\r\n");
	testweb_expect(&client, "Connection: keep-alive\r\n");
	testweb_expect(&client, "hello");
	testweb_get(&client, "/hello");
	testweb_expect(&client, "hello");
}

static void
test_a_header_cannot_become_two(void **state)
{
	(void)state;
	testweb_get(&client, "/split");
	testweb_expect(&client, "\r\nX-C: 3\r\n");
	testweb_expect(&client, "\r\n\r\n");
	testweb_get(&client, "/split");
	while (client.in.len < 40) {
		testweb_turn(&web);
		(void)testweb_receive(&client);
	}
	assert_null(strstr((char *)client.in.data, "Evil"));
}

static void
test_headers_are_found_without_regard_to_case(void **state)
{
	(void)state;
	testweb_send(&client, "GET /hold HTTP/1.1\r\nHost: h\r\nX-One: 1\r\n"
			      "x-one: 2\r\n\r\n");
	testweb_until(&web, &web.held_count, 1);
	assert_string_equal(http_header(web.held[0], "x-ONE"), "1");
	assert_null(http_header(web.held[0], "X-Two"));
	assert_int_equal(web.held[0]->header_count, 3);
	assert_string_equal(web.held[0]->headers[2].value, "2");
	assert_true(strncmp(web.held[0]->remote, "127.0.0.1:", 10) == 0);
	http_reply(web.held[0], 200, NULL, 0, NULL, 0);
	testweb_expect(&client, "Content-Length: 0\r\n\r\n");
}

static void
ask_peer(const struct testclient_config *config, const char *expected)
{
	struct testweb_client c;

	testweb_connect(&web, &c, config);
	testweb_get(&c, "/peer");
	testweb_expect(&c, "\r\n\r\n");
	testweb_expect(&c, expected);
	assert_int_equal(c.in.len, 0);
	testweb_disconnect(&c);
}

static void
test_a_client_is_known_by_its_certificate(void **state)
{
	static const char *const groups[] = { "system:masters", "ops", NULL };
	struct tls_pki_validity days = tls_pki_days(1);
	struct tls_pki_pem alice = { 0 };
	struct tls_pki_pem other_ca = { 0 };
	struct tls_pki_pem mallory = { 0 };
	struct err err;

	(void)state;
	testweb_cert(&web, "alice", groups, &alice);
	assert_int_equal(tls_pki_make_ca("ca", &days, &other_ca, &err), 0);
	assert_int_equal(tls_pki_make_cert(&other_ca,
					   &(struct tls_pki_subject){
						   .common_name = "alice",
						   .organizations = groups,
						   .validity = days },
					   &mallory, &err),
			 0);
	/* The second time the chain is remembered. */
	for (int i = 0; i < 2; i++)
		ask_peer(&(struct testclient_config){ .ca = &web.ca,
						      .cert = &alice },
			 "1 'alice' system:masters ops");
	ask_peer(&(struct testclient_config){ .cert = &alice, .tls12 = true },
		 "1 'alice' system:masters ops");
	ask_peer(&(struct testclient_config){ .cert = &mallory }, "0 ''");
	/* A server's certificate is not meant for clients. */
	ask_peer(&(struct testclient_config){ .cert = &web.cert }, "0 ''");
	ask_peer(&(struct testclient_config){ 0 }, "0 ''");
	tls_pki_pem_done(&alice);
	tls_pki_pem_done(&mallory);
	tls_pki_pem_done(&other_ca);
}

static void
test_a_certificate_counts_until_it_expires(void **state)
{
	struct tls_pki_subject subject = { .common_name = "brief",
					   .usage = TLS_PKI_CLIENT };
	struct tls_pki_pem brief = { 0 };
	struct testweb_client c;
	struct err err;
	time_t end = time(NULL) + 2;

	(void)state;
	subject.validity = (struct tls_pki_validity){ end - 100, end };
	assert_int_equal(tls_pki_make_cert(&web.ca, &subject, &brief, &err), 0);
	testweb_connect(&web, &c,
			&(struct testclient_config){ .cert = &brief });
	testweb_get(&c, "/peer");
	testweb_expect(&c, "1 'brief'");
	while (time(NULL) <= end)
		testweb_turn(&web);
	testweb_get(&c, "/peer");
	testweb_expect(&c, "0 ''");
	testweb_disconnect(&c);
	tls_pki_pem_done(&brief);
}

static void
test_only_http_1_1_is_agreed_on(void **state)
{
	struct testweb_client c;
	char text[40];

	(void)state;
	testweb_connect(&web, &c,
			&(struct testclient_config){ .alpn = "http/1.1" });
	testweb_get(&c, "/hello");
	testweb_expect(&c, "hello");
	assert_string_equal(testclient_alpn(c.tls, text, sizeof(text)),
			    "http/1.1");
	assert_string_equal(testclient_version(c.tls), "TLSv1.3");
	testweb_disconnect(&c);
	testweb_connect(&web, &c, &(struct testclient_config){ .alpn = "h2" });
	testweb_expect_end(&c);
	assert_true(c.failed);
	testweb_disconnect(&c);
}

static void
test_new_credentials_are_for_new_connections(void **state)
{
	struct tls_pki_subject subject = { .common_name = "renewed",
					   .validity = tls_pki_days(1),
					   .usage = TLS_PKI_SERVER };
	struct tls_pki_pem cert = { 0 };
	struct testweb_client c;
	struct tls_https *tls;
	struct err err;
	char text[40];

	(void)state;
	testweb_get(&client, "/hello");
	testweb_expect(&client, "hello");
	assert_int_equal(tls_pki_make_cert(&web.ca, &subject, &cert, &err), 0);
	tls = testweb_tls(&web, &cert);
	http_server_set_tls(web.server, tls);
	tls_https_unref(tls);
	testweb_connect(&web, &c, &(struct testclient_config){ .ca = &web.ca });
	testweb_get(&c, "/hello");
	testweb_expect(&c, "hello");
	assert_string_equal(testclient_server(c.tls, text, sizeof(text)),
			    "renewed");
	testweb_get(&client, "/hello");
	testweb_expect(&client, "hello");
	assert_string_equal(testclient_server(client.tls, text, sizeof(text)),
			    "server");
	testweb_disconnect(&c);
	tls_pki_pem_done(&cert);
}

static void
count(void *arg)
{
	unsigned *counter = arg;

	(*counter)++;
}

static void
test_draining_ends_what_is_idle_and_lets_the_rest_finish(void **state)
{
	struct testweb_client idle;

	(void)state;
	testweb_connect(&web, &idle, NULL);
	testweb_get(&idle, "/hello");
	testweb_expect(&idle, "hello");
	testweb_get(&client, "/hold");
	testweb_until(&web, &web.held_count, 1);
	http_server_drain(web.server, count, &web.drained);
	testweb_expect_end(&idle);
	assert_true(idle.eof);
	testweb_spend(&web, 20);
	assert_int_equal(web.drained, 0);
	http_reply(web.held[0], 200, NULL, 0, "done", 4);
	testweb_expect(&client, "Connection: close\r\n");
	testweb_expect(&client, "done");
	testweb_expect_end(&client);
	testweb_disconnect(&client);
	testweb_until(&web, &web.drained, 1);
	testweb_spend(&web, 20);
	assert_int_equal(web.drained, 1);
	assert_int_equal(http_server_stats(web.server)->connections, 0);
	testweb_disconnect(&idle);
}

/* Until the server has that many connections. */
static void
wait_accepted(uint64_t count)
{
	while (http_server_stats(web.server)->accepted < count)
		testweb_turn(&web);
}

static void
test_draining_answers_who_has_just_come(void **state)
{
	struct testweb_client shaken;

	(void)state;
	/* One is in its handshake, one behind it; neither has asked. */
	testweb_connect(&web, &shaken, NULL);
	wait_accepted(2);
	while (testclient_handshake(shaken.tls) == -1)
		testweb_turn(&web);
	http_server_drain(web.server, count, &web.drained);
	testweb_spend(&web, 20);
	assert_int_equal(web.drained, 0);
	testweb_get(&client, "/hello");
	testweb_expect(&client, "Connection: close\r\n");
	testweb_expect(&client, "hello");
	testweb_expect_end(&client);
	testweb_get(&shaken, "/hello");
	testweb_expect(&shaken, "Connection: close\r\n");
	testweb_expect(&shaken, "hello");
	testweb_expect_end(&shaken);
	testweb_disconnect(&shaken);
	testweb_disconnect(&client);
	testweb_until(&web, &web.drained, 1);
}

static void
test_draining_does_not_wait_for_who_says_nothing(void **state)
{
	const struct http_limits hasty = { .header_ms = 50 };

	(void)state;
	testweb_disconnect(&client);
	testweb_stop(&web);
	testweb_start(&web, &hasty);
	testweb_connect(&web, &client, NULL);
	wait_accepted(1);
	http_server_drain(web.server, count, &web.drained);
	testweb_until(&web, &web.drained, 1);
	assert_int_equal(http_server_stats(web.server)->connections, 0);
}

static void
test_draining_an_idle_server_is_done_at_once(void **state)
{
	(void)state;
	testweb_disconnect(&client);
	testweb_spend(&web, 10);
	http_server_drain(web.server, count, &web.drained);
	assert_int_equal(web.drained, 0);
	testweb_until(&web, &web.drained, 1);
}

static void
test_a_request_outlives_its_server(void **state)
{
	(void)state;
	web.let_go = false;
	testweb_get(&client, "/hold");
	testweb_until(&web, &web.held_count, 1);
	http_server_free(web.server);
	web.server = NULL;
	assert_int_equal(web.gone, 1);
	assert_string_equal(web.held[0]->path, "/hold");
	assert_string_equal(web.held[0]->peer->common_name, "");
	assert_true(http_is_gone(web.held[0]));
	http_reply(web.held[0], 200, NULL, 0, "late", 4);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_request_is_handed_over_and_answered),
		TEST(test_a_connection_serves_many_requests),
		TEST(test_requests_that_come_together_are_answered_in_order),
		TEST(test_a_later_answer_lets_the_next_request_in),
		TEST(test_head_has_the_length_and_no_body),
		TEST(test_no_content_has_no_body),
		TEST(test_a_large_answer_arrives_whole),
		TEST(test_a_chunked_body_is_put_together),
		TEST(test_a_client_that_waits_is_told_to_continue),
		TEST(test_an_old_client_gets_its_answer_and_the_end),
		TEST(test_a_header_cannot_become_two),
		TEST(test_headers_are_found_without_regard_to_case),
		TEST(test_a_client_is_known_by_its_certificate),
		TEST(test_a_certificate_counts_until_it_expires),
		TEST(test_only_http_1_1_is_agreed_on),
		TEST(test_new_credentials_are_for_new_connections),
		TEST(test_draining_ends_what_is_idle_and_lets_the_rest_finish),
		TEST(test_draining_answers_who_has_just_come),
		TEST(test_draining_does_not_wait_for_who_says_nothing),
		TEST(test_draining_an_idle_server_is_done_at_once),
		TEST(test_a_request_outlives_its_server),
	};

	return cmocka_run_group_tests_name("server", tests, NULL, NULL);
}
