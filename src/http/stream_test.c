/* SPDX-License-Identifier: Apache-2.0 */

/* Answers of unknown length: http_stream_...(), and clients that go away. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/array.h"
#include "base/mem.h"
#include "base/test.h"
#include "http/testweb.h"

/* More than socket buffers of both sides take on any system. */
#define FLOOD (24UL * 1024 * 1024)

static struct testweb web;
static struct testweb_client client;

static int
set_up(void **state)
{
	static const struct http_limits limits = { .write_ms = 500 };

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

/* Asks for a path that is held, and returns the request. */
static struct http_request *
ask(const char *path)
{
	unsigned before = web.held_count;

	testweb_get(&client, path);
	testweb_until(&web, &web.held_count, before + 1);
	return web.held[before];
}

static void
test_the_head_is_sent_before_anything_is_written(void **state)
{
	struct http_request *req = ask("/stream");

	(void)state;
	testweb_expect(&client, "HTTP/1.1 200 OK\r\n");
	testweb_expect(&client, "Transfer-Encoding: chunked\r\n\r\n");
	assert_int_equal(client.in.len, 0);
	http_stream_end(req);
	testweb_expect(&client, "0\r\n\r\n");
	testweb_get(&client, "/hello");
	testweb_expect(&client, "hello");
}

static void
test_writes_arrive_in_order(void **state)
{
	struct http_request *req = ask("/stream");
	char text[20];

	(void)state;
	testweb_expect(&client, "\r\n\r\n");
	for (int i = 0; i < 100; i++) {
		int n = snprintf(text, sizeof(text), "event %d\n", i);

		http_stream_write(req, text, (size_t)n);
		http_stream_write(req, "", 0);
		if (i % 3 == 0)
			testweb_turn(&web);
	}
	for (int i = 0; i < 100; i++) {
		(void)snprintf(text, sizeof(text), "\r\nevent %d\n\r\n", i);
		testweb_expect(&client, text);
	}
	http_stream_end(req);
	testweb_expect(&client, "0\r\n\r\n");
	assert_int_equal(client.in.len, 0);
}

static void
test_small_writes_share_records(void **state)
{
	struct http_request *req = ask("/stream");
	unsigned before;

	(void)state;
	testweb_expect(&client, "\r\n\r\n");
	before = client.records;
	for (int i = 0; i < 1000; i++)
		http_stream_write(req, "123456", 6);
	http_stream_write(req, "end", 3);
	testweb_expect(&client, "end");
	assert_int_equal(client.records - before, 1);
	http_stream_end(req);
}

static void
test_many_turns_of_writes_share_records_too(void **state)
{
	struct http_request *req = ask("/stream");
	uint64_t start = loop_now_ms();
	unsigned before;
	unsigned turns = 0;

	(void)state;
	testweb_expect(&client, "\r\n\r\n");
	before = client.records;
	while (loop_now_ms() - start < 100) {
		http_stream_write(req, "123456", 6);
		testweb_turn(&web);
		(void)testweb_receive(&client);
		turns++;
	}
	assert_true(turns > 1000);
	assert_in_range(client.records - before, 1, turns / 20);
	http_stream_end(req);
}

static void
count_drain(struct http_request *req, void *arg)
{
	unsigned *calls = arg;

	(void)req;
	(*calls)++;
}

static void
test_the_writer_learns_when_there_is_room_again(void **state)
{
	struct http_request *req = ask("/stream");
	char *piece = xmalloc0(65536);
	unsigned calls = 0;
	size_t written = 0;

	(void)state;
	while (written < FLOOD && http_stream_backlog(req) < 1024 * 1024) {
		http_stream_write(req, piece, 65536);
		written += 65536;
	}
	assert_true(http_stream_backlog(req) >= 1024 * 1024);
	http_stream_on_drain(req, 1000, count_drain, &calls);
	testweb_spend(&web, 20);
	assert_int_equal(calls, 0);
	while (calls == 0) {
		testweb_turn(&web);
		(void)testweb_receive(&client);
	}
	assert_true(http_stream_backlog(req) <= 1000);
	testweb_spend(&web, 20);
	assert_int_equal(calls, 1);
	/* Where there is room already it comes as well, but not from within. */
	http_stream_on_drain(req, 1000, count_drain, &calls);
	assert_int_equal(calls, 1);
	testweb_until(&web, &calls, 2);
	http_stream_on_drain(req, 1000, count_drain, &calls);
	http_stream_on_drain(req, 0, NULL, NULL);
	testweb_spend(&web, 20);
	assert_int_equal(calls, 2);
	http_stream_end(req);
	free(piece);
}

static void
test_a_client_that_takes_nothing_is_cut_off(void **state)
{
	struct http_request *req = ask("/stream");
	char *piece = xmalloc0(1024 * 1024);

	(void)state;
	for (size_t n = 0; n < FLOOD; n += 1024 * 1024)
		http_stream_write(req, piece, 1024 * 1024);
	testweb_until(&web, &web.gone, 1);
	assert_int_equal(http_server_stats(web.server)->connections, 0);
	free(piece);
}

static void
test_a_client_that_takes_little_is_not_cut_off(void **state)
{
	struct http_request *req = ask("/stream");
	char *piece = xmalloc0(1024 * 1024);
	uint64_t start;
	uint64_t last;

	(void)state;
	for (size_t n = 0; n < FLOOD; n += 1024 * 1024)
		http_stream_write(req, piece, 1024 * 1024);
	start = last = loop_now_ms();
	/* Twice the patience of the server, with a little every 20 ms. */
	while (loop_now_ms() - start < 1000) {
		testweb_turn(&web);
		if (loop_now_ms() - last < 20)
			continue;
		last = loop_now_ms();
		for (int i = 0; i < 20; i++)
			(void)testweb_receive(&client);
	}
	assert_true(http_stream_backlog(req) > 0);
	assert_int_equal(web.gone, 0);
	http_stream_abort(req);
	free(piece);
}

static void
test_a_client_that_closes_is_noticed_at_once(void **state)
{
	(void)state;
	(void)ask("/hold");
	testweb_disconnect(&client);
	testweb_until(&web, &web.gone, 1);
	assert_int_equal(http_server_stats(web.server)->connections, 0);

	testweb_connect(&web, &client, NULL);
	(void)ask("/stream");
	testweb_disconnect(&client);
	testweb_until(&web, &web.gone, 2);

	testweb_connect(&web, &client, NULL);
	http_stream_write(ask("/stream"), "x", 1);
	testweb_expect(&client, "x");
	testclient_close_notify(client.tls);
	testweb_until(&web, &web.gone, 3);
	assert_int_equal(http_server_stats(web.server)->answering, 0);
}

static void
test_a_request_stays_valid_when_its_client_is_gone(void **state)
{
	struct http_request *held;
	struct http_request *stream;

	(void)state;
	web.let_go = false;
	held = ask("/hold");
	testweb_disconnect(&client);
	testweb_until(&web, &web.gone, 1);
	testweb_connect(&web, &client, NULL);
	stream = ask("/stream");
	testweb_disconnect(&client);
	testweb_until(&web, &web.gone, 2);

	assert_true(http_is_gone(held));
	assert_string_equal(held->path, "/hold");
	assert_string_equal(held->peer->common_name, "");
	http_reply(held, 200, NULL, 0, "late", 4);
	http_stream_write(stream, "late", 4);
	http_stream_on_drain(stream, 0, count_drain, NULL);
	assert_int_equal(http_stream_backlog(stream), 0);
	testweb_spend(&web, 10);
	http_stream_end(stream);
	assert_int_equal(web.gone, 2);
}

static void
test_a_stream_that_is_cut_does_not_look_complete(void **state)
{
	struct http_request *req = ask("/stream");

	(void)state;
	http_stream_write(req, "half", 4);
	testweb_expect(&client, "half\r\n");
	http_stream_abort(req);
	testweb_expect_end(&client);
	assert_true(client.failed);
	assert_int_equal(client.in.len, 0);
	assert_int_equal(web.gone, 0);

	/* A request that was never answered, too. */
	testweb_disconnect(&client);
	testweb_connect(&web, &client, NULL);
	http_stream_abort(ask("/hold"));
	testweb_expect_end(&client);
	assert_true(client.failed);
}

static void
test_the_head_alone_answers_head(void **state)
{
	(void)state;
	testweb_send(&client, "HEAD /stream HTTP/1.1\r\nHost: h\r\n\r\n");
	testweb_until(&web, &web.held_count, 1);
	http_stream_write(web.held[0], "body", 4);
	http_stream_end(web.held[0]);
	testweb_get(&client, "/hello");
	testweb_expect(&client, "chunked\r\n\r\nHTTP/1.1 200 OK");
	testweb_expect(&client, "hello");
}

static void
test_an_old_client_gets_a_stream_without_chunks(void **state)
{
	(void)state;
	testweb_send(&client, "GET /stream HTTP/1.0\r\n"
			      "Connection: keep-alive\r\n\r\n");
	testweb_until(&web, &web.held_count, 1);
	http_stream_write(web.held[0], "one", 3);
	http_stream_write(web.held[0], "two", 3);
	http_stream_end(web.held[0]);
	testweb_expect(&client, "Connection: close\r\n");
	testweb_expect(&client, "\r\nonetwo");
	testweb_expect_end(&client);
	assert_true(client.eof);
	assert_int_equal(client.in.len, 0);
}

static void test_a_drain_callback_may_end_the_stream(void **state);

static void
end_it(struct http_request *req, void *arg)
{
	unsigned *calls = arg;

	(*calls)++;
	http_stream_write(req, "bye", 3);
	http_stream_end(req);
}

static void
test_a_drain_callback_may_end_the_stream(void **state)
{
	struct http_request *req = ask("/stream");
	unsigned calls = 0;

	(void)state;
	http_stream_on_drain(req, 1000, end_it, &calls);
	testweb_expect(&client, "bye\r\n0\r\n\r\n");
	assert_int_equal(calls, 1);
	testweb_get(&client, "/hello");
	testweb_expect(&client, "hello");
}

/* A writer that has always more to say. */
static void
write_on(struct http_request *req, void *arg)
{
	count_drain(req, arg);
	http_stream_write(req, "x", 1);
	http_stream_on_drain(req, 1000, write_on, arg);
}

static void
test_a_stream_gets_one_go_in_a_turn(void **state)
{
	struct testweb_client idle[8];
	struct http_request *req = ask("/stream");
	unsigned calls = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(idle); i++) {
		testweb_connect(&web, &idle[i], NULL);
		testweb_send(&idle[i], "GET /hello HTTP/1.1\r\n"
				       "Host: x\r\n\r\n");
		testweb_expect(&idle[i], "hello");
	}
	http_stream_on_drain(req, 1000, write_on, &calls);
	for (unsigned turn = 0; turn < 20; turn++) {
		unsigned before = calls;

		testweb_turn(&web);
		assert_in_range(calls - before, 0, 1);
	}
	assert_true(calls > 10);
	http_stream_on_drain(req, 0, NULL, NULL);
	http_stream_end(req);
	for (size_t i = 0; i < ARRAY_LEN(idle); i++)
		testweb_disconnect(&idle[i]);
}

