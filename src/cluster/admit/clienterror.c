/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/admit/clienterror.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/fetch.h"
#include "meta/gofmt.h"

/* Of a body that becomes part of a message. */
#define BODY_SHOWN_MAX 1024

static const struct {
	int code;
	const char *text;
} words[] = {
	{ 400, "the server rejected our request for an unknown reason" },
	{ 401, "the server has asked for the client to provide credentials" },
	{ 404, "the server could not find the requested resource" },
	{ 405, "the server does not allow this method on the requested "
	       "resource" },
	{ 406, "the server was unable to respond with a content type that "
	       "the client supports" },
	{ 409, "the server reported a conflict" },
	{ 415, "the server was unable to respond with a content type that "
	       "the client supports" },
	{ 422, "the server rejected our request due to an error in our "
	       "request" },
	{ 429, "the server has received too many requests and has asked us "
	       "to try again later" },
	{ 503, "the server is currently unable to handle the request" },
	{ 504, "the server was unable to return a response in the time "
	       "allotted, but may still be processing the request" },
};

/* A Status says it better than a code. */
static char *
status_message(const struct fetch_result *result)
{
	struct err err;
	AUTO(js_unref)
	json_t *obj = js_parse_lenient(result->body, result->body_len, NULL,
				       NULL, &err);

	if (!str_equal(js_str_at(obj, "kind"), "Status") ||
	    *js_str_at(obj, "message") == '\0')
		return NULL;
	return xstrdup(js_str_at(obj, "message"));
}

/* Only text is shown; anything else is "unknown". */
static char *
shown_body(const struct fetch_result *result)
{
	const char *type = fetch_header_of(result, "Content-Type");
	const char *start = result->body;
	size_t len;

	if (type == NULL || !str_has_prefix(type, "text/"))
		return xstrdup("unknown");
	start += strspn(start, " \t\r\n");
	len = strnlen(start, BODY_SHOWN_MAX);
	while (len > 0 && strchr(" \t\r\n", start[len - 1]) != NULL)
		len--;
	return xstrndup(start, len);
}

char *
clienterror_text(const struct fetch_result *result)
{
	AUTO(free_ptr) char *body = NULL;
	AUTO(free_ptr) char *quoted = NULL;
	char *message;

	if (result->error != FETCH_OK)
		return xstrdup(result->text);
	if (result->code >= 200 && result->code < 300)
		return NULL;
	message = status_message(result);
	if (message != NULL)
		return message;
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (words[i].code == result->code)
			return xstrdup(words[i].text);
	}
	body = shown_body(result);
	if (result->code == 403)
		return TAKE_PTR(body);
	if (result->code < 500)
		return xasprintf("the server responded with the status code %d "
				 "but did not return more information",
				 result->code);
	quoted = gofmt_quote(body);
	return xasprintf("an error on the server (%s) has prevented the "
			 "request from succeeding",
			 quoted);
}

char *
clienterror_parse(const char *body, const struct err *err)
{
	const char *start = body + strspn(body, " \t\r\n");

	if (*start == '\0')
		return xstrdup("unexpected end of JSON input");
	if (*start > ' ' && *start < 0x7f &&
	    strchr("{[\"-0123456789tfn", *start) == NULL)
		return xasprintf("invalid character '%c' looking for beginning "
				 "of value",
				 *start);
	if (*start != '{')
		return xstrdup("json: cannot unmarshal the answer into an "
			       "object");
	return xstrdup(err->text);
}
