/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/str.h"
#include "kube/client_internal.h"

#define EXCERPT 200 /* of a text that somebody sent instead of a Status */

/* What Kubernetes' own client says where the server gave no Status. */
static const struct {
	int code;
	const char *reason;
	const char *text;
} generic[] = {
	{ 400, "BadRequest",
	  "the server rejected our request for an unknown reason" },
	{ 401, "Unauthorized",
	  "the server has asked for the client to provide credentials" },
	{ 403, "Forbidden", "the server does not allow this request" },
	{ 404, "NotFound", "the server could not find the requested resource" },
	{ 405, "MethodNotAllowed",
	  "the server does not allow this method on the requested resource" },
	{ 406, "NotAcceptable",
	  "the server was unable to respond with a content type that the "
	  "client supports" },
	{ 409, "Conflict", "the server reported a conflict" },
	{ 410, "Expired", "the resource version is too old" },
	{ 413, "RequestEntityTooLarge", "the request is too large" },
	{ 415, "UnsupportedMediaType",
	  "the server does not support this kind of body" },
	{ 422, "Invalid",
	  "the server rejected our request due to an error in our request" },
	{ 429, "TooManyRequests",
	  "the server has received too many requests and has asked us to try "
	  "again later" },
	{ 503, "ServiceUnavailable",
	  "the server is currently unable to handle the request" },
	{ 504, "Timeout",
	  "the server was unable to return a response in the time allotted, "
	  "but may still be processing the request" },
};

static int
generic_status(struct status *st, int code, const char *body, size_t len)
{
	int shown = len < EXCERPT ? (int)len : EXCERPT;

	for (size_t i = 0; i < ARRAY_LEN(generic); i++) {
		if (generic[i].code == code)
			return status_set(st, code, generic[i].reason, "%s",
					  generic[i].text);
	}
	if (code >= 500)
		return status_set(st, code, "InternalError",
				  "an error on the server (\"%.*s\") has "
				  "prevented the request from succeeding",
				  shown, body);
	return status_set(st, code, "Unknown",
			  "the server responded with the status code %d but "
			  "did not return more information",
			  code);
}

static unsigned
retry_after_of(const struct fetch_result *result)
{
	const char *text = fetch_header_of(result, "Retry-After");
	struct err err;
	uint64_t seconds;

	/* A date is not what API servers send. */
	if (text == NULL ||
	    str_to_u64(text, "Retry-After", 0, 3600, &seconds, &err) == -1)
		return 0;
	return seconds > 0 ? (unsigned)seconds : 1;
}

int
kube_status_of_answer(struct status *st, int code,
		      const struct fetch_result *result, const char *body,
		      size_t body_len)
{
	AUTO(js_unref) json_t *answer = NULL;
	struct err err;

	answer = js_parse(body, body_len, &err);
	if (answer != NULL && str_equal(js_str_at(answer, "kind"), "Status"))
		(void)status_from_json(st, answer, code);
	else
		(void)generic_status(st, code, body, body_len);
	/* Only the header means that it is worth to try again. */
	st->retry_after = retry_after_of(result);
	return -1;
}

int
kube_status_of_failure(struct status *st, const struct fetch_result *result)
{
	if (result->error == FETCH_TIMEOUT)
		return status_set(st, 504, "Timeout", "%s", result->text);
	return status_set(st, 503, "ServiceUnavailable", "%s", result->text);
}
