/* SPDX-License-Identifier: Apache-2.0 */
#include "rpc/message.h"

#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/str.h"

static int
bad_request(int *ret_code, struct err *err, const char *why)
{
	*ret_code = RPC_CODE_REQUEST;
	return err_set(err, ERR_INVALID, "invalid request: %s", why);
}

static int
read_id(json_t *value, struct rpc_request *ret, int *ret_code, struct err *err)
{
	json_t *id = json_object_get(value, "id");

	if (id != NULL && !json_is_string(id) && !json_is_integer(id) &&
	    !json_is_null(id))
		return bad_request(ret_code, err,
				   "'id' must be a string, an integer or null");
	ret->id = id;
	return 0;
}

int
rpc_request_parse(const char *text, size_t len, struct rpc_request *ret,
		  int *ret_code, struct err *err)
{
	json_t *value;

	*ret = (struct rpc_request){ 0 };
	value = js_parse(text, len, err);
	if (value == NULL) {
		*ret_code = RPC_CODE_PARSE;
		return -1;
	}
	ret->value = value;

	if (json_is_array(value))
		return bad_request(ret_code, err,
				   "batches are not supported, send one "
				   "request per line");
	if (!json_is_object(value))
		return bad_request(ret_code, err, "not an object");
	if (read_id(value, ret, ret_code, err) == -1)
		return -1;
	if (!str_equal(json_string_value(json_object_get(value, "jsonrpc")),
		       "2.0"))
		return bad_request(ret_code, err, "'jsonrpc' must be \"2.0\"");

	ret->method = json_string_value(json_object_get(value, "method"));
	if (ret->method == NULL)
		return bad_request(ret_code, err, "'method' must be a string");
	ret->params = json_object_get(value, "params");
	if (ret->params != NULL && !json_is_object(ret->params) &&
	    !json_is_array(ret->params))
		return bad_request(ret_code, err,
				   "'params' must be an object or an array");
	return 0;
}

void
rpc_request_done(struct rpc_request *request)
{
	js_unref(&request->value);
	*request = (struct rpc_request){ 0 };
}

static json_t *
reply(json_t *id, const char *name, json_t *value)
{
	json_t *obj = json_object();

	(void)json_object_set_new(obj, "jsonrpc", json_string("2.0"));
	(void)json_object_set(obj, "id", id != NULL ? id : json_null());
	(void)json_object_set_new(obj, name, value);
	return obj;
}

json_t *
rpc_reply_result(json_t *id, json_t *result)
{
	return reply(id, "result", result != NULL ? result : json_null());
}

/* The text as far as it is UTF-8: it may have been cut inside a character, or
 * quote what somebody sent. */
static json_t *
utf8_text(const char *text)
{
	json_t *value = NULL;

	for (size_t len = strlen(text); value == NULL; len--)
		value = json_stringn(text, len);
	return value;
}

json_t *
rpc_reply_error(json_t *id, int code, const struct err *err)
{
	json_t *error = json_object(), *data = json_object();

	(void)json_object_set_new(error, "code", json_integer(code));
	(void)json_object_set_new(error, "message", utf8_text(err->text));
	(void)json_object_set_new(data, "kind",
				  json_string(err_kind_name(err->kind)));
	(void)json_object_set_new(error, "data", data);
	return reply(id, "error", error);
}

int
rpc_code_from_err(const struct err *err)
{
	if (err->kind == ERR_INVALID)
		return RPC_CODE_PARAMS;
	return RPC_CODE_KIND - (int)err->kind;
}

static enum err_kind
kind_from_error(const json_t *error)
{
	const json_t *data = json_object_get(error, "data");
	const char *name = json_string_value(json_object_get(data, "kind"));
	json_int_t code;

	for (enum err_kind k = 0; name != NULL && k < ERR_KIND_COUNT; k++) {
		if (str_equal(name, err_kind_name(k)))
			return k;
	}
	code = json_integer_value(json_object_get(error, "code"));
	if (code == RPC_CODE_METHOD)
		return ERR_NOT_FOUND;
	if (code <= RPC_CODE_REQUEST && code >= RPC_CODE_PARSE)
		return ERR_INVALID;
	return ERR_INTERNAL;
}

int
rpc_reply_parse(const char *text, size_t len, uint64_t id, json_t **ret_result,
		struct err *err)
{
	AUTO(js_unref) json_t *value = js_parse(text, len, err);
	json_t *got, *error, *result;
	const char *message;

	if (value == NULL)
		return err_set(err, ERR_UNAVAILABLE,
			       "the server's reply is not JSON");
	got = json_object_get(value, "id");
	error = json_object_get(value, "error");
	result = json_object_get(value, "result");

	/* An error before the request was understood has id null. */
	if (!(json_is_null(got) && error != NULL) &&
	    !(json_is_integer(got) && json_integer_value(got) >= 0 &&
	      (uint64_t)json_integer_value(got) == id))
		return err_set(err, ERR_UNAVAILABLE,
			       "the server replied to another request than "
			       "%" PRIu64,
			       id);
	if (error != NULL) {
		message = json_string_value(json_object_get(error, "message"));
		return err_set(err, kind_from_error(error), "%s",
			       message != NULL ? message : "unknown error");
	}
	if (result == NULL)
		return err_set(err, ERR_UNAVAILABLE,
			       "the server's reply has no result");
	*ret_result = json_incref(result);
	return 0;
}

json_t *
rpc_request_new(uint64_t id, const char *method, json_t *params)
{
	json_t *request = json_object();

	(void)json_object_set_new(request, "jsonrpc", json_string("2.0"));
	if (id != 0)
		(void)json_object_set_new(request, "id",
					  json_integer((json_int_t)id));
	(void)json_object_set_new(request, "method", json_string(method));
	if (params != NULL)
		(void)json_object_set(request, "params", params);
	return request;
}

json_t *
rpc_hello(const struct rpc_identity *self)
{
	json_t *obj = json_object();

	(void)json_object_set_new(obj, "protocol", json_integer(RPC_PROTOCOL));
	(void)json_object_set_new(obj, "program", json_string(self->program));
	(void)json_object_set_new(obj, "version", json_string(self->version));
	return obj;
}

int
rpc_hello_check(const json_t *hello, struct err *err)
{
	const char *program = "an unnamed program", *version = "unknown";
	uint64_t protocol;

	if (js_get_u64(hello, "protocol", 0, UINT32_MAX, &protocol, err) ||
	    js_opt_str(hello, "program", &program, err) ||
	    js_opt_str(hello, "version", &version, err))
		return -1;
	if (protocol != RPC_PROTOCOL)
		return err_set(err, ERR_REFUSED,
			       "%s version %s speaks protocol %" PRIu64
			       ", this side speaks %d",
			       program, version, protocol, RPC_PROTOCOL);
	return 0;
}