static void
test_many_streams_are_written_side_by_side(void **state)
{
	static struct testweb_client many[100];

	(void)state;
	for (int i = 0; i < 100; i++) {
		testweb_connect(&web, &many[i], NULL);
		testweb_get(&many[i], "/stream");
	}
	testweb_until(&web, &web.held_count, 100);
	for (int round = 0; round < 10; round++) {
		for (unsigned i = 0; i < 100; i++)
			http_stream_write(web.held[i], "tick\n", 5);
	}
	for (int i = 0; i < 100; i++) {
		for (int round = 0; round < 10; round++)
			testweb_expect(&many[i], "tick\n");
		assert_true(many[i].records <= 3);
	}
	for (int i = 0; i < 100; i += 2)
		testweb_disconnect(&many[i]);
	testweb_until(&web, &web.gone, 50);
	for (unsigned i = 0; i < 100; i++) {
		if (web.held[i] != NULL)
			http_stream_end(web.held[i]);
	}
	for (int i = 1; i < 100; i += 2) {
		testweb_expect(&many[i], "0\r\n\r\n");
		testweb_disconnect(&many[i]);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_the_head_is_sent_before_anything_is_written),
		TEST(test_writes_arrive_in_order),
		TEST(test_small_writes_share_records),
		TEST(test_many_turns_of_writes_share_records_too),
		TEST(test_the_writer_learns_when_there_is_room_again),
		TEST(test_a_client_that_takes_nothing_is_cut_off),
		TEST(test_a_client_that_takes_little_is_not_cut_off),
		TEST(test_a_client_that_closes_is_noticed_at_once),
		TEST(test_a_request_stays_valid_when_its_client_is_gone),
		TEST(test_a_stream_that_is_cut_does_not_look_complete),
		TEST(test_the_head_alone_answers_head),
		TEST(test_an_old_client_gets_a_stream_without_chunks),
		TEST(test_a_drain_callback_may_end_the_stream),
		TEST(test_a_stream_gets_one_go_in_a_turn),
		TEST(test_many_streams_are_written_side_by_side),
	};

	return cmocka_run_group_tests_name("stream", tests, NULL, NULL);
}
