/* SPDX-License-Identifier: Apache-2.0 */
#include "http/head.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/mem.h"
#include "base/test.h"

/* A parsed head and what it points into. */
struct parsed {
	char *text;
	struct http_header *headers;
	struct head head;
	int code;
};

static struct parsed
parse_bytes(const char *text, size_t len)
{
	struct parsed p;

	/* Exactly as large as they have to be, for the sanitizer. */
	p.text = xmalloc0(len > 0 ? len : 1);
	memcpy(p.text, text, len);
	p.headers =
		xcalloc(head_count_lines(text, len) + 1, sizeof(*p.headers));
	p.code = head_parse(p.text, len, p.headers, &p.head);
	return p;
}

static struct parsed
parse(const char *text)
{
	return parse_bytes(text, strlen(text));
}

static void
done(struct parsed *p)
{
	free(p->text);
	free(p->headers);
}

static void
test_a_head_is_taken_apart(void **state)
{
	struct parsed p = parse("POST /api/v1?a=b&c=%2F HTTP/1.1\r\n"
				"Host: h\r\n"
				"X-Two:\t two words \t\r\n"
				"x-two:\r\n"
				"Content-Length: 42\r\n\r\n");

	(void)state;
	assert_int_equal(p.code, 0);
	assert_string_equal(p.head.method, "POST");
	assert_string_equal(p.head.path, "/api/v1");
	assert_string_equal(p.head.query, "a=b&c=%2F");
	assert_int_equal(p.head.header_count, 4);
	assert_string_equal(p.headers[1].name, "X-Two");
	assert_string_equal(p.headers[1].value, "two words");
	assert_string_equal(p.headers[2].value, "");
	assert_int_equal(p.head.length, 42);
	assert_false(p.head.close);
	assert_false(p.head.chunked);
	assert_false(p.head.expects);
	assert_false(p.head.http10);
	done(&p);
}

