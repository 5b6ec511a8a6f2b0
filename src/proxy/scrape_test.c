/* SPDX-License-Identifier: Apache-2.0 */
#include "proxy/scrape.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/test.h"
#include "proxy/bindaddr.h"

#define TEXT "ferry_proxy_listeners 0\n"
#define DEADLINE_MS 60000
#define ANSWER_MAX 8192

struct scene {
	struct loop *loop;
	struct scrape *scrape;
	uint16_t port;
	int written; /* how often; -1: it does not fit */
};

static int
write_text(void *arg, struct buf *buf)
{
	struct scene *s = arg;

	if (s->written == -1)
		return -1;
	s->written++;
	return buf_append_str(buf, TEXT);
}

static void
begin(struct scene *s)
{
	struct err err;
	int fd;

	*s = (struct scene){ .loop = loop_new() };
	if (scrape_open("127.0.0.1:0", &fd, &s->port, &err) == -1)
		fail_msg("%s", err.text);
	s->scrape =
		scrape_new(&(struct scrape_config){ .loop = s->loop,
						    .write = write_text,
						    .arg = s,
						    .text_max = ANSWER_MAX },
			   fd);
}

static void
end(struct scene *s)
{
	scrape_free(s->scrape);
	loop_free(s->loop);
}

static int
visit(const struct scene *s)
{
	struct bindaddr to;
	struct err err;
	int fd;

	assert_int_equal(bindaddr_parse("127.0.0.1", s->port, &to, &err), 0);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&to.ss, to.len), 0);
	return fd;
}

static void
say(int fd, const char *text)
{
	size_t len = strlen(text);

	assert_int_equal(send(fd, text, len, MSG_NOSIGNAL), (ssize_t)len);
}

/* All that comes until the end. */
static const char *
hear(const struct scene *s, int fd)
{
	static char answer[ANSWER_MAX + 1];
	uint64_t deadline_ms = loop_now_ms() + DEADLINE_MS;
	size_t len = 0;
	ssize_t n = -1;

	while (n != 0) {
		assert_true(loop_now_ms() < deadline_ms);
		loop_poll(s->loop);
		n = recv(fd, answer + len, ANSWER_MAX - len, MSG_DONTWAIT);
		if (n > 0)
			len += (size_t)n;
	}
	answer[len] = '\0';
	(void)close(fd);
	return answer;
}

