/* SPDX-License-Identifier: Apache-2.0 */
#include "http/head.h"

#include <string.h>
#include <strings.h>

#include "base/str.h"

#define METHOD_MAX 32
#define LENGTH_DIGITS_MAX 18 /* fits into 64 bits */

size_t
head_end(const char *data, size_t len, size_t *scanned)
{
	static const char end[] = "\r\n\r\n";
	const char *found;

	found = memmem(data + *scanned, len - *scanned, end, 4);
	if (found != NULL)
		return (size_t)(found - data) + 4;
	/* Its first bytes may be here already. */
	*scanned = len > 3 ? len - 3 : 0;
	return 0;
}

size_t
head_count_lines(const char *text, size_t len)
{
	const char *end = text + len;
	size_t count = 0;

	while ((text = memchr(text, '\n', (size_t)(end - text))) != NULL) {
		text++;
		count++;
	}
	return count;
}

/* RFC 9110's tchar: what names are made of. */
static bool
is_token_char(unsigned char c)
{
	static const char others[] = "!#$%&'*+-.^_`|~";

	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') ||
	       (c != '\0' && strchr(others, c) != NULL);
}

static bool
is_token(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (!is_token_char((unsigned char)s[i]))
			return false;
	}
	return len > 0;
}

static bool
is_value(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)s[i];

		if ((c < ' ' && c != '\t') || c == 0x7f)
			return false;
	}
	return true;
}

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* The line at *pos, ended by a NUL; moves *pos behind it. NULL: bare LF. */
static char *
next_line(char **pos, const char *end, size_t *ret_len)
{
	char *line = *pos;
	char *lf = memchr(line, '\n', (size_t)(end - line));

	if (lf == NULL || lf == line || lf[-1] != '\r')
		return NULL;
	lf[-1] = '\0';
	*ret_len = (size_t)(lf - 1 - line);
	*pos = lf + 1;
	return line;
}

static int
parse_version(const char *version, struct head *ret)
{
	if (str_equal(version, "HTTP/1.1"))
		return 0;
	if (str_equal(version, "HTTP/1.0")) {
		ret->http10 = true;
		return 0;
	}
	if (str_has_prefix(version, "HTTP/") && strlen(version) == 8 &&
	    version[5] >= '0' && version[5] <= '9' && version[6] == '.' &&
	    version[7] >= '0' && version[7] <= '9')
		return 505;
	return 400;
}

/* "/path?query", the same behind "https://host", or "*". */
static int
parse_target(char *target, struct head *ret)
{
	char *query;

	for (const char *p = target; *p != '\0'; p++) {
		if (*p <= ' ' || *p >= 0x7f || *p == '#')
			return 400;
	}
	ret->query = "";
	if (strncasecmp(target, "http://", 7) == 0 ||
	    strncasecmp(target, "https://", 8) == 0) {
		target = strpbrk(strchr(target, ':') + 3, "/?");
		if (target == NULL) {
			ret->path = "/";
			return 0;
		}
	}
	ret->path = target;
	if (str_equal(target, "*") && str_equal(ret->method, "OPTIONS"))
		return 0;
	if (*target != '/')
		return 400;
	query = strchr(target, '?');
	if (query != NULL) {
		*query = '\0';
		ret->query = query + 1;
	}
	return 0;
}

static int
parse_request_line(char *line, size_t len, struct head *ret)
{
	char *target = memchr(line, ' ', len);
	char *version = target != NULL ? strchr(target + 1, ' ') : NULL;
	int code;

	/* A NUL within would end a text early. */
	if (version == NULL || strlen(line) != len ||
	    !is_token(line, (size_t)(target - line)) ||
	    target - line > METHOD_MAX)
		return 400;
	*target++ = '\0';
	*version++ = '\0';
	ret->method = line;
	code = parse_version(version, ret);
	return code != 0 ? code : parse_target(target, ret);
}

static int
parse_header(char *line, size_t len, struct http_header *ret)
{
	char *colon = memchr(line, ':', len);
	char *end = line + len;
	char *value;

	if (colon == NULL || !is_token(line, (size_t)(colon - line)))
		return 400;
	value = colon + 1;
	while (is_blank(*value))
		value++;
	while (end > value && is_blank(end[-1]))
		end--;
	if (!is_value(value, (size_t)(end - value)))
		return 400;
	*colon = '\0';
	*end = '\0';
	ret->name = line;
	ret->value = value;
	return 0;
}

bool
head_list_has(const char *list, const char *word)
{
	size_t len = strlen(word);

	while (*list != '\0') {
		size_t n;

		list += strspn(list, " \t,");
		n = strcspn(list, " \t,");
		if (n == len && strncasecmp(list, word, len) == 0)
			return true;
		list += n;
	}
	return false;
}

static int
parse_length(const char *value, struct head *ret)
{
	size_t len = strlen(value);

	if (len == 0 || len > LENGTH_DIGITS_MAX ||
	    strspn(value, "0123456789") != len)
		return 400;
	for (; *value != '\0'; value++)
		ret->length = ret->length * 10 + (uint64_t)(*value - '0');
	return 0;
}

/* What the headers seen so far say about the connection and the body. */
struct framing {
	bool has_length;
	bool has_host;
	bool keep_alive;
};

static int
look_at(const struct http_header *h, struct framing *f, struct head *ret)
{
	if (strcasecmp(h->name, "content-length") == 0) {
		if (f->has_length)
			return 400;
		f->has_length = true;
		return parse_length(h->value, ret);
	}
	if (strcasecmp(h->name, "transfer-encoding") == 0) {
		if (ret->chunked || ret->http10)
			return 400;
		ret->chunked = true;
		return strcasecmp(h->value, "chunked") == 0 ? 0 : 501;
	}
	if (strcasecmp(h->name, "connection") == 0) {
		ret->close = ret->close || head_list_has(h->value, "close");
		f->keep_alive =
			f->keep_alive || head_list_has(h->value, "keep-alive");
	} else if (strcasecmp(h->name, "host") == 0) {
		if (f->has_host)
			return 400;
		f->has_host = true;
	} else if (strcasecmp(h->name, "expect") == 0) {
		if (strcasecmp(h->value, "100-continue") != 0)
			return 417;
		ret->expects = !ret->http10;
	}
	return 0;
}

int
head_parse(char *text, size_t len, struct http_header *headers,
	   struct head *ret)
{
	const char *end = text + len;
	struct framing framing = { 0 };
	size_t line_len;
	char *line = next_line(&text, end, &line_len);
	int code;

	*ret = (struct head){ .headers = headers };
	if (line == NULL)
		return 400;
	code = parse_request_line(line, line_len, ret);
	if (code != 0)
		return code;
	for (;;) {
		struct http_header *h = &headers[ret->header_count];

		line = next_line(&text, end, &line_len);
		if (line == NULL)
			return 400;
		if (line_len == 0)
			break;
		if (ret->header_count == HTTP_HEADERS_MAX)
			return 431;
		code = parse_header(line, line_len, h);
		if (code == 0)
			code = look_at(h, &framing, ret);
		if (code != 0)
			return code;
		ret->header_count++;
	}
	if (ret->chunked && framing.has_length)
		return 400;
	if (!framing.has_host && !ret->http10)
		return 400;
	if (ret->http10 && !framing.keep_alive)
		ret->close = true;
	return 0;
}