static void
test_targets_come_in_three_forms(void **state)
{
	static const struct {
		const char *line;
		const char *path;
		const char *query;
	} cases[] = {
		{ "GET /", "/", "" },
		{ "GET /?", "/", "" },
		{ "GET /a?b?c", "/a", "b?c" },
		{ "GET //x/../y%00", "//x/../y%00", "" },
		{ "GET https://h:1/a?b", "/a", "b" },
		{ "GET HTTP://h", "/", "" },
		{ "OPTIONS *", "*", "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char text[200];
		struct parsed p;

		(void)snprintf(text, sizeof(text),
			       "%s HTTP/1.1\r\nHost: h\r\n\r\n", cases[i].line);
		p = parse(text);
		assert_int_equal(p.code, 0);
		assert_string_equal(p.head.path, cases[i].path);
		assert_string_equal(p.head.query, cases[i].query);
		done(&p);
	}
}

static const struct {
	const char *text;
	int code;
} refused[] = {
	/* Line ends and blanks. */
	{ "GET / HTTP/1.1\nHost: h\r\n\r\n", 400 },
	{ "GET / HTTP/1.1\r\nHost: h\n\r\n", 400 },
	{ "GET / HTTP/1.1\r\nHost: h\r\n folded\r\n\r\n", 400 },
	{ "GET / HTTP/1.1\r\nHost : h\r\n\r\n", 400 },
	{ "GET / HTTP/1.1\r\n Host: h\r\n\r\n", 400 },
	{ "GET / HTTP/1.1\r\nHost: h\r\nX: a\rb\r\n\r\n", 400 },
	{ "GET / HTTP/1.1\r\nHost: h\r\nX: \x7f\r\n\r\n", 400 },
	{ "GET / HTTP/1.1\r\nHost: h\r\nNo colon\r\n\r\n", 400 },
	{ "GET / HTTP/1.1\r\nHost: h\r\n: x\r\n\r\n", 400 },
	{ "GET / HTTP/1.1\r\nHost: h\r\nX@: x\r\n\r\n", 400 },
	{ "\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n", 400 },
	/* Request lines. */
	{ "GET  / HTTP/1.1\r\nHost: h\r\n\r\n", 400 },
	{ "GET / HTTP/1.1 \r\nHost: h\r\n\r\n", 400 },
	{ "GET /a b HTTP/1.1\r\nHost: h\r\n\r\n", 400 },
	{ "GET /\r\nHost: h\r\n\r\n", 400 },
	{ "GET\r\nHost: h\r\n\r\n", 400 },
	{ " / HTTP/1.1\r\nHost: h\r\n\r\n", 400 },
	{ "G(T / HTTP/1.1\r\nHost: h\r\n\r\n", 400 },
	{ "GET a HTTP/1.1\r\nHost: h\r\n\r\n", 400 },
	{ "GET * HTTP/1.1\r\nHost: h\r\n\r\n", 400 },
	{ "GET /#f HTTP/1.1\r\nHost: h\r\n\r\n", 400 },
	{ "GET /\xc3\xa4 HTTP/1.1\r\nHost: h\r\n\r\n", 400 },
	{ "GET http://h?a=/b HTTP/1.1\r\nHost: h\r\n\r\n", 400 },
	{ "CONNECT h:443 HTTP/1.1\r\nHost: h\r\n\r\n", 400 },
	{ "ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFG / HTTP/1.1\r\n"
	  "Host: h\r\n\r\n",
	  400 },
	{ "GET / HTTP/2.0\r\nHost: h\r\n\r\n", 505 },
	{ "GET / HTTP/1.2\r\nHost: h\r\n\r\n", 505 },
	{ "GET / http/1.1\r\nHost: h\r\n\r\n", 400 },
	{ "GET / HTTP/11\r\nHost: h\r\n\r\n", 400 },
	/* Hosts. */
	{ "GET / HTTP/1.1\r\n\r\n", 400 },
	{ "GET / HTTP/1.1\r\nHost: h\r\nhost: h\r\n\r\n", 400 },
	/* Lengths. */
	{ "GET / HTTP/1.1\r\nHost: h\r\nContent-Length: +1\r\n\r\n", 400 },
	{ "GET / HTTP/1.1\r\nHost: h\r\nContent-Length: -1\r\n\r\n", 400 },
	{ "GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 0x1\r\n\r\n", 400 },
	{ "GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 1, 1\r\n\r\n", 400 },
	{ "GET / HTTP/1.1\r\nHost: h\r\nContent-Length:\r\n\r\n", 400 },
	{ "GET / HTTP/1.1\r\nHost: h\r\n"
	  "Content-Length: 9999999999999999999\r\n\r\n",
	  400 },
	{ "GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n"
	  "content-length: 1\r\n\r\n",
	  400 },
	{ "GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n"
	  "Transfer-Encoding: chunked\r\n\r\n",
	  400 },
	{ "GET / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n"
	  "Transfer-Encoding: chunked\r\n\r\n",
	  400 },
	{ "GET / HTTP/1.1\r\nHost: h\r\n"
	  "Transfer-Encoding: gzip, chunked\r\n\r\n",
	  501 },
	{ "GET / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: x\r\n\r\n", 501 },
	{ "GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400 },
	{ "GET / HTTP/1.1\r\nHost: h\r\nExpect: miracles\r\n\r\n", 417 },
};

static void
test_what_could_be_read_in_two_ways_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		struct parsed p = parse(refused[i].text);

		if (p.code != refused[i].code)
			fail_msg("case %zu: %d", i, p.code);
		done(&p);
	}
}

