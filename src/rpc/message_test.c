/* SPDX-License-Identifier: Apache-2.0 */
#include "rpc/message.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/array.h"
#include "base/err.h"

static int
parse_request(const char *text, struct rpc_request *ret, int *ret_code,
	      struct err *err)
{
	return rpc_request_parse(text, strlen(text), ret, ret_code, err);
}

static void
test_a_request_has_method_params_and_id(void **state)
{
	struct rpc_request r;
	struct err err;
	int code;

	(void)state;
	assert_int_equal(
		parse_request("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":"
			      "\"status\",\"params\":{\"a\":1}}",
			      &r, &code, &err),
		0);
	assert_string_equal(r.method, "status");
	assert_int_equal(json_integer_value(r.id), 7);
	assert_int_equal(json_integer_value(json_object_get(r.params, "a")), 1);
	rpc_request_done(&r);

	assert_int_equal(parse_request("{\"jsonrpc\":\"2.0\",\"method\":\"x\"}",
				       &r, &code, &err),
			 0);
	assert_null(r.id);
	assert_null(r.params);
	rpc_request_done(&r);
}

static void
test_each_wrong_request_has_its_code(void **state)
{
	static const struct {
		const char *text;
		int code;
		const char *word;
	} cases[] = {
		{ "", RPC_CODE_PARSE, "" },
		{ "{", RPC_CODE_PARSE, "" },
		{ "{} {}", RPC_CODE_PARSE, "" },
		{ "{\"a\":1,\"a\":2}", RPC_CODE_PARSE, "" },
		{ "[]", RPC_CODE_REQUEST, "batch" },
		{ "[{\"jsonrpc\":\"2.0\",\"method\":\"x\"}]", RPC_CODE_REQUEST,
		  "batch" },
		{ "3", RPC_CODE_REQUEST, "object" },
		{ "\"x\"", RPC_CODE_REQUEST, "object" },
		{ "{}", RPC_CODE_REQUEST, "jsonrpc" },
		{ "{\"jsonrpc\":2.0,\"method\":\"x\"}", RPC_CODE_REQUEST,
		  "jsonrpc" },
		{ "{\"jsonrpc\":\"1.0\",\"method\":\"x\"}", RPC_CODE_REQUEST,
		  "jsonrpc" },
		{ "{\"jsonrpc\":\"2.0\"}", RPC_CODE_REQUEST, "method" },
		{ "{\"jsonrpc\":\"2.0\",\"method\":3}", RPC_CODE_REQUEST,
		  "method" },
		{ "{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":3}",
		  RPC_CODE_REQUEST, "params" },
		{ "{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"id\":[]}",
		  RPC_CODE_REQUEST, "id" },
		{ "{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"id\":1.5}",
		  RPC_CODE_REQUEST, "id" },
	};
	struct rpc_request r;
	struct err err;
	int code;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		code = 0;
		assert_int_equal(parse_request(cases[i].text, &r, &code, &err),
				 -1);
		assert_int_equal(code, cases[i].code);
		assert_int_equal(err.kind, ERR_INVALID);
		assert_non_null(strstr(err.text, cases[i].word));
		rpc_request_done(&r);
	}
}

static void
test_a_wrong_request_keeps_the_id_it_had(void **state)
{
	struct rpc_request r;
	struct err err;
	int code;

	(void)state;
	assert_int_equal(parse_request("{\"id\":\"a7\",\"method\":\"x\"}", &r,
				       &code, &err),
			 -1);
	assert_string_equal(json_string_value(r.id), "a7");
	rpc_request_done(&r);
}

/* What a server sends for err, as a client reads it. */
static void
through_the_wire(int code, struct err *err)
{
	json_t *id = json_integer(5), *result = NULL, *reply;
	char *text;

	reply = rpc_reply_error(id, code, err);
	text = js_text(reply);
	*err = (struct err){ 0 };
	assert_int_equal(rpc_reply_parse(text, strlen(text), 5, &result, err),
			 -1);
	assert_null(result);
	free(text);
	json_decref(reply);
	json_decref(id);
}