static void
test_only_the_first_line_is_looked_at(void **state)
{
	static const struct {
		const char *text;
		enum scrape_verdict verdict;
	} cases[] = {
		{ "", SCRAPE_INCOMPLETE },
		{ "GET /metrics HTTP/1.1\r\nHost: x\r\n", SCRAPE_INCOMPLETE },
		{ "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", SCRAPE_METRICS },
		{ "GET /metrics HTTP/1.0\r\n\r\nmore", SCRAPE_METRICS },
		{ "GET /metrics?a=b HTTP/1.1\r\n\r\n", SCRAPE_METRICS },
		{ "GET /metrics/x HTTP/1.1\r\n\r\n", SCRAPE_NOT_FOUND },
		{ "GET / HTTP/1.1\r\n\r\n", SCRAPE_NOT_FOUND },
		{ "GET  HTTP/1.1\r\n\r\n", SCRAPE_NOT_FOUND },
		{ "POST /metrics HTTP/1.1\r\n\r\n", SCRAPE_NOT_METHOD },
		{ "get /metrics HTTP/1.1\r\n\r\n", SCRAPE_NOT_METHOD },
		{ "GET /metrics\r\n\r\n", SCRAPE_BAD },
		{ "GET /metrics\r\nx HTTP/1.1\r\n\r\n", SCRAPE_BAD },
		{ "\r\n\r\n", SCRAPE_BAD },
	};
	char full[SCRAPE_REQUEST_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(
			scrape_judge(cases[i].text, strlen(cases[i].text)),
			cases[i].verdict);
	memset(full, 'a', sizeof(full));
	assert_int_equal(scrape_judge(full, sizeof(full) - 1),
			 SCRAPE_INCOMPLETE);
	assert_int_equal(scrape_judge(full, sizeof(full)), SCRAPE_BAD);
}

static void
test_a_request_has_one_answer_and_the_end(void **state)
{
	struct scene s;
	int fd;

	(void)state;
	begin(&s);
	fd = visit(&s);
	say(fd, "GET /metr");
	loop_poll(s.loop);
	assert_int_equal(s.written, 0);
	say(fd, "ics HTTP/1.1\r\nHost: x\r\n\r\nGET /metrics HTTP/1.1\r\n\r\n");
	assert_string_equal(hear(&s, fd),
			    "HTTP/1.1 200 OK\r\n"
			    "Content-Type: text/plain; version=0.0.4\r\n"
			    "Content-Length: 24\r\n"
			    "Connection: close\r\n\r\n" TEXT);
	assert_int_equal(s.written, 1);
	end(&s);
}

static void
test_other_requests_are_refused(void **state)
{
	char full[SCRAPE_REQUEST_MAX + 1];
	struct scene s;
	int fd;

	(void)state;
	begin(&s);
	fd = visit(&s);
	say(fd, "GET / HTTP/1.1\r\n\r\n");
	assert_non_null(strstr(hear(&s, fd), "404 Not Found\r\n"));
	fd = visit(&s);
	say(fd, "DELETE /metrics HTTP/1.1\r\n\r\n");
	assert_non_null(strstr(hear(&s, fd), "\r\nAllow: GET\r\n"));
	fd = visit(&s);
	memset(full, 'a', SCRAPE_REQUEST_MAX);
	full[SCRAPE_REQUEST_MAX] = '\0';
	say(fd, full);
	assert_non_null(strstr(hear(&s, fd), "400 Bad Request\r\n"));
	assert_int_equal(s.written, 0);
	s.written = -1;
	fd = visit(&s);
	say(fd, "GET /metrics HTTP/1.1\r\n\r\n");
	assert_non_null(strstr(hear(&s, fd), "500 Internal Server Error\r\n"));
	end(&s);
}

static void
test_silent_ones_make_others_wait_and_not_fail(void **state)
{
	int silent[SCRAPE_CONNECTIONS];
	struct scene s;
	int fd;

	(void)state;
	begin(&s);
	for (int i = 0; i < SCRAPE_CONNECTIONS; i++) {
		silent[i] = visit(&s);
		loop_poll(s.loop);
	}
	fd = visit(&s);
	say(fd, "GET /metrics HTTP/1.1\r\n\r\n");
	for (int i = 0; i < 10; i++)
		loop_poll(s.loop);
	assert_int_equal(s.written, 0);
	(void)close(silent[0]);
	assert_non_null(strstr(hear(&s, fd), TEXT));
	for (int i = 1; i < SCRAPE_CONNECTIONS; i++)
		(void)close(silent[i]);
	end(&s);
}

static void
test_where_to_listen_is_checked(void **state)
{
	static const char *const wrong[] = { "",
					     "127.0.0.1",
					     "127.0.0.1:",
					     "127.0.0.1:65536",
					     "127.0.0.1:x",
					     "no-such-interface:1" };
	struct err err;
	uint16_t port;
	int fd;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(scrape_open(wrong[i], &fd, &port, &err), -1);
	assert_int_equal(scrape_open("[127.0.0.1]:0", &fd, &port, &err), 0);
	assert_int_not_equal(port, 0);
	(void)close(fd);
	assert_int_equal(scrape_open(":0", &fd, &port, &err), 0);
	(void)close(fd);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_only_the_first_line_is_looked_at),
		cmocka_unit_test(test_a_request_has_one_answer_and_the_end),
		cmocka_unit_test(test_other_requests_are_refused),
		cmocka_unit_test(
			test_silent_ones_make_others_wait_and_not_fail),
		cmocka_unit_test(test_where_to_listen_is_checked),
	};

	return cmocka_run_group_tests_name("scrape", tests, NULL, NULL);
}