static void
test_a_nul_anywhere_is_refused(void **state)
{
	static const char text[] = "GET /path HTTP/1.1\r\nHost: h\r\nX: y\r\n"
				   "\r\n";

	(void)state;
	for (size_t i = 0; i < sizeof(text) - 5; i++) {
		char copy[sizeof(text)];
		struct parsed p;

		memcpy(copy, text, sizeof(text));
		copy[i] = '\0';
		p = parse_bytes(copy, sizeof(text) - 1);
		assert_int_not_equal(p.code, 0);
		done(&p);
	}
}

static void
test_connections_and_expectations_are_understood(void **state)
{
	static const struct {
		const char *version;
		const char *header;
		bool close;
		bool expects;
	} cases[] = {
		{ "1.1", "X: y", false, false },
		{ "1.1", "Connection: Close", true, false },
		{ "1.1", "Connection: upgrade,close", true, false },
		{ "1.1", "Connection: closed", false, false },
		{ "1.1", "Connection: keep-alive", false, false },
		{ "1.0", "X: y", true, false },
		{ "1.0", "Connection: Keep-Alive", false, false },
		{ "1.1", "Expect: 100-Continue", false, true },
		{ "1.0", "Expect: 100-continue", true, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char text[200];
		struct parsed p;

		(void)snprintf(text, sizeof(text),
			       "GET / HTTP/%s\r\nHost: h\r\n%s\r\n\r\n",
			       cases[i].version, cases[i].header);
		p = parse(text);
		assert_int_equal(p.code, 0);
		assert_int_equal(p.head.close, cases[i].close);
		assert_int_equal(p.head.expects, cases[i].expects);
		done(&p);
	}
}

static void
test_the_number_of_headers_is_limited(void **state)
{
	char *text = xmalloc0((HTTP_HEADERS_MAX + 2) * 10 + 100);
	struct parsed p;
	size_t n;

	(void)state;
	n = (size_t)sprintf(text, "GET / HTTP/1.1\r\nHost: h\r\n");
	for (int i = 1; i < HTTP_HEADERS_MAX; i++)
		n += (size_t)sprintf(text + n, "X: y\r\n");
	(void)sprintf(text + n, "\r\n");
	p = parse(text);
	assert_int_equal(p.code, 0);
	assert_int_equal(p.head.header_count, HTTP_HEADERS_MAX);
	done(&p);
	(void)sprintf(text + n, "X: y\r\n\r\n");
	p = parse(text);
	assert_int_equal(p.code, 431);
	done(&p);
	free(text);
}

static void
test_the_end_is_found_however_it_comes(void **state)
{
	static const char text[] = "GET / HTTP/1.1\r\nA: b\r\n\r\nbody\r\n\r\n";
	const size_t end = 26 - 2;

	(void)state;
	for (size_t step = 1; step < sizeof(text); step++) {
		size_t scanned = 0;
		size_t found = 0;
		size_t len = 0;

		while (found == 0) {
			len += step;
			if (len > sizeof(text) - 1)
				len = sizeof(text) - 1;
			found = head_end(text, len, &scanned);
		}
		assert_int_equal(found, end);
		assert_true(len >= end && len < end + step);
	}
}

static void
test_words_are_found_in_lists(void **state)
{
	(void)state;
	assert_true(head_list_has("a, B ,c", "b"));
	assert_true(head_list_has(",,a", "A"));
	assert_false(head_list_has("ab", "a"));
	assert_false(head_list_has("", "a"));
	assert_false(head_list_has(" , ", "a"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_head_is_taken_apart),
		cmocka_unit_test(test_targets_come_in_three_forms),
		cmocka_unit_test(
			test_what_could_be_read_in_two_ways_is_refused),
		cmocka_unit_test(test_a_nul_anywhere_is_refused),
		cmocka_unit_test(
			test_connections_and_expectations_are_understood),
		cmocka_unit_test(test_the_number_of_headers_is_limited),
		cmocka_unit_test(test_the_end_is_found_however_it_comes),
		cmocka_unit_test(test_words_are_found_in_lists),
	};

	return cmocka_run_group_tests_name("head", tests, NULL, NULL);
}