static void
test_every_kind_of_error_survives_the_wire(void **state)
{
	struct err err;

	(void)state;
	for (enum err_kind k = 0; k < ERR_KIND_COUNT; k++) {
		(void)err_set(&err, k, "because of %d", (int)k);
		through_the_wire(rpc_code_from_err(&err), &err);
		assert_int_equal(err.kind, k);
		assert_non_null(strstr(err.text, "because of"));
	}
	(void)err_set(&err, ERR_INVALID, "x");
	assert_int_equal(rpc_code_from_err(&err), RPC_CODE_PARAMS);
	(void)err_set(&err, ERR_CONFLICT, "x");
	assert_int_equal(rpc_code_from_err(&err), RPC_CODE_KIND - ERR_CONFLICT);
}

static void
test_an_error_text_cut_inside_a_character_is_sent_without_it(void **state)
{
	struct err err = { .kind = ERR_INTERNAL, .text = "no \xc3" };

	(void)state;
	through_the_wire(RPC_CODE_KIND, &err);
	assert_string_equal(err.text, "no ");

	err = (struct err){ .kind = ERR_INTERNAL, .text = "\xff\xff" };
	through_the_wire(RPC_CODE_KIND, &err);
	assert_string_equal(err.text, "");
}

static void
test_errors_of_strangers_get_a_kind_from_their_code(void **state)
{
	static const struct {
		const char *error;
		enum err_kind kind;
	} cases[] = {
		{ "{\"code\":-32601,\"message\":\"m\"}", ERR_NOT_FOUND },
		{ "{\"code\":-32602,\"message\":\"m\"}", ERR_INVALID },
		{ "{\"code\":-32700,\"message\":\"m\"}", ERR_INVALID },
		{ "{\"code\":12,\"message\":\"m\"}", ERR_INTERNAL },
		{ "{\"code\":12,\"data\":{\"kind\":\"Odd\"}}", ERR_INTERNAL },
		{ "7", ERR_INTERNAL },
	};
	char text[128];
	json_t *result;
	struct err err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		(void)snprintf(text, sizeof(text), "{\"id\":1,\"error\":%s}",
			       cases[i].error);
		assert_int_equal(
			rpc_reply_parse(text, strlen(text), 1, &result, &err),
			-1);
		assert_int_equal(err.kind, cases[i].kind);
	}
}

static void
test_a_reply_must_be_to_the_request(void **state)
{
	static const char *const bad[] = {
		"",
		"[]",
		"{}",
		"{\"id\":1}",
		"{\"id\":2,\"result\":1}",
		"{\"id\":-1,\"result\":1}",
		"{\"id\":\"1\",\"result\":1}",
		"{\"id\":null,\"result\":1}",
	};
	json_t *result = NULL;
	struct err err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		assert_int_equal(rpc_reply_parse(bad[i], strlen(bad[i]), 1,
						 &result, &err),
				 -1);
		assert_int_equal(err.kind, ERR_UNAVAILABLE);
	}
	assert_null(result);
	assert_int_equal(rpc_reply_parse("{\"id\":1,\"result\":9}", 19, 1,
					 &result, &err),
			 0);
	assert_int_equal(json_integer_value(result), 9);
	json_decref(result);
}

static void
test_another_protocol_is_refused_by_name(void **state)
{
	struct rpc_identity self = { "ferry-proxy", "0.1.0" };
	json_t *hello = rpc_hello(&self);
	struct err err;

	(void)state;
	assert_int_equal(rpc_hello_check(hello, &err), 0);
	(void)json_object_set_new(hello, "protocol", json_integer(9));
	assert_int_equal(rpc_hello_check(hello, &err), -1);
	assert_int_equal(err.kind, ERR_REFUSED);
	assert_string_equal(err.text,
			    "ferry-proxy version 0.1.0 speaks protocol 9, "
			    "this side speaks 1");
	(void)json_object_del(hello, "protocol");
	assert_int_equal(rpc_hello_check(hello, &err), -1);
	assert_int_equal(err.kind, ERR_INVALID);
	json_decref(hello);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_request_has_method_params_and_id),
		cmocka_unit_test(test_each_wrong_request_has_its_code),
		cmocka_unit_test(test_a_wrong_request_keeps_the_id_it_had),
		cmocka_unit_test(test_every_kind_of_error_survives_the_wire),
		cmocka_unit_test(
			test_an_error_text_cut_inside_a_character_is_sent_without_it),
		cmocka_unit_test(
			test_errors_of_strangers_get_a_kind_from_their_code),
		cmocka_unit_test(test_a_reply_must_be_to_the_request),
		cmocka_unit_test(test_another_protocol_is_refused_by_name),
	};

	return cmocka_run_group_tests_name("rpc/message", tests, NULL, NULL);
}
